"""A training part larger than memory: consecutive windows of the files' positions.

    files -> windows (`records.SampleStream`) -> shuffled within each -> batches

Whole files are held out for the test; training skips positions that the test has. How well
samples are shuffled depends on the window: see `records.stream`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori.records import load_samples
from komadori.records.files import paths_of
from komadori.records.keys import position_keys
from komadori.records.stream import SampleStream, Window, split_files
from komadori.training.config import Config, ConfigError
from komadori.training.data import Mirror, MoveProbs, Part, Split, keys_of
from komadori.wording import names_arguments


@names_arguments
@dataclass(frozen=True)
class Files:
    """Training files to read in windows of `data.window` positions."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, paths: Path | str | Iterable[Path | str]) -> Files:
        """One or several files, in this order."""
        return cls(tuple(paths_of(paths)))


@dataclass(frozen=True)
class StreamedPart:
    """A `data.Source` of windows. positions, games: per epoch.

    temperature, hard: as of `MoveProbs`.
    """

    stream: SampleStream
    positions: int
    games: int
    temperature: float = 1.0
    hard: float = 0.0

    def __len__(self) -> int:
        return self.positions

    @property
    def is_soft(self) -> bool:
        return self.stream.with_moves

    def pieces(self, epoch: int, start: int = 0) -> Generator[tuple[int, Part], None, None]:
        first = start - start % self.stream.window
        with contextlib.closing(self.stream.windows(epoch, first)) as windows:
            for window in windows:
                yield window.first, self._part(window)

    def _part(self, window: Window) -> Part:
        moves = window.moves
        if moves is None:
            return Part.whole(window.samples)
        targets = MoveProbs(moves.first, moves.move16, moves.visits, played=moves.played)
        targets = targets.with_hard(self.hard).at_temperature(self.temperature)
        return Part.whole(window.samples, targets)


def split_stream(
    config: Config, files: Files, test: Part | None, mirror: Mirror | None = None
) -> Split[StreamedPart]:
    """As `setup.split_of`, for streamed files, which are decoded once to count positions.

    Raises RecordError and OSError for files that can't be read, ConfigError.
    """
    data, loss = config.data, config.loss
    is_soft = loss.policy_target == "visits"
    if not is_soft and (loss.hard_fraction or loss.policy_temperature != 1):
        raise ConfigError(
            "loss.hard_fraction and loss.policy_temperature need policy_target = visits"
        )
    paths = list(files.paths)
    if test is None:
        paths, test = _held_out(config, paths)
    elif data.test_limit:
        test = test.only(test.rows[_drawn(len(test), data.test_limit, config.seed)])
    keys = _keys(test, mirror)
    stream = SampleStream(
        paths,
        # Whole batches, so that only the last one of an epoch is smaller.
        max(1, round(data.window / config.loop.batch_size)) * config.loop.batch_size,
        seed=config.seed,
        with_moves=is_soft,
        leave_out=keys if data.drop_seen and len(keys) else None,
        threads=data.threads,
    )
    positions = games = 0
    total = 0
    common = np.zeros(len(keys), bool)
    for samples in stream.scan():
        found = position_keys(samples.hcp)
        place = np.arange(positions, positions + len(found), dtype=np.uint64)
        total += int((found * (2 * place + np.uint64(1))).sum(dtype=np.uint64))
        common |= np.isin(keys, found)
        positions += len(found)
        games += len(np.unique(samples.game))
    if not positions:
        besides = " besides those of the test" if len(keys) and data.drop_seen else ""
        raise ConfigError(f"the training data has no positions{besides}")
    part = StreamedPart(stream, positions, games, loss.policy_temperature, loss.hard_fraction)
    return Split(
        part,
        test,
        train_games=games,
        test_games=len(np.unique(test.samples.game[test.rows])),
        removed_seen=0,
        common_positions=int(common.sum()),
        fingerprint=f"{total % 2**64:016x}",
    )


def _held_out(config: Config, paths: list[Path]) -> tuple[list[Path], Part]:
    """(training files, test part): whole files are held out."""
    data = config.data
    if not data.test_fraction:
        empty = load_samples(paths[0])
        return paths, Part.whole(empty.take(slice(0)))
    paths, test_paths = split_files(paths, data.test_fraction, config.seed)
    if not test_paths:
        raise ConfigError(
            "data.window: whole files are held out for the test, and there is one; give more "
            "files, data.test, or data.test_fraction = 0"
        )
    whole = Part.whole(load_samples(test_paths))
    return paths, whole.only(_drawn(len(whole), data.test_limit, config.seed))


def _drawn(count: int, limit: int, seed: int) -> NDArray[np.int64]:
    if not limit or count <= limit:
        return np.arange(count)
    rng = np.random.default_rng([seed, 0x11317])
    return np.sort(rng.choice(count, limit, replace=False))


def _keys(test: Part, mirror: Mirror | None) -> NDArray[np.uint64]:
    """Of the positions and, with `mirror`, of their mirror images."""
    keys = keys_of(test)
    if mirror is None or not len(test):
        return np.unique(keys)
    mirrored = position_keys(mirror(test.samples.hcp[test.rows]))
    return np.unique(np.concatenate([keys, mirrored]))
