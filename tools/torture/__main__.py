"""Attack the commands as they are installed, and print how often each promise held.

    python -m tools.torture [--seconds 60] [CLASS ...]

Classes: races (two commands, one folder), kills (SIGKILL at random moments), disks (a limit on the
size of files, as of a full disk), signals (SIGINT and SIGTERM at random moments), files (damaged
and foreign records). Ends with 1 where a promise was broken, and prints what broke it.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from komadori.records import RecordError, read_games, sample_path, write_games

KOMADORI = [sys.executable, "-m", "komadori"]
#: Seconds after a signal within which a command has to end, on a machine that does other work.
PATIENCE_S = 8.0


class BrokenError(Exception):
    """A promise that did not hold."""


def start(*words: str | Path, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [*KOMADORI, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **options,
    )


def check_messages(text: str) -> None:
    if "Traceback" in text or "unexpected " in text:
        raise BrokenError(text.strip()[-500:])


def conversion(folder: Path) -> list[str | Path]:
    return ["records", "convert", *[sample_path()] * 8, "-o", folder / "out.csa"]


def races(folder: Path, _random: random.Random) -> None:
    """Of two matches in one folder exactly one plays; the other is told by whom."""
    words = ("match", "random", "material", "--games", "40", "--out", folder / "match")
    both = [start(*words), start(*words)]
    ends = [process.communicate(timeout=300) for process in both]
    for _, messages in ends:
        check_messages(messages)
    codes = sorted(process.returncode for process in both)
    told = sum("in use by process" in messages for _, messages in ends)
    lines = (folder / "match" / "games.jsonl").read_text().splitlines()
    if len(lines) != 41 or (codes != [0, 0] and (codes != [0, 1] or told != 1)):
        raise BrokenError(f"statuses {codes}, {told} told, {len(lines)} lines")


def kills(folder: Path, chance: random.Random) -> None:
    """A killed conversion leaves the old file; the next one is whole and cleans up."""
    out = folder / "out.csa"
    old = "PI\n+\n+7776FU\n%TORYO\n"
    out.write_text(old)
    process = start(*conversion(folder))
    time.sleep(chance.uniform(0.2, 6.0))
    process.kill()
    process.communicate()
    if process.returncode == -signal.SIGKILL and out.read_text() != old:
        raise BrokenError("the old file is gone")
    done = start("records", "convert", sample_path(), "-o", out)
    check_messages(done.communicate(timeout=300)[1])
    if done.returncode or {entry.name for entry in folder.iterdir()} != {"out.csa"}:
        raise BrokenError(f"left: {sorted(entry.name for entry in folder.iterdir())}")


def disks(folder: Path, chance: random.Random) -> None:
    """A full disk is one line that names the file, which stays as it was."""
    out = folder / "out.csa"
    old = "PI\n+\n+7776FU\n%TORYO\n"
    out.write_text(old)
    limit = chance.randrange(1, 2_000_000)

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = start(*conversion(folder), preexec_fn=full)
    _, messages = process.communicate(timeout=300)
    check_messages(messages)
    if process.returncode != 2 or f"{out}: File too large" not in messages:
        raise BrokenError(f"{process.returncode}: {messages}")
    if out.read_text() != old or {entry.name for entry in folder.iterdir()} != {"out.csa"}:
        raise BrokenError("the folder has changed")


def signals(folder: Path, chance: random.Random) -> None:
    """A signal ends a command soon, with its status, and no file half written."""
    number = chance.choice([signal.SIGINT, signal.SIGTERM])
    lines: Sequence[Sequence[str | Path]] = (
        conversion(folder),
        ("perft", "8"),
        ("records", "stats", *[sample_path()] * 30),
        ("match", "random", "material", "--games", "5000", "--out", folder / "match"),
    )
    process = start(*chance.choice(lines))
    time.sleep(chance.uniform(2.5, 6.0))  # its imports are done by then
    began = time.monotonic()
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)
    seconds = time.monotonic() - began
    if process.returncode == 0:
        return  # it had ended
    check_messages(messages)
    if process.returncode != 128 + number or seconds > PATIENCE_S:
        raise BrokenError(f"{process.returncode} after {seconds:.1f} s: {messages}")
    if (folder / "out.csa").exists() or (folder / ".out.csa.tmp").exists():
        raise BrokenError("half a file is there")


def files(folder: Path, chance: random.Random) -> None:
    """Mutated records of every format of games, in this process."""
    name = chance.choice(["csa", "kif", "ki2", "usi", "jkf", "hcpe3"])
    suffix = chance.choice(["", ".gz", ".xz"])
    path = folder / f"a.{name}{suffix}"
    games = read_games(sample_path())
    write_games(path, chance.sample(games, 3))
    data = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data))
        what = chance.randrange(4)
        if what == 0:
            data[at] = chance.randrange(256)
        elif what == 1:
            del data[at : at + chance.randrange(1, 200)]
        elif what == 2:
            data[at:at] = chance.randbytes(chance.randrange(1, 50))
        else:
            data[at:at] = "[/b]\x1b[31m：まで\n*#$".encode()
        if not data:
            return
    path.write_bytes(data)
    try:
        found = read_games(path)
    except RecordError:
        return
    for game in found:
        game.final_board()


CLASSES: dict[str, Callable[[Path, random.Random], None]] = {
    "races": races,
    "kills": kills,
    "disks": disks,
    "signals": signals,
    "files": files,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="*", choices=[[], *CLASSES], metavar="CLASS")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each class")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    broken = 0
    print("| class | promise | tried | broken |\n|---|---|---:|---:|")
    for name in arguments.classes or CLASSES:
        end = time.monotonic() + arguments.seconds
        tried, faults = 0, []
        while time.monotonic() < end:
            seed = f"{arguments.seed}-{name}-{tried}"
            with tempfile.TemporaryDirectory() as folder:
                try:
                    CLASSES[name](Path(folder), random.Random(seed))
                except Exception as error:
                    faults.append(f"{seed}: {type(error).__name__}: {error}")
            tried += 1
        promise = (CLASSES[name].__doc__ or "").strip()
        print(f"| {name} | {promise} | {tried} | {len(faults)} |", flush=True)
        for fault in faults:
            print(fault, file=sys.stderr)
        broken += len(faults)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
