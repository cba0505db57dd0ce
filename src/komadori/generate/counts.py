"""Counts of generated games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from komadori._core.records import HCPE3_MAX_PLIES
from komadori.generate.file_sizes import parse_sizes
from komadori.records import End, Winner

if TYPE_CHECKING:
    from komadori.generate.folder import Facts

#: Bin width of the histogram of game lengths, in plies.
LENGTH_STEP = 20


@dataclass
class Counts:
    """Counts over the games of some segments.

    A failed, duplicate or empty game is counted as such only; its nodes are always counted.
    """

    is_full: bool = True
    games: int = 0
    duplicates: int = 0
    failed: int = 0
    """Games dropped because an engine crashed, hung or made an illegal move."""
    empty: int = 0
    """Games without a sample."""
    plies: int = 0
    scored: int = 0
    differing: int = 0
    with_candidates: int = 0
    nodes: int = 0
    played_on: int = 0
    """Games without resignation in which the rule would have resigned."""
    wrongly_resigned: int = 0
    """Those of them in which the side that would have resigned didn't lose."""
    results: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    digests: list[int] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    """Sizes of the segment's files in bytes, by name; 0: no such file. Empty in older folders."""

    def add(self, facts: Facts, *, is_duplicate: bool) -> None:
        self.nodes += facts.nodes
        if facts.winner == Winner.UNKNOWN:
            self.failed += 1
            return
        self.digests.append(facts.digest)
        if is_duplicate:
            self.duplicates += 1
            return
        if facts.scored == 0:
            self.empty += 1
            return
        self.games += 1
        self.plies += facts.plies
        self.scored += facts.scored
        self.differing += facts.differing
        self.with_candidates += facts.with_candidates
        if facts.foreseen != Winner.UNKNOWN:
            self.played_on += 1
            self.wrongly_resigned += facts.foreseen != facts.winner
        self.results[Winner(facts.winner).name.lower()] += 1
        self.ends[End(facts.end).name.lower()] += 1
        self.lengths[facts.plies // LENGTH_STEP * LENGTH_STEP] += 1

    @classmethod
    def total(cls, parts: Iterable[Counts]) -> Self:
        """Return the sum, without digests and files."""
        total = cls()
        for part in parts:
            for name in _COUNTERS:
                setattr(total, name, getattr(total, name) + getattr(part, name))
            total.results += part.results
            total.ends += part.ends
            total.lengths += part.lengths
        return total

    def to_json(self) -> dict[str, Any]:
        return {
            "is_full": self.is_full,
            **{name: getattr(self, name) for name in _COUNTERS},
            "results": dict(sorted(self.results.items())),
            "ends": dict(sorted(self.ends.items())),
            "lengths": {str(length): n for length, n in sorted(self.lengths.items())},
            "digests": "".join(f"{digest:016x}" for digest in self.digests),
            "files": self.files,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError if malformed."""
        text = data["digests"]
        lengths = {int(length): n for length, n in _table(data, "lengths").items()}
        if not all(0 <= length <= HCPE3_MAX_PLIES for length in lengths):
            raise ValueError(f"lengths: expected lengths of at most {HCPE3_MAX_PLIES} plies")
        return cls(
            is_full=bool(data["is_full"]),
            **{name: _count(name, data[name]) for name in _COUNTERS},
            results=Counter(_table(data, "results")),
            ends=Counter(_table(data, "ends")),
            lengths=Counter(lengths),
            digests=[int(text[i : i + 16], 16) for i in range(0, len(text), 16)],
            files=parse_sizes(data.get("files", {})),
        )


def _table(data: dict[str, Any], name: str) -> dict[str, int]:
    """Return a table of counts. Raises KeyError or ValueError."""
    table = data[name]
    if not isinstance(table, dict):
        raise ValueError(f"{name}: expected a count of each kind")
    return {key: _count(f"{name}: {key}", count) for key, count in table.items()}


def _count(name: str, count: Any) -> int:
    if type(count) is not int or count < 0:
        raise ValueError(f"{name}: expected a count")
    return count


_COUNTERS = (
    "games",
    "duplicates",
    "failed",
    "empty",
    "plies",
    "scored",
    "differing",
    "with_candidates",
    "nodes",
    "played_on",
    "wrongly_resigned",
)
