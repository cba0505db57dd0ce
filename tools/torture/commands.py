"""A small command line for every registered command, and its expected behaviour.

{inputs} is a folder of shared input files, made once: games, a model, a run, a book, a ladder. Each
command runs in a folder of its own and writes its output there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from komadori.records import GameReader, sample_path, write_games

KOMADORI = [sys.executable, "-m", "komadori"]

RUN_TOML = """\
[model]
net = "resnet1x8"
[loop]
max_steps = 30
batch_size = 16
checkpoint_every = 10
[data]
train_limit = 1000
test_limit = 64
"""
LAB_TOML = """\
title = "Small"
source = "none"
question = "Does it run?"
order = 1
[base.model.net]
family = "resnet"
blocks = 1
channels = 8
[base.loop]
batch_size = 16
[[variants]]
name = "a"
title = "the only one"
"""
LAB = "tiny --experiments {inputs}/lab --data {inputs}/games.hcpe3 --positions 400 --width 8"
LOOP_TOML = """\
learner = "two-piece"
generations = 1
[games]
games = 6
[games.settings]
searches = ["nodes=30"]
hash_mb = 1
max_plies = 40
[train]
iterations = 1
positions = 20
updates = 1
[gate]
games = 2
nodes = 10
"""
PARAMETERS = """\
pairs = 2
[conditions]
nodes = 5
[parameters.C_init]
start = 144
min = 50
max = 400
"""
PROBLEMS = "7k1/5g2g/4G2G1/8L/9/9/9/9/9 b 2r2b4s4n3l18p 1\n" * 3


@dataclass(frozen=True)
class CommandSpec:
    """A command line and its expected behaviour."""

    arguments: str
    """Separated by spaces; {inputs} is replaced by the folder."""
    writes: tuple[str, ...] = ()
    """Output files and folders, which a second run completes however the first one ended."""
    is_long: bool = False
    """It runs until it is stopped, or long enough to be interrupted."""
    resume: str = ""
    """The option that resumes, if the same command line starts over or fails."""
    terminates: bool = True
    """It exits by itself, with status 0."""
    expects_error: bool = False
    """It exits with status 1 and one error line, even without a fault."""
    done_message: str = ""
    """Its error if the work was already done."""
    done_status: int = 1
    """The exit status of that error."""
    copies: tuple[str, ...] = ()
    """Input files and folders that it modifies, copied into its own folder first."""
    check: str = ""
    """The command that must still read the modified input and list its players."""
    stdin: str = ""


LADDER_SHOW = "ladder show ladder.db"

COMMANDS: dict[str, CommandSpec] = {
    "quickstart": CommandSpec(
        "quickstart --out q --time 3 --games 2 --nodes 2", ("q",), is_long=True, expects_error=True
    ),
    "perft": CommandSpec("perft 6", is_long=True),
    "mate": CommandSpec("mate --file {inputs}/problems.sfen", is_long=False),
    "train": CommandSpec(
        "train {inputs}/run.toml --data {inputs}/games.hcpe3 -o run", ("run",), True, "--resume"
    ),
    "report": CommandSpec(
        "report {inputs}/run --data {inputs}/games.hcpe3 -o page", ("page",), True
    ),
    "evaluate": CommandSpec("evaluate {inputs}/run --data {inputs}/games.hcpe3", is_long=True),
    "import": CommandSpec("import {inputs}/dlshogi.pth -o imported --force", ("imported",)),
    "export": CommandSpec("export {inputs}/run -o model.onnx", ("model.onnx",)),
    "lab list": CommandSpec("lab list"),
    "lab report": CommandSpec(
        "lab report --experiments {inputs}/lab --results labresults -o labpage",
        ("labpage",),
        copies=("labresults",),
    ),
    "lab run": CommandSpec(
        f"lab run {LAB} --test-positions 100 --seeds 1 --threads 1", ("runs",), True
    ),
    "lab speed": CommandSpec(
        f"lab speed {LAB} --test-positions 100 --runs labruns --results labresults",
        ("labruns",),
        copies=("labruns", "labresults"),
    ),
    "linear distill": CommandSpec(
        "linear distill {inputs}/teacher.bin --data {inputs}/games.hcpe3 -o distilled --chunks 2 "
        "--set draws=40 --set nodes=100 --set test_positions=100",
        ("distilled",),
        True,
        "--resume",
    ),
    "linear loop": CommandSpec(
        "linear loop -o lloop --rounds 1 --games 4 --nodes 20 --set iterations=1 "
        "--set positions=20 --set updates=1",
        ("lloop",),
        True,
    ),
    "linear train kpp": CommandSpec(
        "linear train kpp --data {inputs}/games.hcpe3 -o kpp --epochs 1", ("kpp",), True, "--resume"
    ),
    "linear train nnue": CommandSpec(
        "linear train nnue --data {inputs}/games.hcpe3 -o nnue --epochs 1",
        ("nnue",),
        True,
        "--resume",
    ),
    "linear train two-piece": CommandSpec(
        "linear train two-piece --data {inputs}/games.hcpe3 -o two --iterations 1 --positions 20",
        ("two",),
        True,
        "--resume",
    ),
    "generate nearby": CommandSpec(
        "generate nearby {inputs}/games.hcpe3 -o near --search nodes=20", ("near",), True
    ),
    "generate relabel": CommandSpec(
        "generate relabel {inputs}/games.csa --by {inputs}/model.onnx -o labels --segment 100",
        ("labels",),
        True,
    ),
    "generate selfplay": CommandSpec(
        "generate selfplay -o self --model {inputs}/model.onnx --games 6 --playouts 4 "
        "--max-plies 30 --seed 1",
        ("self",),
        True,
    ),
    "generate stats": CommandSpec("generate stats {inputs}/teacher"),
    "generate teacher": CommandSpec(
        "generate teacher -o teach --games 200 --nodes 50 --max-plies 60 --seed 1", ("teach",), True
    ),
    "loop run": CommandSpec("loop run {inputs}/loop.toml -o loop", ("loop",), True),
    "loop stage": CommandSpec("loop stage games {inputs}/loop.toml -o stage", ("stage",), True),
    "loop status": CommandSpec("loop status {inputs}/loop"),
    "bench alphabeta": CommandSpec("bench alphabeta --nodes 20000 --no-yardstick", is_long=True),
    "bench inference": CommandSpec(
        "bench inference --model {inputs}/model.onnx --time 0.05 --batches 1", is_long=True
    ),
    "bench search": CommandSpec(
        "bench search --model {inputs}/model.onnx --time 0.1 --positions 2", is_long=True
    ),
    "usi": CommandSpec(
        "usi --model {inputs}/model.onnx", stdin="usi\nisready\ngo nodes 20\nquit\n"
    ),
    "analyse": CommandSpec(
        "analyse {inputs}/few.csa {inputs}/other.kif --model {inputs}/model.onnx --nodes 60 "
        "-o analysed",
        ("analysed",),
        True,
    ),
    "web": CommandSpec(
        "web --no-browser --port 0 --library library", is_long=True, terminates=False
    ),
    "records convert": CommandSpec(
        "records convert {inputs}/games.hcpe3 {inputs}/games.csa -o out.csa", ("out.csa",), True
    ),
    "records dedupe": CommandSpec(
        "records dedupe {inputs}/games.csa {inputs}/games.hcpe3 -o once.csa", ("once.csa",)
    ),
    "records head": CommandSpec("records head {inputs}/games.csa"),
    "records sample": CommandSpec(
        "records sample sample.hcpe3 --games 20 --force", ("sample.hcpe3",)
    ),
    "records split": CommandSpec(
        "records split {inputs}/games.csa --train a.csa --test b.csa --ratio 0.5",
        ("a.csa", "b.csa"),
    ),
    "records stats": CommandSpec(
        "records stats {inputs}/games.hcpe3 {inputs}/games.csa", is_long=True
    ),
    "install-engine": CommandSpec(
        "install-engine {inputs}/model.onnx --out engine.sh --force", ("engine.sh",)
    ),
    "book make": CommandSpec("book make {inputs}/games.csa --min-count 1 -o book.db", ("book.db",)),
    "book show": CommandSpec("book show {inputs}/book.db"),
    "match": CommandSpec(
        "match random material --games 20 --max-plies 60 --out match", ("match",), True
    ),
    "ladder add": CommandSpec(
        "ladder add ladder.db again random",
        done_message="has a player 'again' already",
        done_status=2,
        copies=("ladder.db",),
        check=LADDER_SHOW,
    ),
    "ladder games": CommandSpec("ladder games {inputs}/ladder.db -o ladder.csa", ("ladder.csa",)),
    "ladder import": CommandSpec(
        "ladder import ladder.db {inputs}/match", copies=("ladder.db",), check=LADDER_SHOW
    ),
    "ladder new": CommandSpec(
        "ladder new new.db --nodes 2", ("new.db",), done_message="exists already"
    ),
    "ladder play": CommandSpec(
        "ladder play ladder.db -g 4", is_long=True, copies=("ladder.db",), check=LADDER_SHOW
    ),
    "ladder show": CommandSpec("ladder show {inputs}/ladder.db"),
    "tune": CommandSpec(
        "tune model:random:1 {inputs}/parameters.toml --out tuned", ("tuned",), True
    ),
    "csa": CommandSpec(
        "csa random --host 127.0.0.1 --port 9 --name a --password b", terminates=False
    ),
    "doctor": CommandSpec("doctor"),
}


def registered(command: click.Command | None = None, words: str = "") -> Iterator[str]:
    """Yield the name of every command."""
    if command is None:
        from komadori.cli._group import group

        command = group
    if not isinstance(command, click.Group):
        yield words
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from registered(command.get_command(context, name), f"{words} {name}".strip())


def arguments(name: str, inputs: Path) -> list[str]:
    return [word.format(inputs=inputs) for word in COMMANDS[name].arguments.split()]


def make_inputs(folder: Path) -> Path:
    """Make the shared input files. Raises CalledProcessError if a command fails."""
    from komadori.generate.sources import Evaluation
    from komadori.inference.synthetic import write_random_resnet

    games = []
    for game in GameReader(sample_path()):
        games.append(game)
        if len(games) == 40:
            break
    write_games(folder / "games.hcpe3", games)
    write_games(folder / "games.csa", games)
    for name in ("few.csa", "other.kif"):
        write_games(folder / name, games[:1])
    (folder / "teacher.bin").write_bytes(Evaluation().content() or b"")
    write_random_resnet(folder / "model.onnx", 1, 8)
    for name, text in (
        ("run.toml", RUN_TOML),
        ("loop.toml", LOOP_TOML),
        ("parameters.toml", PARAMETERS),
        ("problems.sfen", PROBLEMS),
    ):
        (folder / name).write_text(text)
    write_dlshogi(folder / "dlshogi.pth")
    (folder / "lab").mkdir()
    (folder / "lab" / "tiny.toml").write_text(LAB_TOML)
    for words in (
        "train run.toml --data games.hcpe3 -o run",
        "book make games.csa --min-count 1 -o book.db",
        "generate teacher -o teacher --games 4 --nodes 20 --max-plies 30",
        "match random material --games 2 --max-plies 10 --out match",
        "ladder new ladder.db --nodes 2",
        "ladder add ladder.db a random",
        "ladder add ladder.db b material",
        "ladder play ladder.db -g 2",
        "loop run loop.toml -o loop",
        f"lab run {LAB} --test-positions 100 --seeds 1 --threads 1 --runs labruns "
        "--results labresults".format(inputs="."),
    ):
        subprocess.run([*KOMADORI, *words.split()], cwd=folder, check=True, capture_output=True)
    return folder


def write_dlshogi(path: Path, blocks: int = 1, channels: int = 4, hidden: int = 5) -> None:
    """Write weights with the parameter names of dlshogi's residual networks."""
    import torch

    shapes: dict[str, tuple[int, ...]] = {
        "l1_1_1.weight": (channels, 62, 3, 3),
        "l1_1_2.weight": (channels, 62, 1, 1),
        "l1_2.weight": (channels, 57, 1, 1),
        "policy.weight": (27, channels, 1, 1),
        "policy_bias.bias": (2187,),
        "value_conv1.weight": (27, channels, 1, 1),
        "value_fc1.weight": (hidden, 2187),
        "value_fc1.bias": (hidden,),
        "value_fc2.weight": (1, hidden),
        "value_fc2.bias": (1,),
    }
    norms = {"norm1": channels, "value_norm1": 27}
    for block in range(blocks):
        for i in (1, 2):
            shapes[f"blocks.{block}.conv{i}.weight"] = (channels, channels, 3, 3)
            norms[f"blocks.{block}.bn{i}"] = channels
    for norm, size in norms.items():
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{norm}.{part}"] = (size,)
    torch.save({"model": {name: torch.ones(shape) for name, shape in shapes.items()}}, path)
