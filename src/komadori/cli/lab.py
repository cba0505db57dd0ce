"""`komadori lab`: repeatable experiments on the questions of the diary."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.console import next_command, say
from komadori.cli.everywhere import ray_option
from komadori.cli.interrupt import InterruptError, hint, interrupt_sets
from komadori.cli.network_options import DEVICE
from komadori.cli.numbers import THREADS
from komadori.cli.outputs import IsKind, OutputFolder, begins_with, check_outputs, force_option
from komadori.shipped import experiment_path
from komadori.wording import counted

if TYPE_CHECKING:
    from komadori.lab.experiment import Experiment
    from komadori.lab.size import Size
    from komadori.training import Part, Samples

_FOLDER = click.option(
    "--experiments",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiments/lab"),
    callback=lambda _context, _option, value: experiment_path(value),
    help="Folder of the experiments. [default: experiments/lab, or the bundled ones]",
)
_RESULTS = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/lab/results"),
    show_default=True,
    help="Folder of the records.",
)

_DATA = click.option(
    "--data",
    multiple=True,
    help="Training games, a file or quoted pattern. [default: the bundled sample]",
)
_POSITIONS = click.option(
    "--positions",
    type=click.IntRange(min=0),
    default=300_000,
    show_default=True,
    help="Training positions; 0 for all.",
)
_WIDTH = click.option(
    "--width",
    type=click.IntRange(min=8),
    default=64,
    show_default=True,
    help="Channels of networks that have 192 in the diary; ignored by other learners.",
)
_TEST_POSITIONS = click.option(
    "--test-positions",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="Held-out positions.",
)
_RUNS = click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/lab"),
    show_default=True,
    help="Folder of the runs.",
)


@click.group()
def command() -> None:
    """Run the diary's experiments and report them beside its figures.

    An experiment is one file: a question, variants, and the diary's conclusions as claims. All
    variants train on the same positions in the same order.
    """


@command.command("list")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_FOLDER
@_RESULTS
def list_(names: tuple[str, ...], folder: Path, results: Path) -> None:
    """List the experiments, or the variants of the named ones, and how many of their runs are
    finished with the current settings, whatever the number of positions.
    """
    from rich.table import Table

    from komadori.cli.training_display import print_rich
    from komadori.lab.claims import seeds_of
    from komadori.lab.results import Store

    store = Store(results)
    columns = ("name", "variant") if names else ("experiment", "question", "source", "variants")
    table = Table(*columns, "runs done")
    for experiment in _chosen(folder, names) if names else _load(folder):
        records = store.current(experiment)
        done = {(record.variant, record.seed) for record in records}
        seeds = len(seeds_of(records))
        if not names:
            variants = len(experiment.variants)
            runs = f"{len(done)} of {seeds * variants}"
            table.add_row(experiment.name, experiment.title, experiment.source, str(variants), runs)
            continue
        for variant in experiment.variants:
            runs = f"{sum(name == variant.name for name, _ in done)} of {seeds}"
            table.add_row(f"{experiment.name}/{variant.name}", variant.title, runs)
    print_rich(table)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME | NAME/VARIANT]...")
@click.option("--all", "everything", is_flag=True, help="Every experiment, in order.")
@_DATA
@_POSITIONS
@_WIDTH
@_TEST_POSITIONS
@click.option(
    "--device",
    default="",
    type=DEVICE,
    help="Device of networks: cpu, cuda, cuda:1, mps. [default: the best available]",
)
@click.option("--threads", type=THREADS, help="CPU threads. [default: all cores]")
@click.option(
    "--seeds",
    default="",
    metavar="1,2,3",
    help="Seeds of every variant. [default: 1,2,3]",
)
@ray_option("Run on all machines of a Ray cluster.")
@_RUNS
@_FOLDER
@_RESULTS
def run(
    names: tuple[str, ...],
    everything: bool,
    data: tuple[str, ...],
    positions: int,
    width: int,
    test_positions: int,
    device: str,
    threads: int | None,
    seeds: str,
    address: str | None,
    runs: Path,
    folder: Path,
    results: Path,
) -> None:
    """Run experiments, or some of their variants (and the first one, if they play against it).

    Every variant runs with three seeds. Finished runs are skipped and interrupted ones resume:
    repeat the command to complete the work. Start it several times, also on other machines with
    the same folders, to divide the runs: small networks train fastest with --threads 1 in one
    process per core.
    """
    hint("the same command resumes")
    from komadori import training
    from komadori.cli.everywhere import on_all_machines
    from komadori.cli.lab_display import Display
    from komadori.lab.results import Store
    from komadori.lab.runner import Laboratory
    from komadori.lab.size import LabError, Size

    if bool(names) == everything:
        raise click.UsageError("give names of experiments, or --all")
    experiments = _load(folder) if everything else _chosen(folder, names)
    try:
        chosen = tuple(int(seed) for seed in seeds.split(",") if seed)
        if seeds and not chosen:
            raise ValueError(seeds)
    except ValueError as error:
        raise click.UsageError(f"--seeds {seeds}: expected numbers separated by commas") from error
    if not all(0 <= seed < 2**63 for seed in chosen):
        raise click.UsageError(f"--seeds {seeds}: seeds are 0 to 2^63 - 1")
    if twice := [seed for seed in chosen if chosen.count(seed) > 1]:
        raise click.UsageError(f"--seeds {seeds}: seed {twice[0]} is named twice")
    stop = threading.Event()
    if address is not None:
        with interrupt_sets(stop):
            is_complete = on_all_machines(address, stop)
        if not is_complete:
            raise InterruptError
        _propose_report(folder, results)
        return
    size = Size(positions, width, test_positions)
    try:
        samples = _samples(experiments, size, data)
        with Display() as display, interrupt_sets(stop):
            laboratory = Laboratory(
                Store(results),
                runs,
                size,
                samples,
                device,
                display,
                stop.is_set,
                threads or 0,
                tuple(Path(pattern).name for pattern in data),
            )
            is_complete = laboratory.run(experiments, chosen or None)
    except (LabError, training.TrainingError, training.ConfigError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if not is_complete:
        raise InterruptError
    _propose_report(folder, results)


@command.command()
@click.argument("name")
@_DATA
@_POSITIONS
@_WIDTH
@_TEST_POSITIONS
@_RUNS
@_FOLDER
@_RESULTS
def speed(
    name: str,
    data: tuple[str, ...],
    positions: int,
    width: int,
    test_positions: int,
    runs: Path,
    folder: Path,
    results: Path,
) -> None:
    """Quantise the networks of a finished experiment and measure their speed in turns.

    Adds int8 time and accuracy lost to the records.
    """
    from komadori import inference, training
    from komadori.cli.sample_files import load_samples
    from komadori.inference.quantization import QuantizationError
    from komadori.lab.results import Store
    from komadori.lab.runner import Laboratory, Task
    from komadori.lab.size import LabError, Size
    from komadori.lab.speed import measure_int8

    (experiment,) = _chosen(folder, (name,))
    size = Size(positions, width, test_positions)
    tasks = [Task(experiment, variant, 1) for variant in experiment.variants]
    try:
        laboratory = Laboratory(Store(results), runs, size, load_samples(data or _sample()))
        found = measure_int8(laboratory, experiment.name, tasks, on_step=say)
    except (
        LabError,
        QuantizationError,
        training.TrainingError,
        training.ExportError,
        inference.ModelError,
        OSError,
    ) as error:
        raise click.ClickException(str(error)) from error
    for variant, microseconds in found.items():
        say(f"{variant}: {microseconds:.1f} µs per position")


@command.command()
@click.option(
    "-o",
    "--out",
    type=OutputFolder(),
    default=Path("runs/lab/report"),
    show_default=True,
    help="Folder of the pages.",
)
@click.option("--command", "shown_command", default="", help="Command to print with the figures.")
@click.option("--machine", default="", help="Description of the machine.")
@_FOLDER
@_RESULTS
@force_option
def report(
    out: Path, shown_command: str, machine: str, folder: Path, results: Path, force: bool
) -> None:
    """Write one page per experiment: the diary's figures beside the measured ones.

    A page shows runs of one size (positions, width, test positions): the newest run's.
    Pages of experiments whose settings have changed are removed.
    """
    from komadori.lab.experiment import FOLDER
    from komadori.lab.pages import write_pages
    from komadori.lab.results import Store
    from komadori.lab.size import LabError

    experiments = _load(folder)
    kind = "page of the laboratory"
    outputs: dict[Path, tuple[str, IsKind]] = {
        out / "index.md": (kind, begins_with(b"# The laboratory"))
    }
    for experiment in experiments:
        outputs[out / f"{experiment.name}.md"] = kind, _is_page_of(experiment)
    check_outputs(outputs, (), force=force)
    try:
        shown = FOLDER if folder == experiment_path(FOLDER) else folder
        pages = write_pages(experiments, Store(results), out, shown_command, machine, shown)
    except (LabError, OSError) as error:
        raise click.ClickException(str(error)) from error
    say(f"{counted(len(pages), 'page')}: {out / 'index.md'}")


def _propose_report(folder: Path, results: Path) -> None:
    """Print the command that reports the runs: it needs the same folders."""
    from komadori.lab.experiment import FOLDER

    own = () if folder == experiment_path(FOLDER) else ("--experiments", folder)
    say(next_command("lab", "report", *own, "--results", results))


def _is_page_of(experiment: Experiment) -> IsKind:
    source = f"/{experiment.name}.toml`)".encode()
    return lambda path: source in path.read_bytes()


def _samples(
    experiments: Sequence[Experiment], size: Size, patterns: Sequence[str]
) -> Samples | Part:
    """Load the samples, the bundled ones without patterns, with candidates if a variant learns from
    them. Raises LabError for a wrong setting."""
    from komadori.cli.sample_files import load_samples, load_visits

    needs_candidates = any(
        experiment.kind.needs_candidates(experiment.config(variant, size, 1))
        for experiment in experiments
        for variant in experiment.variants
    )
    load = load_visits if needs_candidates else load_samples
    return load(patterns or _sample())


def _sample() -> list[str]:
    from komadori import records

    return [str(records.sample_path())]


def _load(folder: Path) -> list[Experiment]:
    from komadori.lab.experiment import load_all
    from komadori.lab.size import LabError

    try:
        return load_all(folder)
    except LabError as error:
        raise click.ClickException(str(error)) from error


def _chosen(folder: Path, names: tuple[str, ...]) -> list[Experiment]:
    """Return the named experiments, each with its named variants and those they need, or all."""
    from komadori.lab.size import LabError

    known = {experiment.name: experiment for experiment in _load(folder)}
    variants_of: dict[str, list[str]] = {}
    for name in names:
        one, _, variant = name.partition("/")
        if one not in known:
            raise click.UsageError(f"no experiment {one!r} in {folder}; known: {', '.join(known)}")
        variants_of.setdefault(one, []).append(variant)
    chosen = []
    for name, variants in variants_of.items():
        experiment = known[name]
        if "" not in variants:
            try:
                experiment = experiment.only(variants)
            except LabError as error:
                raise click.UsageError(str(error)) from error
        chosen.append(experiment)
    return chosen
