"""Tuning of an engine's options by games (SPSA), stored on disk and resumable.

    tune.jsonl    first line the terms, then one finished iteration per line: the coins, both
                  sides' values, the result, and the parameters after it
    index.html    the page: the path of each parameter

An iteration is a pair of games, the plus side's values against the minus side's; with an opponent
two pairs, each side against it. An unfinished iteration is played again.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from komadori.arena.game import Conditions, GameRecord
from komadori.arena.journal import Journal
from komadori.arena.limits import check_players, describe
from komadori.arena.openings import OnSkipped, Opening, choose, random_openings, read_openings
from komadori.arena.page import fill_template
from komadori.arena.spsa import LARGEST, Parameter, Spsa, Trial
from komadori.arena.workers import Files, Job, WorkerError, run_jobs, tunable
from komadori.atomic import write_text
from komadori.players import PlayerSpec
from komadori.players.spec import with_options
from komadori.search.defaults import MAX_GAMES
from komadori.typed_settings import read_toml
from komadori.wording import counted, plain_number

#: Consecutive engine failures that end a tuning.
MAX_FAILURES = 20
#: As many openings as of the longest match: all are chosen before the first game.
MAX_PAIRS = MAX_GAMES // 2
#: Maximum of the other numbers.
MAX_COUNT = (1 << 31) - 1

#: Seconds between updates of the page.
PAGE_EVERY_S = 60.0


class TuneConfigError(ValueError):
    """An invalid parameter file. The message names the key."""


@dataclass(frozen=True)
class TuneConfig:
    """The settings of a tuning, from its TOML file."""

    parameters: tuple[Parameter, ...]
    pairs: int = 1000
    """Iterations; each plays one opening with both colours."""
    opponent: str = ""
    """A player against which both sides play; empty: against each other."""
    conditions: Conditions = field(default_factory=Conditions)
    openings: str = ""
    """A file, `sample`, or empty: random moves."""
    opening_plies: int | None = None
    """As in `arena.read_openings` and `arena.random_openings`."""
    seed: int = 0
    alpha: float = 0.602
    gamma: float = 0.101
    stability: float = 0.1

    @property
    def games_per_iteration(self) -> int:
        return 4 if self.opponent else 2


def read_config(path: Path, parse_clock: Callable[[str], dict[str, int]]) -> TuneConfig:
    """Read a parameter file. Raises TuneConfigError or OSError.

    `parse_clock` parses `clock = "10+0.1"` to fields of Conditions.
    """
    try:
        data = read_toml(path)
    except ValueError as error:
        raise TuneConfigError(str(error)) from error
    try:
        return _config(data, parse_clock)
    except (ValueError, TypeError) as error:
        raise TuneConfigError(f"{path}: {error}") from error


def _config(data: dict[str, Any], parse_clock: Callable[[str], dict[str, int]]) -> TuneConfig:
    tables = data.pop("parameters", {})
    if not isinstance(tables, dict) or not tables:
        raise ValueError("expected a table [parameters.NAME] for each option")
    parameters = tuple(_parameter(name, table) for name, table in tables.items())
    given = data.pop("conditions", {})
    if isinstance(given, dict) and "clock" in given:
        given |= parse_clock(str(given.pop("clock")))
    conditions = _conditions(_known(given, Conditions, "conditions"))
    spsa = _known(data.pop("spsa", {}), ("alpha", "gamma", "stability"), "spsa")
    keys = ("pairs", "opponent", "openings", "opening_plies", "seed")
    rest = _known(data, keys, "")
    for key in ("pairs", "opening_plies", "seed"):
        if key in rest:
            _check_count(key, rest[key])
    for key, expected in (("openings", "the name of a file"), ("opponent", "a player")):
        text = rest.get(key, "")
        if not isinstance(text, str) or "\0" in text:
            raise ValueError(f"{key} is {text!r}, expected {expected}")
    if rest.get("opponent"):
        PlayerSpec.parse(rest["opponent"])
    if not 1 <= rest.get("pairs", 1) <= MAX_PAIRS:
        raise ValueError(f"pairs is {rest['pairs']}, expected 1 to {MAX_PAIRS}")
    for key, value in spsa.items():
        if not isinstance(value, int | float) or not 0 <= value <= 10:
            raise ValueError(f"spsa.{key} is {value!r}, no number from 0 to 10")
    return TuneConfig(parameters, conditions=conditions, **rest, **spsa)


def _conditions(given: dict[str, Any]) -> Conditions:
    for key, value in given.items():
        if key == "auto_declare":
            if not isinstance(value, bool):
                raise ValueError(f"conditions.{key} is {value!r}, neither true nor false")
        else:
            _check_count(f"conditions.{key}", value)
    return Conditions(**given)


def _check_count(key: str, value: Any) -> None:
    """Raises ValueError for what isn't an integer from 0 to MAX_COUNT."""
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise ValueError(f"{key} is {shown}, expected an integer from 0 to {MAX_COUNT}")


def _known(table: Any, known: Any, where: str) -> dict[str, Any]:
    names = known if isinstance(known, tuple) else tuple(known.__dataclass_fields__)
    if not isinstance(table, dict):
        raise ValueError(f"{where} isn't a table")
    for key in table:
        if key not in names:
            raise ValueError(f"{where + '.' if where else ''}{key} is unknown: {', '.join(names)}")
    return dict(table)


def _parameter(name: str, table: Any) -> Parameter:
    keys = ("start", "min", "max", "step", "rate", "type")
    given = _known(table, keys, f"parameters.{name}")
    for key in ("start", "min", "max"):
        if key not in given:
            raise ValueError(f"parameters.{name}: {key} is missing")
    kind = given.pop("type", None)
    if kind not in (None, "int", "float"):
        raise ValueError(f"parameters.{name}.type is {kind!r}, neither int nor float")
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"parameters.{name}.{key} is {value!r}, no number")
        if abs(value) > LARGEST:
            raise ValueError(f"parameters.{name}.{key} is beyond {LARGEST:g}")
    whole = all(isinstance(given[key], int) for key in ("start", "min", "max"))
    given.setdefault("step", (given["max"] - given["min"]) / 20)
    return Parameter(name, **given, is_integer=kind == "int" or (kind is None and whole))


@dataclass
class Tuning:
    """The state of a tuning."""

    player: str
    config: TuneConfig
    spsa: Spsa
    paths: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    """(number of finished pairs, values), from the start."""
    wins: int = 0
    losses: int = 0
    draws: int = 0
    failures: int = 0
    """Games ended by an engine failure; their pairs don't count."""
    iterations: set[int] = field(default_factory=set)

    @property
    def finished(self) -> int:
        return len(self.iterations)

    @property
    def progress(self) -> str:
        """The games of the finished iterations as text."""
        return self.games_of(self.finished)

    def games_of(self, iterations: int) -> str:
        """The games of so many iterations as text."""
        text = counted(iterations, "pair of games", "pairs of games")
        return f"{text} of each side" if self.config.opponent else text

    @property
    def score(self) -> str:
        """The results of the games as text."""
        if self.config.opponent:
            return (
                f"{counted(self.wins, 'game')} won, {self.losses} lost, {self.draws} drawn against "
                f"{self.config.opponent}"
            )
        return (
            f"{counted(self.wins, 'game')} won by the plus side, {self.losses} by the minus side, "
            f"{self.draws} drawn"
        )

    def best(self) -> dict[str, str]:
        """Return the current values as options."""
        return {p.name: _nearest(p, self.spsa.theta[p.name]) for p in self.config.parameters}

    def specification(self) -> str:
        """Return the player's specification with the current values."""
        return with_options(self.player, self.best())


def _nearest(parameter: Parameter, value: float) -> str:
    return str(round(value)) if parameter.is_integer else plain_number(value, 6)


OnPair = Callable[[Tuning], None]


def tune(
    player: str,
    config: TuneConfig,
    out: Path | str,
    *,
    concurrency: int = 1,
    on_pair: OnPair | None = None,
    on_skipped: OnSkipped | None = None,
) -> Tuning:
    """Tune `player`'s options as set by `config` in the folder `out`, resuming existing work.

    `on_pair` is called in this thread after each pair of games, `on_skipped` for each damaged part
    of a file of opening games. Raises ValueError and EngineError,
    before the first game also for parameters that the player doesn't take and for an opponent that
    can't be made, and what the arena raises.
    """
    from komadori import players

    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    openings = _openings(config, on_skipped)
    sources = [player, config.opponent] if config.opponent else [player]
    check_players(config.conditions, sources, {opening.sfen for opening in openings})
    spsa = Spsa(
        config.parameters, config.pairs, config.seed, config.alpha, config.gamma, config.stability
    )
    check_ranges(player, config.parameters)
    if config.opponent:
        players.make(config.opponent).close()
    tuning = Tuning(player, config, spsa, [(0, dict(spsa.theta))])
    try:  # an option may be set under its other name
        players.make(tuning.specification()).close()
    except players.PlayerSpecError as error:
        raise ValueError(f"{error}, by the player and by the parameters") from error
    folder = Path(out)
    terms = _terms(player, config, openings)
    files = (terms["files"][0], terms["files"][-1])
    with Journal(folder, "tune.jsonl", terms) as journal:
        for number, row in enumerate(journal.rows(), 2):
            if what := _damage(tuning, row):
                raise journal.damage(number, ValueError(what))
            _replay(tuning, row)
        _play(tuning, openings, journal, concurrency, files, on_pair, folder / "index.html")
        write_page(folder / "index.html", tuning)
    return tuning


def check_ranges(player: str, parameters: Sequence[Parameter]) -> None:
    """Raise ValueError or EngineError unless the player takes every value of every parameter.

    Starts the player; raises what `players.make` raises.
    """
    from komadori import players

    made = players.make(player)
    try:
        for parameter in parameters:
            taken = tunable(made).option_range(parameter.name)
            if taken.is_integer and not parameter.is_integer:
                raise ValueError(
                    f"parameters.{parameter.name} is of type float, "
                    f"but {made.name} takes integers, {taken}"
                )
            low, high = taken.min, taken.max
            if (low is not None and parameter.min < low) or (
                high is not None and parameter.max > high
            ):
                raise ValueError(
                    f"parameters.{parameter.name} is from {plain_number(parameter.min)} to "
                    f"{plain_number(parameter.max)}, but {made.name} takes {taken}"
                )
    finally:
        made.close()


def _openings(config: TuneConfig, on_skipped: OnSkipped | None) -> list[Opening]:
    if config.openings:
        read = read_openings(config.openings, config.opening_plies, on_skipped)
        return choose(read, config.pairs, config.seed)
    return random_openings(config.pairs, config.opening_plies, config.seed)


def _terms(player: str, config: TuneConfig, openings: Sequence[Opening]) -> dict[str, Any]:
    from komadori.arena.match import short_digest
    from komadori.players import fingerprint

    players = [player, config.opponent] if config.opponent else [player]
    return {
        "player": player,
        **({"opponent": config.opponent} if config.opponent else {}),
        "files": [fingerprint(one) for one in players],
        "conditions": asdict(config.conditions),
        "parameters": [asdict(parameter) for parameter in config.parameters],
        "pairs": config.pairs,
        "seed": config.seed,
        "spsa": [config.alpha, config.gamma, config.stability],
        "openings": [short_digest("\n".join(map(str, openings)))],
    }


def _damage(tuning: Tuning, row: Mapping[str, Any]) -> str:
    """What is wrong with a row of the journal, or "": only sound rows may be replayed."""
    for key in ("iteration", "wins", "losses", "draws", "failures"):
        if type(row.get(key)) is not int or row[key] < 0:
            return f"{key} is {row.get(key)!r}, no count"
    if row["iteration"] >= tuning.config.pairs or row["iteration"] in tuning.iterations:
        return f"iteration {row['iteration']} is finished already, or there is no such iteration"
    theta = row.get("theta")
    for p in tuning.config.parameters:
        value: Any = theta.get(p.name) if isinstance(theta, dict) else None
        if type(value) not in (int, float) or not p.min <= value <= p.max:
            wanted = f"from {plain_number(p.min)} to {plain_number(p.max)}"
            return f"theta of {p.name} is {value!r}, no number {wanted}"
    return ""


def _replay(tuning: Tuning, row: Mapping[str, Any]) -> None:
    tuning.iterations.add(int(row["iteration"]))
    tuning.spsa.theta = {p.name: float(row["theta"][p.name]) for p in tuning.config.parameters}
    tuning.wins += int(row["wins"])
    tuning.losses += int(row["losses"])
    tuning.draws += int(row["draws"])
    tuning.failures += int(row["failures"])
    tuning.paths.append((tuning.finished, dict(tuning.spsa.theta)))


def _play(
    tuning: Tuning,
    openings: Sequence[Opening],
    journal: Journal,
    concurrency: int,
    files: Files,
    on_pair: OnPair | None,
    page: Path,
) -> None:
    lock = threading.Lock()
    trials: dict[int, Trial] = {}
    rng = random.Random(f"games {tuning.config.seed}")
    n_games, opponent = tuning.config.games_per_iteration, tuning.config.opponent
    seeds = [rng.getrandbits(31) for _ in range(n_games * tuning.config.pairs)]

    def jobs() -> Iterator[Job]:
        """Yield the games of each iteration, perturbed around the current values."""
        for k in range(tuning.config.pairs):
            if k in tuning.iterations:
                continue
            with lock:
                trial = trials[k] = tuning.spsa.trial(k)
            for number in range(n_games):
                index = n_games * k + number
                sides: tuple[Mapping[str, str], Mapping[str, str]] = (trial.plus, trial.minus)
                if opponent:
                    sides = (sides[number // 2], {})
                yield Job(index, k, openings[k], number % 2 == 0, seeds[index], sides)

    played: dict[int, list[GameRecord]] = {}
    failed_in_a_row, failed, reason = 0, "", ""
    last_page = time.monotonic()
    sources = (tuning.player, opponent or tuning.player)
    records = run_jobs(sources, tuning.config.conditions, jobs(), concurrency, files)
    with closing(records):
        for record in records:
            k = record.index // n_games
            games = played.setdefault(k, [])
            games.append(record)
            if len(games) < n_games:
                continue
            del played[k]
            with lock:
                row = _finish(tuning, trials.pop(k), games)
            journal.append(row)
            failed_in_a_row = failed_in_a_row + row["failures"] if row["failures"] else 0
            for game in games:
                if game.reason == "engine_failure":  # lost by the side that failed
                    failed, reason = sources[game.points == 1.0], game.detail
            if failed_in_a_row >= MAX_FAILURES:
                raise WorkerError(f"{failed}: {failed_in_a_row} failures in a row: {reason}")
            if on_pair:
                on_pair(tuning)
            if time.monotonic() - last_page > PAGE_EVERY_S:
                write_page(page, tuning)
                last_page = time.monotonic()
    if reason and not tuning.wins + tuning.losses + tuning.draws:
        raise WorkerError(f"{failed}: the engine failed in every pair of games: {reason}")


def _finish(tuning: Tuning, trial: Trial, games: Sequence[GameRecord]) -> dict[str, Any]:
    """Count an iteration, update the parameters, and return the journal's row."""
    points = [game.points for game in games]
    wins, losses, draws = points.count(1.0), points.count(0.0), points.count(0.5)
    failures = sum(game.reason == "engine_failure" for game in games)
    if failures:  # tells nothing about the parameters
        wins = losses = draws = 0
    else:
        result: float = wins - losses
        if tuning.config.opponent:
            result = sum(game.points if _is_of_plus(game) else -game.points for game in games)
        tuning.spsa.update(trial.iteration, trial.coins, result)
    row = {
        **asdict(trial),
        "wins": wins,
        "losses": losses,
        "draws": draws,
        "failures": failures,
        "theta": dict(tuning.spsa.theta),
    }
    _replay(tuning, row)
    return row


def _is_of_plus(game: GameRecord) -> bool:
    """Return whether a game against an opponent was played with the plus side's values."""
    return game.index % 4 < 2


#: Maximum points of a parameter's path on the page.
MAX_POINTS = 500


def write_page(path: Path, tuning: Tuning) -> None:
    """Write the tuning's page atomically."""
    step = max(1, len(tuning.paths) // MAX_POINTS)
    kept = tuning.paths[::step]
    if kept[-1] is not tuning.paths[-1]:
        kept.append(tuning.paths[-1])
    sources = [tuning.player, *filter(None, [tuning.config.opponent])]
    data = {
        "title": f"tuning {tuning.player}",
        "summary": [
            f"{tuning.finished:,} of {tuning.games_of(tuning.config.pairs)}: {tuning.score}"
            + (f"; {counted(tuning.failures, 'game')} failed" if tuning.failures else ""),
            f"Conditions: {describe(tuning.config.conditions, sources, sources)}.",
            f"The player now: {tuning.specification()}",
        ],
        "played": counted(max(1, tuning.paths[-1][0]), "pair"),
        "parameters": [
            {
                **asdict(parameter),
                "now": tuning.spsa.theta[parameter.name],
                "option": tuning.best()[parameter.name],
                "path": [[n, values[parameter.name]] for n, values in kept],
            }
            for parameter in tuning.config.parameters
        ],
    }
    write_text(path, fill_template("tune.html", f"tuning {tuning.player}", data))
