"""Every command of the registry, as small as it can be, and what holds of it under attack.

{shop} is the workshop, made once: games, a model, a run, a book, a ladder. Commands run in a
folder of their own; what they write stands there.
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
source = "nowhere"
question = "Does it end?"
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
LAB = "tiny --experiments {shop}/lab --data {shop}/games.hcpe3 --positions 400 --width 8"
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
class Attacked:
    """A command line under attack."""

    words: str
    """Its arguments, split at spaces; {shop} is filled in."""
    writes: tuple[str, ...] = ()
    """Files and folders in its own folder, which a second run completes after any end."""
    lasts: bool = False
    """It works until it is stopped, or for long enough to be interrupted."""
    resume: str = ""
    """The option with which it resumes, where the same command starts over or refuses."""
    ends: bool = True
    """By itself, with status 0."""
    fails: bool = False
    """Here it ends with 1 and one line: its work can't be done, or proves nothing."""
    refuses: str = ""
    """What it says, with status 1, where its work is done already."""
    brings: tuple[str, ...] = ()
    """Files and folders of the shop, copied into its own folder, in which it works."""
    shows: str = ""
    """The command that shows that what it brought is still sound, and has these players."""
    stdin: str = ""


SHOW = "ladder show ladder.db"

COMMANDS: dict[str, Attacked] = {
    "quickstart": Attacked(
        "quickstart --out q --time 3 --games 2 --nodes 2", ("q",), lasts=True, fails=True
    ),
    "perft": Attacked("perft 6", lasts=True),
    "mate": Attacked("mate --file {shop}/problems.sfen", lasts=False),
    "train": Attacked(
        "train {shop}/run.toml --data {shop}/games.hcpe3 -o run", ("run",), True, "--resume"
    ),
    "report": Attacked("report {shop}/run --data {shop}/games.hcpe3 -o page", ("page",), True),
    "evaluate": Attacked("evaluate {shop}/run --data {shop}/games.hcpe3", lasts=True),
    "import": Attacked("import {shop}/dlshogi.pth -o imported --force", ("imported",)),
    "export": Attacked("export {shop}/run -o model.onnx", ("model.onnx",)),
    "lab list": Attacked("lab list"),
    "lab report": Attacked(
        "lab report --experiments {shop}/lab --results labresults -o labpage",
        ("labpage",),
        brings=("labresults",),
    ),
    "lab run": Attacked(
        f"lab run {LAB} --test-positions 100 --seeds 1 --threads 1", ("runs",), True
    ),
    "lab speed": Attacked(
        f"lab speed {LAB} --test-positions 100 --runs labruns --results labresults",
        ("labruns",),
        brings=("labruns", "labresults"),
    ),
    "linear loop": Attacked(
        "linear loop -o lloop --rounds 1 --games 4 --nodes 20 --set iterations=1 "
        "--set positions=20 --set updates=1",
        ("lloop",),
        True,
    ),
    "linear train kpp": Attacked(
        "linear train kpp --data {shop}/games.hcpe3 -o kpp --epochs 1", ("kpp",), True, "--resume"
    ),
    "linear train nnue": Attacked(
        "linear train nnue --data {shop}/games.hcpe3 -o nnue --epochs 1",
        ("nnue",),
        True,
        "--resume",
    ),
    "linear train two-piece": Attacked(
        "linear train two-piece --data {shop}/games.hcpe3 -o two --iterations 1 --positions 20",
        ("two",),
        True,
        "--resume",
    ),
    "generate nearby": Attacked(
        "generate nearby {shop}/games.hcpe3 -o near --search nodes=20", ("near",), True
    ),
    "generate relabel": Attacked(
        "generate relabel {shop}/games.csa --by {shop}/model.onnx -o labels --segment 100",
        ("labels",),
        True,
    ),
    "generate selfplay": Attacked(
        "generate selfplay -o self --model {shop}/model.onnx --games 6 --playouts 4 "
        "--max-plies 30 --seed 1",
        ("self",),
        True,
    ),
    "generate stats": Attacked("generate stats {shop}/teacher"),
    "generate teacher": Attacked(
        "generate teacher -o teach --games 200 --nodes 50 --max-plies 60 --seed 1", ("teach",), True
    ),
    "loop run": Attacked("loop run {shop}/loop.toml -o loop", ("loop",), True),
    "loop stage": Attacked("loop stage games {shop}/loop.toml -o stage", ("stage",), True),
    "loop status": Attacked("loop status {shop}/loop"),
    "bench alphabeta": Attacked("bench alphabeta --nodes 20000 --no-yardstick", lasts=True),
    "bench inference": Attacked(
        "bench inference --model {shop}/model.onnx --time 0.05 --batches 1", lasts=True
    ),
    "bench search": Attacked(
        "bench search --model {shop}/model.onnx --time 0.1 --positions 2", lasts=True
    ),
    "usi": Attacked("usi --model {shop}/model.onnx", stdin="usi\nisready\ngo nodes 20\nquit\n"),
    "analyse": Attacked(
        "analyse {shop}/few.csa {shop}/other.kif --model {shop}/model.onnx --nodes 60 -o analysed",
        ("analysed",),
        True,
    ),
    "web": Attacked("web --no-browser --port 0 --library library", lasts=True, ends=False),
    "records convert": Attacked(
        "records convert {shop}/games.hcpe3 {shop}/games.csa -o out.csa", ("out.csa",), True
    ),
    "records dedupe": Attacked(
        "records dedupe {shop}/games.csa {shop}/games.hcpe3 -o once.csa", ("once.csa",)
    ),
    "records head": Attacked("records head {shop}/games.csa"),
    "records sample": Attacked("records sample sample.hcpe3 --games 20 --force", ("sample.hcpe3",)),
    "records split": Attacked(
        "records split {shop}/games.csa --train a.csa --test b.csa --ratio 0.5", ("a.csa", "b.csa")
    ),
    "records stats": Attacked("records stats {shop}/games.hcpe3 {shop}/games.csa", lasts=True),
    "install-engine": Attacked(
        "install-engine {shop}/model.onnx --out engine.sh --force", ("engine.sh",)
    ),
    "book make": Attacked("book make {shop}/games.csa --min-count 1 -o book.db", ("book.db",)),
    "book show": Attacked("book show {shop}/book.db"),
    "match": Attacked(
        "match random material --games 20 --max-plies 60 --out match", ("match",), True
    ),
    "ladder add": Attacked(
        "ladder add ladder.db again random",
        refuses="has a player 'again' already",
        brings=("ladder.db",),
        shows=SHOW,
    ),
    "ladder games": Attacked("ladder games {shop}/ladder.db -o ladder.csa", ("ladder.csa",)),
    "ladder import": Attacked(
        "ladder import ladder.db {shop}/match", brings=("ladder.db",), shows=SHOW
    ),
    "ladder new": Attacked("ladder new new.db --nodes 2", ("new.db",), refuses="exists already"),
    "ladder play": Attacked(
        "ladder play ladder.db -g 4", lasts=True, brings=("ladder.db",), shows=SHOW
    ),
    "ladder show": Attacked("ladder show {shop}/ladder.db"),
    "tune": Attacked("tune model:random:1 {shop}/parameters.toml --out tuned", ("tuned",), True),
    "csa": Attacked("csa random --host 127.0.0.1 --port 9 --name a --password b", ends=False),
    "doctor": Attacked("doctor"),
}


def registered(command: click.Command | None = None, words: str = "") -> Iterator[str]:
    """The words of every command there is."""
    if command is None:
        from komadori.cli._group import group

        command = group
    if not isinstance(command, click.Group):
        yield words
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from registered(command.get_command(context, name), f"{words} {name}".strip())


def arguments(name: str, shop: Path) -> list[str]:
    return [word.format(shop=shop) for word in COMMANDS[name].words.split()]


def open_shop(folder: Path) -> Path:
    """Make what the commands read. Raises CalledProcessError where one fails unattacked."""
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
        "--results labresults".format(shop="."),
    ):
        subprocess.run([*KOMADORI, *words.split()], cwd=folder, check=True, capture_output=True)
    return folder


def write_dlshogi(path: Path, blocks: int = 1, channels: int = 4, hidden: int = 5) -> None:
    """Weights under the names that dlshogi's networks of blocks have for them."""
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
