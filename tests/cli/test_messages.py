"""Invalid arguments and files are reported in one line, before any work."""

from __future__ import annotations

import gzip
import importlib.util
import lzma
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from rich.console import Group
from rich.table import Column, Table

from komadori.cli import bench_alphabeta
from komadori.cli._group import BUG, group
from komadori.cli.console import console
from komadori.inference.synthetic import write_random_resnet
from komadori.records import Game, read_games, sample_path, write_games

PROBLEM = "7k1/5g2g/4G2G1/8L/9/9/9/9/9 b 2r2b4s4n3l18p 1"


def run(line: str) -> Result:
    return CliRunner().invoke(group, line.split())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_games(tmp_path / "a.kif", [Game.from_usi(["7g7f", "3c3d"])])
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "empty.sfen").write_text("")
    (tmp_path / "junk.onnx").write_text("hello\n")
    (tmp_path / "junk.toml").write_text("= [\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("analyse a.kif --nodes 2 -o file/x", "file is a file, not a folder"),
        ("analyse a.kif --time 0", "'--time': 0.0 is not in the range 0<x<=86400"),
        ("analyse a.kif --time 1e308", "'--time': 1e+308 is not in the range 0<x<=86400"),
        (
            "generate teacher --engine x --engine-timeout 1e308 -o a",
            "'--engine-timeout': 1e+308 is not in the range 0<x<=86400",
        ),
        ("analyse a.kif --time 1 --nodes 2", "--time"),
        ("mate --file empty.sfen", "empty.sfen: no problem in it"),
        ("bench search --positions -1", "'--positions': -1 is not in the range"),
        ("match random random -j 99999999999", "'-j': 99999999999 is not in the range"),
        ("match random random --opening-plies -1", "'--opening-plies': -1 is not in the range"),
        ("ladder new l.db --opening-plies -1", "'--opening-plies': -1 is not in the range"),
        ("generate teacher -o t --search nodes=99999999999999999999", "nodes must be below 2^63"),
        ("analyse a.kif --model junk.onnx", "junk.onnx: neither an ONNX model nor one of OpenVINO"),
        ("quickstart --out file/x", "file/x: file is a file, not a folder"),
        ("quickstart --games 1000002", "1000002 is not in the range 2<=x<=1000000"),
        ("match random random --games 2147483648", "2147483648 is not in the range 2<=x<=1000000"),
        ("ladder play l.db --games 1000002", "1000002 is not in the range 2<=x<=1000000"),
        (
            "generate selfplay -o s --at-once 9223372036854775807",
            "'--at-once': 9223372036854775807 is not in the range 1<=x<=1048576",
        ),
        (
            "generate nearby file -o n --per-position 9223372036854775807",
            "--per-position is 9223372036854775807, at most 2147483647 is possible",
        ),
        (
            "generate relabel file --by alphabeta --nodes 1 -o r --score-temperature 1e-300",
            "--score-temperature at least 0.001",
        ),
        ("quickstart --games 3", "3 is odd: each opening is played twice"),
        ("install-engine --player random --out file/x.sh", "file is a file, not a folder"),
        ("match random random --games 2 --openings nosuch", "nosuch: No such file or directory"),
        ("match random random --games 2 --openings .", ".: Is a directory"),
        ("ladder new file/x.db", "file is a file, not a folder"),
        ("records convert a.kif -o file/x/y.csa", "file is a file, not a folder"),
        ("records sample file/x.csa", "file is a file, not a folder"),
        ("book make a.kif -o file/x.db", "file is a file, not a folder"),
        ("install-engine junk.onnx", "the engine wouldn't start: "),
        ("bench search --model junk.onnx", "junk.onnx: neither an ONNX model"),
        (
            "import file -o out",
            "file: not a network that can be imported (.pth, .npz, .onnx or .xml)",
        ),
        ("train resnet5x65 --data a.kif", "no file resnet5x65, nor a bundled configuration"),
        ("train resnet5x65 --data a.kif", "such as resnet5x64"),
        ("loop run nosuch", "no file nosuch, nor a bundled configuration"),
        ("bench inference --backend foo", "'foo' is not one of 'auto', 'openvino'"),
        (
            "evaluate defaul --data a.kif",
            "defaul: no such run, checkpoint or ONNX file; default is",
        ),
        ("evaluate junk.onnx --backend torch --data a.kif", "'torch' is not one of 'auto'"),
        ("evaluate junk.onnx --device foo", "'foo': expected auto, cpu, cuda"),
        ("match nosuch.onnx material", "nosuch.onnx: no such model"),
        ("match alphabeta?Threads=0 material", "option Threads: 0 isn't between 1 and 512"),
        ("csa alphabeta?Thread=1 --host x --name a --password b", "no option 'Thread'"),
        ("web --player alphabeta?Thread=1 --library l", "--player: alphabeta: no option 'Thread'"),
        ("match random material --clock inf", "'inf': expected MAIN, MAIN+INCREMENT"),
        ("match random material --clock 604801", "in seconds, each at most 604800"),
        ("match random material --games 3", "3 is odd: each opening is played twice"),
        ("perft 99999999999", "99999999999 is not in the range"),
        ("perft --sfen startpos 1 2", "unexpected extra argument (2)"),
        ("perft --sfen nonsense 1", "SFEN, character 2"),
        ("import junk.onnx", "junk.onnx: has no model card: `komadori export` didn't write it"),
        ("train junk.toml", "junk.toml"),
        ("train resnet0x0", "resnet0x0"),
        (f"train resnet5x64 --set seed={10**30}", "seed must be below 2^63"),
        ("loop run junk.toml", "junk.toml"),
        ("tune random junk.toml --out t", "junk.toml"),
        ("records convert a.kif -o a.xyz", "a.xyz"),
        ("records convert a.kif -o /dev/null", ".bin; --to names one"),
        ("mate --file nosuch.sfen", "nosuch.sfen"),
        ("book show junk.onnx", "junk.onnx"),
        ("ladder show junk.onnx", "junk.onnx: not a ladder"),
        ("generate stats file", "'file'"),
        ("generate teacher -o file/x --games 2", "file"),
        ("report file", "file"),
    ],
)
def test_one_line_says_what_is_wrong(line: str, message: str, here: Path) -> None:
    before = sorted(path.name for path in here.iterdir())
    result = run(line)
    errors = [text for text in result.output.splitlines() if text.startswith("Error: ")]
    assert len(errors) == 1, result.output
    assert message in errors[0]
    assert "[Errno" not in errors[0]
    assert result.exit_code in (1, 2)
    assert BUG not in result.output
    assert ".tmp" not in result.output
    assert sorted(path.name for path in here.iterdir()) == before


@pytest.mark.parametrize("player", ["model:", "policy:", "one-ply:", "alphabeta?PolicyModel="])
def test_a_missing_network_is_named_with_each_place(player: str, here: Path) -> None:
    result = run(f"match {player}nosuch.onnx material")
    assert f"looked for {here / 'nosuch.onnx'}, " in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize(
    "line",
    [
        *("records stats X", "records head X", "records convert X -o a.csa", "book make X -o b.db"),
        *("records split X --train a.csa --test b.csa", "records dedupe X -o a.csa", "import X"),
        *("loop run X", "train X", "analyse X", "generate nearby X -o n"),
    ],
)
def test_a_name_that_no_file_can_have_is_one_of_no_file(line: str, here: Path) -> None:
    found = [run(line.replace("X", name)) for name in ("x" * 300 + ".csa", "nosuch.csa")]
    assert [one.exit_code for one in found] == [2, 2], found[0].output
    assert all("no such file" in o.output or "does not exist" in o.output for o in found)


def test_a_folder_is_no_model_to_import(here: Path) -> None:
    (here / "folder").mkdir()
    assert "folder is a folder; name an exported model" in run("import folder").output


@pytest.mark.parametrize(
    "line",
    [
        *(
            "records convert file -o n/a.csa --from csa",
            "records dedupe a.kif -o n/a.csa --min-plies 9",
        ),
        *(
            "records convert a.kif -o n/m/a.csa --min-plies 9",
            "book make file --from csa -o n/b.db",
        ),
        "records split a.kif --train n/a.csa --test n/b.csa --ratio 0",
    ],
)
def test_a_conversion_that_fails_leaves_no_folder(line: str, here: Path) -> None:
    assert run(line).exit_code == 2
    assert not (here / "n").exists()


_STREAMS = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", _STREAMS)
@pytest.mark.parametrize("line", ["perft 1", "usi --player material"])
def test_a_closed_stream_is_the_null_device(line: str, closed: str, here: Path) -> None:
    command = f"printf 'usi\\nquit\\n' | {sys.executable} -m komadori {line} {_STREAMS[closed]}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert bool(done.stdout) == (closed == "stderr" or (closed, line) == ("stdin", "perft 1"))


@pytest.mark.skipif(sys.platform == "win32", reason="folders in use can't be deleted there")
def test_a_deleted_folder_and_a_wrong_core_are_named(here: Path) -> None:
    program = f"{sys.executable} -m komadori"
    (here / "gone").mkdir()
    for command, message in (
        (f"cd gone && rmdir ../gone && {program} doctor", "the current folder has been deleted"),
        (f"KOMADORI_CORE=junk {program} perft 1", "KOMADORI_CORE=junk: no such build of the core"),
    ):
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=here)
        assert (done.returncode, done.stderr) == (1, f"Error: {message}\n")
    command = f"KOMADORI_CORE=junk {program} usi"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=here)
    assert (done.returncode, done.stderr) == (1, f"komadori usi: {message}\n")


@pytest.mark.parametrize("words", [["records", "stats"], ["analyse"], ["ladder", "show"]])
def test_a_line_break_in_a_name_forges_no_message(words: list[str], here: Path) -> None:
    name = "x.kif\nError: all is lost.kif"
    (here / name).write_text("junk")
    found = CliRunner().invoke(group, [*words, name])
    assert found.exit_code != 0
    assert [line for line in found.output.splitlines() if line.startswith("Error: all")] == []


RUN = """
model.net = "resnet1x8"
loop = {max_steps = 2, batch_size = 16}
data = {train_limit = 100, test_limit = 16}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no line breaks in names there")
def test_a_written_file_is_named_on_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "long" / ("x" * 80) / "a\nb"
    folder.mkdir(parents=True)
    game, config = folder / "a.kif", folder / "run.toml"
    write_games(game, [Game.from_usi(["7g7f", "3c3d"])])
    config.write_text(RUN)
    sample = folder / "few.hcpe3"
    write_games(sample, read_games(sample_path())[:20])
    for words in (
        ["analyse", "--player", "alphabeta", "--nodes", "2", game],
        ["book", "make", game, "--min-count", "1", "--out", folder / "book.db"],
        ["records", "convert", game, "--out", folder / "b.csa"],
        ["records", "sample", folder / "c.hcpe3"],
        ["ladder", "new", folder / "l.db", "--nodes", "1"],
        ["install-engine", "--player", "random", "--out", folder / "engine.sh"],
        ["match", "random", "random", "--games", "2", "--max-plies", "2", "--out", folder / "m"],
        ["train", config, "--data", sample, "--out", folder / "run"],
        ["report", folder / "run"],
        ["export", folder / "run", "--out", folder / "model.onnx"],
        ["import", folder / "model.onnx", "--out", folder / "imported"],
        [
            "linear",
            "train",
            "two-piece",
            "--data",
            sample,
            "--iterations",
            "1",
            "--positions",
            "50",
            "--out",
            folder / "w",
        ],
    ):
        found = CliRunner().invoke(group, [str(word) for word in words])
        assert found.exit_code == 0, (words, found.output)
        assert "a\nb" not in found.output
        assert str(folder).replace("\n", "␊") in found.output, (words, found.output)


def test_a_terminal_without_a_width_gets_all_lines(
    monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    normal = run("doctor").output
    monkeypatch.setenv("COLUMNS", "0")
    found = run("doctor").output
    assert found.count("\n") >= normal.count("\n") > 5


@pytest.mark.parametrize(
    "line",
    [
        "match random material -o out",
        "generate teacher -o out",
        "generate selfplay --model uniform -o out",
        "generate relabel a.kif --by uniform -o out",
        "lab run hand-input --runs out",
    ],
)
def test_without_ray_nothing_is_made(
    here: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "ray" else found(name)
    )
    result = run(f"{line} --ray nohost:6379")
    assert result.exit_code == 1
    assert "--ray needs the extra `cluster`: pip install" in result.output
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("match random random --games 3", "'-g': 3 is odd"),
        ("match random random --games 0", "'-g': 0 is not in the range 2<=x<=1000000"),
        ("ladder play l.db --games 3", "'-g': 3 is odd"),
        ("ladder play l.db --block 5", "'--block': 5 is odd"),
        ("ladder play l.db --block 0", "'--block': 0 is not in the range"),
        ("quickstart --games 3", "'--games': 3 is odd"),
        ("match random random --clock 0+0", "'0+0': a clock without time"),
        ("match random random --clock 0/0", "'0/0': a clock without time"),
        ("match random random --clock 0.0001", "'0.0001': a clock without time"),
        ("match random random --adjudicate 0/0", "at least one move of each side"),
        ("match random random --sprt 5 0", "--sprt: elo0 must be below elo1"),
        ("match random random --records kif", "--records needs --out"),
        (
            "match random random --records foo -o m",
            "Error: --records foo: no record format has the suffix '.foo'",
        ),
        (
            "match random random --records games/a.kif -o m",
            "Error: --records games/a.kif: a suffix is expected, such as kif, not a path",
        ),
        ("match random nosuch:x", "'nosuch:x' is no player"),
        ("match random alphabeta?depth=1&", "options after the ? are NAME=VALUE, separated by &"),
        ("match random alphabeta?Eval=a/b.bin&x", "options after the ? are NAME=VALUE"),
        ("linear train nnue --data a.kif --test-limit -5", "'--test-limit': -5 is not in"),
        ("linear train kpp --data a.kif --test-fraction 2", "'--test-fraction': 2.0 is not in"),
        ("evaluate junk.onnx --data a.kif --device cpu", "--device is for a run or a checkpoint"),
        ("evaluate . --data a.kif --backend openvino", "--backend is for an ONNX file; . isn't"),
        ("export . --gate 0.5 -o x.onnx", "--gate needs --int8"),
        ("export . --held-out 9 -o x.onnx", "--held-out needs --int8"),
        ("train label --variant foo --data a.kif", "has no variant 'foo': give --variant, one of"),
        ("linear loop -o l --nodes 0", "--nodes 0 needs --depth"),
        ("book show b.db foo", "expected 'startpos' or 'sfen', found 'foo'"),
        ("book show b.db startpos moves 1a1b", "1a1b is not legal"),
        ("generate nearby a.kif -o n --plies 3:1", "'3:1': a range from 0 upwards"),
        ("generate teacher -o n --opening-plies 5:2", "'5:2': a range from 0 upwards"),
        ("generate teacher -o n --option Threads=1", "--option needs --engine"),
        ("generate teacher -o n --go infinite", "--go needs --engine"),
        ("generate teacher -o n --eval kpp", "--eval kpp needs --weights"),
        ("generate teacher -o n --eval material --weights a.kif", "--weights: the evaluation"),
        ("generate teacher -o n --opponent-eval kpp", "--opponent-eval kpp needs --opponent-weigh"),
        ("generate teacher -o n --eval material --fv-scale 8", "--fv-scale is for --eval nnue"),
        ("generate teacher -o n --engine x --fv-scale 8", "--engine takes no --fv-scale"),
        ("generate teacher -o n --opening-fraction 0.5", "--opening-fraction needs --openings"),
        ("generate teacher -o n --opponent-eval material", "an opponent needs --opponent-fraction"),
        (
            "generate teacher -o n --opponent-search depth=1",
            "an opponent needs --opponent-fraction",
        ),
        ("generate teacher -o n --inner-depth 3", "--inner-depth needs --inner"),
        ("generate teacher -o n --sample-window 9", "--sample-window needs --sample-plies"),
        (
            "generate teacher -o n --candidate-steps 0",
            "--candidate-steps needs --sample-plies or --candidates",
        ),
        ("generate teacher -o n --multipv 4", "--multipv needs --sample-plies or --candidates"),
        ("generate teacher -o n --candidates 0.5", "--candidates needs --multipv 2 or more"),
        ("generate teacher -o n --multipv 1 --sample-plies 5", "--sample-plies needs --multipv 2"),
        ("generate nearby a.kif -o n --eval kpp", "--eval kpp needs --weights"),
        ("generate nearby a.kif -o n --eval material --weights a.kif", "--weights: the evaluation"),
        (
            "generate nearby a.kif -o n --eval material --fv-scale 8",
            "--fv-scale is for --eval nnue",
        ),
        ("generate nearby a.kif -o n --search nodes=9,weight=2", "--search: weight is for limits"),
        ("generate nearby a.kif -o n --limit 9999999999", "--limit is 9999999999, at most"),
        ("generate nearby a.kif -o n --per-position 9999999999", "--per-position is 9999999999"),
        ("generate relabel a.kif -o n --by default --eval-coef -1", "--eval-coef must be positive"),
        ("generate teacher -o n --hash 1048577", "--hash is 1048577, at most 1048576"),
        ("generate teacher -o n --resign-plies 9999999999", "--resign-plies is 9999999999"),
        ("generate selfplay -o n --model uniform --memory 1048577", "--memory is 1048577, at most"),
        ("generate selfplay -o n --model uniform --full-fraction 0", "--full-fraction is 0: the"),
        (
            "linear train kpp --data a.kif --lambda 0 --set result_weight=0",
            "result_weight and --lambda are both 0",
        ),
        (
            "linear train nnue --data a.kif --epochs 2 --set epochs=3",
            "--epochs and --set epochs=3: give one of them",
        ),
        (
            "linear distill a.kif --data a.kif --chunks 2 --set seed=1 --set chunks=3",
            "--chunks and --set chunks=3: give one of them",
        ),
        (
            "train label --variant 2187 --data a.kif --set data.train=b.kif",
            "--data and --set data.train=b.kif: give one of them",
        ),
        ("linear train kpp --data a.kif --lambda -1", "'--lambda': -1.0 is not in the range"),
        ("generate teacher -o n --engine-timeout 5", "--engine-timeout needs --engine"),
        ("generate teacher -o n --engine x --hash 8", "--engine takes no --hash"),
        (
            "generate teacher -o n --engine x --opponent-fraction 1 --opponent-engine y "
            "--opponent-option A",
            "--opponent-option A: NAME=VALUE is needed",
        ),
        ("generate teacher -o n --engine x --inner 1", "--engine takes no --inner"),
        ("generate teacher -o n --engine x --go infinite --depth 2", "--go replaces --depth"),
        ("generate teacher -o n --engine x --go infinite --search nodes=2", "replaces --search"),
        ("generate selfplay -o n --opening-plies 3", "--opening-plies needs --openings"),
        ("generate selfplay -o n --leaf-nodes 9", "--leaf-nodes needs --leaf-weight"),
        ("generate selfplay -o n --noise-alpha 9", "--noise-alpha needs --root noise"),
        (
            "generate selfplay -o n --root noise --gumbel-moves 9",
            "--gumbel-moves needs --root gumb",
        ),
        ("generate selfplay -o n --model uniform --precision foo", "'foo' is not one of 'auto'"),
        ("bench alphabeta --eval foo", "--eval foo: one of material, two-piece, kpp, nnue"),
        ("bench alphabeta --weights a.kif", "--weights: the evaluation material takes none"),
        (
            "generate teacher -o n --engine x --opponent-option A=1",
            "--opponent-option needs --opponent-engine",
        ),
    ],
)
def test_a_value_that_no_run_can_have_is_a_usage_error(line: str, message: str, here: Path) -> None:
    run("ladder new l.db --nodes 2")
    run("book make a.kif -o b.db --min-count 1")
    before = sorted(path.name for path in here.iterdir())
    result = run(line)
    assert result.exit_code == 2, result.output
    assert message in result.output.splitlines()[-1]
    assert sorted(path.name for path in here.iterdir()) == before


def test_names_in_tables_are_whole(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich shortens words that are wider than their column."""
    monkeypatch.setenv("COLUMNS", "80")
    table = Table()
    name = "".join(f"{n:02}" for n in range(60))
    for column in (Column("name"), Column("number", no_wrap=True)):
        table.columns.append(column)
    table.add_row(name, "1,234,567")
    for printed in (table, Group(table, "and more")):
        terminal = console()
        with terminal.capture() as captured:
            terminal.print(printed)
        cells = [line.split("│")[1].strip() for line in captured.get().splitlines() if "│" in line]
        assert "".join(cells) == name
        assert "1,234,567" in captured.get()


def test_a_narrow_terminal_gets_the_whole_table(
    monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    run("ladder new l.db --nodes 2")
    for name, player in (("first-one", "random"), ("second-one", "material")):
        run(f"ladder add l.db {name} {player}")
    monkeypatch.setenv("COLUMNS", "20")
    found = run("ladder show l.db").output
    for text in ("first-one", "second-one", "Elo", "games", "score"):
        assert text in found, found


def test_a_position_may_be_a_game(here: Path) -> None:
    result = CliRunner().invoke(group, ["perft", "1", "--sfen", "startpos moves 7g7f"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("perft(1) = 30")


def test_problems_may_be_packed(here: Path) -> None:
    (here / "x.tsv.xz").write_bytes(lzma.compress(f"{PROBLEM}\t1\n".encode()))
    result = run("mate --file x.tsv.xz")
    assert result.exit_code == 0, result.output
    assert "mate in" in result.output


def test_problems_before_a_damage_are_solved(here: Path) -> None:
    # Random comments, so that the packed problems come before the cut.
    noise = "\n".join(f"# {random.Random(i).random()}" for i in range(3000))
    packed = gzip.compress(f"{PROBLEM}\t1\n{noise}\n{PROBLEM}\t1\n".encode())
    (here / "x.tsv.gz").write_bytes(packed[: len(packed) // 2])
    result = run("mate --file x.tsv.gz")
    assert result.exit_code == 1
    assert result.output.count("mate in") == 1
    assert "x.tsv.gz: damaged compression" in result.output
    assert "what comes before is read" in result.output


@pytest.mark.parametrize("damage", ["text", "cut", "bytes"])
def test_a_junk_model_prints_one_line(damage: str, here: Path) -> None:
    """Also none of the libraries that read it."""
    model = here / "net.onnx"
    write_random_resnet(model, 1, 8)
    content = model.read_bytes()
    broken = {
        "text": b"hello\n",
        "cut": content[: len(content) // 2],
        "bytes": content[:8] + b"\xff" * 60 + content[68:],
    }
    model.write_bytes(broken[damage])
    done = subprocess.run(
        [sys.executable, "-m", "komadori", "analyse", "a.kif", "--model", "net.onnx",
         "--nodes", "2"],
        cwd=here, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("Error: ")
    assert "net.onnx" in done.stderr


@pytest.mark.parametrize("line", ["", "records", "linear train"])
def test_a_group_alone_shows_its_help(line: str) -> None:
    found = run(line)
    assert found.output.startswith("Usage: ")
    assert "Error" not in found.output
    assert any(row == "Commands:" for row in found.output.splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("line", ["tune --example", "bench alphabeta --nodes 1000 --no-yardstick"])
def test_a_reader_that_has_enough_is_no_error(line: str) -> None:
    """As with `komadori ... | head -1`."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "komadori", *line.split()],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 1


def test_a_peer_faster_than_the_clock_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = SimpleNamespace(name="peer", close=lambda: None)
    times = iter([0.0, 0.0, *[0.01] * 8])
    monkeypatch.setattr(bench_alphabeta, "_start_peer", lambda: peer)
    monkeypatch.setattr(
        bench_alphabeta, "_search", lambda *_: bench_alphabeta._Sum(1000, next(times), 0.001)
    )
    rows = run("bench alphabeta --nodes 1000").output.splitlines()[2:]
    assert [row.split()[-2:] == ["-", "-"] for row in rows] == [True] * 2 + [False] * 9
    assert len({len(row) for row in rows}) == 1


def test_damaged_weights_are_all_the_output_of_a_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nn.bin").write_bytes(b"junk")
    monkeypatch.chdir(tmp_path)
    found = run("bench alphabeta --eval nnue --weights nn.bin --no-yardstick")
    assert found.exit_code == 1
    assert found.output.startswith("Error: nn.bin")
    assert found.output.count("\n") == 1


@pytest.mark.parametrize("name", ["bench", "book", "generate", "lab", "ladder", "loop", "records"])
def test_groups_show_whole_summaries_of_their_commands(name: str) -> None:
    _, _, commands = run(f"{name} --help").output.partition("\nCommands:\n")
    assert commands
    assert not re.search(r"[a-z,]\.\.\.$", commands, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("teacher --score-step 9999999999", "at most 2147483647"),
        ("teacher --hash 99999999", "at most 1048576"),
        ("selfplay --model uniform --full-fraction 0", "would have no samples"),
    ],
)
def test_an_option_that_no_game_can_have_is_an_error_of_use(
    line: str, reason: str, here: Path
) -> None:
    result = run(f"generate {line} --games 1 -o games")
    assert result.exit_code == 2
    assert reason in result.output
    assert not (here / "games").exists()


def test_an_empty_model_of_selfplay_is_the_default(here: Path) -> None:
    words = ["--games", "1", "--playouts", "2", "--max-plies", "4", "--threads", "1", "--seed", "1"]
    made = []
    for folder, model in (("empty", ""), ("named", "default")):
        arguments = ["generate", "selfplay", "-o", folder, "--model", model, *words]
        assert CliRunner().invoke(group, arguments).exit_code == 0
        made.append((here / folder / "settings.json").read_text())
    assert made[0] == made[1]


@pytest.mark.parametrize("line", ["match random --games", "records head"])
def test_an_error_repeats_a_long_value_only_in_part(line: str, here: Path) -> None:
    result = run(f"{line} {'x' * 100_000}")
    assert result.exit_code != 0
    error = result.output[result.output.index("Error: ") :]
    assert len(error) < 1200
    assert "…" in error


def test_tables_that_memory_cannot_hold_are_named(here: Path) -> None:
    result = run("generate teacher --hash 1048576 --threads 2 --games 1 -o games")
    assert result.exit_code == 1
    assert "2 transposition tables: 2097152 MiB are more than this machine's" in result.output
