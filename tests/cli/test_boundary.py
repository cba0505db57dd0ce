"""Common to all commands: one line per error, text from files printed verbatim."""

from __future__ import annotations

import ast
import errno
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from rich.table import Table
from rich.text import Text

from komadori import cli
from komadori.arena.game import Conditions
from komadori.cli import _group
from komadori.cli._group import describe, group
from komadori.cli.console import console, progress
from komadori.extras import install_line
from komadori.generate.counts import Counts
from komadori.generate.nearby import NearbyCounts
from komadori.generate.relabel import LabelCounts
from komadori.generate.statistics import Statistics
from komadori.records import RecordError
from komadori.wording import clean, counted, duration


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words])


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "a/b: No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("our message"), "our message"),
        (MemoryError(), "not enough memory"),
        (MemoryError("std::bad_alloc"), "not enough memory"),
        (
            ImportError("libtorch_cpu.so: failed to map segment from shared object"),
            "not enough memory: libtorch_cpu.so: failed to map segment from shared object",
        ),
        (RecordError("x.csa: damaged"), "x.csa: damaged"),
        (
            ModuleNotFoundError("No module named 'torch.x'", name="torch.x"),
            f"this needs the package torch: {install_line('train')}",
        ),
        (
            ZeroDivisionError("division\nby zero"),
            "unexpected ZeroDivisionError: division by zero "
            "(a bug in komadori; KOMADORI_DEBUG=1 shows the traceback)",
        ),
    ],
)
def test_any_exception_is_one_line(
    error: Exception, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def fails() -> None:
        raise error

    monkeypatch.setattr(_group._LazyGroup, "get_command", lambda *_: fails)
    result = run("fails")
    assert result.output == f"Error: {text}\n"
    assert result.exit_code == 1
    assert describe(error) == text


def test_a_system_error_that_a_command_passes_on_names_the_file_first(tmp_path: Path) -> None:
    result = run("install-engine", "--out", "/proc/nowhere/engine.sh")
    assert result.output == "Error: /proc/nowhere: No such file or directory\n"
    assert result.exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize(
    ("target", "wrong"), [("nowhere/deep", "doesn't exist"), ("link", "leads in a circle")]
)
def test_an_output_folder_that_is_a_broken_link_is_named_as_one(
    tmp_path: Path, target: str, wrong: str
) -> None:
    link = tmp_path / "link"
    link.symlink_to(target)
    result = run("match", "random", "material", "--games", "2", "--max-plies", "9", "-o", str(link))
    assert result.output == f"Error: {link} is a link to {target}, which {wrong}\n"
    assert result.exit_code == 1
    assert link.is_symlink()


def test_analyze_is_an_alias() -> None:
    assert (
        run("analyze", "--help").output.splitlines()[1:]
        == (run("analyse", "--help").output.splitlines()[1:])
    )
    assert "analyze" not in run("--help").output


def test_every_command_writes_to_out(tmp_path: Path) -> None:
    """Options have one name; earlier names are still accepted."""

    def options(command: click.Command) -> set[str]:
        found = {name for p in command.params for name in p.opts}
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                found |= options(below)
        return found

    earlier = {f"--{alias}": f"--{name}" for alias, name in _group._OPTION_ALIASES.items()}
    assert not set(earlier) & options(group)
    for words, command in commands():
        for option in command.params:
            assert "--out" not in option.opts or "-o" in option.opts, words
    game = tmp_path / "a.usi"
    game.write_text("startpos moves 7g7f 3c3d\n")
    mate = "4k4/9/4P4/9/9/9/9/9/9 b G 1"
    for line in (("mate", mate, "--hash-mb", 1), ("records", "head", game, "--number", 1)):
        assert run(*line).exit_code == 0
        assert run(*(earlier.get(str(word), word) for word in line)).exit_code == 0
    for name in ("--out", "--output", "-o"):
        result = run("records", "convert", game, name, tmp_path / f"b{name}.kif")
        assert result.exit_code == 0, result.output
        assert "1 game, 2 plies" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run",), "No such command 'run'"),
        (("ladder", "folder"), "No such command 'folder'"),
        (("perft", "--folder", "x"), "No such option '--folder'"),
    ],
)
def test_errors_name_what_was_typed(words: tuple[str, ...], message: str) -> None:
    """Not the option that an earlier name stands for."""
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.output


def test_foreign_text_is_neither_markup_nor_a_terminal_command() -> None:
    assert clean("a\x1b[31m\x07b\tc\n\u202ed\udce9") == "a␛[31m␇b\tc\n\ufffdd\ufffd"
    terminal = console()
    with terminal.capture() as shown:
        terminal.print("[red]A[/] [/x] :smile: \x1b[1m")
    assert shown.get() == "[red]A[/] [/x] :smile: ␛[1m\n"
    table = Table(title=Text("\x1b[31m"))
    table.add_row(Text("\x1b]0;x\x07"))
    with terminal.capture() as shown:
        terminal.print(table)
    assert "␛[31m" in shown.get()
    assert "\x1b" not in shown.get()
    assert "\x07" not in shown.get()
    bar = progress(terminal, "{task.description}", "{task.fields[state]}")
    bar.add_task("[/b]", state="[red]x\x1b")
    with terminal.capture() as shown:
        terminal.print(bar.get_renderable())
    assert shown.get().strip() == "[/b] [red]x␛"


def test_counts_agree(tmp_path: Path) -> None:
    assert counted(1, "game") == "1 game"
    assert counted(2000, "game") == "2,000 games"
    game = tmp_path / "a.usi"
    game.write_text("startpos moves 7g7f\n")
    assert "1 ply, " in run("records", "head", game).output
    assert counted(0, "ply", "plies") == "0 plies"
    ones = Counts(games=1, plies=1, duplicates=1, failed=1, nodes=1, scored=1)
    for text in (
        str(Conditions(nodes=1, depth=1, max_plies=1, adjudicate_cp=1, adjudicate_moves=1)),
        str(Conditions(adjudicate_draw_cp=1, adjudicate_draw_moves=1)),
        *Statistics(ones, positions=1, distinct=1, journal_games=1).lines(),
        *NearbyCounts(positions=1, drawn=1, nodes=1).lines(),
        *LabelCounts(games=1, positions=1).lines(),
    ):
        found = re.search(r"\b1 (game|plie|node|position|sample|draw|move|duplicate)s\b", text)
        assert not found, text


def test_commands_print_through_the_one_console() -> None:
    """rich's classes parse markup by default; only `cli.console` may construct them."""
    folder = Path(cli.__file__).parent
    for path in folder.glob("*.py"):
        if path.name == "console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                where = f"{path.name}:{node.lineno}: {name}"
                last = name.rpartition(".")[2]
                assert last not in ("Console", "Progress", "TextColumn"), where
                assert name not in ("click.echo", "click.secho", "Text.from_markup"), where


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command, by the words that call it."""

    def below(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield words, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from below(found, f"{words} {name}".strip())

    return below(group, "")


def test_times_are_seconds() -> None:
    """The visible options; the earlier `--movetime` is accepted."""
    for words, command in commands():
        for option in command.params:
            text = getattr(option, "help", None) or ""
            if not getattr(option, "hidden", False):
                assert "illisecond" not in text, f"{words}: {option.name}"
                assert "--seconds" not in option.opts, words
    for words in (["--time", "0.003"], ["--movetime", "3"]):
        done = run("match", "random", "random", "--games", "2", "--max-plies", "2", *words)
        assert done.exit_code == 0, done.output
        assert "conditions: 3 ms per move" in done.output
    assert run("match", "random", "random", "--margin", "50").exit_code == 2
    assert run("match", "random", "random", "--movetime", "3", "--time", "1").exit_code == 2


def test_numbers_are_finite_and_of_64_bits() -> None:
    """Every number of every command; none is passed on to code that would fail on it."""
    tried = 0
    for words, command in commands():
        context = click.Context(command)
        for option in command.params:
            kind = type(option.type)
            if not issubclass(kind, (type(click.INT), type(click.FLOAT))):
                continue
            is_integer = issubclass(kind, type(click.INT))
            for text in ["1" + "0" * 30] if is_integer else ["nan", "inf", "-inf", "1e400"]:
                value = text if option.nargs == 1 else (text,) * option.nargs
                with pytest.raises(click.BadParameter):
                    print(words, option.name, option.process_value(context, value))
                tried += 1
    assert tried > 300


def test_devices_and_backends_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    """Every option of these names, of every command."""
    games, out = tmp_path / "a.csa", tmp_path / "o"
    games.write_text("not read")
    arguments = {
        "evaluate": [tmp_path, "--data", games],
        "report": [tmp_path],
        "lab run": ["x"],
        "generate relabel": [games, "--by", "x", "--out", out],
        "generate selfplay": ["--out", out],
        "bench inference": [],
    }
    tried = 0
    for words, command in commands():
        for option in command.params:
            for name in {"--device", "--backend"} & set(option.opts):
                done = run(*words.split(), *arguments[words], name, "foo")
                assert done.exit_code == 2, f"{words}: {done.output}"
                assert f"Invalid value for '{name}'" in done.output
                tried += 1
    assert tried >= 8


def test_doctor_names_all_that_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists the network and every package of every extra; no line is wrapped."""
    monkeypatch.setenv("COLUMNS", "40")
    done = run("doctor")
    assert done.exit_code == 0, done.output
    assert re.search(r"^files +ok +network +\S.*default\.onnx \(\d", done.output, re.MULTILINE)
    for requirement in metadata.requires("komadori") or []:
        if "extra ==" in requirement:
            name = re.split(r"[<>=!; \[]", requirement)[0]
            assert re.search(rf"(ok|--|!!) +{name} ", done.output), name
    for line in done.output.splitlines():
        assert re.match(r"\S* +(ok|--|!!) +\S+ +\S|\s+-> \S", line), line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.000288, "288 µs"),
        (0.0009996, "1 ms"),
        (0.0123, "12.3 ms"),
        (1.234, "1.23 s"),
        (59.4, "59.4 s"),
        (59.6, "1 min 0 s"),
        (211, "3 min 31 s"),
        (3720, "1 h 2 min"),
    ],
)
def test_times_have_units_that_suit_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
