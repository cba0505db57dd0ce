"""Self-play: hundreds of concurrent games with one evaluator.

Each game has its own tree and at most one leaf in flight, so no virtual loss is needed. Batches
run through `search.pipeline`, as in every tree search; `SelfPlayGames` is its source of rows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from komadori import inference
from komadori._core.tree import Batch
from komadori.arena.openings import Opening
from komadori.generate.folder import FinishedGame, StoredGame
from komadori.generate.openings import Lines
from komadori.generate.selfplay_game import GameTree, SelfPlayGame
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.generate.sources import Evaluation
from komadori.inference import Evaluator
from komadori.inference.protocol import Floats, invalid_outputs
from komadori.mate import MateSolver
from komadori.search.leaf_search import leaf_engines
from komadori.search.pipeline import Pipeline
from komadori.usi.models import is_fake

#: Concurrent games per row of the batches in flight: half are evaluated while others are collected.
GAMES_PER_ROW = 2
#: MiB of each game's transposition table for the searches of its leaves.
LEAF_HASH_MB = 1
#: MiB of the mate search, shared by all games.
MATE_MEMORY_MB = 16


def selfplay_card(settings: SelfPlaySettings, lines: Lines, model: str) -> dict[str, Any]:
    """Return everything that determines a folder of self-play games. model: its digest."""
    own = asdict(settings)
    leaf = {name: own.pop(name) for name in list(own) if name.startswith("leaf_")}
    if settings.leaf_weight:
        leaf["leaf_file"] = Evaluation("nnue", _leaf_file(settings)).card()["weights"]
        own |= leaf
    return {
        "kind": "selfplay",
        **own,
        "openings": lines.fingerprint,
        "model": model,
    }


def _leaf_file(settings: SelfPlaySettings) -> Path | None:
    return Path(settings.leaf_file) if settings.leaf_file else None


def model_digest(model: str) -> str:
    """Identify a model: the SHA-256 of its file, or the name of a fake."""
    return model if is_fake(model) else str(inference.digest(Path(model)))


class SelfPlayGames:
    """Plays numbered self-play games (a `GameSource`, and the `Source` of its own pipeline).

    Not thread-safe; the games are played inside `take`.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        settings: SelfPlaySettings,
        openings: Sequence[Opening] = (),
        games_at_once: int | None = None,
    ) -> None:
        """`games_at_once`: concurrent games; None for twice the rows of all slots."""
        rows = evaluator.slots * evaluator.max_batch
        self.games_at_once = games_at_once or GAMES_PER_ROW * rows
        self.playouts = 0
        """Playouts of all games so far."""
        self.evaluated = 0
        """Playouts that were evaluated by the network; the others ended in terminal nodes."""
        self._evaluator, self._settings, self._openings = evaluator, settings, openings
        self._mates = MateSolver(MATE_MEMORY_MB)
        self._numbers: deque[int] = deque()
        self._ready: deque[SelfPlayGame] = deque()
        self._in_flight: list[list[SelfPlayGame]] = [[] for _ in range(evaluator.slots)]
        self._playing = 0
        self._free_trees: list[GameTree] = []
        self._new_engine = leaf_engines(settings.search_options(), LEAF_HASH_MB)
        self._finished: list[StoredGame] = []
        self._rows = [_rows(evaluator, slot) for slot in range(evaluator.slots)]
        self._pipeline = Pipeline(evaluator, self)

    # -- GameSource

    def add(self, numbers: Sequence[int]) -> None:
        self._numbers.extend(numbers)

    @property
    def waiting(self) -> int:
        return len(self._numbers) + self._playing

    def take(self, timeout_ms: int) -> Sequence[FinishedGame]:
        """Play for `timeout_ms` and return the finished games. Raises InferenceError."""
        end = time.monotonic() + timeout_ms / 1000
        try:
            while timeout_ms and self.waiting:
                self._pipeline.fill()
                self._pipeline.take()
                if time.monotonic() >= end:
                    break
        except BaseException:
            self._pipeline.abandon()
            raise
        finished, self._finished = self._finished, []
        return finished

    def pause(self) -> None:
        """Wait for the batches in flight; `take` resumes."""
        while self._pipeline.take():
            pass

    def stop(self) -> None:
        self._pipeline.drop()
        self._ready.clear()
        self._numbers.clear()
        self._playing = 0

    def close(self) -> None:
        """Drop all games and free their trees, about 16 MB each with leaf searches.

        Without it they stay until the garbage collector runs, since the pipeline refers to this
        object.
        """
        self.stop()
        self._free_trees.clear()
        del self._pipeline

    # -- Source of the pipeline

    def collect(self, slot: int) -> int:
        games, rows = self._in_flight[slot], self._rows[slot]
        games.clear()
        for batch in rows:
            while game := self._next_game():
                before = game.playouts
                is_waiting = game.collect(batch)
                self.playouts += game.playouts - before
                if is_waiting:
                    games.append(game)
                    break
                if game.finished is None:
                    self._ready.append(game)
                    return len(games)
                self._end(game)
            else:
                break
        return len(games)

    def expand(self, slot: int, policy: Floats, value: Floats) -> None:
        rows, games = self._rows[slot], self._in_flight[slot]
        invalid = 0
        for row, game in enumerate(games):
            invalid += game.tree.expand(rows[row], policy[row : row + 1], value[row : row + 1])
        self._ready += games
        self.evaluated += len(games)
        games.clear()
        if invalid:
            raise invalid_outputs(self._evaluator)

    def cancel(self, slot: int) -> None:
        for row, game in enumerate(self._in_flight[slot]):
            game.tree.cancel(self._rows[slot][row])
            self._ready.append(game)
        self._in_flight[slot].clear()

    def _next_game(self) -> SelfPlayGame | None:
        if self._numbers and self._playing < self.games_at_once:
            tree = self._free_trees.pop() if self._free_trees else self._new_tree()
            self._playing += 1
            return SelfPlayGame(
                self._numbers.popleft(), self._settings, self._openings, self._mates, tree
            )
        return self._ready.popleft() if self._ready else None

    def _new_tree(self) -> GameTree:
        return GameTree.of(self._settings, self._new_engine() if self._new_engine else None)

    def _end(self, game: SelfPlayGame) -> None:
        assert game.finished is not None
        self._finished.append(game.finished)
        self._free_trees.append(game.game_tree)
        self._playing -= 1


def _rows(evaluator: Evaluator, slot: int) -> list[Batch]:
    """Return one-row batches, one over each row of the slot's inputs."""
    inputs = evaluator.inputs(slot)
    return [
        Batch([array[row : row + 1] for array in inputs], evaluator.features, evaluator.labels)
        for row in range(evaluator.max_batch)
    ]
