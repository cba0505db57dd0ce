"""Samples for training: disjoint training and test parts, policy targets."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from komadori.array_fields import ComparesArrays
from komadori.records.keys import position_keys
from komadori.wording import check_type, names_arguments

#: Mirrors positions, uint8 [N, 32], left to right.
Mirror = Callable[[NDArray[np.uint8]], NDArray[np.uint8]]


class Samples(Protocol):
    """The arrays of `records.Samples`; row i of each is one position.

    hcp: uint8 [N, 32]. move16: uint16 [N], 0 where there is no move. score_cp: int16 [N]
    and result: float32 [N] (1 win, 0 loss, 0.5 draw), both seen from the side to move.
    game: int32 [N], equal within one game. ply: int16 [N].
    """

    @property
    def hcp(self) -> NDArray[np.uint8]: ...
    @property
    def move16(self) -> NDArray[np.uint16]: ...
    @property
    def score_cp(self) -> NDArray[np.int16]: ...
    @property
    def result(self) -> NDArray[np.float32]: ...
    @property
    def game(self) -> NDArray[np.int32]: ...
    @property
    def ply(self) -> NDArray[np.int16]: ...


@names_arguments
@dataclass(frozen=True, eq=False)
class MoveProbs(ComparesArrays):
    """Policy targets: probabilities of the moves of each row, in compressed rows.

    first: int64 [N + 1]; the moves of row i are first[i] to first[i + 1] - 1.
    move16: uint16 [M]. weight: [M], unnormalised, such as visits; a row of zeros is uniform.
    temperature: probabilities are raised to 1 / temperature and normalised.
    played: uint16 [N], the moves played. hard: weight of the played move in the mixture with the
    probabilities; rows without a played move among their moves are not mixed.

    The arrays may be memory-mapped: probabilities are computed on access.
    """

    first: NDArray[np.int64]
    move16: NDArray[np.uint16]
    weight: NDArray[np.float32] | NDArray[np.uint16]
    temperature: float = 1.0
    played: NDArray[np.uint16] | None = None
    hard: float = 0.0

    @classmethod
    def of_weights(
        cls, count: NDArray[np.int64], move16: NDArray[np.uint16], weight: NDArray[np.float32]
    ) -> MoveProbs:
        """From the number of moves of each row, `count` [N]."""
        return cls(np.concatenate(([0], np.cumsum(count))), move16, weight)

    def at_temperature(self, temperature: float) -> MoveProbs:
        """With a further temperature, which multiplies the present one."""
        return replace(self, temperature=self.temperature * temperature)

    def with_hard(self, hard: float) -> MoveProbs:
        """Mixed with the played moves, which get the weight `hard`."""
        return replace(self, hard=hard)

    def rows(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float32]]:
        """(count [n], move16 [m], probability [m]) of the rows, m = sum of count."""
        first = self.first[rows]
        count = self.first[rows + 1] - first
        inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        place = np.repeat(first, count) + inner
        prob = _normalised(count, self.weight[place])
        if self.temperature != 1:
            prob = _normalised(count, prob ** np.float32(1 / self.temperature))
        move16 = self.move16[place]
        if self.hard and self.played is not None:
            owner = np.repeat(np.arange(len(rows)), count)
            is_played = move16 == self.played[rows][owner]
            has = np.bincount(owner, is_played, minlength=len(rows))[owner] > 0
            mixed = (1 - self.hard) * prob + self.hard * is_played
            prob = np.where(has, mixed, prob).astype(np.float32)
        return count, move16, prob


def _normalised(
    count: NDArray[np.int64], weight: NDArray[np.float32] | NDArray[np.uint16]
) -> NDArray[np.float32]:
    owner = np.repeat(np.arange(len(count)), count)
    total = np.bincount(owner, weight, minlength=len(count))[owner]
    prob = np.where(total > 0, weight / np.maximum(total, 1e-30), 1 / count[owner])
    return prob.astype(np.float32)


@names_arguments
@dataclass(frozen=True, eq=False)
class Part(ComparesArrays):
    """A view of some rows of the samples.

    target_probs: soft policy targets of all rows of the samples; None for the played move only.
    draws: float32 of all rows, the fraction of draws in a mean of results; None for results of
    single games.
    """

    samples: Samples
    rows: NDArray[np.int64]
    target_probs: MoveProbs | None = None
    draws: NDArray[np.float32] | None = None

    @classmethod
    def whole(
        cls,
        samples: Samples,
        target_probs: MoveProbs | None = None,
        draws: NDArray[np.float32] | None = None,
    ) -> Part:
        return cls(samples, np.arange(len(samples.hcp), dtype=np.int64), target_probs, draws)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_soft(self) -> bool:
        """Whether the policy targets are probabilities."""
        return self.target_probs is not None

    def pieces(self, epoch: int, start: int = 0) -> Generator[tuple[int, Part], None, None]:
        """One piece: the whole part."""
        yield 0, self

    def without_target_probs(self) -> Part:
        """The same positions with the played move as the target."""
        return replace(self, target_probs=None)

    def only(self, rows: NDArray[np.int64]) -> Part:
        """The part of these rows of the samples."""
        check_type("rows", rows, np.ndarray)
        return replace(self, rows=rows)


class Source(Protocol):
    """Training positions: a `Part`, or a stream larger than memory (`streamed`)."""

    def __len__(self) -> int:
        """Positions of an epoch."""
        ...

    @property
    def is_soft(self) -> bool:
        """Whether the policy targets are probabilities."""
        ...

    def pieces(self, epoch: int, start: int = 0) -> Generator[tuple[int, Part], None, None]:
        """(positions before it, part) for each piece of the epoch that ends after `start`."""
        ...


S = TypeVar("S", bound=Source, covariant=True)


@dataclass(frozen=True)
class Split(Generic[S]):
    """The training and test parts, and the counts that prove them disjoint."""

    train: S
    test: Part
    train_games: int
    test_games: int
    removed_seen: int
    common_positions: int
    fingerprint: str
    """Of the training positions in their order."""

    def facts(self) -> dict[str, int | str]:
        """For the log."""
        return {
            "train_positions": len(self.train),
            "test_positions": len(self.test),
            "train_games": self.train_games,
            "test_games": self.test_games,
            "test_positions_removed_as_seen": self.removed_seen,
            "positions_in_both": self.common_positions,
            "train_fingerprint": self.fingerprint,
        }


#: Rows loaded at once from memory-mapped samples.
_ROWS_AT_ONCE = 1 << 20


def keys_of(part: Part, mirror: Mirror | None = None) -> NDArray[np.uint64]:
    """`position_keys` of the part, uint64 [N], computed in blocks.

    With `mirror` a position and its mirror image have the same key.
    """
    keys = np.empty(len(part), np.uint64)
    for begin in range(0, len(part), _ROWS_AT_ONCE):
        hcp = part.samples.hcp[part.rows[begin : begin + _ROWS_AT_ONCE]]
        found = position_keys(hcp)
        if mirror is not None:
            found = np.minimum(found, position_keys(mirror(hcp)))
        keys[begin : begin + len(hcp)] = found
    return keys


@names_arguments
def split_by_game(part: Part, test_fraction: float, seed: int) -> tuple[Part, Part]:
    """(train, test), split by whole games, drawn by the seed.

    test_fraction: of the games, 0 to 1, rounded up. Raises ValueError outside that range.
    """
    if not 0 <= test_fraction <= 1:
        raise ValueError(f"test_fraction is {test_fraction}, 0 to 1 is needed")
    game = part.samples.game[part.rows]
    games = np.unique(game)
    count = int(np.ceil(test_fraction * len(games)))
    chosen = np.random.default_rng([seed, 0x5E1EC7]).permutation(games)[:count]
    is_test = np.isin(game, chosen)
    return part.only(part.rows[~is_test]), part.only(part.rows[is_test])


@names_arguments
def make_split(
    train: Part,
    test: Part,
    *,
    drop_seen: bool = True,
    mirror: Mirror | None = None,
    test_limit: int = 0,
    train_limit: int = 0,
    seed: int = 1,
) -> Split[Part]:
    """Sample `train_limit` of train, remove training positions from test (`drop_seen`; with
    `mirror` their mirror images too), then sample `test_limit` of test. A limit of 0 keeps all.
    """
    if train_limit and len(train) > train_limit:
        rng = np.random.default_rng([seed, 0x72A12])
        train = train.only(np.sort(rng.choice(train.rows, train_limit, replace=False)))
    keys = keys_of(train)
    weights = 2 * np.arange(len(keys), dtype=np.uint64) + np.uint64(1)
    fingerprint = f"{int((keys * weights).sum(dtype=np.uint64)):016x}"
    train_keys = np.unique(keys_of(train, mirror) if mirror else keys)
    seen = np.isin(keys_of(test, mirror), train_keys)
    removed = 0
    if drop_seen:
        removed = int(seen.sum())
        test = test.only(test.rows[~seen])
        seen = np.isin(keys_of(test, mirror), train_keys)
    if test_limit and len(test) > test_limit:
        rng = np.random.default_rng([seed, 0x11317])
        kept = np.sort(rng.choice(len(test), test_limit, replace=False))
        test = test.only(test.rows[kept])
        seen = seen[kept]
    return Split(
        train,
        test,
        train_games=len(np.unique(train.samples.game[train.rows])),
        test_games=len(np.unique(test.samples.game[test.rows])),
        removed_seen=removed,
        common_positions=int(seen.sum()),
        fingerprint=fingerprint,
    )
