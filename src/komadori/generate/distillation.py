"""Distillation of an NNUE network: learns another one's evaluation where searches ask for it.

Each chunk:

    draw source positions, play random moves, search with the teacher (or the learner itself)
    every n-th position that these searches evaluate, no position twice -> the teacher's evaluation,
        or the score of a small search of its own (`label_nodes`)
    train on this chunk and on chunks of before, drawn from the last `keep`

    run.json, state.npz, log.jsonl   as of other learners (`linear.run_folder`)
    nn.bin                           the network after the last chunk
    positions/000000.npy ...         positions of the last `keep` chunks, to resume with

Generating a position takes twice as long as training on it, so each is used several times. There
are no quiescence leaves and no results: the label is a static evaluation of the position itself, or
a search of it if its best move is neither a capture nor a promotion. With searched labels a network
can be its own teacher: it learns to see at once what its search sees some plies later (TreeStrap:
Veness et al., 2009, which learns from the scores of the search's own nodes). What a search finds on
average, the value of the move and smaller advantages, is taken off these labels, as the search adds
it itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from komadori._core import linear as _core
from komadori.atomic import atomic_writer
from komadori.cpus import MAX_THREADS
from komadori.generate.nearby import POLL_S, Nearby, NearbySettings
from komadori.generate.segments import nothing_usable, read_chunks
from komadori.generate.settings import SearchBounds
from komadori.generate.sources import Evaluation
from komadori.linear.nnue_weights import ARCHITECTURES, FV_SCALE, NnueWeights
from komadori.linear.run_folder import COUNTS, SQUARES, RunFolder
from komadori.linear.weights_file import DAMAGE
from komadori.records.files import identify
from komadori.typed_settings import at_least, at_most, fractions, one_of, positive

if TYPE_CHECKING:
    from komadori.arena.openings import OnSkipped

NETWORK = "nn.bin"
#: Error is measured on positions within this evaluation of the teacher, in centipawns.
ERROR_LIMIT_CP = 1500
#: Maximum number of source positions per chunk, whose rows are held in memory.
MAX_DRAWS = 2**31 - 1
_TEST_DRAWS = 6000
#: Width and number of the ranges of evaluations, on each side of 0, that are calibrated alone.
_CALIBRATION_CP, _CALIBRATION_STEPS = 100, 15
_LOSS: dict[str, Any] = {"result_weight": 0.0, "teacher_weight": 1.0, "squared": False}

Hcps = NDArray[np.uint8]
#: Positions of a chunk as they are kept in files: with the score of a search if there is one.
_SEARCHED = np.dtype([("hcp", "u1", (32,)), ("score_cp", "<i2")])


@dataclass(frozen=True)
class Settings:
    """Settings of a distillation. The defaults are those of the last measurement in
    docs/results/linear.md."""

    architecture: str = "k-p"
    chunks: int = 40
    draws: int = 40_000
    """Source positions drawn per chunk; each gives about 50 positions."""
    keep: int = 24
    """Chunks in memory, about 230 MB each with the default settings."""
    passes: int = 8
    """Chunks trained on after each new one: the new one and others, drawn from those in memory."""
    min_plies: int = 0
    max_plies: int = 2
    """Random moves from a source position, drawn uniformly."""
    tactical_fraction: float = 0.3
    """Probability that a random move is a capture or promotion, if there are any."""
    nodes: int = 1000
    """Nodes of each search."""
    every: int = 8
    """Every n-th position that the searches evaluate is used."""
    label_nodes: int = 0
    """Nodes of the search that labels a position; 0: the label is the static evaluation."""
    label_limit_cp: int = 250
    """How far the score of a label's search may be from the teacher's static evaluation."""
    own_every: int = 2
    """In every n-th chunk the learner searches, not the teacher; 0: in none."""
    limit_cp: int = 4000
    """Positions with a larger absolute evaluation are left out; 0: no limit."""
    batch: int = 8192
    rate: float = 8e-4
    """Adam's learning rate; cosine annealing to `last_rate`."""
    last_rate: float = 1e-5
    average: float = 0.999
    """Decay per step of the moving average of the weights, which is the network that is saved: with
    the weights of any one step, all evaluations are off by tens of centipawns."""
    leak: float = 0.01
    """Fraction of the gradient that passes through a clipped hidden unit if it opens the unit."""
    test_positions: int = 100_000
    """Held-out positions: of the teacher's searches from games that aren't trained on."""
    seed: int = 1
    threads: int = 2

    def __post_init__(self) -> None:
        one_of(self, "architecture", ARCHITECTURES)
        at_least(self, chunks=1, draws=1, keep=1, passes=1, every=1, own_every=0, nodes=1)
        at_least(self, batch=1, threads=1, test_positions=1, limit_cp=0, label_limit_cp=1)
        at_most(self, threads=MAX_THREADS, draws=MAX_DRAWS)
        positive(self, "rate", "last_rate")
        fractions(self, "leak", "average")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed is {self.seed}, 0 to 2^31 - 1 is needed")
        self.nearby(0)

    def rate_at(self, part: float) -> float:
        """The learning rate at progress `part`, 0 to 1."""
        return self.last_rate + (self.rate - self.last_rate) * (1 + math.cos(math.pi * part)) / 2

    def nearby(self, chunk: int) -> NearbySettings:
        """How the chunk's positions are made."""
        return NearbySettings(
            seed=(self.seed << 32) + chunk,
            plies=(self.min_plies, self.max_plies),
            tactical_fraction=self.tactical_fraction,
            search=SearchBounds(nodes=self.nodes),
            limit_cp=self.limit_cp,
            evaluated_every=self.every,
            label_nodes=self.label_nodes,
        )


#: Settings that may change when a run resumes.
MAY_DIFFER = ("threads", "keep")


@dataclass(frozen=True)
class Report:
    """The results of a chunk.

    positions: new ones. trained: positions trained on, those of earlier chunks among them. loss:
    the mean cross entropy above its lower bound. error_cp, bias_cp: root mean square and mean of
    the difference to the teacher's evaluation, of the network in integers, on held-out positions
    within `ERROR_LIMIT_CP`; to the label of the search if `label_nodes` is set.
    """

    chunk: int
    positions: int
    trained: int
    rate: float
    loss: float
    error_cp: float
    bias_cp: float
    search_seconds: float
    seconds: float


def bytes_needed(settings: Settings) -> int:
    """Bytes of memory for the model and the positions; an estimate, searches differ."""
    model: int = _core.NnueModel.bytes_of(settings.architecture, settings.threads)
    per_chunk = settings.draws * 52 * 8 // settings.every
    held = min(settings.keep, settings.chunks)
    return int(model + held * per_chunk * _core.NnueData.bytes_each)


class Distillation:
    """A run in a folder; the same settings, sources and folder resume it."""

    def __init__(
        self,
        settings: Settings,
        teacher: Path,
        sources: Sequence[Path],
        folder: Path,
        *,
        resume: bool,
        start: Path | None = None,
        fv_scale: int = FV_SCALE,
        on_skipped: OnSkipped | None = None,
    ) -> None:
        """teacher, start: nn.bin of the teacher and of the initial weights; without `start` these
        are random. fv_scale: of the teacher. on_skipped: called for each damaged part of a file.

        Raises ValueError as `RunFolder`, for a network of another architecture and without source
        games; WeightsError, RecordError, OSError.
        """
        self.settings, self.folder = settings, folder
        self.model = _core.NnueModel(settings.architecture, settings.seed, settings.threads)
        self.model.rounds, self.model.leak = True, settings.leak
        self.chunk = 0
        self._average = np.array(self.model.parameters)
        self._teacher = Evaluation("nnue", teacher, fv_scale)
        self._scores = NnueWeights.load(teacher, fv_scale).core()
        if start is not None:
            weights = NnueWeights.load(start).core()
            try:
                self.model.set(weights)
                self._average[:] = self.model.parameters
            except ValueError as error:
                raise ValueError(f"{start}: {error}") from error
        data = {
            "sources": identify(sources),
            "teacher": self._teacher.card(),
            "start": Evaluation("nnue", start).card() if start else None,
        }
        self._run_folder = RunFolder(
            folder,
            "nnue-distillation",
            asdict(settings),
            data,
            resume=resume,
            may_differ=MAY_DIFFER,
        )
        try:
            if resume:
                self._load()
            else:
                self._discard_positions()
            #: `left_out`: number of games of the sources that are damaged or have no moves.
            self._sources, self._test_sources, self.left_out = _split(sources, on_skipped)
        except BaseException:
            self._run_folder.lock.release()
            raise
        #: Training positions of the last chunks, by number.
        self._kept: dict[int, _core.NnueData] = {}
        self._test: tuple[Hcps, NDArray[np.float64]] | None = None

    @property
    def is_done(self) -> bool:
        return self.chunk >= self.settings.chunks

    def weights(self) -> NnueWeights:
        """The current network: the average of the weights, quantised."""
        return NnueWeights(self._quantised().to_bytes())

    def run(
        self,
        on_chunk: Callable[[Report], None] = lambda _: None,
        on_progress: Callable[[float], None] = lambda _: None,
        stop: Callable[[], bool] = bool,
    ) -> None:
        """Train until all chunks are done or `stop` returns true.

        Raises ValueError if a chunk has no position to train on.

        The state is saved after each chunk; an interrupted one is repeated when the run resumes.
        on_progress: called with the fraction of the run that is done.
        """
        with self._run_folder.lock:
            (self.folder / "positions").mkdir(exist_ok=True)
            if self.is_done or (self._test is None and not self._find_test(stop)):
                return
            while not self.is_done and self._chunk(on_chunk, on_progress, stop):
                pass

    def _chunk(
        self,
        on_chunk: Callable[[Report], None],
        on_progress: Callable[[float], None],
        stop: Callable[[], bool],
    ) -> bool:
        """Run the next chunk; False if stopped."""
        settings, number, started = self.settings, self.chunk, time.monotonic()

        def advance(part: float) -> None:
            on_progress((number + part) / settings.chunks)

        if not self._fill(number, lambda part: advance(part / 3), stop):
            return False
        searched = time.monotonic()
        new = self._kept[number]
        random = np.random.default_rng([settings.seed, number, 1])
        others = random.permutation(sorted(self._kept))[: settings.passes - 1]
        turns = random.permutation([number, *others])
        if not any(len(self._kept[k]) for k in turns):
            raise ValueError(
                f"chunk {number + 1} has no position: of those that its searches evaluated, none "
                f"was drawn (every = {settings.every:,}) within limit_cp = {settings.limit_cp:,}"
                + (" with a quiet best move" if settings.label_nodes else "")
            )
        steps = sum(math.ceil(len(self._kept[k]) / settings.batch) for k in turns)
        loss, rate, trained = 0.0, settings.rate, 0
        for step, (data, batch) in enumerate(self._batches(turns, random)):
            if stop():
                return False
            rate = settings.rate_at((number + step / max(1, steps)) / settings.chunks)
            sums = self.model.step(data, batch, rate=rate, decay=0.0, **_LOSS)
            steps_so_far = self.model.steps
            decay = min(settings.average, (1 + steps_so_far) / (10 + steps_so_far))
            self._average += (1 - decay) * (self.model.parameters - self._average)
            loss += sums[1] - sums[3]
            trained += len(batch)
            advance((1 + 2 * step / steps) / 3)
        self.chunk += 1
        error, bias = self.errors_cp()
        now = time.monotonic()
        report = Report(
            self.chunk,
            len(new),
            trained,
            rate,
            loss / max(1, trained),
            error,
            bias,
            searched - started,
            now - started,
        )
        self._run_folder.save_state(self._arrays(), asdict(report))
        self.weights().save(self.folder / NETWORK)
        self._run_folder.log(asdict(report))
        self._forget()
        on_chunk(report)
        return True

    def _batches(
        self, turns: NDArray[np.int64], random: np.random.Generator
    ) -> Iterator[tuple[_core.NnueData, NDArray[np.uint32]]]:
        for k in turns:
            data = self._kept[k]
            order = random.permutation(len(data)).astype(np.uint32)
            for begin in range(0, len(order), self.settings.batch):
                yield data, order[begin : begin + self.settings.batch]

    def errors_cp(self) -> tuple[float, float]:
        """Root mean square and mean error on the held-out positions; NaN before `run`."""
        if self._test is None or not len(self._test[0]):
            return math.nan, math.nan
        hcp, scores = self._test
        found = np.asarray(self._quantised().evaluate_all(hcp, self.settings.threads))
        errors = found - scores
        return float(np.sqrt(np.mean(errors**2))), float(np.mean(errors))

    def _quantised(self) -> _core.NnueWeights:
        parameters = self.model.parameters
        current = np.array(parameters)
        parameters[:] = self._average
        try:
            return self.model.quantised()
        finally:
            parameters[:] = current

    # -- positions

    def _fill(
        self, number: int, advance: Callable[[float], None], stop: Callable[[], bool]
    ) -> bool:
        """Hold the positions of the last `keep` chunks in memory; False if stopped."""
        for k in range(max(0, number - self.settings.keep + 1), number + 1):
            if k in self._kept:
                continue
            path = self._positions_path(k)
            positions = self._read_positions(path)
            if positions is None and k < number:
                continue  # lost; the run goes on with the others
            if positions is None:
                every = self.settings.own_every
                is_own = every > 0 and k > 0 and k % every == every - 1
                player = Evaluation("nnue", self.folder / NETWORK) if is_own else self._teacher
                found = self._search(player, self._sources, self.settings.draws, k, advance, stop)
                if found is None:
                    return False
                positions = found
                _write_array(path, positions)
            self._kept[k] = self._data(positions)
        return True

    def _search(
        self,
        player: Evaluation,
        sources: Hcps,
        draws: int,
        number: int,
        advance: Callable[[float], None],
        stop: Callable[[], bool],
    ) -> NDArray[Any] | None:
        """Positions that searches evaluate, each once, uint8 [N, 32] or `_SEARCHED` [N]; None if
        stopped."""
        random = np.random.default_rng([self.settings.seed, number, 0])
        rows = random.integers(0, len(sources), draws)
        nearby = Nearby(self.settings.nearby(number), player, self.settings.threads)
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(nearby.search.run, sources[rows], np.full(draws, 0.5, np.float32), 0)
            while not work.done():
                if stop():
                    nearby.search.stop()
                    work.result()
                    return None
                advance(nearby.search.done / draws)
                wait([work], timeout=POLL_S)
            found = work.result()
        first = _first_of_each(found["hcp"])
        hcp = np.ascontiguousarray(found["hcp"][first])
        if not self.settings.label_nodes:
            return hcp
        searched = np.empty(len(hcp), _SEARCHED)
        searched["hcp"] = hcp
        searched["score_cp"] = calibrated(
            self._evaluated(hcp), found["score_cp"][first], self.settings.label_limit_cp
        )
        return searched

    def _labelled(self, positions: NDArray[Any]) -> tuple[Hcps, NDArray[np.int32]]:
        """Positions as of `_search`, with their labels in centipawns."""
        if self.settings.label_nodes:
            return np.ascontiguousarray(positions["hcp"]), positions["score_cp"].astype(np.int32)
        return positions, self._evaluated(positions)

    def _data(self, positions: NDArray[Any]) -> _core.NnueData:
        hcp, scores = self._labelled(positions)
        if self.settings.limit_cp:
            is_within = np.abs(scores) <= self.settings.limit_cp
            hcp, scores = np.ascontiguousarray(hcp[is_within]), scores[is_within]
        result = np.full(len(scores), 0.5, np.float32)
        return _core.NnueData(hcp, scores.astype(np.float32), result, self.settings.threads)

    def _evaluated(self, hcp: Hcps) -> NDArray[np.int32]:
        return np.asarray(self._scores.evaluate_all(hcp, self.settings.threads))

    def _find_test(self, stop: Callable[[], bool]) -> bool:
        """Make the held-out positions; False if stopped."""
        wanted = self.settings.test_positions
        draws = min(_TEST_DRAWS, wanted)
        chunk = 2**32 - 1  # of no chunk of the run
        found = self._search(self._teacher, self._test_sources, draws, chunk, lambda _: None, stop)
        if found is None:
            return False
        random = np.random.default_rng(self.settings.seed)
        hcp, scores = self._labelled(random.permutation(found)[:wanted])
        is_within = np.abs(scores) <= ERROR_LIMIT_CP
        self._test = np.ascontiguousarray(hcp[is_within]), scores[is_within].astype(np.float64)
        return True

    def _positions_path(self, number: int) -> Path:
        return self.folder / "positions" / f"{number:06}.npy"

    def _forget(self) -> None:
        """Drop chunks that won't be used again."""
        oldest = self.chunk - self.settings.keep + 1
        for k in [k for k in self._kept if k < oldest]:
            del self._kept[k]
        for number, path in self._position_files():
            if number < oldest or self.is_done:
                path.unlink()

    def _discard_positions(self) -> None:
        """Delete the positions of a run that ended before its first state: it may have had other
        settings."""
        for _, path in self._position_files():
            path.unlink()

    def _position_files(self) -> list[tuple[int, Path]]:
        """The files of positions, with the numbers of their chunks."""
        files = (self.folder / "positions").glob("*.npy")
        return [(int(path.stem), path) for path in files if path.stem.isdigit()]

    def _read_positions(self, path: Path) -> NDArray[Any] | None:
        """Positions as of `_search`; None if the file is missing, damaged or of something else."""
        found = _read_array(path)
        if found is None:
            return None
        if self.settings.label_nodes:
            return found if found.dtype == _SEARCHED and found.ndim == 1 else None
        return found if found.dtype == np.uint8 and found.shape[1:] == (32,) else None

    # -- state

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The state as arrays."""
        model = self.model
        return {
            "parameters": model.parameters,
            "average": self._average,
            "first_moments": model.first_moments,
            "second_moments": model.second_moments,
            "numbers": np.array([model.steps, self.chunk]),
        }

    def _load(self) -> None:
        state = self._run_folder.load_state(
            self._arrays(), {"numbers": COUNTS, "second_moments": SQUARES}
        )
        for name in ("parameters", "first_moments", "second_moments"):
            getattr(self.model, name)[:] = state[name]
        self._average[:] = state["average"]
        self.model.steps, self.chunk = (int(n) for n in state["numbers"])
        self.weights().save(self.folder / NETWORK)  # of this chunk, if the run was killed between


def _write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a .npy file atomically. Raises OSError."""
    with atomic_writer(path) as file:
        # Given a file, numpy writes around it and loses the errors of a full disk.
        np.save(cast("IO[bytes]", SimpleNamespace(write=file.write)), array, allow_pickle=False)


def _read_array(path: Path) -> NDArray[Any] | None:
    """Read a .npy file; None if it is missing or damaged."""
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, *DAMAGE):
        return None
    return array if isinstance(array, np.ndarray) else None


def _split(sources: Sequence[Path], on_skipped: OnSkipped | None = None) -> tuple[Hcps, Hcps, int]:
    """Positions of the sources for training and for the test, split by game (one in 100), and the
    number of games left out."""
    hcps, games, left_out = [], [], 0
    for chunk in read_chunks(sources, on_skipped):
        left_out += chunk.skipped
        hcps.append(chunk.samples.hcp)
        games.append(chunk.samples.game)
    game = np.concatenate(games) if games else np.empty(0, np.int32)
    if not len(game):
        raise ValueError(nothing_usable(left_out))
    every = np.concatenate(hcps)
    is_test = game % 100 == 0 if int(game.max()) > 0 else np.ones(len(game), bool)
    train = every if is_test.all() else every[~is_test]
    return np.ascontiguousarray(train), np.ascontiguousarray(every[is_test]), left_out


def calibrated(
    static: NDArray[np.int32], scores: NDArray[np.int16], limit_cp: int
) -> NDArray[np.int16]:
    """The static evaluation, plus what each search found beyond the mean at that evaluation.

    A search is on average some tens of centipawns better for the side to move than the static
    evaluation, and closer to 0. A network that learns this counts it twice when it searches.

    static, scores: [N], centipawns, side to move's view. limit_cp: the largest difference between
    the two that counts. Returns the labels [N].
    """
    found = np.clip(scores - static.astype(np.float64), -limit_cp, limit_cp)
    steps = 2 * _CALIBRATION_STEPS
    step = np.clip(static // _CALIBRATION_CP + _CALIBRATION_STEPS, 0, steps - 1)
    counts = np.bincount(step, minlength=steps)
    sums = np.bincount(step, found, steps)
    labels = np.rint(static + found - (sums / np.maximum(1, counts))[step])
    limits = np.iinfo(np.int16)  # evaluations by an `fv_scale` of 1 are larger
    return np.clip(labels, limits.min, limits.max).astype(np.int16)


def _first_of_each(hcp: Hcps) -> NDArray[np.intp]:
    """Indices of the first of each of the different rows, in the order of the rows' bytes."""
    rows = np.ascontiguousarray(hcp).view("V32").ravel()
    return np.unique(rows, return_index=True)[1]
