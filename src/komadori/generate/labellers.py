"""Who gives positions new policies and values: a network, a search, an engine, a function."""

from __future__ import annotations

import hashlib
import importlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from komadori import inference
from komadori._core import encoding as _core
from komadori.encoding import FEATURES, encode_planes, score_from_win_rate
from komadori.encoding.value import DLSHOGI_COEF
from komadori.records import MATE_CP, Samples
from komadori.rules import Board

#: What the visits of a position add up to, but for rounding.
TOTAL_VISITS = 10_000

#: Positions between looks at whether to stop, where each takes a search.
_MATE_CP = float(MATE_CP)


class LabelError(ValueError):
    """A labeller that can't be made, or an answer of its that can't be used."""


class Stopped(Exception):  # noqa: N818
    """The user asked for the end in the middle of a segment."""


@dataclass(frozen=True)
class Labels:
    """New labels of N positions.

    count uint16 [N]: candidates of each; move16 uint16 [M], visits uint16 [M]: those, one row
    after another. score_cp int32 [N]: the side to move's.
    """

    count: NDArray[np.uint16]
    move16: NDArray[np.uint16]
    visits: NDArray[np.uint16]
    score_cp: NDArray[np.int32]


Advance = Callable[[int], None]


class Labeller(Protocol):
    """Labels positions. Used by one thread."""

    #: Positions after which it pays to write a segment: a killed run loses that many at most.
    segment_positions: int

    def card(self) -> dict[str, Any]:
        """What tells its labels from others', as JSON."""

    def label(self, samples: Samples, advance: Advance) -> Labels:
        """Label all rows. The move of each row is among its candidates.

        `advance` is told of positions done, and may raise Stopped.
        """

    def close(self) -> None: ...


@dataclass(frozen=True)
class PolicySettings:
    """How a distribution over moves becomes candidates.

    temperature: of the network's softmax. least: share from which on a move is kept; the best one
    and the one played always are. eval_coef: centipawns per unit of the value's logit, 0 for the
    model's own.
    """

    temperature: float = 1.0
    least: float = 0.005
    eval_coef: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.temperature < math.inf and 0 <= self.least <= 1):
            raise LabelError("the temperature is above 0, the least share in [0, 1]")
        if not 0 <= self.eval_coef < math.inf:
            raise LabelError("eval_coef is positive, or 0 for the model's own")


class NetworkLabeller:
    """A network at one visit: its policy over the legal moves and its value."""

    segment_positions = 100_000

    def __init__(self, model: str, settings: PolicySettings, **options: Any) -> None:
        """`options` go to `inference.load`. Raises what that raises."""
        self._settings = settings
        self.evaluator = inference.load(model, **options)
        self._digest = model_digest(model)
        self._coef = settings.eval_coef or model_coef(model)

    def card(self) -> dict[str, Any]:
        return {
            "kind": "network",
            "model": self._digest,
            "features": self.evaluator.features,
            "labels": self.evaluator.labels,
            "temperature": self._settings.temperature,
            "least": self._settings.least,
            "eval_coef": self._coef,
        }

    def label(self, samples: Samples, advance: Advance) -> Labels:
        evaluator = self.evaluator
        needs_plies = FEATURES[evaluator.features].needs_plies
        values = np.empty(len(samples), np.float32)
        found: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        running: deque[tuple[int, int, int]] = deque()

        def collect() -> None:
            slot, begin, end = running.popleft()
            policy, value = evaluator.wait(slot)
            values[begin:end] = value
            found.append(
                _core.policy_candidates(
                    evaluator.labels,
                    samples.hcp[begin:end],
                    policy,
                    samples.move16[begin:end],
                    self._settings.temperature,
                    self._settings.least,
                    TOTAL_VISITS,
                )
            )
            advance(end - begin)

        try:
            for number, begin in enumerate(range(0, len(samples), evaluator.max_batch)):
                slot = number % evaluator.slots
                if len(running) == evaluator.slots:
                    collect()
                end = min(len(samples), begin + evaluator.max_batch)
                inputs = tuple(rows[: end - begin] for rows in evaluator.inputs(slot))
                plies = samples.ply[begin:end].astype(np.int32) - 1 if needs_plies else None
                encode_planes(
                    samples.hcp[begin:end],
                    evaluator.features,
                    dtype="uint8" if inputs[0].dtype == np.uint8 else "float32",
                    out=inputs,
                    plies=plies,
                )
                evaluator.start(slot, end - begin)
                running.append((slot, begin, end))
            while running:
                collect()
        finally:
            for slot, _, _ in running:
                evaluator.wait(slot)
        count, move16, visits = (np.concatenate(column) for column in zip(*found, strict=True))
        if not (np.isfinite(values).all() and (count > 0).all()):
            raise inference.InferenceError("the network gave outputs that aren't numbers")
        score = np.rint(score_from_win_rate(values.astype(np.float64), self._coef))
        return Labels(count, move16, visits, score.astype(np.int32))

    def close(self) -> None:
        self.evaluator.close()


#: The moves of a position with their shares (any scale), and its score.
Opinion = tuple[Mapping[int, float], float]


class _EachPosition:
    """A labeller that is asked for one position after another."""

    segment_positions = 2_000

    def label(self, samples: Samples, advance: Advance) -> Labels:
        count, scores = np.empty(len(samples), np.uint16), np.empty(len(samples), np.int32)
        moves: list[int] = []
        visits: list[int] = []
        rows = zip(samples.hcp, samples.move16, strict=True)
        for i, ((hcp, played), opinion) in enumerate(
            zip(rows, self._opinions(samples), strict=True)
        ):
            shares, score = opinion
            board = Board.from_hcp(hcp.tobytes())
            legal = {move.move16 for move in board.legal_moves}
            if not shares or not shares.keys() <= legal or not math.isfinite(score):
                raise LabelError(f"no usable answer in {board.sfen()}")
            total = sum(shares.values())
            if not 0 < total < math.inf or min(shares.values()) < 0:
                raise LabelError(f"shares that aren't any in {board.sfen()}")
            kept = {m: max(1, round(TOTAL_VISITS * s / total)) for m, s in shares.items()}
            if played:
                kept.setdefault(int(played), 1)
            count[i] = len(kept)
            moves += kept.keys()
            visits += kept.values()
            scores[i] = round(max(-_MATE_CP, min(_MATE_CP, score)))
            advance(1)
        return Labels(count, np.array(moves, np.uint16), np.array(visits, np.uint16), scores)

    def _opinions(self, samples: Samples) -> Iterator[Opinion]:
        raise NotImplementedError


class SearchLabeller(_EachPosition):
    """The tree search with a network: visits and the value of the root after so many playouts."""

    def __init__(self, model: str, playouts: int, settings: PolicySettings, **options: Any) -> None:
        from komadori.search import PuctOptions, PuctSearcher

        if playouts < 1:
            raise LabelError("playouts are at least 1")
        self._playouts = playouts
        self._settings = settings
        self._coef = settings.eval_coef or model_coef(model)
        self._digest = model_digest(model)
        self._evaluator = inference.load(model, **options)
        self._searcher = PuctSearcher(self._evaluator, PuctOptions(multipv=593, memory_mb=256))

    def card(self) -> dict[str, Any]:
        return {
            "kind": "search",
            "model": self._digest,
            "playouts": self._playouts,
            "eval_coef": self._coef,
        }

    def _opinions(self, samples: Samples) -> Iterator[Opinion]:
        from komadori.search import Limits

        for hcp in samples.hcp:
            self._searcher.new_game()
            self._searcher.set_position(Board.from_hcp(hcp.tobytes()))
            result = self._searcher.search(Limits(nodes=self._playouts))
            infos = [info for info in result.infos if info.pv]
            shares = {info.pv[0].move16: float(info.visits) for info in infos if info.visits}
            if result.best_move is not None and not shares:
                shares = {result.best_move.move16: 1.0}
            score = _MATE_CP
            if infos and infos[0].mate_plies is None:
                score = float(score_from_win_rate(infos[0].win_rate, self._coef))
            elif infos and infos[0].mate_plies is not None and infos[0].mate_plies < 0:
                score = -_MATE_CP
            yield shares, score

    def close(self) -> None:
        self._searcher.close()
        self._evaluator.close()


@dataclass(frozen=True)
class EngineSettings:
    """What an engine is asked for. score_temperature: centipawns by which a move's share falls to
    1 / e; of its `multipv` best moves."""

    nodes: int | None = None
    depth: int | None = None
    multipv: int = 8
    score_temperature: float = 100.0

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.depth is None):
            raise LabelError("an engine needs nodes or a depth, one of them")
        if not 0 < self.score_temperature < math.inf or self.multipv < 1:
            raise LabelError("multipv is at least 1, the temperature of scores above 0")


class EngineLabeller(_EachPosition):
    """An alpha-beta engine, built in (`alphabeta`) or over USI (`usi:COMMAND`): a softmax over the
    scores of its best moves, and the best score."""

    def __init__(self, spec: str, settings: EngineSettings) -> None:
        from komadori.players import PlayerSpec, fingerprint

        parsed = PlayerSpec.parse(spec)
        if parsed.kind == "alphabeta":
            self._lines: _Lines = _BuiltinLines(parsed, settings)
        elif parsed.kind == "usi":
            self._lines = _UsiLines(parsed, settings)
        else:
            raise LabelError(f"{spec}: expected alphabeta or usi:COMMAND")
        self._settings = settings
        self._card = {"kind": "engine", "player": spec, "files": sorted(fingerprint(spec).values())}

    def card(self) -> dict[str, Any]:
        return {**self._card, **vars(self._settings)}

    def _opinions(self, samples: Samples) -> Iterator[Opinion]:
        for hcp in samples.hcp:
            board = Board.from_hcp(hcp.tobytes())
            scored = self._lines(board)
            if not scored:
                raise LabelError(f"the engine gave no move with a score in {board.sfen()}")
            best = max(scored.values())
            width = self._settings.score_temperature
            yield {m: math.exp((s - best) / width) for m, s in scored.items()}, best

    def close(self) -> None:
        self._lines.close()


class _Lines(Protocol):
    """Moves (move16) with scores in centipawns."""

    def __call__(self, board: Board) -> dict[int, float]: ...

    def close(self) -> None: ...


class _BuiltinLines:
    def __init__(self, spec: Any, settings: EngineSettings) -> None:
        from komadori.search import Limits
        from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

        own = dict(spec.own_options)
        evaluation = own.pop("Eval", own.pop("eval", "nnue"))
        weights = own.pop("EvalFile", own.pop("weights", None))
        if own:
            raise LabelError(f"alphabeta: only Eval and EvalFile are known here, not {[*own]}")
        options = AlphaBetaOptions(multipv=settings.multipv, hash_mb=64)
        self._searcher = AlphaBetaSearcher(evaluation, weights, options)
        self._limits = Limits(nodes=settings.nodes, depth=settings.depth)

    def __call__(self, board: Board) -> dict[int, float]:
        self._searcher.set_position(board)
        found: dict[int, float] = {}
        for info in self._searcher.search(self._limits).infos:
            if info.pv:
                found[info.pv[0].move16] = _centipawns(info.score_cp, info.mate_plies)
        return found

    def close(self) -> None:
        self._searcher.close()


class _UsiLines:
    def __init__(self, spec: Any, settings: EngineSettings) -> None:
        from komadori.usi.client import UsiEngine
        from komadori.usi.protocol import GoCommand

        self._engine = UsiEngine(spec.argument, spec.own_options)
        name = next(
            (n for n in ("MultiPV", "USI_MultiPV") if n in self._engine.declared), "MultiPV"
        )
        if settings.multipv > 1:
            try:
                self._engine.set_known_options({name: str(settings.multipv)})
            except BaseException:
                self._engine.close()
                raise
        self._go = GoCommand(nodes=settings.nodes, depth=settings.depth)

    def __call__(self, board: Board) -> dict[int, float]:
        thought = self._engine.think(board.sfen(), (), self._go, 600.0)
        lines: dict[int, tuple[int, float]] = {}
        for info in thought.infos:
            if info.score is None or not info.pv:
                continue
            try:
                move = board.parse_usi(info.pv[0])
            except ValueError:
                continue
            mate = info.score.mate_plies
            if mate is None and info.score.mate_sign:
                mate = info.score.mate_sign
            lines[info.multipv or 1] = (move.move16, _centipawns(info.score.cp, mate))
        return dict(lines.values())

    def close(self) -> None:
        self._engine.close()


def _centipawns(score_cp: int | None, mate_plies: int | None) -> float:
    if mate_plies is not None:
        return _MATE_CP if mate_plies > 0 else -_MATE_CP
    return float(score_cp or 0)


#: A function of the user's: positions (SFEN) to moves (USI) with shares, and the side to move's
#: win probability.
Function = Callable[[Sequence[str]], Sequence[tuple[Mapping[str, float], float]]]


class FunctionLabeller(_EachPosition):
    """A function `MODULE:NAME` of the user's, called with some positions at a time."""

    segment_positions = 20_000
    BATCH = 256

    def __init__(self, name: str, settings: PolicySettings) -> None:
        """Raises LabelError where there is no such function."""
        module, _, attribute = name.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise LabelError(f"{name}: expected MODULE:FUNCTION ({error})") from error
        if not callable(found):
            raise LabelError(f"{name} can't be called")
        self._function: Function = found
        self._name = name
        self._coef = settings.eval_coef or DLSHOGI_COEF
        self._least = settings.least

    def card(self) -> dict[str, Any]:
        return {
            "kind": "function",
            "function": self._name,
            "least": self._least,
            "eval_coef": self._coef,
        }

    def _opinions(self, samples: Samples) -> Iterator[Opinion]:
        for begin in range(0, len(samples), self.BATCH):
            boards = [Board.from_hcp(h.tobytes()) for h in samples.hcp[begin : begin + self.BATCH]]
            answers = self._function([board.sfen() for board in boards])
            if len(answers) != len(boards):
                raise LabelError(
                    f"{self._name} gave {len(answers)} answers to {len(boards)} positions"
                )
            for board, (policy, win_rate) in zip(boards, answers, strict=True):
                if not 0 <= win_rate <= 1:
                    raise LabelError(f"{self._name} gave a win rate of {win_rate}")
                try:
                    shares = {board.parse_usi(m).move16: float(s) for m, s in policy.items()}
                except ValueError as error:
                    raise LabelError(f"{self._name}: {error} in {board.sfen()}") from error
                most = max(shares.values(), default=0.0)
                least = min(most, self._least * sum(shares.values()))
                kept = {move: share for move, share in shares.items() if share >= least}
                yield kept, float(score_from_win_rate(win_rate, self._coef))

    def close(self) -> None: ...


def model_coef(model: str) -> float:
    """The coefficient of a model's card, dlshogi's where it has none."""
    path = _model_path(model)
    coefficient = inference.card_of(path).get("eval_coef") if path else None
    return float(coefficient) if coefficient else DLSHOGI_COEF


def model_digest(model: str) -> str:
    """What tells a model from others: its content, or a fake's name."""
    path = _model_path(model)
    if path is None:
        return model
    digest = hashlib.sha256()
    files = sorted(path.glob("*")) if path.is_dir() else [path]
    for file in files:
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _model_path(model: str) -> Path | None:
    if model == "default":
        return Path(inference.default_model())
    path = Path(model)
    return path if path.exists() else None
