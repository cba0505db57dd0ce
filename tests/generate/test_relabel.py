"""Relabelling: each labeller, every kind of source, resumed runs, training."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from komadori import inference, records
from komadori.cli._group import group
from komadori.encoding import encode_boards, move_probabilities, score_from_win_rate
from komadori.generate.labellers import (
    LabelError,
    Labels,
    NetworkLabeller,
    PolicySettings,
    boards_of,
    model_coef,
)
from komadori.generate.relabel import LabelFolder, relabel, to_hcpe3
from komadori.generate.search_labellers import SearchLabeller
from komadori.generate.segments import read_chunks
from komadori.inference.fakes import FixedEvaluator
from komadori.records import End, Game, GameReader, Winner, load_sample_moves, read_games
from komadori.rules import Board, Repetition
from komadori.training.config import ConfigError, LossConfig
from komadori.training.visits import load_visits

MODEL = "random:3"


def some_games(count: int, plies: int = 30) -> list[Game]:
    games = []
    for number in range(count):
        board = Board()
        chance = np.random.default_rng(number)
        for _ in range(plies):
            legal = list(board.legal_moves)
            board.push(legal[chance.integers(len(legal))])
        winner = (Winner.BLACK, Winner.WHITE, Winner.DRAW)[number % 3]
        end = (End.RESIGN, End.DECLARATION, End.SENNICHITE)[number % 3]
        moves = [move.usi() for move in board.moves]
        games.append(Game.from_usi(moves, winner=winner, end=end))
    return games


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "games.hcpe3"
    records.write_games(path, some_games(7))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["generate", "relabel", *map(str, arguments)])


def labelled(folder: Path) -> list[Game]:
    found: list[Game] = []
    for path in sorted(folder.glob("*.hcpe3.xz")):
        reader = GameReader(path)
        found += list(reader)
        assert not reader.skipped
    return found


def test_games_keep_moves_and_results_and_get_the_networks_opinion(
    source: Path, tmp_path: Path
) -> None:
    result = run(source, "--by", MODEL, "-o", tmp_path / "out", "--least", 0.01)
    assert result.exit_code == 0, result.output
    assert "210 positions of 7 games" in result.output
    before, after = read_games(source), labelled(tmp_path / "out")
    assert len(after) == 7
    evaluator = inference.load(MODEL)
    for old, new in zip(before, after, strict=True):
        assert new.usi_moves() == old.usi_moves()
        assert (new.winner, new.end) == (old.winner, old.end)
        assert new.candidates is not None
        boards = [board.copy() for board, _ in old.positions()]
        policy, value = inference.evaluate(evaluator, *encode_boards(boards, "dlshogi"))
        expected = np.rint(score_from_win_rate(value.astype(float), model_coef(MODEL)))
        assert np.array_equal(new.scores_cp, expected)
        for ply in (0, 11, 29):
            probs = move_probabilities(boards[ply], policy[ply], "2187")
            legal = [move.usi() for move in boards[ply].legal_moves]
            by_move = dict(zip(legal, probs, strict=True))
            kept = dict(new.candidates.of_ply(ply))
            played = old.usi_moves()[ply]
            assert kept.keys() == {m for m in legal if by_move[m] >= 0.01 or m == played} | {
                max(by_move, key=by_move.__getitem__)
            }
            for move, visits in kept.items():
                assert visits == max(1, round(float(by_move[move]) * 10_000))


@pytest.mark.parametrize("suffix", ["hcpe", "psv", "csa", "kif"])
def test_every_kind_of_file_is_a_source(suffix: str, tmp_path: Path) -> None:
    games = some_games(3)
    path = tmp_path / f"games.{suffix}"
    if suffix in ("csa", "kif"):
        for number, game in enumerate(games if suffix == "csa" else games[:1]):
            records.write_games(path.with_stem(f"games{number}"), [game])
    else:
        with records.SampleWriter(path) as writer:
            for game in games:
                writer.write_game(game)
    sources = sorted(tmp_path.glob(f"*.{suffix}"))
    result = run(*sources, "--by", MODEL, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    after = labelled(tmp_path / "out")
    count = 1 if suffix == "kif" else 3
    assert [game.usi_moves() for game in after] == [game.usi_moves() for game in games[:count]]
    assert [game.winner for game in after] == [game.winner for game in games[:count]]


def test_bytes_are_those_of_the_writer_of_games() -> None:
    games = some_games(4, 9)
    samples = records.samples_of(games)
    ones = np.ones(len(samples), np.uint16)
    scores = np.zeros(len(samples), np.int32)
    data = to_hcpe3(samples, Labels(ones, samples.move16, ones, scores))
    from komadori.records.formats import FORMATS

    write = FORMATS["hcpe3"].write
    assert write is not None
    assert data == b"".join(write(game, "utf-8") for game in games)


def test_a_run_resumes_after_its_last_segment(source: Path, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert run(source, "--by", MODEL, "-o", whole, "--segment", 60).exit_code == 0
    assert len(list(whole.glob("*.hcpe3.xz"))) == 4
    labeller = NetworkLabeller(MODEL, PolicySettings())
    calls: list[int] = []
    card = {"kind": "test"}
    with LabelFolder(cut, card) as folder:
        found = relabel(
            [source],
            folder,
            labeller,
            segment_positions=60,
            on_progress=lambda p: calls.append(p.positions),
            stop=lambda: calls[-1] > 100,
        )
    assert found is None
    assert len(list(cut.glob("*.json"))) == 2  # settings and the first segment
    with LabelFolder(cut, card) as folder:
        found = relabel([source], folder, labeller, segment_positions=60)
    assert found is not None
    assert found.positions == 210
    for path in whole.glob("0*"):
        assert (cut / path.name).read_bytes() == path.read_bytes()


def test_a_segment_that_changed_is_named_and_made_again(source: Path, tmp_path: Path) -> None:
    options = ("--by", MODEL, "-o", tmp_path / "out", "--segment", 60)
    assert run(source, *options).exit_code == 0
    path = tmp_path / "out" / "000002.hcpe3.xz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    done = run(source, *options)
    assert done.exit_code == 1
    assert "000002.hcpe3.xz: was cut or replaced" in done.output
    assert "restore it, or delete 000002.json to make it again" in " ".join(done.output.split())
    path.with_name("000002.json").unlink()
    assert run(source, *options).exit_code == 0
    assert path.read_bytes() == whole
    counts = json.loads(path.with_name("000001.json").read_text())
    del counts["files"]  # as in older folders
    path.with_name("000001.json").write_text(json.dumps(counts))
    assert run(source, *options).exit_code == 0


@pytest.mark.parametrize("value", [1.5, -0.5, np.nan])
def test_invalid_network_outputs_are_an_error(value: float, source: Path, tmp_path: Path) -> None:
    labeller = NetworkLabeller(MODEL, PolicySettings())
    labeller.evaluator = FixedEvaluator(default_value=value)
    with (
        LabelFolder(tmp_path / "out", {"kind": "test"}) as folder,
        pytest.raises(inference.InferenceError, match="aren't between 0 and 1"),
    ):
        relabel([source], folder, labeller)


def test_other_settings_in_the_same_folder_are_refused(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(source, "--by", MODEL, "-o", out).exit_code == 0
    again = run(source, "--by", MODEL, "-o", out)
    assert again.exit_code == 0
    assert "210 positions" in again.output
    other = run(source, "--by", "random:4", "-o", out)
    assert "labeller.model was 'random:3', is 'random:4'" in other.output
    assert other.exit_code == 1


def test_the_search_gives_its_visits(source: Path, tmp_path: Path) -> None:
    result = run(source, "--by", MODEL, "--playouts", 20, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for game in labelled(tmp_path / "out"):
        assert game.candidates is not None
        for ply, move in enumerate(game.usi_moves()):
            kept = dict(game.candidates.of_ply(ply))
            assert move in kept
            searched = [visits for visits in kept.values() if visits > 1]
            assert sum(searched) == pytest.approx(10_000, abs=20)
            assert len(searched) <= 20


def test_an_engine_gives_the_softmax_of_its_scores(source: Path, tmp_path: Path) -> None:
    options = ("--depth", 2, "--multipv", 3, "--score-temperature", 50)
    result = run(source, "--by", "alphabeta?Eval=material", *options, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for game in labelled(tmp_path / "out"):
        assert game.candidates is not None
        assert set(game.candidates.count.tolist()) <= {1, 2, 3, 4}
    without = run(source, "--by", "alphabeta", "-o", tmp_path / "x")
    assert "either nodes or depth" in without.output


USI = """
import sys
for line in sys.stdin:
    words = line.split()
    if words == ["usi"]:
        print("option name MultiPV type spin default 1 min 1 max 9\\nusiok", flush=True)
    elif words == ["isready"]: print("readyok", flush=True)
    elif words[:1] == ["go"]:
        print("info multipv 1 score cp 200 pv 7g7f 3c3d\\ninfo multipv 2 score cp 100 pv 2g2f")
        print("bestmove 7g7f", flush=True)
    elif words == ["quit"]: break
"""


def test_a_usi_engine_labels(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(USI)
    path = tmp_path / "g.hcpe3"
    records.write_games(path, [Game.from_usi(["6i7h"], winner=Winner.BLACK)])
    command = f"usi:{sys.executable} {engine}"
    result = run(path, "--by", command, "--nodes", 100, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (game,) = labelled(tmp_path / "out")
    assert game.candidates is not None
    assert game.candidates.of_ply(0) == [("7g7f", 7311), ("2g2f", 2689), ("6i7h", 1)]
    assert game.scores_cp.tolist() == [200]


def test_a_search_cut_in_a_depth_keeps_the_last_exact_score_of_its_best_move(
    tmp_path: Path,
) -> None:
    cut = (
        "info depth 4 multipv 1 score cp 50 pv 2g2f",
        "info depth 4 multipv 2 score cp 40 pv 7g7f",
        "info depth 5 multipv 1 score cp 200 pv 7g7f",
        "info depth 5 multipv 1 score cp 900 lowerbound pv 7g7f",
    )
    engine = tmp_path / "engine.py"
    search = (
        'print("info multipv 1 score cp 200 pv 7g7f 3c3d\\ninfo multipv 2 score cp 100 pv 2g2f")'
    )
    assert search in USI
    engine.write_text(USI.replace(search, f"print(*{cut}, sep=chr(10))"))
    path = tmp_path / "g.hcpe3"
    records.write_games(path, [Game.from_usi(["7g7f"], winner=Winner.BLACK)])
    command = f"usi:{sys.executable} {engine}"
    result = run(path, "--by", command, "--nodes", 100, "--multipv", 2, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (game,) = labelled(tmp_path / "out")
    assert game.candidates is not None
    assert game.candidates.of_ply(0) == [("7g7f", 10000)]
    assert game.scores_cp.tolist() == [200]


ODD = """
import os, sys
log, flag, position = sys.argv[1], sys.argv[2], ""
for line in sys.stdin:
    words = line.split()
    if words == ["usi"]: print("usiok", flush=True)
    elif words == ["isready"]: print("readyok", flush=True)
    elif words[:1] == ["position"]:
        position = line
        with open(log, "a") as file: file.write(line)
    elif words[:1] == ["go"]:
        if "2g2f" in position and not os.path.exists(flag):
            open(flag, "w").close()
            sys.exit(3)
        if "moves" not in position: print("info score cp 50 pv 7g7f")
        print("bestmove " + ("resign" if "moves" in position else "7g7f"), flush=True)
    elif words == ["quit"]: break
"""


def test_an_engine_knows_the_game_may_crash_and_may_resign(tmp_path: Path) -> None:
    engine, log = tmp_path / "engine.py", tmp_path / "log"
    engine.write_text(ODD)
    path = tmp_path / "g.hcpe3"
    moves = ["7g7f", "3c3d", "2g2f", "8c8d"]
    records.write_games(path, [Game.from_usi(moves, winner=Winner.BLACK)])
    command = f"usi:{sys.executable} {engine} {log} {tmp_path / 'flag'}"
    options = ("--nodes", 9, "--multipv", 1, "--threads", 2)
    result = run(path, "--by", command, *options, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "flag").exists()  # it has crashed once
    assert "position startpos moves 7g7f 3c3d 2g2f\n" in log.read_text()
    (game,) = labelled(tmp_path / "out")
    assert game.scores_cp.tolist() == [50, -30000, -30000, -30000]
    assert game.candidates is not None
    assert [dict(game.candidates.of_ply(i)) for i in (0, 3)] == [{"7g7f": 10000}, {"8c8d": 10000}]
    several = run(path, "--by", command, "--nodes", 9, "-o", tmp_path / "several")
    assert several.exit_code == 1
    assert "has no option MultiPV: multipv must be 1" in several.output
    engine.write_text(ODD.replace("not os.path.exists(flag)", "True"))
    failed = run(path, "--by", command, *options, "-o", tmp_path / "again")
    assert failed.exit_code == 1
    assert "ended" in failed.output or "status 3" in failed.output


def test_a_win_declared_against_the_rules_is_no_label(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(ODD.replace('"resign"', '"win"').replace("sys.exit(3)", "pass"))
    path = tmp_path / "g.hcpe3"
    records.write_games(path, [Game.from_usi(["7g7f", "3c3d"], winner=Winner.BLACK)])
    command = f"usi:{sys.executable} {engine} {tmp_path / 'log'} {tmp_path / 'flag'}"
    failed = run(path, "--by", command, "--nodes", 9, "--multipv", 1, "-o", tmp_path / "out")
    assert failed.exit_code == 1
    assert "declared a win against the rules" in failed.output


def test_what_engines_find_does_not_depend_on_their_number(source: Path, tmp_path: Path) -> None:
    options = ("--by", "alphabeta?Eval=material", "--nodes", 300, "--multipv", 3)
    for count in (1, 3):
        out = tmp_path / str(count)
        assert run(source, *options, "--threads", count, "-o", out).exit_code == 0
    one, three = (
        [(g.scores_cp.tolist(), g.candidates.visits.tolist()) for g in labelled(tmp_path / n)]
        for n in ("1", "3")
    )
    assert one == three


def test_boards_know_the_moves_before_them() -> None:
    moves = 3 * ["2h3h", "8b7b", "3h2h", "7b8b"]
    samples = records.samples_of([Game.from_usi(moves, winner=Winner.DRAW)])
    boards = [board.copy() for board in boards_of(samples)]
    assert [len(board.moves) for board in boards] == list(range(12))
    assert boards[-1].repetition(3) != Repetition.NONE
    some = samples.take(np.array([0, 1, 4, 5]))  # plies are missing between the second and third
    lengths = [len(board.moves) for board in boards_of(some)]
    assert lengths[0] == 0
    assert [board.hcp() for board in boards_of(some)] == [row.tobytes() for row in some.hcp]


def test_a_search_that_is_stopped_resumes(source: Path, tmp_path: Path) -> None:
    labeller = SearchLabeller(MODEL, 8, PolicySettings())
    seen: list[int] = []
    with LabelFolder(tmp_path / "out", {"kind": "test"}) as folder:
        stopped = relabel(
            [source],
            folder,
            labeller,
            segment_positions=90,
            on_progress=lambda p: seen.append(p.positions),
            stop=lambda: seen[-1] >= 130,
        )
        assert stopped is None
        found = relabel([source], folder, labeller, segment_positions=90)
        seen.clear()
        again = relabel(
            [source],
            folder,
            labeller,
            segment_positions=90,
            on_progress=lambda p: seen.append(p.positions),
            stop=lambda: bool(seen),
        )
        assert again is None  # among segments that are known
        assert len(seen) == 1
    assert found is not None
    assert found.positions == 210
    assert sum(len(game) for game in labelled(tmp_path / "out")) == 210


def opinion(sfens: Sequence[str]) -> list[tuple[Mapping[str, float], float]]:
    """An example of a user-defined labeller."""
    answers: list[tuple[Mapping[str, float], float]] = []
    for sfen in sfens:
        moves = [move.usi() for move in Board(sfen).legal_moves]
        answers.append(({moves[0]: 3.0, moves[-1]: 1.0}, 0.75))
    return answers


def nonsense(sfens: Sequence[str]) -> list[tuple[Mapping[str, float], float]]:
    return [({"1a1b": 1.0}, 0.5) for _ in sfens]


def test_a_function_labels(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    name = f"python:{Path(__file__).stem}"
    result = run(source, "--by", f"{name}:opinion", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    game = labelled(tmp_path / "out")[0]
    assert game.candidates is not None
    assert sorted(v for _, v in game.candidates.of_ply(0))[-2:] == [2500, 7500]
    assert set(game.scores_cp.tolist()) == {round(756.0864962951762 * np.log(3))}
    for function, message in (("nonsense", "1a1b"), ("missing", "MODULE:FUNCTION")):
        failed = run(source, "--by", f"{name}:{function}", "-o", tmp_path / function)
        assert failed.exit_code == 1
        assert message in failed.output
    with pytest.raises(LabelError):
        PolicySettings(temperature=0)


def test_a_function_of_the_working_directory_labels(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels_of_mine.py").write_text("def one(sfens):\n    return [None]\n")
    failed = run(source, "--by", "python:labels_of_mine:one", "-o", tmp_path / "out")
    assert "Error: labels_of_mine:one returned 1 answer for " in failed.output


def silent(sfens: Sequence[str]) -> object:
    return [({}, 0.5)] * len(sfens)


@pytest.mark.parametrize(
    ("text", "message"),
    [("def one(:\n", "SyntaxError: invalid syntax"), ("1 / 0\n", "ZeroDivisionError: division by")],
)
def test_a_module_that_cant_be_imported_is_no_bug(
    text: str, message: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_labels", raising=False)
    (tmp_path / "broken_labels.py").write_text(text)
    failed = run(source, "--by", "python:broken_labels:one", "-o", tmp_path / "out")
    assert f"Error: broken_labels raised {message}" in failed.output
    assert "bug in komadori" not in failed.output


def number(sfens: Sequence[str]) -> object:
    return 3


def numbers(sfens: Sequence[str]) -> object:
    return [3] * len(sfens)


def words(sfens: Sequence[str]) -> object:
    return [({"7g7f": "much"}, 0.5)] * len(sfens)


def no_number(sfens: Sequence[str]) -> object:
    return [({"7g7f": 1.0, "2g2f": math.nan}, 0.5)] * len(sfens)


def below_zero(sfens: Sequence[str]) -> object:
    return [({"7g7f": 1.0, "2g2f": -1.0}, 0.5)] * len(sfens)


def broken(sfens: Sequence[str]) -> object:
    raise RuntimeError("out of luck")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("silent", "returned no move in lnsgkgsnl/"),
        ("number", "returned 3, not a list of answers"),
        ("numbers", "returned 3, not ({move: weight}, win rate), in lnsgkgsnl/"),
        (
            "words",
            "returned ({'7g7f': 'much'}, 0.5), not ({move: weight}, win rate), in",
        ),
        ("no_number", "returned a weight of nan for 2g2f, in lnsgkgsnl/"),
        ("below_zero", "returned a weight of -1.0 for 2g2f, in lnsgkgsnl/"),
        ("broken", "raised RuntimeError: out of luck"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_with_its_name(
    function: str,
    message: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    name = f"{Path(__file__).stem}:{function}"
    failed = run(source, "--by", f"python:{name}", "-o", tmp_path / "out")
    assert failed.exit_code == 1
    assert f"Error: {name} {message}" in failed.output
    assert "bug in komadori" not in failed.output


@pytest.mark.parametrize(
    ("by", "options", "message"),
    [
        (MODEL, "--nodes 5", "--nodes is for engines"),
        (MODEL, "--multipv 8", "--multipv is for engines"),
        ("alphabeta", "--nodes 5 --playouts 3", "--playouts is for networks"),
        ("alphabeta", "--playouts 3", "--playouts is for networks"),
        ("alphabeta", "--nodes 5 --least 0.1", "--least is for networks and functions"),
        ("python:math:sqrt", "--temperature 2", "--temperature is for networks"),
        ("alphabeta", "", "an engine needs either nodes or depth"),
        (MODEL, "--temperature 0", "temperature must be at least 0.001"),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    by: str, options: str, message: str, source: Path, tmp_path: Path
) -> None:
    refused = run(source, "--by", by, "-o", tmp_path / "out", *options.split())
    assert refused.exit_code == 2
    assert message in refused.output
    assert not (tmp_path / "out").exists()


def test_an_unknown_labeller_is_named_with_the_choices(source: Path, tmp_path: Path) -> None:
    failed = run(source, "--by", "material", "-o", tmp_path / "out")
    assert failed.exit_code == 2
    assert "material: no such model; --by also takes default, alphabeta" in failed.output
    assert not (tmp_path / "out").exists()


def test_games_that_cannot_be_labelled_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "g.csa"
    good, other = some_games(1, 5)[0], some_games(2, 5)[1]
    other.winner, other.end = Winner.UNKNOWN, End.INTERRUPTED
    records.write_games(path, [good, other])
    result = run(path, "--by", MODEL, "-o", tmp_path / "out")
    assert "5 positions of 1 game; games left out: 1" in result.output
    assert len(list(read_chunks([path]))) >= 1


@pytest.mark.parametrize("changed", [0, 1])
def test_sources_that_change_meanwhile_are_an_error(tmp_path: Path, changed: int) -> None:
    paths = [tmp_path / "a.csa", tmp_path / "b.csa"]
    for path in paths:
        records.write_games(path, some_games(300, 3))
    chunks = read_chunks(paths)
    next(chunks)
    paths[changed].write_bytes(paths[changed].read_bytes())
    with pytest.raises(records.RecordError, match=rf"{'ab'[changed]}\.csa: changed while it was"):
        list(chunks)


def test_the_shipped_network_knows_the_first_moves(tmp_path: Path) -> None:
    path = tmp_path / "g.hcpe3"
    records.write_games(path, some_games(1, 8))
    result = run(path, "--by", "default", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (game,) = labelled(tmp_path / "out")
    assert game.candidates is not None
    first = dict(game.candidates.of_ply(0))
    assert {"7g7f", "2g2f"} <= set(sorted(first, key=lambda move: -first[move])[:3])
    assert abs(int(game.scores_cp[0])) < 300


def test_training_mixes_the_moves_made_with_the_candidates(source: Path, tmp_path: Path) -> None:
    assert run(source, "--by", MODEL, "-o", tmp_path / "out").exit_code == 0
    files = sorted((tmp_path / "out").glob("*.hcpe3.xz"))
    _, moves = load_sample_moves(files)
    games = labelled(tmp_path / "out")
    assert moves.played.tolist() == [int(m) for game in games for m in game.moves]
    for cache in (None, tmp_path / "cache"):
        part = load_visits(files, cache)
        assert part.target_probs is not None
        rows = np.arange(len(part))
        count, move16, soft = part.target_probs.rows(rows)
        _, _, mixed = part.target_probs.with_hard(0.25).rows(rows)
        owner = np.repeat(rows, count)
        hard = move16 == moves.played[owner]
        assert np.allclose(mixed, 0.75 * soft + 0.25 * hard, atol=1e-6)
        assert np.allclose(np.bincount(owner, mixed), 1, atol=1e-5)


def test_hard_fraction_is_checked() -> None:
    with pytest.raises(ValueError, match="policy_target = visits"):
        LossConfig(hard_fraction=0.5)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        LossConfig(hard_fraction=1.5, policy_target="visits")
    assert issubclass(ConfigError, ValueError)


def test_a_file_without_a_usable_game_is_an_error(tmp_path: Path) -> None:
    cut = tmp_path / "cut.hcpe3.xz"
    cut.write_bytes(records.sample_path().read_bytes()[:200])
    result = run(cut, "--by", "uniform", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith("Error: no usable game in the files: each ")


def test_positions_without_moves_are_left_out_with_the_reason(tmp_path: Path) -> None:
    samples = records.load_samples([records.sample_path()])
    samples.move16[:] = 0
    with records.SampleWriter(tmp_path / "plain.hcpe") as writer:
        writer.write(samples)
    result = run(tmp_path / "plain.hcpe", "--by", "uniform", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "without a result or a move for each position" in result.output


@pytest.mark.parametrize("command", [("relabel", "--by", "random:1"), ("nearby",)])
def test_sources_are_files_folders_and_patterns(
    command: tuple[str, ...], source: Path, tmp_path: Path
) -> None:
    outputs = []
    folder = tmp_path / "games"
    folder.mkdir()
    source.rename(folder / source.name)
    for number, sources in enumerate(
        ([folder / source.name], [folder], [folder / "*.hcpe3"], [folder, folder / "g*"])
    ):
        out = tmp_path / str(number)
        result = CliRunner().invoke(group, ["generate", *command, *map(str, sources), "-o", out])
        assert result.exit_code == 0, result.output
        outputs.append([path.read_bytes() for path in sorted(out.glob("*.xz"))])
    assert outputs[0]
    assert outputs.count(outputs[0]) == len(outputs)
    out = str(tmp_path / "none")
    nothing = CliRunner().invoke(group, ["generate", *command, "nosuch*.hcpe", "-o", out])
    assert nothing.exit_code == 2
    assert "nosuch*.hcpe: no such file" in nothing.output
    assert not Path(out).exists()


@pytest.mark.parametrize("name", ["000000.hcpe3.xz", "000003.json"])
def test_a_folder_with_segments_of_something_else_is_refused(
    name: str, source: Path, tmp_path: Path
) -> None:
    """Above all one of the sources: its first segment would replace it."""
    folder = tmp_path / "games"
    folder.mkdir()
    foreign = folder / name
    if foreign.suffix == ".xz":
        records.write_games(foreign, some_games(3))
    else:
        foreign.write_text("{}")
    before = foreign.read_bytes()
    reading = folder if foreign.suffix == ".xz" else source
    expected = f"Error: {foreign} is not of a run in this folder; choose another folder\n"
    for words in (
        ["relabel", reading, "--by", MODEL],
        ["nearby", reading, "--search", "nodes=5"],
        ["teacher", "--games", 1, "--nodes", 5],
        ["selfplay", "--model", MODEL, "--games", 2, "--playouts", 2],
    ):
        refused = CliRunner().invoke(group, ["generate", *map(str, words), "-o", str(folder)])
        assert (refused.exit_code, refused.output.endswith(expected)) == (1, True), refused.output
        assert foreign.read_bytes() == before
        assert not (folder / "settings.json").exists()
