"""The folder of a learner's run: settings, state and log.

run.json     kind of learner, settings, data; checked when the run resumes
state.npz    the state to resume from; written atomically
log.jsonl    one line per report

Learners write weights and log after the state that they belong to, and on resuming write them
again if the run may have been killed in between. So a run without a state has neither.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori.atomic import atomic_writer, check_writable, write_text
from komadori.json_file import parse_table, read_table
from komadori.linear.weights_file import DAMAGE
from komadori.model_folder import LEARNER_STATE, has_learner_state
from komadori.npz_file import read_array
from komadori.run_lock import RunLock, check_free
from komadori.wording import no_such_file, setting, what_is_wrong

_FORMAT = "komadori-linear-run"
_FORMAT_VERSION = 1
_CARD, _LOG = "run.json", "log.jsonl"
#: The array of a state that holds the line of the log that belongs to it.
_REPORT = "report"
#: The ranges of counts, and of sums or means of squares, in a state.
COUNTS = (0, 1 << 53)
SQUARES = (0.0, float(np.finfo(np.float32).max))
#: Files of the weights that learners write.
_WEIGHTS = ("nn.bin", "weights.npz")
#: Settings of older runs by their present names.
_RENAMED = {"hand_share": "hand_weight"}
#: Settings that older runs of a learner don't have, with what they did.
_ADDED: dict[str, dict[str, Any]] = {
    "nnue": {"leak": 0.0},
    "nnue-distillation": {"label_nodes": 0, "label_limit_cp": 250},
}


def check_run_folder(path: Path, *, resume: bool) -> None:
    """Check before long work that the run can begin; changes nothing.

    Raises ValueError if a new run's folder holds a run, or a file of others that the run would
    replace, and if there is no run to resume; InUseError if another process uses the folder of a
    new run, and OSError if it can't be written.
    """
    is_begun = has_learner_state(path)
    if resume and not is_begun:
        missing = None if path.exists() else no_such_file(path)
        raise ValueError(f"{path}: nothing to resume") from missing
    if is_begun and not resume:
        check_free(path)
        raise ValueError(
            f"{path}: holds a run already; resume it (--resume) or choose another folder (--out)"
        )
    if not resume and (other := _file_of_others(path)):
        raise ValueError(f"{path}: holds {other} of something else; choose another folder")
    check_writable(path)


def _file_of_others(path: Path) -> str:
    """Return the name of a file that learners write and that isn't of a run without a state, or
    "".
    """
    if other := next((name for name in (_LOG, *_WEIGHTS) if (path / name).exists()), ""):
        return other
    card = path / _CARD
    if not card.exists():
        return ""
    try:
        stored = read_table(card)
    except ValueError:
        return _CARD
    return "" if isinstance(stored, dict) and stored.get("format") == _FORMAT else _CARD


class RunFolder:
    """A learner's folder, new or resumed; holds the folder's lock until `lock` is released."""

    def __init__(
        self,
        path: Path,
        kind: str,
        settings: Mapping[str, Any],
        data: Mapping[str, Any],
        *,
        resume: bool,
        may_differ: Collection[str] = (),
        origin: str | None = None,
    ) -> None:
        """Start a run, or resume one.

        may_differ: settings that may change when the run resumes. origin: digest of the initial
        weights, "" for random ones; None to resume from any. Raises ValueError if a new run's
        folder holds a run, if there is no run to resume, or if it is of another learner, other
        settings, other data or other initial weights. Raises InUseError while another process uses
        the folder.
        """
        self.path = path
        self.lock = RunLock(path)
        given = {"kind": kind, "settings": dict(settings), "data": dict(data), "origin": origin}
        self.card = json.loads(json.dumps(given))
        check_run_folder(path, resume=resume)
        self.lock.acquire()
        try:
            check_run_folder(path, resume=resume)  # another process may have begun a run
            if resume:
                self._check(may_differ)
            self._write_card()
        except BaseException:
            self.lock.release()
            raise

    def _write_card(self) -> None:
        described = {"format": _FORMAT, "format_version": _FORMAT_VERSION, **self.card}
        write_text(self.path / _CARD, json.dumps(described, indent=2) + "\n")

    @property
    def state_path(self) -> Path:
        return self.path / LEARNER_STATE

    def _check(self, may_differ: Collection[str]) -> None:
        try:
            stored = read_table(self.path / _CARD)
            kind = stored["kind"]
            begun_with = _ADDED.get(kind, {}) | {
                _RENAMED.get(k, k): v for k, v in dict(stored["settings"]).items()
            }
            stored_data, origin = dict(stored["data"]), stored.get("origin")
        except OSError as error:
            raise ValueError(f"{self.path / _CARD}: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            what = what_is_wrong(error)
            raise ValueError(f"{self.path}: run.json can't be read ({what})") from error
        if kind != self.card["kind"]:
            raise ValueError(f"{self.path}: a run of {kind}, not of {self.card['kind']}")
        for what, before, now in (
            ("settings", begun_with, self.card["settings"]),
            ("data", stored_data, self.card["data"]),
        ):
            other = [
                f"{name} was {setting(before.get(name))}, is {setting(now.get(name))}"
                for name in sorted(before.keys() | now.keys())
                if before.get(name) != now.get(name)
                and not (what == "settings" and name in may_differ)
            ]
            if other:
                raise ValueError(f"{self.path}: has other {what}: {'; '.join(other)}")
        if None not in (origin, self.card["origin"]) and origin != self.card["origin"]:
            raise ValueError(f"{self.path}: began with other initial weights")
        self.card["origin"] = origin  # None in runs begun by earlier versions

    def save_state(
        self, arrays: Mapping[str, NDArray[Any]], report: Mapping[str, Any] | None = None
    ) -> None:
        """Write state.npz atomically. `report`: what `log` is given next. Raises OSError, also if
        the folder is no longer there."""
        self.lock.check_place()
        line = b"" if report is None else _line(report)
        with atomic_writer(self.state_path) as file:
            np.savez(file, **arrays, **{_REPORT: np.frombuffer(line, np.uint8)})  # type: ignore[arg-type]

    def load_state(
        self, like: Mapping[str, NDArray[Any]], ranges: Mapping[str, tuple[float, float]]
    ) -> dict[str, NDArray[Any]]:
        """Read state.npz. Raises ValueError if it is damaged or lacks an array of `like`, of its
        type and shape, within its range in `ranges` (least, most) and otherwise finite; arrays that
        are empty there may have any length, and infinite numbers there stay possible. The log gets
        the state's report if the run ended before `log`, and loses a line that was cut off.
        """
        damaged = f"{self.state_path}: damaged; the run can't be resumed"
        try:
            size = self.state_path.stat().st_size  # states aren't compressed
            with np.load(self.state_path, allow_pickle=False) as file:
                found = {name: read_array(file, name, size) for name in like}
                line = read_array(file, _REPORT, size).tobytes() if _REPORT in file else b""
                if line:
                    parse_table(line)
        except OSError as error:
            raise ValueError(f"{self.state_path}: {error.strerror or error}") from error
        except DAMAGE as error:
            raise ValueError(damaged) from error
        for name, expected in like.items():
            array = found[name]
            has_shape = array.shape == expected.shape if expected.size else array.ndim == 1
            if not has_shape or _kind(array) != _kind(expected) or np.isnan(array).any():
                raise ValueError(damaged)
            if name in ranges:
                least, most = ranges[name]
                is_possible = bool(((least <= array) & (array <= most)).all())
            else:
                is_possible = bool(np.isfinite(array).all() or not np.isfinite(expected).all())
            if not is_possible:
                raise ValueError(damaged)
        self._mend_log(line)
        return found

    def _mend_log(self, last: bytes) -> None:
        path = self.path / _LOG
        content = path.read_bytes() if path.exists() else b""
        lines = content[: content.rfind(b"\n") + 1]
        if not lines.endswith(last):
            lines += last
        if lines != content:
            with atomic_writer(path) as file:
                file.write(lines)

    def log(self, report: Mapping[str, Any]) -> None:
        """Append a line to log.jsonl; infinity and NaN are null, as in the logs of `train`. Raises
        OSError that names the file."""
        path = self.path / _LOG
        try:
            with path.open("ab") as log:
                log.write(_line(report))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error


def _kind(array: NDArray[Any]) -> str:
    """The kind of an array's numbers; signed and unsigned integers are of one."""
    return array.dtype.kind.replace("u", "i")


def _line(report: Mapping[str, Any]) -> bytes:
    entry = {name: _plain(value) for name, value in report.items()}
    return (json.dumps(entry) + "\n").encode()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
