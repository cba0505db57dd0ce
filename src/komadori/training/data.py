"""Samples for training: the parts that train and test get, and proof that they share nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from komadori.records.keys import position_keys

#: Positions uint8 [N, 32] to their mirror images, left to right.
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


@dataclass(frozen=True)
class MoveShares:
    """Shares of moves, of all rows of the samples one after another.

    first: int64 [N + 1]; the moves of row i are first[i] to first[i + 1] - 1.
    move16: uint16 [M]. weight: [M], numbers of any scale such as visits, which make shares
    of 1 in all for each row that has moves; where all of a row are 0 they share alike.
    temperature: shares are taken to the power of its inverse and scaled to 1 in all again.
    played: uint16 [N], the moves made, of which each then gets `hard` of its row's share; a row
    whose move made isn't among its moves, or is 0, keeps its shares.

    The arrays may be mapped from a file: a row's shares are made when they are asked for.
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
    ) -> MoveShares:
        """From the number of moves of each row."""
        return cls(np.concatenate(([0], np.cumsum(count))), move16, weight)

    def at_temperature(self, temperature: float) -> MoveShares:
        """These shares, at another temperature on top of their own."""
        return replace(self, temperature=self.temperature * temperature)

    def with_hard(self, hard: float) -> MoveShares:
        """These shares, mixed with the moves made."""
        return replace(self, hard=hard)

    def rows(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float32]]:
        """The rows' numbers of moves, then moves and shares one row after another."""
        first = self.first[rows]
        count = self.first[rows + 1] - first
        inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        place = np.repeat(first, count) + inner
        share = _normalised(count, self.weight[place])
        if self.temperature != 1:
            share = _normalised(count, share ** np.float32(1 / self.temperature))
        move16 = self.move16[place]
        if self.hard and self.played is not None:
            owner = np.repeat(np.arange(len(rows)), count)
            is_played = move16 == self.played[rows][owner]
            has = np.bincount(owner, is_played, minlength=len(rows))[owner] > 0
            mixed = (1 - self.hard) * share + self.hard * is_played
            share = np.where(has, mixed, share).astype(np.float32)
        return count, move16, share


def _normalised(
    count: NDArray[np.int64], weight: NDArray[np.float32] | NDArray[np.uint16]
) -> NDArray[np.float32]:
    owner = np.repeat(np.arange(len(count)), count)
    total = np.bincount(owner, weight, minlength=len(count))[owner]
    share = np.where(total > 0, weight / np.maximum(total, 1e-30), 1 / count[owner])
    return share.astype(np.float32)


@dataclass(frozen=True)
class Part:
    """Some rows of the samples: a view, nothing is copied.

    shares: soft policy targets of all rows of the samples; None where the one move counts.
    draws: float32, of all rows, the share of draws in a mean of results; None where a result is
    one game's.
    """

    samples: Samples
    rows: NDArray[np.int64]
    shares: MoveShares | None = None
    draws: NDArray[np.float32] | None = None

    @classmethod
    def whole(
        cls,
        samples: Samples,
        shares: MoveShares | None = None,
        draws: NDArray[np.float32] | None = None,
    ) -> Part:
        return cls(samples, np.arange(len(samples.hcp), dtype=np.int64), shares, draws)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_soft(self) -> bool:
        """Whether the policy's targets are shares of moves."""
        return self.shares is not None

    def pieces(self, epoch: int, start: int = 0) -> Generator[tuple[int, Part], None, None]:
        """All of it at once: a `loader.Source` of one piece."""
        yield 0, self

    def without_shares(self) -> Part:
        """The same positions, each with its one move."""
        return replace(self, shares=None)

    def only(self, rows: NDArray[np.int64]) -> Part:
        """The same samples, other rows."""
        return replace(self, rows=rows)


class Source(Protocol):
    """What a trainer learns from: a `Part`, or more than memory holds (`streamed`)."""

    def __len__(self) -> int:
        """Positions of an epoch."""
        ...

    @property
    def is_soft(self) -> bool:
        """Whether the policy's targets are shares of moves."""
        ...

    def pieces(self, epoch: int, start: int = 0) -> Generator[tuple[int, Part], None, None]:
        """The epoch's parts, each with how many positions came before it, without those that end
        before position `start`."""
        ...


S = TypeVar("S", bound=Source, covariant=True)


@dataclass(frozen=True)
class Split(Generic[S]):
    """The training part, the test part and the counts that prove them disjoint."""

    train: S
    test: Part
    train_games: int
    test_games: int
    removed_seen: int
    common_positions: int
    fingerprint: str
    """Of the training positions in their order: equal for equal ones."""

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


#: Rows whose positions are in memory at once where the samples are mapped.
_ROWS_AT_ONCE = 1 << 20


def keys_of(part: Part, mirror: Mirror | None = None) -> NDArray[np.uint64]:
    """`position_keys` of the part's positions, uint64 [N]; few of them in memory at once.

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


def split_by_game(part: Part, test_share: float, seed: int) -> tuple[Part, Part]:
    """(train, test): whole games, drawn by the seed, go to one side or the other.

    Test has `test_share` of the games, rounded up where it isn't zero.
    """
    game = part.samples.game[part.rows]
    games = np.unique(game)
    count = int(np.ceil(test_share * len(games)))
    chosen = np.random.default_rng([seed, 0x5E1EC7]).permutation(games)[:count]
    is_test = np.isin(game, chosen)
    return part.only(part.rows[~is_test]), part.only(part.rows[is_test])


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
    """Draw at most `train_limit` of train, remove from test what train has too (`drop_seen`),
    with `mirror` its mirror images too, then draw at most `test_limit` of test.
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
