"""Where the system gives no more threads, nothing aborts: the work is done by those there are."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from komadori.rules import Board

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="no /proc to tell a process's memory"
)

#: Memory that a thread reserves, and what is left to a starved process: less than that.
STACK_BYTES, LEFT_BYTES = 1 << 30, 640 << 20

STARVE = f"""
import resource, threading
resource_limits = resource.getrlimit(resource.RLIMIT_AS)

def allow(threads):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + {LEFT_BYTES} + threads * {STACK_BYTES}
    resource.setrlimit(resource.RLIMIT_AS, (most, resource_limits[1]))

def starve():
    allow(0)
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return
    raise SystemExit("a thread could be started")
"""


def _small_memory_of_threads() -> None:
    """glibc gives each thread a stack of this size."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, hard))


def settled_bytes(pid: int) -> int:
    """The memory of a process, once threads that have just ended have given theirs back."""
    statm = Path(f"/proc/{pid}/statm")
    pages = [0]
    while len(pages) < 4 or len(set(pages[-4:])) > 1:
        pages.append(int(statm.read_text().split()[0]))
        time.sleep(0.05)
    return pages[-1] * resource.getpagesize()


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", STARVE + program],
        preexec_fn=_small_memory_of_threads,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def test_a_loop_is_done_by_the_calling_thread() -> None:
    program = """
import numpy as np
from komadori.encoding import encode_planes
from komadori.rules import Board
hcps = np.frombuffer(Board().hcp() * 1000, np.uint8).reshape(-1, 32)
expected = encode_planes(hcps, threads=1)
starve()
found = encode_planes(hcps, threads=4)
print(all(np.array_equal(a, b) for a, b in zip(expected, found)))
"""
    assert run(program) == "True"


def test_a_search_continues_without_helper_threads() -> None:
    program = """
from komadori._core import alphabeta as core
from komadori.rules import Board
from komadori.search.alphabeta import AlphaBetaOptions, make_engines
engine, = make_engines("material", None, AlphaBetaOptions(threads=4, hash_mb=1), 1)
limits = core.Limits()
limits.nodes = 2000
starve()
print(engine.search(Board(), limits).best is not None, engine.nodes)
try:
    engine.start(Board(), limits)
except RuntimeError as error:
    print("no thread")
print(engine.search(Board(), limits).best is not None, engine.nodes)
allow(8)
engine.start(Board(), limits)
print(engine.result().best is not None, engine.nodes)
"""
    assert run(program).splitlines() == ["True 2000", "no thread", "True 2000", "True 2000"]


def test_games_are_played_by_the_threads_there_are() -> None:
    program = """
from komadori.generate import BuiltinGames, Evaluation, Lines, SearchBounds, TeacherSettings
settings = TeacherSettings(searches=(SearchBounds(nodes=20),), hash_mb=1, max_plies=20)

def play():
    source = BuiltinGames(settings, Lines(), Evaluation("material"), threads=3)
    source.add(range(4))
    games = []
    while len(games) < 4:
        games += source.take(1000)
    source.stop()
    return sorted(game.hcpe3 for game in games)

expected = play()
allow(1)
print(play() == expected, len(expected))
starve()
try:
    play()
except RuntimeError:
    print("no thread")
"""
    assert run(program).splitlines() == ["True 4", "no thread"]


def test_positions_nearby_are_found_by_the_calling_thread() -> None:
    program = """
from itertools import islice
import numpy as np
from komadori.generate.nearby import Evaluation, Nearby, NearbySettings
from komadori.generate.settings import SearchBounds
from komadori.records import GameReader, load_samples, sample_path
samples = load_samples(sample_path()).take(slice(0, 3000))
settings = NearbySettings(search=SearchBounds(nodes=5))
expected, _ = Nearby(settings, Evaluation("material"), 2).positions(samples, 0)
nearby = Nearby(settings, Evaluation("material"), 2)
starve()
found, _ = nearby.positions(samples, 0)
print(len(found) > 2000, np.array_equal(found.hcp, expected.hcp),
      np.array_equal(found.score_cp, expected.score_cp))
"""
    assert run(program) == "True True True"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--player", "alphabeta", "--eval", "material", "--option", "Threads=4"],
        ["--player", "model", "--model", "random:3", "--option", "USI_Hash=64"],
        ["--player", "material"],
    ],
    ids=lambda arguments: arguments[1],
)
def test_the_engine_answers(arguments: list[str]) -> None:
    """Without helpers, a watch, a mate search: the thread of the search before it is all that the
    alpha-beta search has left."""
    with subprocess.Popen(
        [sys.executable, "-m", "komadori", "usi", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_small_memory_of_threads,
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        stdin, stdout = engine.stdin, engine.stdout

        def ask(lines: str, answer: str) -> list[str]:
            stdin.write(lines)
            stdin.flush()
            output = []
            while not (output and output[-1].startswith(answer)):
                output.append(stdout.readline())
                assert output[-1], (output, engine.stderr and engine.stderr.read())
            return output

        go = "position startpos\ngo nodes 300\n"
        legal = {move.usi() for move in Board().legal_moves}
        ask("usi\nisready\n", "readyok")
        ask(go, "bestmove")
        soft, hard = resource.prlimit(engine.pid, resource.RLIMIT_AS)
        most = settled_bytes(engine.pid) + LEFT_BYTES
        resource.prlimit(engine.pid, resource.RLIMIT_AS, (most, hard))
        starved = ask(go, "bestmove")
        assert starved[-1].split()[1] in legal
        assert not any("error" in line for line in starved), starved
        resource.prlimit(engine.pid, resource.RLIMIT_AS, (soft, hard))
        again = ask(go, "bestmove")
        assert again[-1].split()[1] in legal
        assert not any("error" in line for line in again)
        _, output = engine.communicate("quit\n", timeout=30)
        assert engine.returncode == 0, output
        assert "Traceback" not in output


@pytest.mark.parametrize("megabytes", range(250, 340, 10))
def test_a_lack_of_memory_in_a_thread_is_one_line(megabytes: int, tmp_path: Path) -> None:
    """The thread's first exception needs memory itself; without it glibc would end the process."""
    most = megabytes << 20
    done = subprocess.run(
        [sys.executable, "-m", "komadori", "generate", "teacher", "--games=2", "--nodes=9", "-o=x"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "ABORT" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "a bug in komadori" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [
        (["perft", "2"], 1, "Error: the system gives no more threads"),
        (["usi"], 1, "info string error: the system gives no more threads"),
    ],
)
def test_a_command_that_begins_without_threads(
    arguments: list[str], status: int, printed: str
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-c"),
            f"""{STARVE}
import sys
from komadori.cli import main
import komadori.cli._group, komadori.cli.perft, komadori.cli.usi, komadori.rules
starve()
sys.argv = ["komadori", *{arguments!r}]
main()
""",
        ],
        preexec_fn=_small_memory_of_threads,
        input="isready\nquit\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    (line,) = (done.stdout + done.stderr).splitlines()
    assert (done.returncode, line[: len(printed)]) == (status, printed)
