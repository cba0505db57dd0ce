"""The quickstart: train on the bundled sample, export, play two matches, write a page.

Everything is written to one folder. An interrupted training resumes from its last checkpoint.
"""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

import numpy as np

from komadori import __version__, arena, inference, records, training
from komadori.atomic import write_text
from komadori.encoding import encode_planes, move_probabilities
from komadori.extras import need
from komadori.json_file import dump_json, read_table
from komadori.model_folder import CARD_FILE
from komadori.nets import short_name
from komadori.quickstart.page import Candidate, MatchView, Page, PositionView, render
from komadori.report.run_page import curves
from komadori.rules import Board
from komadori.rules.svg import PieceStyle
from komadori.run_lock import RunLock
from komadori.training import Config, Metrics, Part, Report, RunResult
from komadori.wording import counted, duration, names_arguments

PIECE_STYLES: tuple[PieceStyle, ...] = ("western", "kanji")

_SUMMARY = "summary.json"
#: What a training and a match write, by folder: removed when a finished quickstart begins again.
_MATCH_FILES = ("games.jsonl", "result.json", "index.html")
_PARTS = {
    "training": ("checkpoints", "log.jsonl", "config.json"),
    "match-1": _MATCH_FILES,
    "match-2": _MATCH_FILES,
}
#: The exported networks and their cards.
_EXPORTED = ("untrained.onnx", "untrained.json", "model.onnx", "model.json")

#: Significance level of the matches (`arena`).
SIGNIFICANCE = 0.05
#: Plots of the page, of those of a run's report.
PLOTS = ("policy-loss", "policy-accuracy", "value-accuracy")


@dataclass(frozen=True)
class Settings:
    """train_seconds: training time. games: per match, even. nodes: per move. concurrency: games at
    once. seed: of the split, the training and the matches."""

    train_seconds: float = 180.0
    games: int = 60
    nodes: int = 64
    concurrency: int = 2
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """The results of a quickstart."""

    folder: Path
    model: Path
    metrics: Metrics
    matches: dict[str, arena.MatchResult]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the trained network beat every opponent with p < SIGNIFICANCE."""
        return not self.unbeaten

    @property
    def unbeaten(self) -> list[str]:
        """The opponents that the trained network didn't beat."""
        return [name for name, m in self.matches.items() if m.p_value >= SIGNIFICANCE]

    @property
    def page(self) -> Path:
        """The HTML page."""
        return self.folder / "index.html"


@names_arguments
def shortfall(outcome: Outcome, settings: Settings) -> str:
    """Why `outcome` isn't `passed`, in a sentence or two; "" where it is."""
    if outcome.passed:
        return ""
    results = "; ".join(
        f"{name}: {_match_text(outcome.matches[name])}" for name in outcome.unbeaten
    )
    text = f"No win with p < {SIGNIFICANCE} against {results}."
    usual = Settings()
    if arena.sign_test(settings.games, 0) >= SIGNIFICANCE:
        return f"{text} {settings.games} games can't show one, whoever wins them."
    if settings.train_seconds < usual.train_seconds or settings.games < usual.games:
        return (
            f"{text} That may be chance, or too little training: by default it trains for "
            f"{usual.train_seconds:.0f} s and plays {usual.games} games."
        )
    return text


class Observer:
    """Receives the progress of `run`; silent by default."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def say(self, text: str) -> None:
        """A result."""

    def training(self, report: Report) -> None:
        """A logged step or test."""

    def game(self, so_far: arena.MatchResult, total: int) -> None:
        """A game of the current match, of `total` games, has ended."""


@names_arguments
def config(settings: Settings) -> Config:
    """The bundled training configuration with these settings."""
    text = resources.files("komadori") / "data" / "quickstart.toml"
    with resources.as_file(text) as path:
        base = training.load_config(path)
    return replace(
        base,
        seed=settings.seed,
        loop=replace(base.loop, max_seconds=settings.train_seconds),
    )


@names_arguments
def run(
    folder: Path | str,
    settings: Settings,
    observer: Observer | None = None,
    run_config: Config | None = None,
) -> Outcome:
    """Train, export, play and write the page, all in `folder`.

    run_config: the bundled one by default. Raises InUseError if another process uses the folder,
    FileExistsError if it holds a summary, a page or a network of something else,
    ModuleNotFoundError if a package that a later step needs isn't installed.
    """
    need("onnx", "matplotlib", "jinja2")
    folder = Path(folder)
    with RunLock(folder):
        return _run(folder, settings, observer or Observer(), run_config)


def _run(
    folder: Path, settings: Settings, observer: Observer, run_config: Config | None
) -> Outcome:
    started = time.monotonic()
    _clear_finished(folder)
    observer.stage("reading the sample games")
    samples = records.load_samples([records.sample_path()])
    run_config = run_config or config(settings)
    train_part, test_part = training.split_by_game(
        Part.whole(samples), run_config.data.test_fraction, settings.seed
    )
    observer.say(
        f"{counted(len(np.unique(samples.game)), 'game')}, "
        f"{counted(len(samples.hcp), 'position')}; "
        f"{len(train_part):,} for training, {len(test_part):,} held out"
    )

    observer.stage(f"training {short_name(run_config.model.net)}")
    untrained = folder / "untrained.onnx"
    training.export(training.save_untrained(run_config, folder / "untrained"), untrained)
    result = _train(folder / "training", run_config, train_part, test_part, observer)
    assert result.test is not None
    observer.say(_metrics_text(result.test))

    observer.stage("exporting")
    model = folder / "model.onnx"
    exported = training.export(result.checkpoint, model)
    observer.say(
        f"{model}: differs from torch by at most {exported.policy_difference:.1g} (policy), "
        f"{exported.value_difference:.1g} (value)"
    )

    matches = _matches(folder, model, untrained, settings, observer)
    outcome = Outcome(folder, model, result.test, matches, time.monotonic() - started)
    write_text(folder / _SUMMARY, dump_json(_summary(outcome, settings), indent=1) + "\n")
    held_out = Part(samples, test_part.rows)
    page = _page(outcome, settings, run_config, result, _views(model, held_out, settings.seed))
    write_text(outcome.page, render(page))
    return outcome


def _clear_finished(folder: Path) -> None:
    """Remove the results of a finished quickstart; an interrupted one is kept and resumed.

    Raises FileExistsError for a summary, a page or a network of something else, InUseError if
    another process trains or plays in one of its folders.
    """
    summary, page = folder / _SUMMARY, folder / "index.html"
    if not summary.exists():
        is_begun = (folder / "untrained" / CARD_FILE).exists()  # it is written first
        for path in [page, *([] if is_begun else (folder / name for name in _EXPORTED))]:
            if path.exists():
                raise _of_others(path)
        return
    try:
        is_own = {"settings", "metrics", "matches"} <= read_table(summary).keys()
    except ValueError:
        is_own = False
    if not is_own:
        raise _of_others(summary)
    with ExitStack() as held:
        parts = [folder / name for name in _PARTS if (folder / name).is_dir()]
        for part in parts:
            held.enter_context(RunLock(part))  # all of them before anything is removed
        for part in parts:
            for path in (part / name for name in _PARTS[part.name]):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    page.unlink(missing_ok=True)
    summary.unlink()  # last, so that an interrupted removal is repeated


def _of_others(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} is not of a quickstart; choose another folder")


def _train(
    run_dir: Path, run_config: Config, train: Part, test: Part, observer: Observer
) -> RunResult:
    resume = run_dir.exists() and training.newest_checkpoint(run_dir) is not None
    return training.train(
        run_config, train, test, run_dir, resume=resume, progress=observer.training
    )


def _matches(
    folder: Path, model: Path, untrained: Path, settings: Settings, observer: Observer
) -> dict[str, arena.MatchResult]:
    player = f"model:{model}?nodes={settings.nodes}"
    opponents = {
        "one-ply material, random ties": "material",
        "the same network untrained": f"model:{untrained}?nodes={settings.nodes}",
    }
    results = {}
    for number, (name, opponent) in enumerate(opponents.items()):
        observer.stage(f"playing {name}")

        def on_game(_: arena.GameRecord, so_far: arena.MatchResult) -> None:
            observer.game(so_far, settings.games)

        results[name] = arena.play_match(
            player,
            opponent,
            games=settings.games,
            concurrency=settings.concurrency,
            seed=settings.seed + number,
            out=folder / f"match-{number + 1}",
            on_game=on_game,
        )
        observer.say(_match_text(results[name]))
    return results


def _metrics_text(metrics: Metrics) -> str:
    return (
        f"held out: policy accuracy {metrics.policy_top1:.1%}, "
        f"value accuracy {metrics.value_accuracy:.1%}, "
        f"best label legal {metrics.best_is_legal:.1%}"
    )


def _match_text(match: arena.MatchResult) -> str:
    return (
        f"+{match.wins} ={match.draws} -{match.losses}, "
        f"Elo {match.estimate}, p = {match.p_value:.2g}"
    )


def _summary(outcome: Outcome, settings: Settings) -> dict[str, object]:
    return {
        "passed": outcome.passed,
        "seconds": round(outcome.seconds, 1),
        "settings": asdict(settings),
        "metrics": outcome.metrics.to_dict(),
        "matches": {
            name: {
                "wins": match.wins,
                "draws": match.draws,
                "losses": match.losses,
                "elo": str(match.estimate),
                "p_value": match.p_value,
            }
            for name, match in outcome.matches.items()
        },
    }


def _views(model: Path, held_out: Part, seed: int, candidates: int = 5) -> list[PositionView]:
    """Four positions of different held-out games, early to late, with the network's answers."""
    samples, rng = held_out.samples, np.random.default_rng(seed)
    evaluator = inference.load(model)
    views: list[PositionView] = []
    used: set[int] = set()
    for low, high in ((8, 20), (30, 45), (55, 75), (85, 120)):
        ply, game = samples.ply[held_out.rows], samples.game[held_out.rows]
        fits = held_out.rows[(ply >= low) & (ply <= high) & ~np.isin(game, list(used))]
        if not len(fits):
            continue
        row = int(rng.choice(fits))
        used.add(int(samples.game[row]))
        board = Board.from_hcp(samples.hcp[row].tobytes())
        moves = list(board.legal_moves)
        planes = encode_planes(samples.hcp[row : row + 1])
        policy, value = inference.evaluate(evaluator, *planes)
        p = move_probabilities(board, policy[0])
        best = np.argsort(-p)[:candidates]
        side = "Black" if board.turn == 0 else "White"
        views.append(
            PositionView(
                caption=f"Held-out game, move {samples.ply[row]}, {side} to move",
                boards={
                    style: board.svg(arrows=[(moves[i], float(p[i])) for i in best], pieces=style)
                    for style in PIECE_STYLES
                },
                candidates=[
                    Candidate(
                        board.western(moves[i]),
                        board.kif(moves[i]),
                        float(p[i]),
                        is_teacher=moves[i].move16 == int(samples.move16[row]),
                    )
                    for i in best
                ],
                win_rate=float(value[0]),
            )
        )
    evaluator.close()
    return views


def _page(
    outcome: Outcome,
    settings: Settings,
    run_config: Config,
    result: RunResult,
    positions: list[PositionView],
) -> Page:
    metrics = outcome.metrics
    plots = curves(result.history)
    lost = outcome.unbeaten
    beaten = [name for name in outcome.matches if name not in lost]
    verdict = f"beats {' and '.join(beaten)} (p < {SIGNIFICANCE} each)" if beaten else ""
    if lost:
        verdict += ("; " if verdict else "") + f"no significant win against {' and '.join(lost)}"
    data = next(entry for entry in result.history if entry["kind"] == "data")
    about = next(entry for entry in result.history if entry["kind"] == "run")
    return Page(
        title="komadori quickstart",
        verdict=verdict,
        passed=outcome.passed,
        figures={
            "policy accuracy, top-1": f"{metrics.policy_top1:.1%}",
            "value accuracy": f"{metrics.value_accuracy:.1%}",
            "best label is legal": f"{metrics.best_is_legal:.1%}",
            "training samples": f"{result.samples:,}",
            "total time": duration(outcome.seconds),
        },
        plots=[plots[name] for name in PLOTS if name in plots],
        positions=positions,
        matches=[
            MatchView(
                name, match.wins, match.draws, match.losses, str(match.estimate), match.p_value
            )
            for name, match in outcome.matches.items()
        ],
        facts={
            "command": f"komadori quickstart --time {settings.train_seconds:g} "
            f"--games {settings.games} --nodes {settings.nodes} --seed {settings.seed}",
            "network": f"{about['net']}, {about['parameters']:,} parameters",
            "data": f"{data['train_games']:,} games, {data['train_positions']:,} training "
            f"positions; {data['test_games']:,} games, {data['test_positions']:,} positions "
            f"held out, {data['positions_in_both']} in both",
            "training": f"{result.step:,} steps of {run_config.loop.batch_size} positions, "
            f"{result.seconds:.0f} s on {about['device']}, {about['dtype']}",
            "matches": f"{settings.games} games each, openings played twice with colours "
            f"changed, {counted(settings.nodes, 'node')} per move for the networks",
            "made with": f"komadori {__version__}, Python {platform.python_version()}, "
            f"{platform.system()} {platform.machine()}",
        },
        next_commands=next_commands(outcome.model),
    )


def next_commands(model: Path | str) -> list[tuple[str, str]]:
    """Next steps with the model, as (purpose, command) pairs; the commands work as they are, in
    any shell."""
    program = _program()
    engine = "gnushogi" if shutil.which("gnushogi") else "alphabeta?depth=1"

    def command(*words: str) -> str:
        return shlex.join([program, *words])

    return [
        ("Play against it in a GUI, or over USI", command("usi", "--model", str(model))),
        ("Measure it against an engine",
         command("match", f"model:{model}?nodes=200", engine, "--games", "20")),
        ("Write the bundled games to a file: training data",
         command("records", "sample", "games.hcpe3")),
        ("Train a larger network, on these games or your own",
         command("train", "resnet5x64", "--data", "games.hcpe3")),
        ("See what else works on this machine", command("doctor")),
    ]  # fmt: skip


def _program() -> str:
    """How to call komadori here: by its name if the path has it, else as it was called."""
    called = Path(sys.argv[0])
    if called.stem != "komadori" or not called.is_file():
        return "komadori"
    found = shutil.which("komadori")
    return "komadori" if found and Path(found).samefile(called) else str(called)
