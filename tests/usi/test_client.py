"""The client against a scripted engine that misbehaves on request."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from komadori.players import fingerprint
from komadori.usi.client import (
    GRACE_S,
    EngineDiedError,
    EngineError,
    EngineTimeoutError,
    LazyInfos,
    LineProcess,
    UsiEngine,
    find_program,
    split_command,
)
from komadori.usi.protocol import STARTPOS, GoCommand, Score

ENGINE = """
import os, sys, time
mode = sys.argv[1] if len(sys.argv) > 1 else ""
log = open(sys.argv[2], "w") if len(sys.argv) > 2 else None
for line in sys.stdin:
    line = line.strip()
    if log:
        print(line, file=log, flush=True)
    if line == "usi":
        if mode == "mute": continue
        print("id name Toy 1.0\\nid author nobody")
        print("option name Depth type spin default 1 min 1 max 9")
        print("option name Style type combo default Solid var Solid var Risky")
        print("option name Book type check default true")
        print("option name Level type spin default 99 min 1 max 10")
        print("option name Clear type button\\nusiok")
    elif line == "isready":
        if mode == "dies": sys.exit("the model file is missing")
        print("\\nreadyok")
    elif line.startswith("go"):
        if mode == "crash": print("info string about to crash"); sys.stdout.flush(); sys.exit(3)
        if mode == "closes": os.close(1); os.close(2); time.sleep(60)
        if mode == "hang": continue
        if mode == "empty": print("bestmove"); continue
        if mode == "late": continue
        print("info depth 2 score cp 40 nodes 9 pv 7g7f\\ninfo multipv 2 score cp 1 pv 2g2f")
        print("bestmove 7g7f ponder 3c3d")
    elif line == "stop" and mode == "late":
        print("bestmove 2g2f")
    elif line == "quit":
        if mode in ("hang", "deaf"): time.sleep(60)
        break
    sys.stdout.flush()
"""


@pytest.fixture
def toy(tmp_path: Path) -> list[str]:
    path = tmp_path / "toy.py"
    path.write_text(ENGINE)
    return [sys.executable, str(path)]


def test_a_conversation(toy: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    with UsiEngine([*toy, "", str(log)], {"Depth": "3", "Clear": "", "USI_Hash": "64"}) as engine:
        assert engine.name == "Toy 1.0"
        assert engine.declared["Depth"].max == 9
        engine.new_game()
        go = GoCommand(byoyomi_ms=1000, btime_ms=0, wtime_ms=0)
        thought = engine.think(STARTPOS, ["2g2f", "3c3d"], go, 5.0)
        assert (thought.best.move, thought.best.ponder) == ("7g7f", "3c3d")
        assert thought.last_info is not None
        assert thought.last_info.score == Score(cp=40)
        engine.game_over("win")
    lines = log.read_text().splitlines()
    assert lines == [
        "usi",
        "setoption name Depth value 3",
        "setoption name Clear",
        "setoption name USI_Hash value 64",
        "isready",
        "isready",
        "usinewgame",
        "position startpos moves 2g2f 3c3d",
        "go btime 0 wtime 0 byoyomi 1000",
        "gameover win",
        "quit",
    ]


def test_unknown_options_are_an_error_that_lists_the_known(toy: list[str]) -> None:
    with pytest.raises(
        EngineError, match="no option Dept; it has: Book, Clear, Depth, Level, Style"
    ):
        UsiEngine(toy, {"Dept": "3"})


def test_an_engine_without_options_is_said_to_have_none() -> None:
    code = "print('usiok', flush=True); input(); input()"
    with pytest.raises(EngineError, match=r" has no option Depth; it has: none$"):
        UsiEngine([sys.executable, "-c", code], {"Depth": "3"})


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("Depth", "0", "0 isn't between 1 and 9"),
        ("Depth", "two", "'two' isn't an integer"),
        ("Style", "Foo", "'Foo' isn't one of Solid, Risky"),
        ("Book", "maybe", "'maybe' is neither true nor false"),
    ],
)
def test_a_value_that_the_engine_would_ignore_is_an_error(
    toy: list[str], name: str, value: str, problem: str
) -> None:
    with pytest.raises(EngineError, match=f"^Toy 1.0: option {name}: {problem}$"):
        UsiEngine(toy, {name: value})
    with UsiEngine(toy) as engine, pytest.raises(EngineError, match=problem):
        engine.set_known_options({name: value})


def test_values_are_sent_as_the_engine_declares_them(toy: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = {"Style": "risky", "Book": "False", "Level": "99"}  # the default is out of range
    UsiEngine([*toy, "", str(log)], options).close()
    lines = [line for line in log.read_text().splitlines() if line.startswith("setoption")]
    assert lines == [
        "setoption name Style value Risky",
        "setoption name Book value false",
        "setoption name Level value 99",
    ]


def test_an_engine_that_never_answers_is_given_up(toy: list[str]) -> None:
    with pytest.raises(EngineTimeoutError, match="no answer in time"):
        UsiEngine([*toy, "mute"], startup_s=0.5)


def test_an_engine_that_ends_while_loading_is_quoted(toy: list[str]) -> None:
    with pytest.raises(EngineDiedError, match="the model file is missing"):
        UsiEngine([*toy, "dies"])


def test_a_crash_in_a_search_is_quoted(toy: list[str]) -> None:
    with (
        UsiEngine([*toy, "crash"]) as engine,
        pytest.raises(EngineDiedError, match=r"status 3.*about to crash"),
    ):
        engine.think(STARTPOS, [], GoCommand(), 5.0)


def test_an_engine_that_closes_its_output_but_runs_on_has_failed(toy: list[str]) -> None:
    with (
        UsiEngine([*toy, "closes"]) as engine,
        pytest.raises(EngineDiedError, match="closed its output"),
    ):
        engine.think(STARTPOS, [], GoCommand(), 5.0)


def test_bestmove_without_a_move_is_an_error(toy: list[str]) -> None:
    with UsiEngine([*toy, "empty"]) as engine, pytest.raises(EngineError, match="bestmove"):
        engine.think(STARTPOS, [], GoCommand(), 5.0)


def test_an_engine_beyond_its_time_is_stopped_first(toy: list[str]) -> None:
    with UsiEngine([*toy, "late"]) as engine:
        thought = engine.think(STARTPOS, [], GoCommand(infinite=True), 0.2)
        assert thought.best.move == "2g2f"
        assert thought.time_ms >= 200


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("think", (STARTPOS, [], GoCommand(), 5.0)),
        ("new_game", ()),
        ("set_option", ("Depth", "2")),
        ("set_known_options", ({"Depth": "2"},)),
    ],
)
def test_an_engine_in_use_refuses_other_threads_but_can_be_closed(
    name: str, arguments: tuple[Any, ...], toy: list[str]
) -> None:
    engine = UsiEngine([*toy, "late"])
    errors: list[BaseException] = []

    def think() -> None:
        try:
            engine.think(STARTPOS, [], GoCommand(infinite=True), 30.0)
        except EngineError as error:
            errors.append(error)

    thread = threading.Thread(target=think)
    thread.start()
    time.sleep(0.2)
    try:
        with pytest.raises(RuntimeError, match="already in use; use one engine per thread"):
            getattr(engine, name)(*arguments)
    finally:
        engine.close()
        thread.join()
    assert [type(error) for error in errors] == [EngineDiedError]


def test_a_hung_engine_is_given_up_and_killed(
    toy: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.usi.client.STOP_GRACE_S", 0.2)
    engine = UsiEngine([*toy, "hang"])
    with pytest.raises(EngineTimeoutError):
        engine.think(STARTPOS, [], GoCommand(), 0.2)
    started = time.monotonic()
    engine._process.close(grace_s=0.3)
    assert time.monotonic() - started < 3.0
    assert not engine._process.is_alive
    engine.close()


@pytest.mark.skipif(sys.platform == "win32", reason="writing blocks on Windows")
def test_an_engine_that_answers_but_reads_nothing_is_given_up_and_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("komadori.usi.client.SEND_LIMIT_S", 0.2)
    program = "while True: print('usiok\\nreadyok\\nbestmove resign', flush=True)"
    engine = UsiEngine([sys.executable, "-c", program])
    moves = ["7g7f"] * 1000

    def fill_the_pipe() -> None:
        for _ in range(100):
            engine.think(STARTPOS, moves, GoCommand(nodes=1), 5.0)

    with pytest.raises(EngineTimeoutError, match="didn't read 'go nodes 1' in time"):
        fill_the_pipe()
    started = time.monotonic()
    engine._process.close(grace_s=0.3)
    assert time.monotonic() - started < 3.0
    assert not engine._process.is_alive


def test_no_line_can_smuggle_another(toy: list[str]) -> None:
    with UsiEngine(toy) as engine, pytest.raises(EngineError, match="line break"):
        engine.set_option("Depth", "1\nquit")


def test_the_bytes_of_a_path_that_is_not_utf8_are_sent() -> None:
    program = "import sys; print(sys.stdin.buffer.readline().hex(), flush=True)"
    process = LineProcess([sys.executable, "-c", program], "echo")
    process.send(os.fsdecode(b"Book \xff"))
    assert bytes.fromhex(process.read(time.monotonic() + 20)) == b"Book \xff\n"
    process.close()


def test_a_flood_without_line_breaks_is_cut() -> None:
    program = "import sys; sys.stdout.write('x' * (3 << 20)); sys.stdout.flush()"
    process = LineProcess([sys.executable, "-c", program], "flood")
    try:
        line = process.read(time.monotonic() + 10.0)
        assert len(line) <= 1 << 20
    finally:
        process.close()


FLOOD = """
import sys
for line in sys.stdin:
    if line == "usi\\n":
        print("usiok", flush=True)
    elif line == "isready\\n":
        print("readyok", flush=True)
    elif line.startswith("go"):
        if sys.argv[1] == "answer":
            print("info depth 7 score cp 1 pv 7g7f\\nbestmove 7g7f")
        while True:
            print(sys.argv[2] * int(sys.argv[3]))
"""


@pytest.mark.parametrize("line", [("info string x", 1), ("info string x", 9999), ("junk", 1)])
def test_an_endless_flood_is_given_up_in_time_and_in_little_memory(
    line: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.usi.client.STOP_GRACE_S", 0.2)
    monkeypatch.setattr("komadori.usi.client.MAX_WAITING", 1 << 18)
    monkeypatch.setattr("komadori.usi.client.MAX_INFOS", 1 << 18)
    seen: list[LazyInfos] = []

    class Infos(LazyInfos):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            seen.append(self)

    monkeypatch.setattr("komadori.usi.client.LazyInfos", Infos)
    engine = UsiEngine([sys.executable, "-c", FLOOD, "mute", *map(str, line)])
    started = time.monotonic()
    with pytest.raises(EngineTimeoutError):
        engine.think(STARTPOS, [], GoCommand(), 2.0)
    assert time.monotonic() - started < 10.0
    assert sum(map(len, seen[0]._lines)) <= 1 << 18
    time.sleep(0.5)
    assert engine._process._waiting < 1 << 19
    engine.close()
    assert not engine._process.is_alive


def test_a_flood_after_the_answer_waits_unread_in_little_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("komadori.usi.client.MAX_WAITING", 1 << 18)
    with UsiEngine([sys.executable, "-c", FLOOD, "answer", "info string x", "99"]) as engine:
        thought = engine.think(STARTPOS, [], GoCommand(), 20.0)
        assert thought.best.move == "7g7f"
        assert thought.last_info is not None
        assert thought.last_info.depth == 7
        time.sleep(0.5)
        assert engine._process._waiting < 1 << 19


def test_commands() -> None:
    words = split_command(f'{sys.executable} -c "print(1)"')
    assert words[1:] == ["-c", "print(1)"]
    with pytest.raises(EngineError, match="no program 'no-such-program'"):
        split_command("no-such-program --x")
    with pytest.raises(EngineError, match="empty"):
        split_command("")
    with pytest.raises(EngineError, match='"engine \'": no closing quotation'):
        split_command("engine '")
    with pytest.raises(EngineError, match="can't start"):
        LineProcess(["/"], "a folder")


def test_only_a_program_given_by_its_path_runs_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "engines"
    folder.mkdir()
    engine = folder / "engine.py"
    source = ENGINE.replace("Toy 1.0", '" + os.getcwd() + "')
    engine.write_text(f"#!{sys.executable}\n{source}")
    engine.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    interpreter = Path(sys.executable).name
    for command, place in (
        ("engines/engine.py", folder),
        (str(engine), folder),
        (f"{interpreter} engines/engine.py", tmp_path),
    ):
        with UsiEngine(command) as started:
            assert started.name == str(place), command
    assert fingerprint(f"usi:{interpreter} engine.py").keys() == {find_program(interpreter)}


def test_lines_of_analysis_wait_for_the_answer_and_are_never_those_of_another_search() -> None:
    program = (
        "import sys\n"
        "for line in sys.stdin:\n"
        "    if line.startswith('a'):\n"
        "        print('info depth 1\\ninfo depth 2\\nbestmove 7g7f')\n"
        "        print('info string late', flush=True)\n"
        "    if line.startswith('b'):\n"
        "        print('info depth 3\\nbestmove 2g2f', flush=True)\n"
    )
    process = LineProcess([sys.executable, "-c", program], "toy", held=("info",))
    try:
        process.send("a")
        deadline = time.monotonic() + 20
        read = [process.read(deadline) for _ in range(3)]
        assert read == ["info depth 1", "info depth 2", "bestmove 7g7f"]
        with pytest.raises(EngineTimeoutError, match="info string late"):
            process.read(time.monotonic() + 1.0)  # kept for the error message
        assert process.pending() == ["info string late"]
        process.send("b")
        deadline = time.monotonic() + 20
        assert [process.read(deadline) for _ in range(2)] == ["info depth 3", "bestmove 2g2f"]
    finally:
        process.close()
    with pytest.raises(EngineDiedError):
        process.read(time.monotonic() + 5)


UNREGISTERED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from komadori.usi.client import LineProcess
start = subprocess.Popen
def started(command, **options):
    process = start(command, **options)
    if command[0] == sys.executable:
        while not list(Path(sys.argv[1]).iterdir()): time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return process
subprocess.Popen = started
LineProcess([sys.executable, sys.argv[2], sys.argv[1]], "engine")
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
def test_an_engine_dies_with_a_program_that_ends_before_it_registers_it(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import os, sys, time\n"
        "open(os.path.join(sys.argv[1], str(os.getpid())), 'w')\n"
        "time.sleep(600)\n"
    )
    pids = tmp_path / "pids"
    pids.mkdir()
    program = subprocess.run([sys.executable, "-c", UNREGISTERED, pids, engine], timeout=60)
    assert program.returncode == -signal.SIGKILL
    (pid,) = [int(path.name) for path in pids.iterdir()]
    deadline = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
def test_an_engine_dies_with_the_script_that_started_it(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(600)\n"
    )
    script = f"{sys.executable} {engine}; true"
    process = LineProcess(["/bin/sh", "-c", script], "script")
    pid = int(process.read(time.monotonic() + 20))
    assert is_alive(pid)
    process.close(grace_s=0.3)
    assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_while_an_engine_starts_waits_for_no_farewell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: UsiEngine, given_name: bool) -> None:
        raise KeyboardInterrupt

    stubborn = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True: time.sleep(100)\n"
    )
    monkeypatch.setattr(UsiEngine, "_handshake", interrupted)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        UsiEngine([sys.executable, "-c", stubborn])
    assert time.monotonic() - started < GRACE_S


def test_the_last_words_of_an_engine_that_has_ended_are_in_the_message() -> None:
    process = LineProcess([sys.executable, "-c", "import sys; sys.exit('no weights')"], "engine")
    process._process.wait()
    with pytest.raises(EngineDiedError, match=r"ended before 'usi' was sent.*no weights"):
        process.send("usi")
    process.close()
