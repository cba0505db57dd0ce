"""The engine's options by the names that GUIs know, and their values.

The tables are data; what an option does is its scope:

- FRONT    the front itself heeds it
- SEARCHER a setting of the searcher, taken over before the next search
- BUILD    takes effect when the searcher is built, at the next `isready`

Names are dlshogi's and YaneuraOu's, which GUIs translate; so are units and defaults.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from komadori.usi.protocol import OptionLine, quote

#: Sent by GUIs whether declared or not; unknown names of this family are no mistake.
ALWAYS_SENT = ("usi_hash", "usi_ponder", "usi_ownbook", "usi_multipv", "multipv")

#: Ends of ranges that have no natural one.
MANY = 2**31 - 1
DAY_MS = 86_400_000


class Scope(enum.Enum):
    FRONT = "front"
    SEARCHER = "searcher"
    BUILD = "build"


@dataclass(frozen=True)
class EngineOption:
    """An option as it is declared, who heeds it, and the searcher's setting it stands for.

    The setting `field` is the value divided by `divisor`; a spin below zero means None there. A
    combo's choices stand for `meanings`, one each, or for themselves.
    """

    line: OptionLine
    scope: Scope
    field: str = ""
    divisor: int = 1
    meanings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.line.name

    def setting(self, value: str) -> bool | int | float | str | None:
        """The value as the searcher's setting takes it."""
        if self.line.kind == "check":
            return value == "true"
        if self.meanings:
            return self.meanings[self.line.choices.index(value)]
        if self.line.kind != "spin":
            return value
        number = int(value)
        if number < 0:
            return None
        return number if self.divisor == 1 else number / self.divisor


def spin(
    name: str, default: int, low: int, high: int, scope: Scope, field: str = "", divisor: int = 1
) -> EngineOption:
    return EngineOption(OptionLine(name, "spin", str(default), low, high), scope, field, divisor)


def check(name: str, default: bool, scope: Scope, field: str = "") -> EngineOption:
    return EngineOption(OptionLine(name, "check", str(default).lower()), scope, field)


def combo(
    name: str,
    default: str,
    choices: tuple[str, ...],
    scope: Scope,
    field: str = "",
    meanings: tuple[str, ...] = (),
) -> EngineOption:
    line = OptionLine(name, "combo", default, choices=choices)
    return EngineOption(line, scope, field, meanings=meanings)


def filename(name: str, default: str, scope: Scope) -> EngineOption:
    return EngineOption(OptionLine(name, "filename", default), scope)


def string(name: str, default: str, scope: Scope) -> EngineOption:
    return EngineOption(OptionLine(name, "string", default), scope)


#: Heeded by the front, whatever searches.
FRONT_OPTIONS = (
    check("USI_Ponder", False, Scope.FRONT),  # for the GUI, which sends `go ponder` or doesn't
    spin("NodesLimit", 0, 0, MANY, Scope.FRONT),  # ShogiHome sends neither nodes nor depth
    spin("DepthLimit", 0, 0, 1000, Scope.FRONT),
    spin("NetworkDelay", 0, 0, 10_000, Scope.FRONT),  # ms kept back on every move
    check("Stochastic_Ponder", False, Scope.FRONT),  # ponder on every reply, not one
    spin("DfPn_Hash", 64, 1, 1 << 16, Scope.FRONT),  # MiB, of go mate
    check("OwnBook", False, Scope.FRONT),
    filename("Book_File", "", Scope.FRONT),  # YaneuraOu's text format
    check("Best_Book_Move", False, Scope.FRONT),  # else drawn by the moves' counts
    spin("Book_Moves", 0, 0, 10_000, Scope.FRONT),  # plies played from the book; 0: all
)

#: Of everything that uses a network.
MODEL_OPTIONS = (
    filename("DNN_Model", "", Scope.BUILD),
    spin("DNN_Batch_Size", 0, 0, 4096, Scope.BUILD),  # 0: what suits the network
    combo("DNN_Backend", "auto", ("auto", "openvino", "onnxruntime", "torch"), Scope.BUILD),
    combo(
        "DNN_Precision", "auto", ("auto", "float32", "bfloat16", "float16", "int8"), Scope.BUILD
    ),  # of what isn't int8 in the file
    string("DNN_Device", "auto", Scope.BUILD),  # "cuda:0,cuda:1": both work on one tree
    spin("UCT_Threads", 0, 0, 512, Scope.BUILD),  # of the network; 0: all processors
)

#: Centipawns a unit of log odds; a model's card may bring another default.
EVAL_COEF_OPTION = spin("Eval_Coef", 756, 1, 10_000, Scope.SEARCHER, "eval_coef")

#: Settings of the PUCT search (`komadori.search.PuctOptions`).
SEARCH_OPTIONS = (
    spin("USI_Hash", 512, 1, 1 << 20, Scope.SEARCHER, "memory_mb"),
    # As among the front's, and of the mate search beside the search too.
    spin("DfPn_Hash", 64, 1, 1 << 16, Scope.SEARCHER, "mate_memory_mb"),
    spin("Mate_Root_Search", 1000, 0, 1000, Scope.SEARCHER, "root_mate_plies"),  # plies; 1000: any
    spin("MultiPV", 1, 1, 593, Scope.SEARCHER, "multipv"),
    spin("UCT_NodeLimit", 0, 0, MANY, Scope.FRONT),  # playouts of the root, kept ones too; 0: none
    spin("Const_Playout", 0, 0, MANY, Scope.FRONT),  # new playouts whatever the clock; 0: off
    spin("Random_Ply", 0, 0, 10_000, Scope.SEARCHER, "random_plies"),  # moves drawn by visits
    spin("Random_Temperature", 1000, 0, 100_000, Scope.SEARCHER, "random_temperature", 1000),
    spin("Random_Temperature_Drop", 0, 0, 100_000, Scope.SEARCHER, "random_temperature_drop", 1000),
    spin("Random_Cutoff", 15, 0, 1000, Scope.SEARCHER, "random_cutoff", 1000),
    spin("Softmax_Temperature", 174, 1, 10_000, Scope.SEARCHER, "temperature", 100),
    spin("C_init", 144, 0, 10_000, Scope.SEARCHER, "c_init", 100),
    spin("C_base", 28288, 1, MANY, Scope.SEARCHER, "c_base"),
    spin("C_fpu_reduction", 27, 0, 100, Scope.SEARCHER, "fpu_reduction", 100),
    spin("C_init_root", 116, 0, 10_000, Scope.SEARCHER, "c_init_root", 100),
    spin("C_base_root", 25617, 1, MANY, Scope.SEARCHER, "c_base_root"),
    spin("C_fpu_reduction_root", 0, 0, 100, Scope.SEARCHER, "fpu_reduction_root", 100),
    EVAL_COEF_OPTION,
    spin("Resign_Threshold", 10, 0, 1000, Scope.SEARCHER, "resign_threshold", 1000),
    spin("Draw_Value_Black", 500, 0, 1000, Scope.SEARCHER, "draw_value_black", 1000),
    spin("Draw_Value_White", 500, 0, 1000, Scope.SEARCHER, "draw_value_white", 1000),
    check("Repetition_Check", True, Scope.SEARCHER, "repetition"),  # off only to measure it
    spin("PV_Interval", 500, 0, DAY_MS, Scope.SEARCHER, "pv_interval_ms"),
    check("ReuseSubtree", True, Scope.SEARCHER, "reuse_subtree"),
    spin("Time_Margin", -1, -1, DAY_MS, Scope.SEARCHER, "time_margin_ms"),
    spin("Byoyomi_Margin", -1, -1, DAY_MS, Scope.SEARCHER, "byoyomi_margin_ms"),
    spin("MinimumThinkingTime", 0, 0, DAY_MS, Scope.SEARCHER, "minimum_time_ms"),
)

#: Settings of the alpha-beta search (`komadori.search.alphabeta.AlphaBetaOptions`).
ALPHABETA_OPTIONS = (
    combo("Eval", "nnue", ("material", "two-piece", "kpp", "nnue"), Scope.BUILD),
    filename("EvalFile", "", Scope.BUILD),
    filename("PolicyModel", "", Scope.BUILD),  # a network that orders the moves
    spin("Policy_Depth", 8, 1, 200, Scope.SEARCHER, "policy_depth"),  # remaining, from which on
    spin("Policy_Nodes", 20_000, 0, MANY, Scope.SEARCHER, "policy_nodes"),  # a question in so many
    spin("FV_SCALE", 16, 1, 128, Scope.BUILD),  # of an NNUE network, what its output is divided by
    spin("Threads", 1, 1, 512, Scope.SEARCHER, "threads"),
    spin("USI_Hash", 256, 1, 1 << 20, Scope.SEARCHER, "hash_mb"),
    spin("MultiPV", 1, 1, 593, Scope.SEARCHER, "multipv"),
    spin("Draw_Value_Black", 500, 0, 1000, Scope.SEARCHER, "draw_value_black", 1000),
    spin("Draw_Value_White", 500, 0, 1000, Scope.SEARCHER, "draw_value_white", 1000),
    spin("ResignValue", 99999, 0, 99999, Scope.SEARCHER, "resign_value"),
    spin("MinimumThinkingTime", 0, 0, DAY_MS, Scope.SEARCHER, "minimum_thinking_ms"),
    spin("SlowMover", 100, 1, 1000, Scope.SEARCHER, "slow_mover"),
    combo(
        "EnteringKingRule",
        "CSARule27",
        ("NoEnteringKing", "CSARule24", "CSARule27"),
        Scope.SEARCHER,
        "declaration",
        ("none", "24", "27"),
    ),
    check("GenerateAllLegalMoves", False, Scope.SEARCHER, "all_moves"),
)

#: ShogiArena refuses an engine that has neither.
DRAW_OPTIONS = (spin("Draw_Ply", 0, 0, 10_000, Scope.SEARCHER, "draw_ply"),)

#: Other names for an option, which GUIs or match runners may send.
SYNONYMS = {"maxmovestodraw": "draw_ply", "threads": "uct_threads", "bookfile": "book_file"}


class OptionTable:
    """Declared options and their values. Safe to use from several threads."""

    def __init__(self, options: Iterable[EngineOption] = ()) -> None:
        self._options = {option.name.lower(): option for option in (*FRONT_OPTIONS, *options)}
        self._values = {key: option.line.default for key, option in self._options.items()}
        self._declared = dict(self._values)
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._wished: set[str] = set()
        self._by_model: dict[str, str] = {}  # values that the model chosen has brought
        self._notes: list[str] = []

    def preset(self, values: Mapping[str, str]) -> None:
        """Change defaults, as a command line does. Raises ValueError for a bad one."""
        for name, value in values.items():
            if problem := self.set(name, value):
                raise ValueError(problem)
            key = self._key(name)
            option = self._options[key]
            line = replace(option.line, default=self._values[key])
            self._options[key] = replace(option, line=line)
            self._wished.add(key)
        self._changed.clear()

    def take_model_defaults(self, values: Mapping[str, str], source: str) -> Callable[[], None]:
        """Give the options that nobody has set the values that suit the model just chosen, in
        place of those of the model before it. What was done, and what couldn't be, is noted.

        The function returned undoes it, for a model that then can't be loaded.
        """
        brought: dict[str, str] = {}
        for name, value in values.items():
            key = self._key(name)
            option = self._options.get(key)
            if option is None or option.scope is Scope.FRONT or key == "dnn_model":
                self._notes.append(f"{source}: {quote(name)} is no option that a model can set")
                continue
            value, problem = _checked(option.line, value)
            if problem:
                self._notes.append(f"{source}: {problem}")
                continue
            brought[key] = value
            if key not in self._wished and value != self._values[key]:
                self._notes.append(f"{source}: {option.name}={value}")
        before = self._by_model
        self._replace_model_defaults(brought)
        return lambda: self._replace_model_defaults(before)

    def _replace_model_defaults(self, brought: dict[str, str]) -> None:
        with self._lock:
            for key in (self._by_model.keys() | brought.keys()) - self._wished:
                self._values[key] = brought.get(key, self._declared[key])
            self._by_model = brought

    def take_notes(self) -> list[str]:
        """What `take_model_defaults` has noted since this was last asked."""
        notes, self._notes = self._notes, []
        return notes

    def _key(self, name: str) -> str:
        key = name.strip().lower()
        return key if key in self._options else SYNONYMS.get(key, key)

    def declared(self) -> list[OptionLine]:
        return [option.line for option in self._options.values()]

    def set(self, name: str, value: str) -> str:
        """Set an option; what is wrong with it, or "" where nothing is.

        A bad value leaves the old one. GUIs send some names undeclared; these are passed over.
        """
        key = self._key(name)
        option = self._options.get(key)
        if option is None:
            return "" if key in ALWAYS_SENT else f"no option {quote(name)}"
        value, problem = _checked(option.line, value)
        if problem:
            return problem
        with self._lock:
            # GUIs send every option as it stands: a default is nobody's wish.
            if value != self._declared[key]:
                self._wished.add(key)
            elif key not in self._wished:
                value = self._by_model.get(key, value)
            if self._values[key] != value:
                self._values[key] = value
                self._changed.add(key)
        return ""

    def canonical(self, name: str) -> str:
        """The declared name that this one stands for, itself where there is none."""
        option = self._options.get(self._key(name))
        return option.name if option is not None else name

    def has(self, name: str) -> bool:
        """Whether an option of this name is declared."""
        return name.lower() in self._options

    def value(self, name: str) -> str:
        """The value of a declared option. Raises KeyError for another."""
        return self._values[name.lower()]

    def number(self, name: str) -> int:
        """The value of a declared spin option."""
        return int(self._values[name.lower()])

    def values(self) -> dict[str, str]:
        """All values by declared name."""
        with self._lock:
            return {option.name: self._values[key] for key, option in self._options.items()}

    def settings(self) -> dict[str, bool | int | float | str | None]:
        """The searcher's settings by its own names: those that differ from the declared default.

        Where an option stands at its default the searcher's own default holds, which may be
        finer than the option's unit.
        """
        with self._lock:
            return {
                option.field: option.setting(self._values[key])
                for key, option in self._options.items()
                if option.field and self._values[key] != self._declared[key]
            }

    def take_changes(self) -> frozenset[Scope]:
        """The scopes in which a value changed since this was last asked."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return frozenset(self._options[key].scope for key in changed)


def _checked(line: OptionLine, value: str) -> tuple[str, str]:
    """The value as it is kept, and what is wrong with it or ""."""
    value = "" if value == "<empty>" else value
    problem = ""
    if line.kind == "spin":
        assert line.min is not None
        assert line.max is not None
        digits = value.lstrip("+-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            problem = f"{quote(value)} is no whole number"
        elif not line.min <= int(value) <= line.max:
            problem = f"{value} isn't between {line.min} and {line.max}"
        else:
            value = str(int(value))
    elif line.kind == "check":
        value = value.lower()
        if value not in ("true", "false"):
            problem = f"{quote(value)} is neither true nor false"
    elif line.kind == "combo" and value not in line.choices:
        problem = f"{quote(value)} isn't one of {', '.join(line.choices)}"
    return value, f"option {line.name}: {problem}" if problem else ""


def option_table(kind: str) -> OptionTable:
    """What a kind of player (model, policy, alphabeta, ...) lets its user set."""
    if kind == "model":
        return OptionTable((*MODEL_OPTIONS, *SEARCH_OPTIONS, *DRAW_OPTIONS))
    if kind == "alphabeta":
        return OptionTable((*ALPHABETA_OPTIONS, *DRAW_OPTIONS))
    if kind in ("policy", "one-ply"):
        return OptionTable((*MODEL_OPTIONS, EVAL_COEF_OPTION, *DRAW_OPTIONS))
    return OptionTable(DRAW_OPTIONS)
