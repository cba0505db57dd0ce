"""Labellers: compute new policies and values for positions, by a network or a user's function.

Labellers that search are in `search_labellers`.
"""

from __future__ import annotations

import contextlib
import importlib
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from komadori import inference
from komadori._core import encoding as _core
from komadori.encoding import FEATURES, encode_planes, score_from_win_rate
from komadori.encoding.value import DLSHOGI_COEF
from komadori.inference import Evaluator
from komadori.inference.model_file import load_identified
from komadori.inference.protocol import Floats, invalid_outputs, wait_for
from komadori.records import MATE_CP, Samples, score_to_record
from komadori.rules import Board
from komadori.wording import counted

#: Sum of the visits of a position, up to rounding.
TOTAL_VISITS = 10_000

MATE_SCORE = float(MATE_CP)


class LabelError(ValueError):
    """A labeller can't be built, or returned an unusable answer."""


class Stopped(Exception):  # noqa: N818
    """The run was stopped in the middle of a segment."""


@dataclass(frozen=True)
class Labels:
    """New labels of N positions with M candidate moves in all.

    count    uint16 [N]  number of candidates per position
    move16   uint16 [M]  the candidates, position by position
    visits   uint16 [M]  their visits
    score_cp int32 [N]   centipawns, side to move's view
    """

    count: NDArray[np.uint16]
    move16: NDArray[np.uint16]
    visits: NDArray[np.uint16]
    score_cp: NDArray[np.int32]


Advance = Callable[[int], None]


class Labeller(Protocol):
    """Labels positions. Not thread-safe."""

    #: Default number of positions per segment, the most that a killed run loses.
    segment_positions: int

    def card(self) -> dict[str, Any]:
        """Everything that determines the labels, as JSON."""

    def label(self, parts: Iterable[Samples], advance: Advance) -> Generator[Labels, None, None]:
        """Yield the labels of each part, in order; `parts` is consumed lazily.

        The move of each row is among its candidates. `advance` is called with the number of
        positions just finished; it may raise Stopped.
        """

    def close(self) -> None: ...


@dataclass(frozen=True)
class PolicySettings:
    """How a policy becomes candidates.

    temperature: softmax temperature of the network's policy.
    least: moves with a smaller probability are dropped, except the best move and the move played.
    eval_coef: centipawns per unit of the value's logit; 0 for the model's own.
    """

    temperature: float = 1.0
    least: float = 0.005
    eval_coef: float = 0.0

    def __post_init__(self) -> None:
        if not (0.001 <= self.temperature < math.inf and 0 <= self.least <= 1):
            raise LabelError("temperature must be at least 0.001, and least in [0, 1]")
        if not 0 <= self.eval_coef < math.inf:
            raise LabelError("eval_coef must be positive, or 0 for the model's own")


class NetworkLabeller:
    """Labels with a network's raw policy over the legal moves and its value, without search."""

    segment_positions = 100_000

    def __init__(self, model: str, settings: PolicySettings, **options: Any) -> None:
        """`options` are passed to `inference.load`, whose errors are raised."""
        self._settings = settings
        self.evaluator, self._digest = load_identified(
            model, lambda: inference.load(model, **options), model_digest
        )
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

    def label(self, parts: Iterable[Samples], advance: Advance) -> Generator[Labels, None, None]:
        evaluator = self.evaluator
        running: deque[tuple[int, _Part, int, int]] = deque()
        waiting: deque[_Part] = deque()

        def collect() -> None:
            slot, part, begin, end = running.popleft()
            policy, value = wait_for(evaluator, slot, end - begin)
            part.add(begin, end, policy, value)
            advance(end - begin)

        def finished() -> Iterator[Labels]:
            while waiting and waiting[0].is_done:
                yield waiting.popleft().labels(self._coef)

        number = 0
        try:
            # The first batches of a part are encoded while the last of the previous one run.
            for samples in parts:
                part = _Part(samples, evaluator, self._settings)
                waiting.append(part)
                for begin in range(0, len(samples), evaluator.max_batch):
                    if len(running) == evaluator.slots:
                        collect()
                        yield from finished()
                    slot, number = number % evaluator.slots, number + 1
                    end = min(len(samples), begin + evaluator.max_batch)
                    part.encode(begin, end, slot)
                    evaluator.start(slot, end - begin)
                    running.append((slot, part, begin, end))
            while running:
                collect()
            yield from finished()
        finally:
            for slot, *_ in running:
                evaluator.wait(slot)

    def close(self) -> None:
        self.evaluator.close()


class _Part:
    """Samples being evaluated, batch by batch."""

    def __init__(self, samples: Samples, evaluator: Evaluator, settings: PolicySettings) -> None:
        self._samples, self._evaluator, self._settings = samples, evaluator, settings
        self._needs_plies = FEATURES[evaluator.features].needs_plies
        self._values = np.empty(len(samples), np.float32)
        self._found: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._left = len(samples)

    @property
    def is_done(self) -> bool:
        return self._left == 0

    def encode(self, begin: int, end: int, slot: int) -> None:
        samples = self._samples
        inputs = tuple(rows[: end - begin] for rows in self._evaluator.inputs(slot))
        plies = samples.ply[begin:end].astype(np.int32) - 1 if self._needs_plies else None
        encode_planes(
            samples.hcp[begin:end],
            self._evaluator.features,
            dtype="uint8" if inputs[0].dtype == np.uint8 else "float32",
            out=inputs,
            plies=plies,
        )

    def add(self, begin: int, end: int, policy: Floats, value: Floats) -> None:
        """Add the outputs of rows begin to end - 1; calls come in row order."""
        self._values[begin:end] = value
        self._found.append(
            _core.policy_candidates(
                self._evaluator.labels,
                self._samples.hcp[begin:end],
                policy,
                self._samples.move16[begin:end],
                self._settings.temperature,
                self._settings.least,
                TOTAL_VISITS,
            )
        )
        self._left -= end - begin

    def labels(self, coef: float) -> Labels:
        count, move16, visits = (
            np.concatenate(column) for column in zip(*self._found, strict=True)
        )
        if not (((self._values >= 0) & (self._values <= 1)).all() and (count > 0).all()):
            raise invalid_outputs(self._evaluator)
        score = np.rint(score_from_win_rate(self._values.astype(np.float64), coef))
        return Labels(count, move16, visits, score.astype(np.int32))


#: Label of one position: unnormalised weights of its moves by move16, and its score in centipawns.
PositionLabel = tuple[Mapping[int, float], float]


class PositionLabeller:
    """Base class of labellers that label one position at a time."""

    segment_positions = 2_000

    def label(self, parts: Iterable[Samples], advance: Advance) -> Generator[Labels, None, None]:
        for samples in parts:
            yield self._label(samples, advance)

    def _label(self, samples: Samples, advance: Advance) -> Labels:
        n = len(samples)
        scores = np.empty(n, np.int32)
        kept: list[dict[int, int]] = [{}] * n
        done = 0
        with contextlib.closing(self._label_rows(samples)) as labels:
            for row, label in labels:
                kept[row], scores[row] = self._check(samples, row, label)
                done += 1
                advance(1)
        if done != n:
            raise LabelError(f"{done} of {n} positions were labelled")
        return Labels(
            np.array([len(moves) for moves in kept], np.uint16),
            np.array([move for moves in kept for move in moves], np.uint16),
            np.array([v for moves in kept for v in moves.values()], np.uint16),
            scores,
        )

    def _check(
        self, samples: Samples, row: int, label: PositionLabel
    ) -> tuple[dict[int, int], int]:
        """Return the visits of the moves, including the move played, and the clipped score."""
        weights, score = label
        board = Board.from_hcp(samples.hcp[row].tobytes())
        legal = {move.move16 for move in board.legal_moves}
        if not weights or not weights.keys() <= legal or not math.isfinite(score):
            raise LabelError(f"no usable answer in {board.sfen()}")
        total = sum(weights.values())
        if not 0 < total < math.inf or min(weights.values()) < 0:
            raise LabelError(f"the weights of the moves are no distribution in {board.sfen()}")
        kept = {m: max(1, round(TOTAL_VISITS * w / total)) for m, w in weights.items()}
        if played := int(samples.move16[row]):
            kept.setdefault(played, 1)
        return kept, score_to_record(score)

    def _label_rows(self, samples: Samples) -> Generator[tuple[int, PositionLabel], None, None]:
        """Yield (row, label) for every row, in any order."""
        raise NotImplementedError


def boards_of(samples: Samples, first: int = 0, end: int | None = None) -> Iterator[Board]:
    """Yield the positions of the rows, each with the moves since the first row of its game if the
    rows are consecutive plies, so that repetitions are detected.

    A yielded board is valid until the next one: the same object is reused.
    """
    board: Board | None = None
    for row in range(first, len(samples) if end is None else end):
        hcp = samples.hcp[row].tobytes()
        if board is not None and samples.game[row] == samples.game[row - 1]:
            move16 = int(samples.move16[row - 1])
            move = next((m for m in board.legal_moves if m.move16 == move16), None)
            if move is not None:
                board.push(move)
        if board is None or board.hcp() != hcp:
            board = Board.from_hcp(hcp)
        yield board


#: A user's function: maps positions (SFEN) to weights of their moves (USI) and the win probability
#: of the side to move.
Function = Callable[[Sequence[str]], Sequence[tuple[Mapping[str, float], float]]]


class FunctionLabeller(PositionLabeller):
    """Labels with a user's function `MODULE:NAME`, called with up to 256 positions at a time."""

    segment_positions = 20_000
    BATCH = 256

    def __init__(self, name: str, settings: PolicySettings) -> None:
        """Raises LabelError if there is no such function."""
        module, _, attribute = name.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise LabelError(f"{name}: expected MODULE:FUNCTION ({error})") from error
        except Exception as error:
            raise LabelError(f"{module} raised {type(error).__name__}: {error}") from error
        if not callable(found):
            raise LabelError(f"{name} is not callable")
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

    def _label_rows(self, samples: Samples) -> Generator[tuple[int, PositionLabel], None, None]:
        for begin in range(0, len(samples), self.BATCH):
            boards = [Board.from_hcp(h.tobytes()) for h in samples.hcp[begin : begin + self.BATCH]]
            answers = self._answers([board.sfen() for board in boards])
            for row, (board, answer) in enumerate(zip(boards, answers, strict=True), begin):
                weights, win_rate = self._parsed(board, answer)
                most = max(weights.values(), default=0.0)
                least = min(most, self._least * sum(weights.values()))
                kept = {move: weight for move, weight in weights.items() if weight >= least}
                yield row, (kept, float(score_from_win_rate(win_rate, self._coef)))

    def _answers(self, sfens: Sequence[str]) -> Sequence[Any]:
        """Call the function, whose every fault is one of the user's code."""
        try:
            answers = self._function(sfens)
        except Exception as error:
            raise LabelError(f"{self._name} raised {type(error).__name__}: {error}") from error
        if not isinstance(answers, Sequence):
            raise LabelError(f"{self._name} returned {answers!r:.80}, not a list of answers")
        if len(answers) != len(sfens):
            raise LabelError(
                f"{self._name} returned {counted(len(answers), 'answer')} for "
                f"{counted(len(sfens), 'position')}"
            )
        return answers

    def _parsed(self, board: Board, answer: Any) -> tuple[dict[int, float], float]:
        """Return the weights of the moves and the win rate of one answer."""
        where = f"in {board.sfen()}"
        try:
            policy, win_rate = answer
            given = {str(move): float(weight) for move, weight in policy.items()}
            win_rate = float(win_rate)
        except (TypeError, ValueError, AttributeError) as error:
            raise LabelError(
                f"{self._name} returned {answer!r:.80}, not ({{move: weight}}, win rate), {where}"
            ) from error
        if not given:
            raise LabelError(f"{self._name} returned no move {where}")
        if not 0 <= win_rate <= 1:
            raise LabelError(
                f"{self._name} returned a win rate of {win_rate}, not in [0, 1], {where}"
            )
        for move, weight in given.items():
            if not 0 <= weight < math.inf:
                raise LabelError(f"{self._name} returned a weight of {weight} for {move}, {where}")
        try:
            return {board.parse_usi(m).move16: w for m, w in given.items()}, win_rate
        except ValueError as error:  # names the position
            raise LabelError(f"{self._name}: {error}") from error

    def close(self) -> None: ...


def model_coef(model: str) -> float:
    """Return the `eval_coef` of a model's card; dlshogi's coefficient if it has none."""
    path = _model_path(model)
    coefficient = inference.card_of(path).get("eval_coef") if path else None
    return float(coefficient) if coefficient else DLSHOGI_COEF


def model_digest(model: str) -> str:
    """Identify a model: 16 hexadecimal digits of its content's SHA-256, or the name of a fake."""
    path = _model_path(model)
    return model if path is None else inference.digest(path)[:16]


def _model_path(model: str) -> Path | None:
    if model == "default":
        return Path(inference.default_model())
    path = Path(model)
    return path if path.exists() else None
