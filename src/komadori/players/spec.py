"""The one-line specification of a player.

Grammar:

    KIND[:ARGUMENT][?KEY=VALUE[&KEY=VALUE...]]

KIND is one of

    model:PATH        tree search (PUCT) with a network; PATH may be `uniform` or `random:SEED`
    policy:PATH       the network's policy, no search: the most probable legal move
    one-ply:PATH      the network's value after each legal move, no search
    alphabeta         alpha-beta search; `?Eval=...&EvalFile=...` name its evaluation
    material          one ply: the move with the best material after it, ties at random
    random            any legal move
    usi:COMMAND       another USI engine, started by its command line
    gnushogi, gpsusi, sjaakii, fairy-stockfish
                      engines that need an adapter; ARGUMENT is the program's path
                      if it isn't on PATH

A specification with no known KIND is the PATH of a model if such a file or folder exists, also in
the folders of models (`komadori.usi.models`).

Keys of every kind: `name` (in results), `seed`, and the limits `nodes`, `depth`,
`movetime` (ms), which override those of the match. `model`, `policy` and `one-ply`
also have `backend`; every other key is an option of the searcher or of the engine
(`?UCT_Threads=2`, `?Hash=64`). Write `%26` for `&` and `%20` for a blank in names and values.
The option part begins at the last `?` that is followed by KEY=VALUE; a command may hold
other question marks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from komadori.usi.client import EngineError, split_words
from komadori.usi.models import ModelNotFoundError, find_model
from komadori.usi.protocol import GoCommand
from komadori.wording import names_arguments, no_such_file

KINDS = (
    "model",
    "policy",
    "one-ply",
    "alphabeta",
    "material",
    "random",
    "usi",
    "gnushogi",
    "gpsusi",
    "sjaakii",
    "fairy-stockfish",
)

_NEEDS_ARGUMENT = {
    "model": "the path of a network, or default (the bundled one): model:default",
    "policy": "the path of a network, or default (the bundled one): policy:default",
    "one-ply": "the path of a network, or default (the bundled one): one-ply:default",
    "usi": "a command: usi:COMMAND",
}

_OPTIONS = re.compile(r"\A(.*?)\?([^?=&]+=[^?&]*(?:&[^?=&]+=[^?&]*)*)\Z", re.DOTALL)


class PlayerSpecError(ValueError):
    """An invalid player specification. The message says what was expected."""


#: First bytes of programs: ELF, scripts, Windows.
_PROGRAM_HEADS = (b"\x7fELF", b"#!", b"MZ")


def option_value(text: object) -> str:
    """Escape a value, such as a path, for the option part of a specification."""
    return re.sub(r"[%&?]", lambda found: f"%{ord(found[0]):02X}", str(text))


def with_options(text: str, values: Mapping[str, str]) -> str:
    """Return a specification with some options set to other values."""
    match = _OPTIONS.match(text.strip())
    head, pairs = (match[1], match[2].split("&")) if match else (text.strip().removesuffix("?"), [])
    kept = [pair for pair in pairs if unquote(pair.split("=", 1)[0]) not in values]
    changed = [f"{option_value(name)}={option_value(value)}" for name, value in values.items()]
    return f"{head}?{'&'.join(kept + changed)}"


def _program_name(command: str) -> str:
    """Return the name of a command's program, whose path may be quoted."""
    try:
        program = split_words(command)[0]
    except EngineError:  # an open quotation, reported where the engine is started
        program = command.split()[0]
    return Path(program.strip('"')).name


@names_arguments
@dataclass(frozen=True)
class PlayerSpec:
    """A parsed player specification."""

    kind: str
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> PlayerSpec:
        """Parse a specification. Raises PlayerSpecError."""
        text = text.strip()
        options: dict[str, str] = {}
        if match := _OPTIONS.match(text):
            text = match[1]
            for pair in match[2].split("&"):
                key, value = map(unquote, pair.split("=", 1))
                if key in options:
                    raise PlayerSpecError(f"{match[1]}: {key} is given twice")
                options[key] = value
        elif text.endswith("?"):
            text = text[:-1]
        kind, _, argument = text.partition(":")
        if kind not in KINDS:
            if not text or not Path(text).exists():
                head, _, rest = text.partition("?")
                if rest and head.partition(":")[0] in KINDS:
                    raise PlayerSpecError(
                        f"{text!r}: options after the ? are NAME=VALUE, separated by &"
                    )
                if not Path(text).suffix and "/" not in text:
                    kinds = ", ".join(KINDS)
                    raise PlayerSpecError(
                        f"{text!r} is no player: expected one of {kinds}, or a model's path"
                    )
                try:
                    find_model(text)  # in the folders of models, as after "model:"
                except ModelNotFoundError:
                    raise PlayerSpecError(f"{text}: no such model") from no_such_file(text)
            if Path(text).is_file() and os.access(text, os.X_OK):
                with Path(text).open("rb") as file:
                    if file.read(4).startswith(_PROGRAM_HEADS):
                        name = Path(text).name
                        own = name if name in KINDS else "usi"
                        raise PlayerSpecError(f"{text} is a program: {own}:{text} plays with it")
            kind, argument = "model", text
        if kind in _NEEDS_ARGUMENT and not argument.strip():
            raise PlayerSpecError(f"{kind} needs {_NEEDS_ARGUMENT[kind]}")
        if kind in ("alphabeta", "material", "random") and argument:
            raise PlayerSpecError(f"{kind} takes no argument, found {argument!r}")
        spec = cls(kind, argument, options)
        for key in ("nodes", "depth", "movetime", "seed"):
            if spec.number(key) == 0 and key != "seed":  # for some engines that is no limit
                raise PlayerSpecError(f"{kind}: {key} is 0, at least 1 is needed")
        return spec

    def number(self, key: str) -> int | None:
        """Return an integer option; None if it isn't given."""
        text = self.options.get(key)
        if text is None:
            return None
        if re.fullmatch(r"-[0-9]+", text):
            raise PlayerSpecError(f"{self.kind}: {key}={text} is negative")
        if not re.fullmatch(r"[0-9]+", text):
            raise PlayerSpecError(f"{self.kind}: {key}={text} isn't an integer")
        if len(text) > 18:
            raise PlayerSpecError(f"{self.kind}: {key}={text} is too large")
        return int(text)

    @property
    def limits(self) -> GoCommand | None:
        """The player's own limits; None to use the match's."""
        nodes, depth, movetime = (self.number(key) for key in ("nodes", "depth", "movetime"))
        if nodes is None and depth is None and movetime is None:
            return None
        return GoCommand(nodes=nodes, depth=depth, movetime_ms=movetime)

    @property
    def own_options(self) -> dict[str, str]:
        """The options meant for the searcher or engine."""
        common = ("name", "seed", "nodes", "depth", "movetime")
        return {key: value for key, value in self.options.items() if key not in common}

    @property
    def name(self) -> str:
        """`name` from the options, or a short name from kind and argument."""
        if given := self.options.get("name"):
            return given
        if self.kind in ("model", "policy", "one-ply"):
            stem = Path(self.argument).stem if Path(self.argument).suffix else self.argument
            base = stem if self.kind == "model" else f"{self.kind} {stem}"
        elif self.kind == "usi":
            base = _program_name(self.argument)
        else:
            base = self.kind
        return base.replace("\n", " ")

    def name_beside(self, other: PlayerSpec) -> str:
        """Return a name with the argument and options that `other` doesn't have; `name` if it is
        among the options."""
        if "name" in self.options:
            return self.name
        base = self.name
        if self.argument != other.argument:
            base = self.argument if self.kind == "model" else f"{self.kind}:{self.argument}"
        differing = [
            f"{key}={value}"
            for key, value in self.options.items()
            if other.options.get(key) != value and key != "seed"
        ]
        return (base + ("?" if differing else "") + "&".join(differing)).replace("\n", " ")
