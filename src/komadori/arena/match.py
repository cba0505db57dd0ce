"""Matches: paired games between two players."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from komadori.arena import elo
from komadori.arena.game import Conditions, GameRecord
from komadori.arena.limits import check_players, describe
from komadori.arena.openings import Opening, choose, random_openings
from komadori.arena.page import write_page
from komadori.arena.store import MatchStore, check_record_suffix
from komadori.arena.workers import Job, PlayerSource, run_jobs
from komadori.search.defaults import MAX_GAMES
from komadori.wording import check_type, names_arguments, not_expected

#: With fewer complete pairs the error is computed from single games.
MIN_PAIRS = 10


@names_arguments
@dataclass
class MatchResult:
    """The score of a match, from the first player's (A's) view."""

    names: tuple[str, str]
    conditions: Conditions
    terms: str = ""
    """The conditions as they apply to both players, each with its own limits."""
    wins: int = 0
    losses: int = 0
    draws: int = 0
    pairs: list[int] = field(default_factory=lambda: [0] * 5)
    """Complete pairs by A's half points, 0 to 4."""
    black_wins: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    games: list[GameRecord] = field(default_factory=list)
    sprt: elo.Sprt | None = None
    _halves: dict[int, float] = field(default_factory=dict, repr=False)

    def add(self, record: GameRecord) -> None:
        """Count a finished game."""
        self.games.append(record)
        self.reasons[record.reason] += 1
        points = record.points
        self.wins += points == 1.0
        self.losses += points == 0.0
        self.draws += points == 0.5
        self.black_wins += record.winner == "black"
        pair = record.index // 2
        if pair in self._halves:
            self.pairs[round(2 * (self._halves.pop(pair) + points))] += 1
        else:
            self._halves[pair] = points

    @property
    def played(self) -> int:
        return self.wins + self.losses + self.draws

    @property
    def score(self) -> float:
        """A's points per game; 0.5 before the first."""
        return (self.wins + self.draws / 2) / self.played if self.played else 0.5

    @property
    def estimate(self) -> elo.EloEstimate:
        """Elo with its error: from the complete pairs if there are enough, else from single games.

        Games that wait for the other one of their pair don't count beside at least as many pairs.
        """
        by_game = elo.trinomial(self.wins, self.draws, self.losses)
        if sum(self.pairs) >= max(MIN_PAIRS, len(self._halves)):
            by_pair = elo.pentanomial(self.pairs)
            if by_pair.error > 0.0:
                return by_pair
        return by_game

    @property
    def elo(self) -> float:
        """A's Elo minus B's; infinite if one side won every game."""
        return self.estimate.elo

    @property
    def elo_error(self) -> float:
        """Half the 95 % interval of `elo`."""
        return self.estimate.error

    @property
    def p_value(self) -> float:
        """One-sided: P(at least this many wins among decided games at equal strength)."""
        return elo.sign_test(self.wins, self.losses)

    @property
    def los(self) -> float:
        """Likelihood that A is stronger."""
        return self.estimate.los

    @property
    def llr(self) -> float | None:
        """Log-likelihood ratio of the sequential test, if any."""
        return self.sprt.llr(self.pairs) if self.sprt else None

    @property
    def decision(self) -> str | None:
        """ "H1" or "H0" once the sequential test has ended."""
        return self.sprt.decision(self.pairs) if self.sprt else None

    def __str__(self) -> str:
        a, b = self.names
        head = f"{a} - {b}: {self.wins} won, {self.losses} lost, {self.draws} drawn"
        if not self.played:
            return head
        return f"{head}; Elo {self.estimate}, p = {self.p_value:.2g}"

    def to_json(self) -> dict[str, Any]:
        """Return the result's figures, without the games."""
        estimate = self.estimate if self.played else None
        return {
            "names": list(self.names),
            "conditions": asdict(self.conditions),
            "wins": self.wins,
            "losses": self.losses,
            "draws": self.draws,
            "pairs": self.pairs,
            "black_wins": self.black_wins,
            "reasons": dict(self.reasons),
            "elo": asdict(estimate) if estimate else None,
            "p_value": self.p_value,
            "sprt": {"llr": self.llr, "decision": self.decision} if self.sprt else None,
        }


OnGame = Callable[[GameRecord, MatchResult], None]


@names_arguments
def play_match(
    a: PlayerSource,
    b: PlayerSource,
    *,
    games: int = 100,
    openings: Iterable[Opening] | None = None,
    opening_plies: int | None = None,
    seed: int = 0,
    concurrency: int = 1,
    conditions: Conditions | None = None,
    nodes: int | None = None,
    on_game: OnGame | None = None,
    out: Path | str | None = None,
    records: str | Sequence[str] | None = None,
    sprt: elo.Sprt | None = None,
    names: tuple[str, str] | None = None,
    ray: str | None = None,
) -> MatchResult:
    """Play `games` games between A and B and count them from A's view.

    Each opening is played twice with colours swapped, so `games` must be even. Openings are
    taken from `openings` in an order given by `seed`, one for each position, or consist of
    `opening_plies` random moves, by default 8. A player is a specification
    (`komadori.players.spec`) or a function that builds one. With `concurrency` above 1,
    specifications are played in processes and functions in threads.

    `nodes` is short for `conditions=Conditions(nodes=...)`. `on_game` is called in this thread
    after each game, in the order they finish. `out` is a folder for games.jsonl, result.json and a
    page; games already there under the same terms are counted and not played again. `records` (kif,
    csa, usi, ...; one or several) also writes each game as a record. `sprt` ends the match when it
    decides.
    `ray` is the address of a Ray cluster; each machine plays `concurrency` games at once.

    Raises ValueError for invalid arguments and PlayerSpecError for a bad specification.
    """
    if games < 2 or games % 2:
        raise ValueError(f"games come in pairs: an even number above zero, not {games}")
    if games > MAX_GAMES:
        raise ValueError(f"games: at most {MAX_GAMES:,}, not {games:,}")
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    if conditions is None:
        conditions = Conditions(nodes=nodes)
    elif nodes is not None:
        raise ValueError("give nodes in the conditions, not beside them")
    check_type("conditions", conditions, Conditions)
    if sprt is not None:
        check_type("sprt", sprt, elo.Sprt)
    if openings is not None:
        openings = list(openings)
    for opening in openings or ():
        check_type("openings", opening, Opening)
    suffixes = [records] if isinstance(records, str) else list(records or ())
    if suffixes and out is None:
        raise ValueError("records need a folder: give out")
    for suffix in suffixes:
        check_record_suffix(suffix)
    for name, source in (("a", a), ("b", b)):
        if not isinstance(source, str) and not callable(source):
            expected = "a specification or a function that builds a player"
            raise not_expected(name, source, expected)
    if names is not None and (isinstance(names, str) or len(names) != 2):
        raise not_expected("names", names, "two names, A's and B's")
    pair_count = games // 2
    if openings is None:
        chosen = random_openings(pair_count, opening_plies, seed)
    else:
        chosen = choose(openings, pair_count, seed)
    sources = (a, b)
    check_players(conditions, sources, {opening.sfen for opening in chosen})
    labels = names or _names(sources)
    described = describe(conditions, sources, labels)
    result = MatchResult(labels, conditions, described, sprt=sprt)
    terms = _terms(sources, labels, conditions, seed, chosen)
    with MatchStore(out, terms) if out else nullcontext() as store:
        done: set[int] = set()
        for record in store.finished() if store else ():
            if record.index < games:
                if store:  # the terms have only the openings of the first session
                    store.check_opening(record, chosen[record.index // 2])
                done.add(record.index)
                result.add(record)
                if store:
                    store.write_records(record, suffixes)
        jobs = [job for job in _jobs(chosen, seed) if job.index not in done]
        if store:
            for job in jobs:
                store.check_records(job.index, suffixes)
        if result.decision is None:
            if ray is None:
                played = run_jobs(sources, conditions, jobs, concurrency, terms["files"])
            else:
                from komadori.arena.cluster import run_jobs_on_cluster

                played = run_jobs_on_cluster(
                    ray, sources, conditions, iter(jobs), concurrency, terms["files"]
                )
            with closing(played):  # an error, too, ends the games that are being played
                for record in played:
                    record.names = labels if record.first_is_black else (labels[1], labels[0])
                    if store:
                        store.add(record)
                        store.write_records(record, suffixes)
                    result.add(record)
                    if on_game:
                        on_game(record, result)
                    if result.decision is not None:
                        break
        if store:
            store.write_result(result.to_json())
            write_page(store.folder / "index.html", result)
    return result


def _jobs(openings: Sequence[Opening], seed: int) -> Iterator[Job]:
    rng = random.Random(f"games {seed}")
    for pair, opening in enumerate(openings):
        for half in range(2):
            yield Job(2 * pair + half, pair, opening, half == 0, rng.getrandbits(31))


def _names(sources: tuple[PlayerSource, PlayerSource]) -> tuple[str, str]:
    from komadori.players import PlayerSpec

    specs = [PlayerSpec.parse(source) if isinstance(source, str) else None for source in sources]
    found = [spec.name if spec else "AB"[i] for i, spec in enumerate(specs)]
    if found[0] == found[1] and specs[0] and specs[1]:
        found = [specs[0].name_beside(specs[1]), specs[1].name_beside(specs[0])]
    if found[0] == found[1]:
        found = [f"{found[0]} (A)", f"{found[1]} (B)"]
    return found[0], found[1]


def _terms(
    sources: tuple[PlayerSource, PlayerSource],
    names: tuple[str, str],
    conditions: Conditions,
    seed: int,
    openings: Sequence[Opening],
) -> dict[str, Any]:
    """Return the terms that must be equal to resume a match; the number of games may differ."""
    from komadori.players import fingerprint

    players = [s if isinstance(s, str) else name for s, name in zip(sources, names, strict=True)]
    return {
        "players": players,
        "files": [fingerprint(s) if isinstance(s, str) else {} for s in sources],
        "conditions": asdict(conditions),
        "seed": seed,
        "openings": [short_digest(str(opening)) for opening in openings],
    }


def short_digest(text: str) -> str:
    """Return a short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]
