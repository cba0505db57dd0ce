"""Statistics of a folder of generated games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori.generate.counts import LENGTH_STEP, Counts
from komadori.generate.folder import check_files, read_counts, read_settings, segment_files
from komadori.records import MATE_CP, Winner, load_samples
from komadori.records.keys import position_keys
from komadori.records.parts import PositionSet
from komadori.wording import counted, names_arguments, size

#: Bin edges of the histogram of scores, in centipawns.
SCORE_EDGES = (-3000, -2000, -1000, -500, -200, -50, 50, 200, 500, 1000, 2000, 3000)


class DistinctPositions:
    """Counts distinct positions in bounded memory: exactly up to `limit`, above it by sampling
    every 2nd, 4th, ... hash (relative error about 1 / sqrt(limit))."""

    def __init__(self, limit: int = 1 << 24) -> None:
        self.limit = limit
        self._shift = 0
        self._set = PositionSet()
        self._kept: list[NDArray[np.uint64]] = []

    def add(self, hcp: NDArray[np.uint8]) -> None:
        """Add positions, uint8 [N, 32]."""
        keys = position_keys(hcp)
        self._add(keys[self._is_counted(keys)])
        while len(self._set) > self.limit:
            self._shift += 1
            kept, self._kept, self._set = np.concatenate(self._kept), [], PositionSet()
            self._add(kept[self._is_counted(kept)])

    def _is_counted(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        counted: NDArray[np.bool_] = (keys & np.uint64((1 << self._shift) - 1)) == 0
        return counted

    def _add(self, keys: NDArray[np.uint64]) -> None:
        rows = np.zeros((len(keys), 4), np.uint64)
        rows[:, 0] = keys
        self._kept.append(keys[self._set.add(rows.view(np.uint8))])

    @property
    def is_exact(self) -> bool:
        return self._shift == 0

    def __len__(self) -> int:
        return len(self._set) << self._shift


@dataclass
class Statistics:
    """Statistics of a folder: the counts of its segments, and measures of its positions."""

    counts: Counts
    positions: int = 0
    distinct: int = 0
    is_exact: bool = True
    scores: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(len(SCORE_EDGES) + 1, np.int64)
    )
    mates: int = 0
    score_deviation_cp: float = 0.0
    """Standard deviation of the scores without mates."""
    bytes: int = 0
    skipped: int = 0
    """Number of damaged games, which were skipped."""
    journal_games: int = 0
    """Finished games not yet in a segment."""

    @property
    def bytes_per_ply(self) -> float:
        return self.bytes / max(self.positions, 1)

    def to_json(self) -> dict[str, Any]:
        counts = self.counts.to_json()
        del counts["digests"], counts["is_full"], counts["files"]
        return counts | {
            "positions": self.positions,
            "distinct": self.distinct,
            "is_exact": self.is_exact,
            "scores": self.scores.tolist(),
            "score_edges_cp": list(SCORE_EDGES),
            "mates": self.mates,
            "score_deviation_cp": round(self.score_deviation_cp, 1),
            "bytes": self.bytes,
            "skipped": self.skipped,
        }

    def lines(self) -> list[str]:
        """Return the statistics as lines of text."""
        c = self.counts
        games = max(c.games, 1)
        lines = [
            f"games      {c.games:,} with {counted(c.plies, 'ply', 'plies')}, "
            f"{c.plies / games:.0f} per game; "
            f"dropped: {counted(c.duplicates, 'duplicate')}, {c.empty:,} without samples",
            f"results    {_percentages(c.results, games)}",
            f"ends       {_percentages(c.ends, games)}",
            "lengths    " + _histogram(c.lengths),
        ]
        if c.failed:
            lines.append(f"failed     {counted(c.failed, 'game')} dropped because an engine failed")
        if c.played_on:
            wrong = 100 * c.wrongly_resigned / c.played_on
            lines.append(
                f"resigning  would have been wrong in {c.wrongly_resigned:,} of {c.played_on:,} "
                f"games without resignation ({wrong:.1f} %)"
            )
        scored = max(c.scored, 1)
        about = "" if self.is_exact else "about "
        lines += [
            f"positions  {counted(self.positions, 'sample')}, {about}{self.distinct:,} distinct "
            f"({100 * self.distinct / max(self.positions, 1):.1f} %)",
            f"moves      {100 * c.differing / scored:.1f} % differ from the best move; "
            f"{100 * c.with_candidates / scored:.1f} % have several candidates",
            f"scores     {self._score_ranges()}; standard deviation "
            f"{self.score_deviation_cp:.0f} cp without mates",
            f"searches   {counted(c.nodes, 'node')}, {c.nodes / scored:,.0f} per position",
            f"storage    {size(self.bytes)}, {self.bytes_per_ply:.2f} bytes per position",
        ]
        if self.journal_games:
            lines.append(
                f"journals   {counted(self.journal_games, 'game')} not yet in a segment: the run "
                "is in progress or was killed; running it again writes them"
            )
        if self.skipped:
            lines.append(f"damaged    games left out: {self.skipped:,}")
        return lines

    def _score_ranges(self) -> str:
        total = max(int(self.scores.sum()), 1)
        near = int(self.scores[5:8].sum())  # -200 to 200
        middle = int(self.scores[3:10].sum())  # -1000 to 1000
        return (
            f"{100 * near / total:.0f} % within 200 cp, {100 * middle / total:.0f} % within "
            f"1,000, {100 * self.mates / total:.1f} % mates"
        )


@names_arguments
def folder_statistics(
    folder: Path | str, on_file: Callable[[int, int], None] = lambda _done, _of: None
) -> Statistics:
    """Read all games of the folder. Raises FolderError, RecordError, OSError."""
    from komadori.generate.folder import read_journal

    folder = Path(folder)
    read_settings(folder)
    files = segment_files(folder)
    found = [read_counts(path) for path in sorted(folder.glob("[0-9]*.json"))]
    for counts in found:
        if counts:
            check_files(folder, counts)
    statistics = positions_statistics(files, on_file)
    statistics.counts = Counts.total(counts for counts in found if counts)
    digests = {digest for counts in found if counts for digest in counts.digests}
    for path in folder.glob("*.journal"):
        games, _ = read_journal(path)
        statistics.journal_games += sum(
            game.facts.winner != Winner.UNKNOWN and game.facts.digest not in digests
            for game in games
        )
    return statistics


def positions_statistics(
    files: Iterable[Path], on_file: Callable[[int, int], None] = lambda _done, _of: None
) -> Statistics:
    """Return statistics of the positions of any record files."""
    files = list(files)
    statistics = Statistics(Counts())
    distinct = DistinctPositions()
    total = squares = 0.0
    for number, path in enumerate(files):
        samples = load_samples(path)
        statistics.positions += len(samples)
        statistics.bytes += path.stat().st_size
        statistics.skipped += sum(skip.count for skip in samples.skipped)
        distinct.add(samples.hcp)
        scores = samples.score_cp.astype(np.int64)
        is_mate = np.abs(scores) >= MATE_CP
        statistics.mates += int(is_mate.sum())
        statistics.scores += np.bincount(
            np.digitize(scores, SCORE_EDGES), minlength=len(SCORE_EDGES) + 1
        )
        total += float(scores[~is_mate].sum())
        squares += float((scores[~is_mate] ** 2).sum())
        on_file(number + 1, len(files))
    counted = max(statistics.positions - statistics.mates, 1)
    statistics.score_deviation_cp = max(squares / counted - (total / counted) ** 2, 0.0) ** 0.5
    statistics.distinct, statistics.is_exact = len(distinct), distinct.is_exact
    return statistics


def _percentages(counter: dict[str, int], total: int) -> str:
    ordered = sorted(counter.items(), key=lambda item: -item[1])
    return ", ".join(f"{name.replace('_', ' ')} {100 * n / total:.1f} %" for name, n in ordered)


def _histogram(lengths: dict[int, int]) -> str:
    bars = "▁▂▃▄▅▆▇█"
    if not lengths:
        return "none"
    most = max(lengths.values())
    steps = range(0, max(lengths) + LENGTH_STEP, LENGTH_STEP)
    drawn = "".join(bars[lengths.get(s, 0) * (len(bars) - 1) // most] for s in steps)
    return f"0 {drawn} {max(lengths) + LENGTH_STEP} plies, {LENGTH_STEP} per bar"
