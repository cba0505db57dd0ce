"""The classes of faults, injected at random times or with random data."""

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
import threading
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
from komadori.records import Game, GameReader, RecordError, read_games, sample_path, write_games

#: A command must exit within this time after a signal, on a busy machine;
SHUTDOWN_TIMEOUT_S = 10.0
#: or use less than this CPU time.
SHUTDOWN_CPU_S = 3.0
#: Time limit of commands that terminate by themselves.
TIMEOUT_S = 400.0
#: Messages of commands that finish with an incomplete result: skipped games, no proof.
PARTIAL_RESULT_MESSAGES = (" skipped:", "No win with p <", "nothing was written")
#: Control characters that begin terminal escape sequences.
ESCAPES = ("\x1b", "\x07", "\x9b")
#: Out-of-range values for numeric options, and the memory limit of commands that get them.
EXTREMES = [
    *("0", "-1", "1", "3", "255", "65536", "2147483648", "1099511627776", "4611686018427387904"),
    *("9223372036854775807", "1000000000000000000000", "0.5", "1e-300", "1e300", "nan", "inf"),
]
MEMORY_BYTES = 4 << 30
#: Names and texts from other programs: markup, escapes, invalid UTF-8, parts of formats.
HOSTILE_TEXTS = (
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
HOSTILE_NAMES = [
    text for text in HOSTILE_TEXTS if b"/" not in text and b"\n" not in text and len(text) < 200
]


class ViolationError(Exception):
    """A violated guarantee."""


@dataclass(frozen=True)
class Attack:
    """A class of faults: `run` injects one; its docstring names the fault and the guarantee.

    targets: the commands it attacks, in turn.
    """

    run: Callable[[Path, Path, random.Random, str], None]
    targets: Sequence[str] = ()

    @property
    def guarantee(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


def start(words: Sequence[str | Path], folder: Path, **options: object) -> subprocess.Popen[str]:
    stdin = subprocess.PIPE if options.pop("stdin", "") else subprocess.DEVNULL
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [*KOMADORI, *(os.fspath(word) for word in words)],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **options,
    )


def start_target(
    target: str, inputs: Path, folder: Path, **options: object
) -> subprocess.Popen[str]:
    return start(arguments(target, inputs), folder, stdin=COMMANDS[target].stdin, **options)


def wait_for_exit(
    process: subprocess.Popen[str], target: str = "", timeout_s: float = TIMEOUT_S
) -> str:
    """Wait for the process and check its output; return stderr."""
    text = COMMANDS[target].stdin if target else ""
    try:
        out, err = process.communicate(text or None, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise ViolationError(f"still running after {timeout_s:.0f} s") from None
    for output in (out, err):
        if "Traceback" in output or BUG in output or "[Errno" in output:
            raise ViolationError(output.strip()[-600:])
        # A USI client gets the paths of options unescaped.
        if target != "usi" and any(escape in output for escape in ESCAPES):
            raise ViolationError(f"an escape sequence: {output[-300:]!r}")
    return err


def reports_one_error(messages: str) -> bool:
    """Return True if there is exactly one error line, or none and a partial result is reported."""
    errors = sum("Error" in line for line in messages.splitlines())
    return errors == 1 or (errors == 0 and any(m in messages for m in PARTIAL_RESULT_MESSAGES))


def leftovers(folder: Path) -> list[str]:
    """Return the temporary files in the folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(".*.tmp"))


def copy_inputs(target: str, inputs: Path, folder: Path) -> None:
    """Copy the inputs that the command modifies into its own folder."""
    for name in COMMANDS[target].copies:
        if (inputs / name).is_dir():
            shutil.copytree(inputs / name, folder / name)
        else:
            shutil.copy(inputs / name, folder / name)


def has_succeeded(target: str, code: int | None, messages: str) -> bool:
    """Return True if the command completed, found its work done, or failed as expected."""
    command = COMMANDS[target]
    was_done = (
        bool(command.done_message)
        and code == command.done_status
        and command.done_message in messages
    )
    return code == int(command.expects_error) or was_done


def check_intact(target: str, folder: Path) -> None:
    """Check that a modified input is valid and still has its previous content."""
    if not COMMANDS[target].check:
        return
    process = start(COMMANDS[target].check.split(), folder)
    output, messages = process.communicate()
    if process.returncode or " a " not in output or " b " not in output:
        raise ViolationError(f"lost: {output[-300:]} {messages[-300:]}")


def check_completes(target: str, inputs: Path, folder: Path) -> None:
    """Run the command again; check that it completes and leaves no temporary files."""
    command = COMMANDS[target]
    check_intact(target, folder)
    tries: list[list[str]] = [[]]
    if command.resume and (folder / command.writes[0]).exists():
        tries.insert(0, [command.resume])
    for number, more in enumerate(tries, 1):
        process = start([*arguments(target, inputs), *more], folder, stdin=command.stdin)
        messages = wait_for_exit(process, target)
        if has_succeeded(target, process.returncode, messages):
            break
        if number == len(tries):
            raise ViolationError(f"run again: {process.returncode}: {messages[-400:]}")
    check_intact(target, folder)
    for name in command.writes:
        if not (folder / name).exists():
            raise ViolationError(f"missing: {name}")
    if left := leftovers(folder):
        raise ViolationError(f"left: {', '.join(left)}")


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, by relative path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


#: Commands that write; those that write a file; those that two concurrent runs must not mix.
WRITERS = [name for name, command in COMMANDS.items() if command.writes or command.copies]
FILES = [name for name in WRITERS if "." in "".join(COMMANDS[name].writes[:1])]
FOLDERS = [
    name
    for name in WRITERS
    if name not in FILES and (COMMANDS[name].is_long or COMMANDS[name].check)
]
#: Commands whose first output is a folder that they make.
MAKES_FOLDER = [name for name in WRITERS if name not in FILES and not COMMANDS[name].copies]
LONG = [name for name, command in COMMANDS.items() if command.is_long]
TERMINATING = [name for name, command in COMMANDS.items() if command.terminates]


def plain(inputs: Path, folder: Path, _rng: random.Random, target: str) -> None:
    """No fault: the command completes and prints no error."""
    if COMMANDS[target].terminates:
        check_completes(target, inputs, folder)
        return
    process = start_target(target, inputs, folder)
    time.sleep(5.0)
    process.send_signal(signal.SIGTERM)
    wait_for_exit(process, target, 60)


def races(inputs: Path, folder: Path, _rng: random.Random, target: str) -> None:
    """Two concurrent runs in one folder or on one ladder: each completes, or names the run that
    holds the lock."""
    both = [start_target(target, inputs, folder) for _ in range(2)]
    messages = [wait_for_exit(process, target) for process in both]
    codes = [process.returncode for process in both]
    refused = [
        number
        for number, text in enumerate(messages)
        # A run that isn't resumed refuses the folder of one that has saved a state, or has ended.
        if "in use by" in text or (COMMANDS[target].resume and "holds a run already" in text)
    ]
    wrong = [
        number
        for number, code in enumerate(codes)
        if number not in refused and not has_succeeded(target, code, messages[number])
    ]
    if wrong or len(refused) == 2:
        raise ViolationError(f"statuses {codes}: {messages[wrong[0] if wrong else 0][-300:]}")
    check_completes(target, inputs, folder)


def kills(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """SIGKILL at random times: run again (or with --resume), the command completes and cleans up;
    an output file that existed before has its old or its new content, never a part."""
    command = COMMANDS[target]
    old = b""
    if target in FILES:
        check_completes(target, inputs, folder)
        old = (folder / command.writes[0]).read_bytes()
    for _ in range(rng.randrange(1, 3)):
        process = start_target(target, inputs, folder)
        time.sleep(rng.uniform(0.2, 8.0))
        process.kill()
        process.communicate()
        if old and (folder / command.writes[0]).read_bytes() != old and target != "export":
            raise ViolationError("neither the old nor the new content")
    check_completes(target, inputs, folder)


def disks(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """A full disk, after a few bytes to a megabyte: one error line; run again with enough space,
    the command completes."""
    limit = int(10 ** rng.uniform(0.5, 6))

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = start_target(target, inputs, folder, preexec_fn=full)
    messages = wait_for_exit(process, target)
    if process.returncode:
        last = messages.strip().splitlines()[-1:]
        if process.returncode < 0 or not last or not last[0].startswith(("Error:", "interrupted")):
            raise ViolationError(f"{limit} bytes: {process.returncode}: {messages[-400:]}")
    check_completes(target, inputs, folder)


def readonly(inputs: Path, folder: Path, _rng: random.Random, target: str) -> None:
    """An unwritable output folder: one error line that names it, before the actual work."""
    # Permissions don't stop root; a file in place of a folder does.
    words = arguments(target, inputs)
    names = (*COMMANDS[target].writes, *COMMANDS[target].copies)
    (folder / "file").write_text("not a folder")
    own = len(target.split())
    moved = [
        f"file/{word}" if word in names and number >= own else word
        for number, word in enumerate(words)
    ]
    if moved == words:  # the output's name isn't an argument
        (folder / names[0]).write_text("not a folder")
    process = start(moved, folder)
    messages = wait_for_exit(process)
    lines = [line for line in messages.splitlines() if "Error:" in line]
    if process.returncode not in (1, 2) or len(lines) != 1:
        raise ViolationError(f"{process.returncode}: {messages[-400:]}")
    if "File exists" in lines[0] or not any(name in lines[0] for name in ("file", names[0])):
        raise ViolationError(f"doesn't name the file in the way: {lines[0]}")
    if (folder / "file").read_text() != "not a folder":
        raise ViolationError("the file in the way was replaced")


def kept(inputs: Path, folder: Path, _rng: random.Random, target: str) -> None:
    """A file of another kind at the output's path, or an input given as output: it isn't
    overwritten; one error line."""
    command = COMMANDS[target]
    words = [word for word in arguments(target, inputs) if word != "--force"]
    _check_refused(words, folder, [folder / name for name in command.writes], b"a diary\n")
    input_files = [word for word in words if word.startswith(str(inputs)) and Path(word).is_file()]
    if target not in FILES or not input_files:
        return
    source = folder / f"source{Path(input_files[0]).suffix}"
    words = [
        str(source)
        if word == input_files[0]
        else source.name
        if word == command.writes[0]
        else word
        for word in words
    ]
    _check_refused(words, folder, [source], Path(input_files[0]).read_bytes())


def foreign(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """A file of something else in the output's folder, with the name of one that the command writes
    there: it is kept, whether the command ends with one error line or without it."""
    words = [word for word in arguments(target, inputs) if word != "--force"]
    wait_for_exit(start(words, folder), target)
    out = folder / COMMANDS[target].writes[0]
    names = sorted(p.name for p in out.iterdir() if p.is_file() and not p.name.startswith("."))
    for name in rng.sample(names, min(3, len(names))):
        shutil.rmtree(out)
        out.mkdir()
        (out / name).write_bytes(b"a diary\n")
        process = start(words, folder)
        messages = wait_for_exit(process, target)
        if not (out / name).is_file() or (out / name).read_bytes() != b"a diary\n":
            raise ViolationError(f"{out.name}/{name}: replaced")
        if process.returncode and sum("Error" in x for x in messages.splitlines()) != 1:
            raise ViolationError(f"{process.returncode}: {messages[-400:]}")


def _check_refused(words: list[str], folder: Path, files: list[Path], content: bytes) -> None:
    for path in files:
        path.write_bytes(content)
    process = start(words, folder)
    messages = wait_for_exit(process)
    if process.returncode not in (1, 2) or sum("Error" in x for x in messages.splitlines()) != 1:
        raise ViolationError(f"{process.returncode}: {messages[-400:]}")
    if any(path.read_bytes() != content for path in files):
        raise ViolationError(f"{' '.join(words)}: overwritten")
    for path in files:
        path.unlink()


def cpu_seconds(pid: int = 0) -> float:
    """Return the CPU time of a process so far; for pid 0, that of children that have exited."""
    if not pid:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def has_signal_handlers(process: subprocess.Popen[str]) -> bool:
    """Return True once the command's own handlers are installed, or if it has exited."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                caught = int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1
                return bool(caught) or process.poll() is not None
    return True


def signals(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """SIGINT or SIGTERM at random times: the command exits soon with 130 or 143; run again, it
    completes."""
    command = COMMANDS[target]
    number = rng.choice([signal.SIGINT, signal.SIGTERM])
    process = start_target(target, inputs, folder)
    while not has_signal_handlers(process):  # until then, Python's defaults apply
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 9.0))
    started, before = time.monotonic(), cpu_seconds(process.pid)
    process.send_signal(number)
    children = cpu_seconds()
    messages = wait_for_exit(process, target, 120)
    seconds, busy = time.monotonic() - started, cpu_seconds() - children - before
    if command.terminates and has_succeeded(target, process.returncode, messages):
        return
    if process.returncode == -number and all((folder / name).exists() for name in command.writes):
        return  # it had finished, and its handlers were removed
    # Wall time alone proves nothing on a busy machine.
    if process.returncode != 128 + number or (
        seconds > SHUTDOWN_TIMEOUT_S and busy > SHUTDOWN_CPU_S
    ):
        raise ViolationError(
            f"{process.returncode} after {seconds:.1f} s, {busy:.1f} s of CPU: {messages[-300:]}"
        )
    if left := leftovers(folder):
        raise ViolationError(f"left: {', '.join(left)}")
    if target in WRITERS:
        check_completes(target, inputs, folder)


def exits(inputs: Path, folder: Path, rng: random.Random, _target: str) -> None:
    """SIGINT at random times in a program that trains, while its daemon threads search, solve, read
    and play: it exits with its own status, never by a signal. Python ignores an interrupt during a
    finalizer; then another one is sent."""
    tool = Path(__file__).with_name("program.py")
    words: list[str | Path] = [
        sys.executable,
        "-X",
        "faulthandler",
        tool,
        inputs / "games.hcpe3",
        str(rng.random()),
    ]
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 2.0))
        for _ in range(4):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, messages = process.communicate(timeout=30)
                break
        else:
            process.kill()
            raise ViolationError("still running after four interrupts")
    if process.returncode != STATUS:
        raise ViolationError(f"{process.returncode}: {messages[-600:]}")


def junk(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """Input files with bytes changed, deleted or inserted, under hostile names: at most one error
    line; inputs aren't modified. Damaged settings can be valid ones of longer work, which an
    interrupt must end."""
    own = folder / os.fsdecode(rng.choice(HOSTILE_NAMES))
    own.mkdir()
    words = []
    has_settings = False
    for word, given in zip(
        arguments(target, inputs), COMMANDS[target].arguments.split(), strict=True
    ):
        if not given.startswith("{inputs}"):
            words.append(word)
            continue
        path = Path(word)
        has_settings |= path.suffix == ".toml" or any(path.glob("*.toml"))
        made = own / f"{os.fsdecode(rng.choice(HOSTILE_NAMES))}{path.suffix}"
        if path.is_dir():
            shutil.copytree(path, made, dirs_exist_ok=True)
            files = [inner for inner in made.rglob("*") if inner.is_file()]
            for inner in rng.sample(files, min(3, len(files))):
                inner.write_bytes(mutated(inner.read_bytes(), rng))
        else:
            made.write_bytes(mutated(path.read_bytes(), rng))
        words.append(str(made))
    for name in COMMANDS[target].copies:
        copied = folder / name
        for inner in [copied] if copied.is_file() else copied.rglob("*.*"):
            if inner.is_file():
                inner.write_bytes(mutated(inner.read_bytes(), rng))
    before = digests(own)
    process = start(words, folder, stdin=COMMANDS[target].stdin)
    limit = 20.0 if not COMMANDS[target].terminates else TIMEOUT_S
    interrupt = threading.Timer(limit, process.send_signal, [signal.SIGINT])
    if has_settings:
        interrupt.start()
        limit += SHUTDOWN_TIMEOUT_S
    try:
        messages = wait_for_exit(process, target, limit)
    except ViolationError as error:
        if not COMMANDS[target].terminates and "still running" in str(error):
            return
        raise
    finally:
        interrupt.cancel()
    was_interrupted = has_settings and process.returncode == 128 + signal.SIGINT
    if process.returncode not in (0, 1, 2) and not was_interrupted:
        raise ViolationError(f"{process.returncode}: {messages[-400:]}")
    if (
        process.returncode
        and not was_interrupted
        and not reports_one_error(messages)
        and target != "usi"
    ):  # it reports to the GUI
        raise ViolationError(f"not one error line: {messages[-400:]}")
    changed = [name for name, digest in before.items() if digests(own).get(name) != digest]
    if changed and not target.startswith(("ladder", "loop")):
        raise ViolationError(f"modified: {', '.join(changed)}")


def command_named(name: str) -> click.Command:
    """Return the command with this name, such as `records convert`."""
    command: click.Command = group
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


def numeric_options(target: str) -> list[tuple[str, int]]:
    """Return a command's numeric options and how many values each takes."""
    return [
        (option.opts[0], option.nargs)
        for option in command_named(target).params
        if isinstance(option, click.Option)
        and isinstance(option.type, (type(click.INT), type(click.FLOAT)))
    ]


def numbers(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """Extreme values for a numeric option: the command works, however slowly, or prints one error
    line."""
    option, count = rng.choice(numeric_options(target))
    values = [rng.choice(EXTREMES) for _ in range(count)]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))

    words = [*arguments(target, inputs), option, *values]
    process = start(words, folder, preexec_fn=limited)
    try:
        messages = wait_for_exit(process, target, rng.uniform(5, 20))
    except ViolationError as error:
        if "still running" in str(error):
            return
        raise ViolationError(f"{' '.join(words[-3:])}: {error}") from None
    if process.returncode not in (0, 1, 2) or (
        process.returncode and not reports_one_error(messages)
    ):
        raise ViolationError(f"{' '.join(words[-3:])}: {process.returncode}: {messages[-400:]}")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the data with bytes changed, deleted or inserted; sometimes unrelated data."""
    if rng.random() < 0.2:
        return rng.choice([b"", b"\x00" * 100, rng.randbytes(500), b"hello\n", b"PK\x03\x04x"])
    made = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        if not made:
            break
        at, what = rng.randrange(len(made)), rng.randrange(4)
        if what == 0:
            made[at] = rng.randrange(256)
        elif what == 1:
            del made[at : at + rng.randrange(1, 200)]
        elif what == 2:
            made[at:at] = rng.randbytes(rng.randrange(1, 50))
        else:
            made[at:at] = rng.choice(HOSTILE_TEXTS) + b"\n"
    return bytes(made)


def files(_inputs: Path, folder: Path, rng: random.Random, _target: str) -> None:
    """Mutated records of every format: games are read, or an error names the place in the file."""
    name = rng.choice(["csa", "kif", "ki2", "usi", "jkf", "hcpe3"])
    path = folder / f"a.{name}{rng.choice(['', '.gz', '.xz'])}"
    write_games(path, rng.sample(_games(), 3))
    path.write_bytes(mutated(path.read_bytes(), rng))
    try:
        found = read_games(path)
    except RecordError:
        return
    for game in found:
        game.final_board()


def _games() -> list[Game]:
    if not _sample:
        _sample.extend(islice(GameReader(sample_path()), 200))
    return _sample


_sample: list[Game] = []


def texts(inputs: Path, folder: Path, rng: random.Random, target: str) -> None:
    """Markup, escape sequences, line breaks and scripts in players, events and comments: every
    format keeps the moves; neither the terminal nor a page interprets them."""
    games = read_games(inputs / "few.csa")
    game = games[0]
    hostile = [text.decode("utf-8", "replace") for text in HOSTILE_TEXTS]
    game.headers = {
        "black": rng.choice(hostile),
        "white": rng.choice(hostile),
        "event": rng.choice(hostile),
        rng.choice(hostile): rng.choice(hostile),
    }
    game.comments = {ply: rng.choice(hostile) for ply in (0, 1, 2)}
    path = folder / f"a.{rng.choice(['csa', 'kif', 'ki2', 'usi', 'jkf'])}"
    try:
        write_games(path, [game])
    except RecordError:
        return
    again = read_games(path)
    if [one.usi_moves() for one in again] != [game.usi_moves()]:
        raise ViolationError(f"{path.name}: {len(again)} games, different moves: {game.headers}")
    lines: dict[str, list[str | Path]] = {
        "analyse": ["analyse", path, "--model", inputs / "model.onnx", "--nodes", "2", "-o", "o"],
        "records stats": ["records", "stats", path],
        "records head": ["records", "head", path],
        "records convert": ["records", "convert", path, "-o", "b.kif"],
        "match": [
            "match", f"random?name={rng.choice(hostile)[:60]}", "material", "--games", "2",
            "--max-plies", "4", "--out", "m",
        ],
    }  # fmt: skip
    process = start([str(word).replace("\0", "") for word in lines[target]], folder)
    messages = wait_for_exit(process)
    if process.returncode not in (0, 1, 2) or (process.returncode and "Error" not in messages):
        raise ViolationError(f"{process.returncode}: {messages[-400:]}")
    if target != "match" and process.returncode:
        raise ViolationError(f"{process.returncode}: {messages[-400:]}")
    for page in folder.rglob("*.html"):
        if "<script>alert" in page.read_text("utf-8"):
            raise ViolationError(f"{page.name} would run a script")


def usi(_inputs: Path, _folder: Path, rng: random.Random, _target: str) -> None:
    """Commands in random order, oversized tables, garbage, Ctrl-C: one answer per `go`, no
    traceback."""
    tool = Path(__file__).with_name("usi.py")
    seed = str(rng.randrange(10**6))
    done = subprocess.run(
        [sys.executable, str(tool), "--rounds", "2", "--seed", seed],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode:
        output = " | ".join([*done.stdout.splitlines(), *done.stderr.splitlines()[-3:]])
        raise ViolationError(f"seed {seed}: {output}")


CLASSES: dict[str, Attack] = {
    "plain": Attack(plain, list(COMMANDS)),
    "races": Attack(races, FOLDERS),
    "kills": Attack(kills, WRITERS),
    "disks": Attack(disks, WRITERS),
    "readonly": Attack(readonly, WRITERS),
    "kept": Attack(kept, [n for n, c in COMMANDS.items() if c.writes and not c.copies]),
    "foreign": Attack(foreign, MAKES_FOLDER),
    "signals": Attack(signals, LONG),
    "exits": Attack(exits),
    "junk": Attack(junk, list(COMMANDS)),
    "numbers": Attack(numbers, [n for n in TERMINATING if n != "usi" and numeric_options(n)]),
    "texts": Attack(
        texts, ["analyse", "records stats", "records head", "records convert", "match"]
    ),
    "files": Attack(files),
    "csa": Attack(csa_servers, ["csa"]),
    "engines": Attack(usi_engines, ["match"]),
    "usi": Attack(usi, ["usi"]),
}
