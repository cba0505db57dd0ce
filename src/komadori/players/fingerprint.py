"""Fingerprints of a player's files, to detect changes when a match is resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from komadori.players.spec import PlayerSpec, PlayerSpecError
from komadori.search.alphabeta import EVALUATIONS
from komadori.usi.client import EngineError, find_program, program_folder, split_words
from komadori.usi.models import ModelNotFoundError, defaults_file, find_model, is_fake
from komadori.usi.options import EvaluationOptions
from komadori.wording import check_type

#: Suffixes of a model's files; others of its name, such as records, aren't parts of it.
_MODEL_SUFFIXES = (".onnx", ".xml", ".bin", ".json")

_LOG = ".log"

#: Players of ours, which write none of the files that they read.
_OWN_KINDS = ("model", "policy", "one-ply", "alphabeta")


def fingerprint(spec: str | PlayerSpec) -> dict[str, str]:
    """Return path -> SHA-256 (first 16 hexadecimal digits) of each file of a player.

    These are the network with its card and defaults, the evaluation's weights (bundled ones by
    default), the engine's program, and any existing file named by an option or argument of the
    command, also as NAME=FILE. A folder counts with all its files. Logs (*.log), which engines
    write, don't count.
    """
    check_type("spec", spec, str, PlayerSpec)
    parsed = PlayerSpec.parse(spec) if isinstance(spec, str) else spec
    return {str(path): _digest(path) for path in sorted(set(_files(parsed)))}


def check_unchanged(spec: str | PlayerSpec, files: Mapping[str, str]) -> None:
    """Raise PlayerSpecError if a player's files are no longer those of the fingerprint `files`.

    Those of external engines, which may write files of their own, are not compared.
    """
    parsed = PlayerSpec.parse(spec) if isinstance(spec, str) else spec
    if parsed.kind not in _OWN_KINDS:
        return
    now = fingerprint(parsed)
    for path in sorted(now.keys() | files.keys()):
        if now.get(path) != files.get(path):
            raise PlayerSpecError(f"{path} changed while it was in use")


def portable(files: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint to compare on another machine, where the package may be elsewhere:
    bundled files are named by their place in it."""
    bundled = _bundled("nnue-k-p.bin").parent
    named = {}
    for name, digest in files.items():
        path = Path(name)
        is_bundled = path.is_relative_to(bundled)
        named[f"bundled {path.relative_to(bundled)}" if is_bundled else name] = digest
    return named


def _bundled(name: str) -> Path:
    return Path(str(resources.files("komadori") / "data" / name))


def check_same(spec: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return a player's fingerprint on this machine. Raises PlayerSpecError if its files aren't
    those of `files`, the `portable` fingerprint of the machine that asks for games.

    As in `check_unchanged`, files of external engines are not compared.
    """
    own = fingerprint(spec)
    if files and PlayerSpec.parse(spec).kind in _OWN_KINDS:
        here = portable(own)
        for path in sorted(here.keys() | files.keys()):
            if here.get(path) != files.get(path):
                raise PlayerSpecError(f"{path}: differs from the head's")
    return own


def check_files(spec: str | PlayerSpec) -> None:
    """Raise PlayerSpecError if a player's network or weights can't be loaded (they are loaded once)
    or its program doesn't exist. The program is started only to check options given for it."""
    check_type("spec", spec, str, PlayerSpec)
    parsed = PlayerSpec.parse(spec) if isinstance(spec, str) else spec
    if parsed.kind in ("model", "policy", "one-ply"):
        if not Path(parsed.argument).exists():
            _check_model(parsed.argument)
        _check_loads(parsed)
    elif parsed.kind == "alphabeta":
        _check_alphabeta_files(parsed)
        _check_loads(parsed)
    elif parsed.argument or parsed.kind not in ("material", "random"):
        program = split_words(parsed.argument or parsed.kind)[0]
        if find_program(program) is None:
            raise PlayerSpecError(f"no program {program!r} found")
        if parsed.own_options:
            _check_loads(parsed)


def _check_model(name: str) -> None:
    try:
        find_model(name, is_typed=True)
    except ModelNotFoundError as error:
        raise PlayerSpecError(str(error)) from error


def _check_loads(spec: PlayerSpec) -> None:
    from komadori import players

    try:
        players.make(spec).close()
    except PlayerSpecError:
        raise
    except (OSError, ValueError, EngineError) as error:
        raise PlayerSpecError(str(error)) from error


def _check_alphabeta_files(spec: PlayerSpec) -> None:
    from komadori.players.searching import long_names, options_of

    chosen = options_of(spec).group(EvaluationOptions)
    if chosen.weights and not Path(chosen.weights).exists():
        raise PlayerSpecError(f"no weights {long_names(spec).get('EvalFile', chosen.weights)}")
    needs_weights = EVALUATIONS[chosen.evaluation] is None and chosen.evaluation != "material"
    if needs_weights and not chosen.weights:
        raise PlayerSpecError(
            f"alphabeta: the evaluation {chosen.evaluation} needs a file of weights"
        )
    if chosen.policy_model:
        _check_model(chosen.policy_model)


def _files(spec: PlayerSpec) -> Iterator[Path]:
    folder: Path | None = None
    if spec.kind in ("model", "policy", "one-ply"):
        yield from model_files(spec.argument)
    elif spec.kind == "alphabeta":
        own = spec.own_options
        bundled = EVALUATIONS.get(own.get("Eval", own.get("eval", "nnue")))
        if bundled and not {"EvalFile", "weights"} & own.keys():
            yield _bundled(bundled)
    elif spec.argument or spec.kind not in ("material", "random"):
        words = split_words(spec.argument or spec.kind)
        folder = program_folder(words)
        if program := find_program(words[0]):
            yield Path(program)
        for word in words[1:]:
            text = word
            while text:  # also what follows each "=", as in --option EvalFile=FILE
                yield from _files_named(text, folder)
                text = text.partition("=")[2]
    for value in spec.own_options.values():
        yield from _files_named(value, folder)


def model_files(name: str) -> Iterator[Path]:
    """Yield the existing files of a network by path or name: its file or folder, its other forms,
    card and defaults. A fake or unknown one has none."""
    if is_fake(name):
        return
    try:
        path = Path(name) if Path(name).exists() else Path(find_model(name))
    except ModelNotFoundError:
        return
    yield from _files_of(path)
    if path.is_file():
        for other in path.parent.iterdir():
            is_part = other.suffix.lower() in _MODEL_SUFFIXES
            if is_part and other.stem in (path.stem, f"{path.stem}-int8") and other.is_file():
                yield other
        if defaults := defaults_file(path):
            yield defaults


def _files_named(text: str, folder: Path | None) -> Iterator[Path]:
    """Yield the files named by a text, relative to the working directory or the engine's folder."""
    if not text or len(text) > 4096 or "\0" in text or text.isdigit():
        return
    for path in (Path(text), folder / text if folder else None):
        if path is not None and path.exists():
            files = _files_of(path, depth=1)
            yield from (file for file in files if file.suffix.lower() != _LOG)
            return


def _files_of(path: Path, depth: int = 3) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir() and depth:
        for entry in path.iterdir():
            if entry.is_file():
                yield entry
            else:
                yield from _files_of(entry, depth - 1)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
