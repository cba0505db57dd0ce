"""A value of a wrong type is a TypeError (or ValueError) that names the argument, not what follows
from it."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from komadori import _core, analysis, arena, encoding, inference, players, records, search, training
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.wording import names_arguments

WRONG = (None, 0, 0.5, "x", b"x", [], {}, ["x"], object())

ANY: Any = None
"""Stands for an argument that isn't reached."""


def searchers() -> list[Any]:
    return [
        AlphaBetaSearcher("material"),
        search.PuctSearcher(inference.load("uniform")),
        search.PolicySearcher(inference.load("uniform")),
        search.OnePlySearcher(inference.load("uniform")),
    ]


CALLS: dict[str, Callable[[Any], object]] = {
    "Board.from_usi position": Board.from_usi,
    "Board.western move": lambda x: Board().western(x),
    "search position": lambda x: search.search(x, "uniform"),
    "search model": lambda x: search.search(Board(), x),
    "PuctSearcher evaluator": search.PuctSearcher,
    "policy position": lambda x: inference.policy(x, "uniform"),
    "policy model": lambda x: inference.policy(Board(), x),
    "evaluate evaluator": lambda x: inference.evaluate(x, ANY),
    "EvaluatorGroup evaluators": lambda x: inference.EvaluatorGroup([x]),
    "make spec": players.make,
    "fingerprint spec": players.fingerprint,
    "play_match conditions": lambda x: arena.play_match(
        "random", "random", games=2, conditions=x if x is not None else "none"
    ),
    "play_match openings": lambda x: arena.play_match("random", "random", games=2, openings=[x]),
    "play_match sprt": lambda x: arena.play_match(
        "random", "random", games=2, sprt=x if x is not None else "none"
    ),
    "samples_of games": lambda x: records.samples_of([x]),
    "html_report games": lambda x: analysis.html_report([x], "title"),
    "result_text game": lambda x: analysis.result_text(x, "en"),
    "result_text language": lambda x: analysis.result_text(records.Game(), x),
    "from_comments game": analysis.from_comments,
    "annotated analysed": analysis.annotated,
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_type_names_the_argument(call: str) -> None:
    name = call.rsplit(maxsplit=1)[-1]
    for value in WRONG:
        with pytest.raises((TypeError, ValueError, OSError, records.RecordError)) as caught:
            CALLS[call](value)
        if type(caught.value) is TypeError:
            assert name in str(caught.value), value


def test_a_search_names_the_limits_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"^no limit 'time_ms' \(they are nodes, .*movetime_ms"):
        search.search(Board(), time_ms=100)


@pytest.mark.parametrize("value", [2**63, 2**64, 10**400], ids=["2^63", "2^64", "10^400"])
def test_a_number_too_large_for_the_core_names_the_argument(value: int) -> None:
    for name in ("nodes", "movetime_ms", "btime_ms", "depth"):
        with pytest.raises(
            ValueError, match=f"^{name} is {value}, at most {2**63 - 1} is possible"
        ):
            search.Limits(**{name: value})
    for name in ("visits_per_flight", "draw_ply"):
        with pytest.raises(
            ValueError, match=f"^{name} is {value}, at most {2**31 - 1} is possible"
        ):
            search.PuctOptions(**{name: value})


def test_a_number_too_large_for_a_float_names_the_argument() -> None:
    with pytest.raises(ValueError, match=r"^c_init is 10+, a finite number is needed"):
        search.PuctOptions(c_init=10**400)


def test_a_seed_of_numpy_is_a_seed() -> None:
    seeds = (3, np.int64(3))
    options = [search.PuctOptions(random_plies=9, random_seed=seed) for seed in seeds]
    found = []
    for one in options:
        searcher = search.PuctSearcher(inference.load("uniform"), one)
        searcher.set_position(Board())
        found.append(searcher.search(search.Limits(nodes=20)).best_move)
        searcher.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("method", ["set_position", "search"])
def test_searchers_name_the_argument(method: str) -> None:
    for searcher in searchers():
        searcher.set_position(Board())
        for value in WRONG:
            with pytest.raises(TypeError, match=r"board: expected Board|limits: expected Limits"):
                getattr(searcher, method)(value)
        searcher.close()


def test_nothing_is_concatenated_to_nothing() -> None:
    with pytest.raises(ValueError, match="parts: at least one"):
        records.Samples.concatenate([])


PACKAGES = (
    "rules", "mate", "encoding", "records", "nets", "inference", "training", "linear", "search",
    "usi", "players", "arena", "analysis", "generate", "generate.loop", "report", "quickstart",
    "lab", "pages", "cluster", "web",
)  # fmt: skip


def public_callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """The functions and classes that the packages export, by name."""
    for package in PACKAGES:
        module = importlib.import_module(f"komadori.{package}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            is_other = isinstance(value, type) and (
                issubclass(value, BaseException | enum.Enum)
                or getattr(value, "_is_protocol", False)
                or inspect.isabstract(value)
            )
            if callable(value) and not is_other and value is not Any:
                yield f"{package}.{name}", value


def path_functions() -> Iterator[tuple[str, Callable[..., object], list[inspect.Parameter]]]:
    """The public functions with a path among their parameters."""
    for name, function in public_callables():
        if inspect.isfunction(function):
            found = list(inspect.signature(function).parameters.values())
            if any(re.match(r"Path\b", str(parameter.annotation)) for parameter in found):
                yield name, function, found


def test_public_functions_take_paths_as_text(tmp_path: Path) -> None:
    for name, function, parameters in path_functions():
        for parameter in parameters:
            kinds = str(parameter.annotation)
            assert not kinds.startswith("Path") or "str" in kinds, f"{name}: {parameter}"
        required = [one for one in parameters if one.default is one.empty]
        if len(required) != 1:
            continue
        results = []
        for path in (tmp_path / "missing", str(tmp_path / "missing")):
            try:
                results.append(repr(function(path)))
            except Exception as error:
                results.append(repr(error))
        assert results[0] == results[1], name


def test_a_run_is_read_by_its_path_as_text(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"kind": "end", "step": 3}\n')
    assert training.read_log(str(tmp_path)) == training.read_log(tmp_path)
    step = tmp_path / "checkpoints" / "step-00000003"
    step.mkdir(parents=True)
    assert training.newest_checkpoint(str(tmp_path)) == training.resolve(str(tmp_path)) == step


@pytest.mark.parametrize("value", [None, -3, "x", object()], ids=["none", "int", "str", "object"])
def test_every_public_callable_names_the_argument(
    value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unclear = []
    tried = 0
    for name, call in public_callables():
        try:
            parameters = inspect.signature(call).parameters.values()
        except ValueError:  # of the core
            continue
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        required = [p.name for p in parameters if p.default is p.empty and p.kind in kinds]
        optional = [p.name for p in parameters if p.default is not p.empty]
        for others in [[], *([one] for one in optional)]:
            tried += 1
            try:
                call(**dict.fromkeys([*required, *others], value))
            except TypeError as error:
                if not re.match(rf"({'|'.join([*required, *others]) or '-'})\b", str(error)):
                    unclear.append(f"{name}: {error!r}")
            except (AttributeError, LookupError) as error:
                unclear.append(f"{name}: {error!r}")
            except (ValueError, OSError, RuntimeError):
                pass
    assert tried > 500
    assert unclear == []


@names_arguments
def example(path: Path, names: Sequence[str] = (), *more: int, limit: float | None = None) -> str:
    """A function for the test below; fails as library code does."""
    return path.name + names[0].upper() + str(sum(more) + (limit or 0))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("x",), {}, "path: expected Path, got str"),
        ((Path("x"), None), {}, "names: expected Sequence[str], got NoneType"),
        ((Path("x"), [3]), {}, "names: expected Sequence[str], got list of int"),
        ((Path("x"), ["a"], "b"), {}, "more: expected int, got str"),
        ((Path("x"), ["a"]), {"limit": "b"}, "limit: expected float or None, got str"),
    ],
)
def test_an_argument_is_named_after_the_error(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        example(*arguments, **options)


@pytest.mark.parametrize("numbers", [100, 0.5, [1.0, 2.0], [[1], [2]], np.zeros(2), (1, 2)])
def test_what_numpy_reads_as_an_array_is_not_blamed(numbers: Any) -> None:
    with pytest.raises(TypeError, match=r"^coef: expected float, got NoneType$"):
        encoding.win_rate_from_score(numbers, None)  # type: ignore[call-overload]


def test_errors_of_right_types_stay_as_they_are() -> None:
    @names_arguments
    def faulty(number: int) -> None:
        raise KeyError(number)

    assert example(Path("x"), "a", 1, limit=2.0) == "xA3.0"
    with pytest.raises(KeyError, match="3"):
        faulty(3)
    with pytest.raises(TypeError, match="missing 1 required"):
        example()


class Words:
    """Not a Sequence, but it works as one."""

    def __getitem__(self, index: int) -> str:
        return "a"


def test_an_error_of_a_callback_stays_as_it_is() -> None:
    @names_arguments
    def call(words: Sequence[str], callback: Callable[[str], object]) -> object:
        return callback(words[0])

    scope: dict[str, Any] = {"__name__": "notebook"}
    source = "def own(word):\n    return {}[word]\ndef library(word):\n    return json.loads(3)\n"
    exec(compile(f"import json\n{source}", "<cell 1>", "exec"), scope)
    with pytest.raises(KeyError, match="a"):
        call(Words(), scope["own"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="JSON object must be"):
        call(Words(), scope["library"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"words: expected Sequence\[str\], got Words"):
        call(Words(), str.__add__)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["nodes", "playouts", "movetime_ms", "depth", "mate"])
def test_a_limit_of_a_search_is_checked_before_it(name: str) -> None:
    for wrong in ("10", 1.5, [1]):
        with pytest.raises(TypeError, match=f"^{name}: expected int, got "):
            search.search("startpos", inference.load("uniform"), **{name: wrong})
        with pytest.raises(TypeError, match=f"^{name}: expected int, got "):
            search.Limits(**{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"^{name} is -1, at least 0 is needed$"):
        search.search("startpos", inference.load("uniform"), **{name: -1})
    with pytest.raises(ValueError, match=f"^{name} is -1, at least 0 is needed$"):
        search.Limits(**{name: -1})  # type: ignore[arg-type]


def test_moves_to_search_are_moves() -> None:
    assert search.Limits(searchmoves=[Board().parse_usi("7g7f")]).searchmoves
    with pytest.raises(TypeError, match=r"^searchmoves: expected Move, got str$"):
        search.Limits(searchmoves=["7g7f"])  # type: ignore[list-item]


def test_methods_of_public_classes_name_their_arguments() -> None:
    """Every public class whose methods are written in Python has the decorator."""
    bare = []
    for name, kind in public_callables():
        if not isinstance(kind, type) or hasattr(kind, "forward"):
            continue
        for method, member in vars(kind).items():
            function = getattr(member, "__func__", member)
            if method.startswith("_") or not inspect.isfunction(function):
                continue
            takes = list(inspect.signature(function).parameters.values())
            if any(p.annotation is not p.empty for p in takes) and not _is_named(function):
                bare.append(f"{name}.{method}")
    # An observer's own methods do nothing.
    assert [name for name in bare if "Observer." not in name] == []


def _is_named(function: Any) -> bool:
    return bool(function.__code__.co_filename == names_arguments.__code__.co_filename)


METHODS: dict[str, Callable[[], object]] = {
    "hcp: expected bytes, got list of int": lambda: Board.from_hcp([1] * 32),  # type: ignore[arg-type]
    "square: expected int, got str": lambda: Board().piece_at("7g"),  # type: ignore[arg-type]
    "moves: expected a list of moves, got str": lambda: Board().push_all("7g7f"),
    "moves: expected Iterable[Move | str], got list of int": lambda: Board().push_all([3]),  # type: ignore[list-item]
    "parts: expected Sequence[Samples], got list of str": lambda: records.Samples.concatenate(
        ["x", "y"]  # type: ignore[list-item]
    ),
    "rows: expected indices, a mask or a slice, got int": lambda: records.samples_of([]).take(3),  # type: ignore[arg-type]
    "limits: expected Limits, got str": lambda: AlphaBetaSearcher().ponderhit("x"),  # type: ignore[arg-type]
    "limits: expected Limits, got int": lambda: search.PuctSearcher(
        inference.load("uniform")
    ).ponderhit(3),  # type: ignore[arg-type]
    "nodes: expected int or None, got str": lambda: arena.Conditions(nodes="x"),  # type: ignore[arg-type]
    "main_ms: expected int, got NoneType": lambda: arena.Conditions(main_ms=None),  # type: ignore[arg-type]
    "rows: expected ndarray, got str": lambda: training.Part.whole(records.samples_of([])).only(
        "x"  # type: ignore[arg-type]
    ),
    "positions: expected Board, got str": lambda: list(
        analysis.PositionAnalyser(inference.load("uniform"), analysis.Effort(nodes=1)).analyse(
            [(0, "startpos")]  # type: ignore[list-item]
        )
    ),
    "slot: expected int, got str": lambda: inference.load("uniform").start("x", 1),  # type: ignore[arg-type]
    "go: expected GoCommand, got int": lambda: players.make("material").play(Board(), 3),  # type: ignore[arg-type]
    "positions: expected Iterable[tuple[Key, Board]], got int": lambda: list(
        analysis.PositionAnalyser(inference.load("uniform"), analysis.Effort(nodes=1)).analyse(3)  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("message", METHODS)
def test_a_method_names_the_argument(message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        METHODS[message]()


@pytest.mark.parametrize("wrong", ["x", 2, None])
def test_a_side_is_a_colour(wrong: Any) -> None:
    analysed = analysis.AnalysedGame(records.Game(), [None])
    message = re.escape(f" is {wrong!r}, 0 (Black) or 1 (White) is needed")
    for method in (analysed.side, analysed.agreement, analysed.mean_loss, analysed.game.rating):
        with pytest.raises(ValueError, match=message):
            method(wrong)


def test_game_from_a_string_of_moves() -> None:
    with pytest.raises(TypeError, match="moves: expected a list of moves, got str"):
        records.Game.from_usi("7g7f")


def test_a_network_says_how_many_tensors_it_takes() -> None:
    import torch

    from komadori import nets

    network = nets.build("resnet1x8")
    with pytest.raises(TypeError, match=re.escape("[N, 62, 9, 9], [N, 57, 9, 9], got 1 tensor")):
        network(torch.zeros(1, 62, 9, 9))


def zeros(dtype: str, *shape: int) -> Any:
    return np.zeros(shape, dtype)


HCP = np.frombuffer(Board().hcp(), np.uint8)[None]
OUTPUTS: dict[str, Callable[[], object]] = {
    "encode_labels": lambda: _core.encoding.encode_labels(
        "2187", HCP, zeros("uint16", 1), False, 0, zeros("int32", 1), 1
    ),
    "legal_mask": lambda: _core.encoding.legal_mask("2187", HCP, zeros("int64", 2187), 1),
    "encode_planes": lambda: _core.encoding.encode_planes(
        "pydlshogi", HCP, None, _core.encoding.PlaneType.FLOAT32, [zeros("float32", 104 * 81)], 1
    ),
    "mirror": lambda: _core.encoding.mirror(HCP, None, zeros("int64", 1, 32), None, 1),
    "mix64": lambda: _core.encoding.mix64(zeros("float64", 1)),
    "attend": lambda: _core.attention.attend(
        *[zeros("float32", 1, 1, 1, 1)] * 3, None, zeros("float64", 1, 1, 1, 1),
        zeros("float32", 1, 1, 1),
    ),
    "kpp_quantise": lambda: _core.linear.kpp_quantise(
        zeros("float32", 1), zeros("int32", 1), zeros("int16", 1), zeros("int32", 1), 1
    ),
    "kpp_update": lambda: _core.linear.kpp_update(
        zeros("float64", 1), zeros("float32", 1), zeros("float32", 1), HCP, zeros("float64", 1),
        zeros("bool", 1), rates=[1.0] * 8, epsilon=1e-6, decay=0.8, threads=1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_core_does_not_write_to_a_copy(name: str) -> None:
    """An output array of another type would be converted, and the result lost with the copy."""
    with pytest.raises(TypeError, match="incompatible function arguments"):
        OUTPUTS[name]()
