"""The launcher that GUIs register."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori import __version__
from komadori.cli.install_engine import command, script, windows_program
from komadori.inference.synthetic import write_random_resnet
from komadori.usi.client import EngineDiedError, UsiEngine
from komadori.usi.protocol import STARTPOS, GoCommand


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_folder_is_no_launcher(force: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["--player", "material", "--out", str(tmp_path), *force])
    assert done.exit_code == 2
    assert f"{tmp_path} is a folder; name a file for the launcher" in done.output


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a.sh"
    target.symlink_to(target)
    done = CliRunner().invoke(command, ["--player", "material", "--out", str(target)])
    assert (done.exit_code, done.exception) == (0, None)
    assert target.is_file()


def test_a_launcher_plays_from_its_folder_without_arguments(tmp_path: Path) -> None:
    target = tmp_path / "my engines" / "material one.sh"
    done = CliRunner().invoke(
        command, ["--player", "material", "--option", "NodesLimit=5", "--out", str(target)]
    )
    assert done.exit_code == 0, done.output
    with UsiEngine([str(target)]) as engine:
        assert engine.declared["NodesLimit"].default == "5"
        assert engine.think(STARTPOS, [], GoCommand(byoyomi_ms=1000), 20.0).best.move
    again = CliRunner().invoke(command, ["--player", "material", "--out", str(target)])
    assert again.exit_code == 2
    assert "--force" in again.output


def test_the_model_is_written_with_its_full_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.onnx").write_bytes(b"")
    broken = CliRunner().invoke(command, ["net.onnx"])
    assert broken.exit_code == 1
    assert "the engine wouldn't start: net.onnx" in broken.output.replace(f"{tmp_path}/", "")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]
    write_random_resnet(Path("net.onnx"), 1, 8)
    done = CliRunner().invoke(command, ["net.onnx"])
    assert done.exit_code == 0, done.output
    (script,) = tmp_path.glob("komadori-net.*")
    assert str(tmp_path / "net.onnx") in shlex.split(script.read_text().splitlines()[-1])


def test_a_book_that_cannot_be_read_is_found_before_a_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("junk.db").write_text("junk")
    for book in ("none.db", "junk.db"):
        options = ["--option", "OwnBook=true", "--option", f"Book_File={book}"]
        done = CliRunner().invoke(command, ["--player", "material", *options])
        assert done.exit_code == 1
        (line,) = done.output.splitlines()
        assert "the engine wouldn't start: " in line
        assert book in line
    assert [p.name for p in tmp_path.iterdir()] == ["junk.db"]
    unused = ["--option", "OwnBook=false", "--option", "Book_File=none.db"]
    done = CliRunner().invoke(command, ["--player", "material", *unused])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "name", "own"),
    [
        ([], "komadori", "EvalFile"),
        (["--player", "model"], "komadori-model", "UCT_Threads"),
        (["default"], "komadori-default", "UCT_Threads"),
        (["random:3"], "komadori-random-3", "UCT_Threads"),
    ],
)
def test_the_package_s_players_and_fakes_need_no_file(
    arguments: list[str], name: str, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    (script,) = tmp_path.glob(f"{name}.*")
    with UsiEngine([str(script)]) as engine:
        assert own in engine.declared
        assert engine.think(STARTPOS, [], GoCommand(nodes=10), 20.0).best.move


def test_two_engines_of_one_name_are_told_how_to_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_random_resnet(Path("model.onnx"), 1, 8)
    assert CliRunner().invoke(command, ["model.onnx"]).exit_code == 0
    (script,) = tmp_path.glob("komadori-model.*")
    first = script.read_bytes()
    done = CliRunner().invoke(command, ["--player", "model"])
    assert done.exit_code == 2
    assert "exists; --force replaces it, --name gives this one another name" in done.output
    assert CliRunner().invoke(command, ["--player", "model", "--name", "own"]).exit_code == 0
    assert script.read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["missing.onnx"], 2, "no model missing.onnx"),
        (["--player", "random", "--option", "Nope=1"], 2, "no option 'Nope'"),
        (["--player", "random", "--option", "USI_Hash=5"], 2, "no option 'USI_Hash'"),
        (["--player", "random", "--option", "Nope"], 2, "--option Nope: expected NAME=VALUE"),
        ([__file__, "--player", "alphabeta"], 2, "--player alphabeta takes no network"),
    ],
)
def test_bad_requests_are_named(arguments: list[str], status: int, message: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == status
    assert message in done.output


def test_players_are_those_of_the_engine() -> None:
    done = CliRunner().invoke(command, ["--player", "foo"])
    assert done.exit_code == 2
    assert "'foo' is not one of" in done.output


def test_files_are_found_beside_the_launcher_and_options_name_them_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.db").write_text("book")
    target = tmp_path / "an engine" / "e.sh"
    arguments = ["--player", "one-ply", "--option", "BookFile=b.db", "--out", str(target)]
    arguments += ["--option", "DNN_Model="]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert f"BookFile={tmp_path / 'b.db'}" in shlex.split(target.read_text().splitlines()[-1])
    write_random_resnet(target.with_name("m.onnx"), 1, 8)
    with UsiEngine([str(target)], {"DNN_Model": "m.onnx", "UCT_Threads": "1"}) as engine:
        assert engine.think(STARTPOS, [], GoCommand(nodes=10), 20.0).best.move
    with pytest.raises(EngineDiedError, match=f"looked for {re.escape(str(target.parent))}"):
        UsiEngine([str(target)], {"DNN_Model": "n.onnx"})


def test_weights_are_found_beside_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were found in the working directory only, which GUIs choose."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "an engine" / "e.sh"
    done = CliRunner().invoke(command, ["--player", "alphabeta", "--out", str(target)])
    assert done.exit_code == 0, done.output
    weights = resources.files("komadori").joinpath("data/nnue-k-p.bin").read_bytes()
    target.with_name("nn.bin").write_bytes(weights)
    with UsiEngine([str(target)], {"EvalFile": "nn.bin"}) as engine:
        assert engine.think(STARTPOS, [], GoCommand(nodes=10), 20.0).best.move
    Path("other.bin").write_bytes(weights)
    with pytest.raises(EngineDiedError, match=f"looked for {re.escape(str(target.parent))}"):
        UsiEngine([str(target)], {"EvalFile": "other.bin"})


def test_the_shell_script_quotes_what_it_names() -> None:
    words = ["--model", "/a b/it's 100%.onnx"]
    last = shlex.split(script(words).splitlines()[-1])
    assert last == ["exec", sys.executable, "-P", "-m", "komadori", "usi", *words]


@pytest.mark.parametrize("target", ["net.onnx", "net.json", "net.ini", "link.sh", "b.db"])
def test_a_launcher_replaces_nothing_that_it_names(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_random_resnet(Path("net.onnx"), 1, 8)
    Path("net.json").write_text('{"name": "mine"}')
    Path("net.ini").write_text("C_init=120\n")
    Path("b.db").write_text("book")
    Path("link.sh").symlink_to("net.onnx")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = ["net.onnx", "--option", "Book_File=b.db", "--out", target, "--force"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert f"{target} is an input; writing there would destroy it" in done.output
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_lies_beside_the_launcher_is_no_module(tmp_path: Path) -> None:
    target = tmp_path / "e.sh"
    arguments = ["--player", "material", "--out", str(target)]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    for name in ("json", "numpy", "queue", "random", "signal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not the module')")
    with subprocess.Popen(
        [str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        out, _ = process.communicate("usi\nisready\nposition startpos\ngo byoyomi 100\n", 60)
    assert "readyok" in out
    assert "bestmove" in out


def test_the_launcher_finds_its_folder_whatever_cdpath_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = Path("engines/e.sh")
    assert CliRunner().invoke(command, ["random:1", "--out", str(target)]).exit_code == 0
    write_random_resnet(target.with_name("m.onnx"), 1, 8)
    (tmp_path / "other" / "engines").mkdir(parents=True)
    monkeypatch.setenv("CDPATH", str(tmp_path / "other"))
    with UsiEngine(["sh", str(target)], {"DNN_Model": "m.onnx", "UCT_Threads": "1"}) as engine:
        assert engine.think(STARTPOS, [], GoCommand(nodes=10), 20.0).best.move


def test_the_windows_program_starts_the_engine() -> None:
    """Runs only its archive, with this Python; the launcher itself needs Windows."""
    arguments = ["--player", "material", "--option", "NodesLimit=5"]
    data = windows_program(arguments, r"C:\Program Files\Python\python.exe", "AMD64")
    assert data.startswith(b"MZ")
    assert b'#!"C:\\Program Files\\Python\\python.exe"\r\nPK' in data
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "engine.exe"
        program.write_bytes(data)
        with UsiEngine([sys.executable, str(program)]) as engine:
            assert engine.declared["NodesLimit"].default == "5"
            assert engine.think(STARTPOS, [], GoCommand(byoyomi_ms=1000), 20.0).best.move


def test_launchers_differ_in_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_random_resnet(Path("net.onnx"), 1, 8)
    write_random_resnet(Path("other.onnx"), 1, 8)
    Path("other.json").write_text('{"name": "The  Other"}')
    for arguments in (
        ["net.onnx"],
        ["net.onnx", "--player", "policy"],
        ["other.onnx"],
        ["net.onnx", "--name", "Fast/1", "--option", "NodesLimit=10"],
        [],
    ):
        done = CliRunner().invoke(command, arguments)
        assert done.exit_code == 0, done.output
    names = {}
    for launcher in tmp_path.glob("*.sh"):
        with subprocess.Popen(
            [str(launcher)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            out, _ = process.communicate("usi\nquit\n", timeout=30)
        names[launcher.name] = out.splitlines()[0].removeprefix("id name ")
    own = f"komadori {__version__}"
    assert names == {
        "komadori-net.sh": f"net ({own})",
        "komadori-net-policy.sh": f"net ({own} policy)",
        "komadori-other.sh": f"The Other ({own})",
        "Fast-1.sh": "Fast/1",
        "komadori.sh": f"{own} alphabeta",
    }
