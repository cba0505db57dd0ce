"""Declare, set and read the engine's options. Their tables: `usi.option_tables`.

An option's scope:

- SERVER   an option of the USI server (`ServerOptions`)
- SEARCHER a setting of the searcher, applied before the next search
- BUILD    needs a new searcher, built at the next `isready` (`NetworkOptions`,
           `EvaluationOptions`)
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from komadori.usi.protocol import OptionLine, quote

#: GUIs send these even if they aren't declared.
ALWAYS_SENT = ("usi_hash", "usi_ponder")

#: The Book_File that names no book, as in YaneuraOu.
NO_BOOK_FILE = "no_book"


class Scope(enum.Enum):
    SERVER = "server"
    SEARCHER = "searcher"
    BUILD = "build"


@dataclass(frozen=True)
class ServerOptions:
    """Options of the USI server; a limit of 0 means none."""

    nodes_limit: int = 0
    depth_limit: int = 0
    visit_limit: int = 0
    constant_playouts: int = 0
    network_delay_ms: int = 0
    stochastic_ponder: bool = False
    mate_memory_mb: int = 64
    own_book: bool = False
    book_file: str = ""
    best_book_move: bool = False
    book_moves: int = 0

    @property
    def plays_from_book(self) -> bool:
        """Whether a book is on and named."""
        return self.own_book and self.book_file not in ("", NO_BOOK_FILE)


@dataclass(frozen=True)
class NetworkOptions:
    """The network of a searcher, and its coefficient; 0 and "auto" leave the choice to
    `inference.load`.
    """

    model: str = ""
    max_batch: int = 0
    backend: str = "auto"
    precision: str = "auto"
    device: str = "auto"
    threads: int = 0
    eval_coef: int = 0


@dataclass(frozen=True)
class EvaluationOptions:
    """The evaluation of the alpha-beta search, and the network that orders its moves."""

    evaluation: str = "nnue"
    weights: str = ""
    fv_scale: int = 16
    policy_model: str = ""


Group = TypeVar("Group", ServerOptions, NetworkOptions, EvaluationOptions)


@dataclass(frozen=True)
class EngineOption:
    """An option's declaration, its scope, and the setting that it controls.

    `field` names the setting, a field of the searcher's options or of a group of options above. Its
    value is the option's divided by `divisor`; -1 means None where it is the minimum. A combo's
    choices are mapped to `meanings`, if given.
    """

    line: OptionLine
    help: str
    scope: Scope
    field: str = ""
    divisor: int = 1
    meanings: tuple[str, ...] = ()
    is_listed: bool = True
    """Whether the engine declares it to GUIs; others can be set all the same."""

    @property
    def name(self) -> str:
        return self.line.name

    def setting(self, value: str) -> bool | int | float | str | None:
        """Convert an option value to the setting's type."""
        if self.line.kind == "check":
            return value == "true"
        if self.meanings:
            return self.meanings[self.line.choices.index(value)]
        if self.line.kind != "spin":
            return value
        number = int(value)
        if number < 0 and self.line.min == -1:
            return None
        return number if self.divisor == 1 else number / self.divisor


def spin(
    name: str,
    default: int,
    low: int,
    high: int,
    help: str,
    scope: Scope = Scope.SERVER,
    field: str = "",
    divisor: int = 1,
) -> EngineOption:
    line = OptionLine(name, "spin", str(default), low, high)
    return EngineOption(line, help, scope, field, divisor)


def check(
    name: str, default: bool, help: str, scope: Scope = Scope.SERVER, field: str = ""
) -> EngineOption:
    return EngineOption(OptionLine(name, "check", str(default).lower()), help, scope, field)


def combo(
    name: str,
    default: str,
    choices: tuple[str, ...],
    help: str,
    scope: Scope,
    field: str = "",
    meanings: tuple[str, ...] = (),
) -> EngineOption:
    line = OptionLine(name, "combo", default, choices=choices)
    return EngineOption(line, help, scope, field, meanings=meanings)


def filename(name: str, help: str, scope: Scope = Scope.SERVER, field: str = "") -> EngineOption:
    return EngineOption(OptionLine(name, "filename", ""), help, scope, field)


def string(name: str, default: str, help: str, scope: Scope, field: str = "") -> EngineOption:
    return EngineOption(OptionLine(name, "string", default), help, scope, field)


#: Other names for an option, which GUIs or match runners may send.
SYNONYMS = {
    "maxmovestodraw": "draw_ply",
    "threads": "uct_threads",
    "bookfile": "book_file",
    "usi_ownbook": "ownbook",
    "usi_multipv": "multipv",
}


#: Names of similar options of other engines, in lower case.
HINTS = {"evaldir": "EvalFile", "hash": "USI_Hash", "nodes_limit": "NodesLimit"}


class OptionTable:
    """Declared options and their values. Safe to use from several threads."""

    def __init__(self, options: Iterable[EngineOption] = ()) -> None:
        self._options = {option.name.lower(): option for option in options}
        self._values = {key: option.line.default for key, option in self._options.items()}
        self._declared = dict(self._values)
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._chosen: set[str] = set()
        self._model_defaults: dict[str, str] = {}  # option defaults of the current model
        self._notes: list[str] = []

    def preset(self, values: Mapping[str, str]) -> None:
        """Change defaults, as a command line does.

        Raises ValueError for an invalid value and for an undeclared option, also one that GUIs
        always send.
        """
        for name, value in values.items():
            option = self.option(name)
            if problem := self.set(name, value):
                raise ValueError(problem)
            key = self._key(name)
            line = replace(option.line, default=self._values[key])
            self._options[key] = replace(option, line=line)
            self._chosen.add(key)
        self._changed.clear()

    def apply_model_defaults(self, values: Mapping[str, str], source: str) -> Callable[[], None]:
        """Set the options that the user hasn't chosen to the model's defaults, which replace those
        of the previous model. `take_notes` reports changed and rejected options; those of other
        players with a network are ignored.

        Returns a function that undoes it, in case the model can't be loaded.
        """
        accepted: dict[str, str] = {}
        for name, value in values.items():
            key = self._key(name)
            option = self._options.get(key)
            if option is None and key in _network_options():
                continue
            if option is None or option.scope is Scope.SERVER or key == "dnn_model":
                self._notes.append(f"{source}: {quote(name)} is no option that a model can set")
                continue
            value, problem = option.line.check(value)
            if problem:
                self._notes.append(f"{source}: {problem}")
                continue
            accepted[key] = value
            if key not in self._chosen and value != self._values[key]:
                self._notes.append(f"{source}: {option.name}={value}")
        previous = self._model_defaults
        self._replace_model_defaults(accepted)
        return lambda: self._replace_model_defaults(previous)

    def _replace_model_defaults(self, accepted: dict[str, str]) -> None:
        with self._lock:
            for key in (self._model_defaults.keys() | accepted.keys()) - self._chosen:
                self._values[key] = accepted.get(key, self._declared[key])
            self._model_defaults = accepted

    def take_notes(self) -> list[str]:
        """Return and clear the notes of `apply_model_defaults`."""
        notes, self._notes = self._notes, []
        return notes

    def _key(self, name: str) -> str:
        key = name.strip().lower()
        return key if key in self._options else SYNONYMS.get(key, key)

    def declared(self) -> list[OptionLine]:
        """The options that GUIs are shown."""
        return [option.line for option in self._options.values() if option.is_listed]

    def set(self, name: str, value: str) -> str:
        """Set an option; return an error message, or "" on success.

        An invalid value keeps the old one. Undeclared names that GUIs always send are ignored.
        """
        key = self._key(name)
        option = self._options.get(key)
        if option is None:
            return "" if key in ALWAYS_SENT else self._unknown(name)
        value, problem = option.line.check(value)
        if problem:
            return problem
        with self._lock:
            # GUIs send every option, so a default value isn't the user's choice.
            if value != self._declared[key]:
                self._chosen.add(key)
            elif key not in self._chosen:
                value = self._model_defaults.get(key, value)
            if self._values[key] != value:
                self._values[key] = value
                self._changed.add(key)
        return ""

    def option(self, name: str) -> EngineOption:
        """Return a declared option by name or alias. Raises ValueError."""
        option = self._options.get(self._key(name))
        if option is None:
            raise ValueError(self._unknown(name))
        return option

    def _unknown(self, name: str) -> str:
        return f"no option {quote(name)}{self._hint(self._key(name))}"

    def _hint(self, key: str) -> str:
        """Return a hint at the option that an unknown name probably means, "" without one."""
        found = [HINTS[key]] if key in HINTS else get_close_matches(key, self._options, 1, 0.75)
        option = self._options.get(found[0].lower()) if found else None
        return f"; did you mean {option.name}?" if option is not None else ""

    def value(self, name: str, default: str) -> str:
        """Return an option's value; `default` if it isn't declared."""
        with self._lock:
            return self._values.get(self._key(name), default)

    def canonical(self, name: str) -> str:
        """Return the declared name of an option or alias; unknown names are returned unchanged."""
        option = self._options.get(self._key(name))
        return option.name if option is not None else name

    def has(self, name: str) -> bool:
        """Return whether an option of this name is declared."""
        return name.lower() in self._options

    def values(self) -> dict[str, str]:
        """Return all values by declared name."""
        with self._lock:
            return {option.name: self._values[key] for key, option in self._options.items()}

    def settings(self) -> dict[str, bool | int | float | str | None]:
        """Return the searcher settings that differ from their declared default, by setting name.

        For the others the searcher's own default applies, which may be finer than the option's
        unit.
        """
        with self._lock:
            return {
                option.field: option.setting(self._values[key])
                for key, option in self._options.items()
                if option.field
                and option.scope is Scope.SEARCHER
                and self._values[key] != self._declared[key]
            }

    def group(self, group: type[Group]) -> Group:
        """Return the values of a group of options; one that isn't declared keeps its default."""
        names = {field.name for field in fields(group)}
        with self._lock:
            settings: dict[str, Any] = {
                option.field: option.setting(self._values[key])
                for key, option in self._options.items()
                if option.field in names
            }
        return group(**settings)

    def take_changes(self) -> frozenset[Scope]:
        """Return the scopes in which a value changed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return frozenset(self._options[key].scope for key in changed)


def option_table(kind: str) -> OptionTable:
    """Return the options of a kind of searcher (model, policy, alphabeta, ...)."""
    from komadori.usi.option_tables import OPTIONS_BY_KIND, SERVER_OPTIONS

    return OptionTable((*SERVER_OPTIONS, *OPTIONS_BY_KIND[kind]))


def _network_options() -> frozenset[str]:
    """The options of players with a network, in lower case."""
    from komadori.usi.option_tables import OPTIONS_BY_KIND

    kinds = ("model", "policy", "one-ply")
    return frozenset(one.name.lower() for kind in kinds for one in OPTIONS_BY_KIND[kind])
