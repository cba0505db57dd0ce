"""The classes of faults: each is injected at a random moment or with random material."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click
from tools.torture.commands import COMMANDS, KOMADORI, arguments
from tools.torture.program import STATUS
from tools.torture.servers import csa_servers, usi_engines

from komadori.cli._group import BUG, group
from komadori.records import GameReader, RecordError, read_games, sample_path, write_games

#: Seconds after a signal within which a command has to end, on a machine that does other work.
PATIENCE_S = 10.0
#: And with what CPU time.
BUSY_S = 3.0
#: Seconds within which a command that ends by itself has to.
MOST_S = 400.0
#: Of a command that did its work and says that something is lacking: games, a proof.
ELSE_TOLD = (" skipped:", "No win with p <", "nothing was written")
#: What would have a terminal do something.
ESCAPES = ("\x1b", "\x07", "\x9b")
#: Numbers that no option needs, and memory for the commands that are given them.
EXTREMES = [
    *("0", "-1", "1", "3", "255", "65536", "2147483648", "1099511627776", "4611686018427387904"),
    *("9223372036854775807", "1000000000000000000000", "0.5", "1e-300", "1e300", "nan", "inf"),
]
MEMORY_BYTES = 4 << 30
#: Names and texts of others: markup, escapes, not UTF-8, parts of formats.
FOREIGN = (
    b"[red]A[/]",
    b"[/b]",
    b"\x1b[31m\x1b]0;x\x07",
    b"\xff\xfe\x80",
    b"\x83\x5c\x8c",
    "先手：あ".encode(),
    b"$TIME LIMIT",
    b"' ** 30000 +7776FU",
    b"N+x\r\n%TORYO",
    b":smile: {0} %s",
    "\u202e\u2066abc".encode(),
    b"<script>alert(1)</script>",
    b"x" * 3000,
)
_NAMES = [text for text in FOREIGN if b"/" not in text and b"\n" not in text and len(text) < 200]


class BrokenError(Exception):
    """A violation of what a class guarantees."""


@dataclass(frozen=True)
class Attack:
    """A class of faults: `run` injects one; its docstring says which, and what must hold.

    targets: the commands it takes in turn.
    """

    run: Callable[[Path, Path, random.Random, str], None]
    targets: Sequence[str] = ()

    @property
    def guarantee(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


def start(words: Sequence[str | Path], folder: Path, **options: object) -> subprocess.Popen[str]:
    stdin = subprocess.PIPE if options.pop("stdin", "") else subprocess.DEVNULL
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [*KOMADORI, *map(os.fspath, words)],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **options,
    )


def start_target(target: str, shop: Path, folder: Path, **options: object) -> subprocess.Popen[str]:
    return start(arguments(target, shop), folder, stdin=COMMANDS[target].stdin, **options)


def end(process: subprocess.Popen[str], target: str = "", most_s: float = MOST_S) -> str:
    """Its messages, when it has ended; what it says is looked at."""
    text = COMMANDS[target].stdin if target else ""
    try:
        out, err = process.communicate(text or None, timeout=most_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise BrokenError(f"still there after {most_s:.0f} s") from None
    for said in (out, err):
        if "Traceback" in said or BUG in said or "[Errno" in said:
            raise BrokenError(said.strip()[-600:])
        # A GUI gets the paths of options as they are.
        if target != "usi" and any(sign in said for sign in ESCAPES):
            raise BrokenError(f"an escape sequence: {said[-300:]!r}")
    return err


def is_told(messages: str) -> bool:
    """Whether what went wrong is said, in one line if it is an error."""
    told = sum("Error" in line for line in messages.splitlines())
    return told == 1 or (told == 0 and any(sign in messages for sign in ELSE_TOLD))


def leftovers(folder: Path) -> list[str]:
    """Temporary files."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(".*.tmp"))


def bring(target: str, shop: Path, folder: Path) -> None:
    """Copy what the command works in into its folder."""
    for name in COMMANDS[target].brings:
        if (shop / name).is_dir():
            shutil.copytree(shop / name, folder / name)
        else:
            shutil.copy(shop / name, folder / name)


def has_ended_well(target: str, code: int | None, messages: str) -> bool:
    """Whether it did its work, finds it done, or refuses as it should."""
    command = COMMANDS[target]
    is_done = bool(command.refuses) and code == 1 and command.refuses in messages
    return code == int(command.fails) or is_done


def check_sound(target: str, folder: Path) -> None:
    """What a command brought is whole, and what was in it before is still there."""
    if not COMMANDS[target].shows:
        return
    process = start(COMMANDS[target].shows.split(), folder)
    shown, messages = process.communicate()
    if process.returncode or " a " not in shown or " b " not in shown:
        raise BrokenError(f"lost: {shown[-300:]} {messages[-300:]}")


def complete(target: str, shop: Path, folder: Path) -> None:
    """The command, given again, comes to its end and cleans up."""
    command = COMMANDS[target]
    check_sound(target, folder)
    tries = [[]]
    if command.resume and (folder / command.writes[0]).exists():
        tries.insert(0, [command.resume])
    for number, more in enumerate(tries, 1):
        process = start([*arguments(target, shop), *more], folder, stdin=command.stdin)
        messages = end(process, target)
        if has_ended_well(target, process.returncode, messages):
            break
        if number == len(tries):
            raise BrokenError(f"run again it ends with {process.returncode}: {messages[-400:]}")
    check_sound(target, folder)
    for name in command.writes:
        if not (folder / name).exists():
            raise BrokenError(f"{name} isn't there")
    if left := leftovers(folder):
        raise BrokenError(f"left: {', '.join(left)}")


def state(folder: Path) -> dict[str, str]:
    """What the files hold."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


#: Of every command that writes, those whose files two runs at once may not mix.
WRITERS = [name for name, command in COMMANDS.items() if command.writes or command.brings]
FILES = [name for name in WRITERS if "." in "".join(COMMANDS[name].writes[:1])]
FOLDERS = [
    name for name in WRITERS if name not in FILES and (COMMANDS[name].lasts or COMMANDS[name].shows)
]
LASTING = [name for name, command in COMMANDS.items() if command.lasts]
ENDING = [name for name, command in COMMANDS.items() if command.ends]


def plain(shop: Path, folder: Path, _chance: random.Random, target: str) -> None:
    """No fault: the command completes its work and prints no error."""
    if COMMANDS[target].ends:
        complete(target, shop, folder)
        return
    process = start_target(target, shop, folder)
    time.sleep(5.0)
    process.send_signal(signal.SIGTERM)
    end(process, target, 60)


def races(shop: Path, folder: Path, _chance: random.Random, target: str) -> None:
    """Two runs at once in one folder or on one ladder: each
    completes, or names the run that holds it."""
    both = [start_target(target, shop, folder) for _ in range(2)]
    ends = [end(process, target) for process in both]
    codes = [process.returncode for process in both]
    told = [number for number, text in enumerate(ends) if "in use by" in text]
    wrong = [
        number
        for number, code in enumerate(codes)
        if number not in told and not has_ended_well(target, code, ends[number])
    ]
    if wrong or len(told) == 2:
        raise BrokenError(f"statuses {codes}: {ends[wrong[0] if wrong else 0][-300:]}")
    complete(target, shop, folder)


def kills(shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """SIGKILL at random moments: run again (or with --resume), the command completes and cleans up;
    a file that existed before is the whole old one or the whole new one."""
    command = COMMANDS[target]
    old = b""
    if target in FILES:
        complete(target, shop, folder)
        old = (folder / command.writes[0]).read_bytes()
    for _ in range(chance.randrange(1, 3)):
        process = start_target(target, shop, folder)
        time.sleep(chance.uniform(0.2, 8.0))
        process.kill()
        process.communicate()
        if old and (folder / command.writes[0]).read_bytes() != old and target != "export":
            raise BrokenError("neither the old file nor the new one")
    complete(target, shop, folder)


def disks(shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """A full disk, from a few bytes to a megabyte: one line; with room, the command completes."""
    limit = int(10 ** chance.uniform(0.5, 6))

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = start_target(target, shop, folder, preexec_fn=full)
    messages = end(process, target)
    if process.returncode:
        last = messages.strip().splitlines()[-1:]
        if process.returncode < 0 or not last or not last[0].startswith(("Error:", "interrupted")):
            raise BrokenError(f"{limit} bytes: {process.returncode}: {messages[-400:]}")
    complete(target, shop, folder)


def readonly(shop: Path, folder: Path, _chance: random.Random, target: str) -> None:
    """A folder that can't be written: one line that names it, before long work."""
    # Root may write anywhere but under a file.
    words = arguments(target, shop)
    names = (*COMMANDS[target].writes, *COMMANDS[target].brings)
    (folder / "file").write_text("not a folder")
    own = len(target.split())
    moved = [
        f"file/{word}" if word in names and number >= own else word
        for number, word in enumerate(words)
    ]
    if moved == words:  # it writes where it wasn't told to: there is a file
        (folder / names[0]).write_text("not a folder")
    process = start(moved, folder)
    messages = end(process)
    lines = [line for line in messages.splitlines() if "Error:" in line]
    if process.returncode not in (1, 2) or len(lines) != 1:
        raise BrokenError(f"{process.returncode}: {messages[-400:]}")
    if "File exists" in lines[0] or not any(name in lines[0] for name in ("file", names[0])):
        raise BrokenError(f"doesn't say what is in the way: {lines[0]}")
    if (folder / "file").read_text() != "not a folder":
        raise BrokenError("the file in the way is gone")


def kept(shop: Path, folder: Path, _chance: random.Random, target: str) -> None:
    """A file of another kind in the place of an output, an input named as output: kept, and one
    line."""
    command = COMMANDS[target]
    words = [word for word in arguments(target, shop) if word != "--force"]
    _refused(words, folder, [folder / name for name in command.writes], b"a diary\n")
    inputs = [word for word in words if word.startswith(str(shop)) and Path(word).is_file()]
    if target not in FILES or not inputs:
        return
    mine = folder / f"mine{Path(inputs[0]).suffix}"
    words = [
        str(mine) if word == inputs[0] else mine.name if word == command.writes[0] else word
        for word in words
    ]
    _refused(words, folder, [mine], Path(inputs[0]).read_bytes())


def _refused(words: list[str], folder: Path, files: list[Path], content: bytes) -> None:
    for path in files:
        path.write_bytes(content)
    process = start(words, folder)
    messages = end(process)
    if process.returncode not in (1, 2) or sum("Error" in x for x in messages.splitlines()) != 1:
        raise BrokenError(f"{process.returncode}: {messages[-400:]}")
    if any(path.read_bytes() != content for path in files):
        raise BrokenError(f"{' '.join(words)}: it is gone")
    for path in files:
        path.unlink()


def cpu_seconds(pid: int = 0) -> float:
    """That a process has used so far; of 0 the children that have ended."""
    if not pid:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def handles_signals(process: subprocess.Popen[str]) -> bool:
    """Whether the command's own handlers stand: SIGTERM is caught, or it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                caught = int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1
                return bool(caught) or process.poll() is not None
    return True


def signals(shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """SIGINT or SIGTERM at random moments: it ends soon with 130 or 143; run again, it
    completes."""
    command = COMMANDS[target]
    number = chance.choice([signal.SIGINT, signal.SIGTERM])
    process = start_target(target, shop, folder)
    while not handles_signals(process):  # before, a signal ends Python as it always did
        time.sleep(0.02)
    time.sleep(chance.uniform(0.0, 9.0))
    began, before = time.monotonic(), cpu_seconds(process.pid)
    process.send_signal(number)
    children = cpu_seconds()
    messages = end(process, target, 120)
    seconds, busy = time.monotonic() - began, cpu_seconds() - children - before
    if command.ends and has_ended_well(target, process.returncode, messages):
        return
    if process.returncode == -number and all((folder / name).exists() for name in command.writes):
        return  # it had ended, and Python took its handlers down
    # Of a machine that does other work it gets a small share.
    if process.returncode != 128 + number or (seconds > PATIENCE_S and busy > BUSY_S):
        raise BrokenError(
            f"{process.returncode} after {seconds:.1f} s, {busy:.1f} s of CPU: {messages[-300:]}"
        )
    if left := leftovers(folder):
        raise BrokenError(f"left: {', '.join(left)}")
    if target in WRITERS:
        complete(target, shop, folder)


def exits(shop: Path, folder: Path, chance: random.Random, _target: str) -> None:
    """SIGINT at random moments in a program that trains, while its daemon threads search, solve,
    read and play: it ends with its own status, never by a signal. Python ignores an interrupt that
    falls into a finalizer; then it gets another."""
    tool = Path(__file__).with_name("program.py")
    words = [sys.executable, "-X", "faulthandler", tool, shop / "games.hcpe3", str(chance.random())]
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 2.0))
        for _ in range(4):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, messages = process.communicate(timeout=30)
                break
        else:
            process.kill()
            raise BrokenError("still there after four interrupts")
    if process.returncode != STATUS:
        raise BrokenError(f"{process.returncode}: {messages[-600:]}")


def junk(shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """Bytes of input files changed, cut, inserted, under foreign names: one line; no input
    changes."""
    own = folder / os.fsdecode(chance.choice(_NAMES))
    own.mkdir()
    words = []
    for word, given in zip(arguments(target, shop), COMMANDS[target].words.split(), strict=True):
        if not given.startswith("{shop}"):
            words.append(word)
            continue
        path = Path(word)
        made = own / f"{os.fsdecode(chance.choice(_NAMES))}{path.suffix}"
        if path.is_dir():
            shutil.copytree(path, made, dirs_exist_ok=True)
            files = [inner for inner in made.rglob("*") if inner.is_file()]
            for inner in chance.sample(files, min(3, len(files))):
                inner.write_bytes(mutated(inner.read_bytes(), chance))
        else:
            made.write_bytes(mutated(path.read_bytes(), chance))
        words.append(str(made))
    for name in COMMANDS[target].brings:
        brought = folder / name
        for inner in [brought] if brought.is_file() else brought.rglob("*.*"):
            if inner.is_file():
                inner.write_bytes(mutated(inner.read_bytes(), chance))
    before = state(own)
    process = start(words, folder, stdin=COMMANDS[target].stdin)
    limit = 20.0 if not COMMANDS[target].ends else MOST_S
    try:
        messages = end(process, target, limit)
    except BrokenError as error:
        if not COMMANDS[target].ends and "still there" in str(error):
            return
        raise
    if process.returncode not in (0, 1, 2):
        raise BrokenError(f"{process.returncode}: {messages[-400:]}")
    if process.returncode and not is_told(messages) and target != "usi":  # which says it to the GUI
        raise BrokenError(f"not one line: {messages[-400:]}")
    changed = [name for name, digest in before.items() if state(own).get(name) != digest]
    if changed and not target.startswith(("ladder", "loop")):
        raise BrokenError(f"changed: {', '.join(changed)}")


def command_named(name: str) -> click.Command:
    """The command, such as `records convert`."""
    command: click.Command = group
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


def numeric_options(target: str) -> list[tuple[str, int]]:
    """The options of a command that take numbers, and how many each takes."""
    return [
        (option.opts[0], option.nargs)
        for option in command_named(target).params
        if isinstance(option, click.Option)
        and isinstance(option.type, (type(click.INT), type(click.FLOAT)))
    ]


def numbers(shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """Extreme numbers for an option: it works, in whatever time, or says in one line why not."""
    option, count = chance.choice(numeric_options(target))
    values = [chance.choice(EXTREMES) for _ in range(count)]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))

    words = [*arguments(target, shop), option, *values]
    process = start(words, folder, preexec_fn=limited)
    try:
        messages = end(process, target, chance.uniform(5, 20))
    except BrokenError as error:
        if "still there" in str(error):
            return
        raise BrokenError(f"{' '.join(words[-3:])}: {error}") from None
    if process.returncode not in (0, 1, 2) or (process.returncode and not is_told(messages)):
        raise BrokenError(f"{' '.join(words[-3:])}: {process.returncode}: {messages[-400:]}")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Bytes changed, cut, put in; or something else altogether."""
    if chance.random() < 0.2:
        return chance.choice(
            [b"", b"\x00" * 100, chance.randbytes(500), b"hello\n", b"PK\x03\x04x"]
        )
    made = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        if not made:
            break
        at, what = chance.randrange(len(made)), chance.randrange(4)
        if what == 0:
            made[at] = chance.randrange(256)
        elif what == 1:
            del made[at : at + chance.randrange(1, 200)]
        elif what == 2:
            made[at:at] = chance.randbytes(chance.randrange(1, 50))
        else:
            made[at:at] = chance.choice(FOREIGN) + b"\n"
    return bytes(made)


def files(_shop: Path, folder: Path, chance: random.Random, _target: str) -> None:
    """Mutated records of every format: their games, or an error that names the place."""
    name = chance.choice(["csa", "kif", "ki2", "usi", "jkf", "hcpe3"])
    path = folder / f"a.{name}{chance.choice(['', '.gz', '.xz'])}"
    write_games(path, chance.sample(_games(), 3))
    path.write_bytes(mutated(path.read_bytes(), chance))
    try:
        found = read_games(path)
    except RecordError:
        return
    for game in found:
        game.final_board()


def _games() -> list:  # type: ignore[type-arg]
    if not _sample:
        _sample.extend(islice(GameReader(sample_path()), 200))
    return _sample


_sample: list = []  # type: ignore[type-arg]


def texts(shop: Path, folder: Path, chance: random.Random, target: str) -> None:
    """Markup, escape sequences, line breaks, scripts as players, events and comments: every format
    keeps the moves; no terminal and no page obeys the text."""
    games = read_games(shop / "few.csa")
    game = games[0]
    foreign = [text.decode("utf-8", "replace") for text in FOREIGN]
    game.headers = {
        "black": chance.choice(foreign),
        "white": chance.choice(foreign),
        "event": chance.choice(foreign),
        chance.choice(foreign): chance.choice(foreign),
    }
    game.comments = {ply: chance.choice(foreign) for ply in (0, 1, 2)}
    path = folder / f"a.{chance.choice(['csa', 'kif', 'ki2', 'usi', 'jkf'])}"
    try:
        write_games(path, [game])
    except RecordError:
        return
    again = read_games(path)
    if [one.usi_moves() for one in again] != [game.usi_moves()]:
        raise BrokenError(f"{path.name}: {len(again)} games of other moves: {game.headers}")
    lines = {
        "analyse": ["analyse", path, "--model", shop / "model.onnx", "--nodes", "2", "-o", "o"],
        "records stats": ["records", "stats", path],
        "records head": ["records", "head", path],
        "records convert": ["records", "convert", path, "-o", "b.kif"],
        "match": [
            "match", f"random?name={chance.choice(foreign)[:60]}", "material", "--games", "2",
            "--max-plies", "4", "--out", "m",
        ],
    }  # fmt: skip
    process = start([str(word).replace("\0", "") for word in lines[target]], folder)
    messages = end(process)
    if process.returncode not in (0, 1, 2) or (process.returncode and "Error" not in messages):
        raise BrokenError(f"{process.returncode}: {messages[-400:]}")
    if target != "match" and process.returncode:
        raise BrokenError(f"{process.returncode}: {messages[-400:]}")
    for page in folder.rglob("*.html"):
        if "<script>alert" in page.read_text("utf-8"):
            raise BrokenError(f"{page.name} would run a script")


def usi(_shop: Path, _folder: Path, chance: random.Random, _target: str) -> None:
    """Races of commands, tables too large, garbage, Ctrl-C: one answer per `go`, no traceback."""
    tool = Path(__file__).with_name("usi.py")
    seed = str(chance.randrange(10**6))
    done = subprocess.run(
        [sys.executable, str(tool), "--rounds", "2", "--seed", seed],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode:
        wrong = " | ".join([*done.stdout.splitlines(), *done.stderr.splitlines()[-3:]])
        raise BrokenError(f"seed {seed}: {wrong}")


CLASSES: dict[str, Attack] = {
    "plain": Attack(plain, list(COMMANDS)),
    "races": Attack(races, FOLDERS),
    "kills": Attack(kills, WRITERS),
    "disks": Attack(disks, WRITERS),
    "readonly": Attack(readonly, WRITERS),
    "kept": Attack(kept, [n for n, c in COMMANDS.items() if c.writes and not c.brings]),
    "signals": Attack(signals, LASTING),
    "exits": Attack(exits),
    "junk": Attack(junk, list(COMMANDS)),
    "numbers": Attack(numbers, [n for n in ENDING if n != "usi" and numeric_options(n)]),
    "texts": Attack(
        texts, ["analyse", "records stats", "records head", "records convert", "match"]
    ),
    "files": Attack(files),
    "csa": Attack(csa_servers, ["csa"]),
    "engines": Attack(usi_engines, ["match"]),
    "usi": Attack(usi, ["usi"]),
}
