"""`komadori train`: train a network as configured in a TOML file."""

from __future__ import annotations

import shlex
import threading
from dataclasses import replace
from pathlib import Path

import click

from komadori.cli.config_path import ConfigPath
from komadori.cli.console import console, next_command
from komadori.cli.interrupt import InterruptError, hint_of_run, interrupt_sets
from komadori.cli.outputs import OutputFolder
from komadori.model_folder import newest_checkpoint
from komadori.wording import counted


@click.command()
@click.argument("config", type=ConfigPath("", "lab"))
@click.option(
    "--data",
    multiple=True,
    help="Training games instead of the config's data.train; a file or quoted pattern.",
)
@click.option(
    "--test", multiple=True, help="Test games instead of a fraction of the training games."
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override one setting, such as loop.batch_size=512.",
)
@click.option("--variant", help="Variant of an experiment.")
@click.option(
    "-o",
    "--out",
    "run_dir",
    type=OutputFolder(),
    help="Folder of the run. [default: runs/NAME of the config]",
)
@click.option("--resume", is_flag=True, help="Resume from the run's newest checkpoint.")
@click.option(
    "--from",
    "init_from",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Run, checkpoint or imported model with the initial weights.",
)
def command(
    config: Path,
    data: tuple[str, ...],
    test: tuple[str, ...],
    overrides: tuple[str, ...],
    variant: str | None,
    run_dir: Path | None,
    resume: bool,
    init_from: Path | None,
) -> None:
    """Train the network of CONFIG: a file, or the name of a bundled configuration such as
    resnet5x64. For an experiment of the laboratory, give --variant; it has the default size of
    `komadori lab run`.

    Ctrl-C saves a checkpoint and ends the run; `--resume` continues it. Several processes or
    GPUs: torchrun --nproc-per-node 2 -m komadori train CONFIG.
    """
    name = f"{config.stem}-{variant}" if variant else config.stem
    folder = run_dir or Path("runs") / name
    given = [("--data", data), ("--test", test), ("--set", overrides)]
    words = [str(config), *(word for name, values in given for v in values for word in (name, v))]
    words += ["--variant", variant] if variant else []
    again = shlex.join(["komadori", "train", *words, "-o", str(folder), "--resume"])
    hint_of_run(lambda: newest_checkpoint(folder) is not None, f"resume with: {again}")
    from komadori import nets, records, training
    from komadori.cli.sample_files import (
        find_files,
        load_samples,
        load_visits,
        say_missing_scores,
    )
    from komadori.cli.training_display import TrainingBar, metrics_table
    from komadori.lab import experiment
    from komadori.lab.size import LabError, Size
    from komadori.training.run_folder import RunFolder
    from komadori.training.torchrun import rank_and_size

    stop = threading.Event()
    try:
        is_first = rank_and_size()[0] == 0  # it reports
        if experiment.is_experiment(config):
            chosen = experiment.load(config)
            names = [one.name for one in chosen.variants]
            if variant not in names:
                what = "has variants" if variant is None else f"has no variant {variant!r}"
                known = ", ".join(names)
                raise click.UsageError(f"{config} {what}: give --variant, one of {known}")
            assert variant is not None
            table = training.config_to_dict(chosen.training_config(chosen.variant(variant), Size()))
            settings = training.config_from_dict(table, str(config), overrides)
        elif variant is not None:
            raise click.UsageError(f"{config} has no variants")
        else:
            settings = training.load_config(config, overrides)
        for option, values, key in (
            ("--data", data, "data.train="),
            ("--test", test, "data.test="),
        ):
            if values and (twice := next((one for one in overrides if one.startswith(key)), "")):
                raise click.UsageError(f"{option} and --set {twice}: give one of them")
        train_files, test_files = data or settings.data.train, test or settings.data.test
        if not train_files:
            raise click.UsageError(f"{config}: no games: give --data or set data.train")
        RunFolder(folder, resume=resume)  # raises before the games are read
        is_weighted = any(one.startswith("loss.distill_weight=") for one in overrides)
        if is_weighted and not settings.loss.distill_from:
            raise click.UsageError(
                "--set loss.distill_weight has no effect without loss.distill_from"
            )
        files = replace(settings.data, train=tuple(train_files), test=tuple(test_files))
        settings = replace(settings, data=files)
        begin = None if init_from is None else str(init_from)
        if resume:
            begin = _own_beginning(folder, begin)
        if begin is not None:
            settings = replace(settings, model=replace(settings.model, init_from=begin))
        training.check_distill_from(settings)  # before the games are read
        if settings.model.init_from and not resume:
            training.check_init_from(settings)
        needs_visits = settings.loss.policy_target == "visits"
        samples: training.Samples | training.Part | training.Files
        if files.window:
            samples = training.Files.of(find_files(train_files))
        else:
            load = load_visits if needs_visits else load_samples
            samples = load(train_files, files.cache)
        test_samples = load_samples(test_files, files.cache) if test_files else None
        scored = test_samples if isinstance(samples, training.Files) else samples
        if scored is not None and is_first:
            columns = scored.samples if isinstance(scored, training.Part) else scored
            weight = settings.loss.value_lambda
            say_missing_scores(columns.score_cp, weight, "--set loss.value_lambda=0")
        with TrainingBar(console(quiet=not is_first)) as bar, interrupt_sets(stop):
            result = training.train(
                settings,
                samples,
                test_samples,
                folder,
                resume=resume,
                progress=bar,
                stop=stop.is_set,
                stop_test=stop.is_set,
            )
    except training.OverrideError as error:
        raise click.UsageError(str(error)) from error
    except (
        LabError,
        training.ConfigError,
        training.CheckpointError,
        training.TrainingError,
        nets.ModelFileError,
        records.RecordError,
        OSError,
    ) as error:
        raise click.ClickException(str(error)) from error
    split = next(entry for entry in result.history if entry["kind"] == "data")
    bar.console.print(
        f"trained on {counted(split['train_positions'], 'position')} of "
        f"{counted(split['train_games'], 'game')}, "
        f"tested on {split['test_positions']:,} of {counted(split['test_games'], 'game')} "
        f"({split['test_positions_removed_as_seen']:,} removed as seen, "
        f"{split['positions_in_both']:,} in both)",
        soft_wrap=True,
    )
    if result.test is not None:
        bar.console.print(metrics_table(result.test))
    speed = result.samples / max(result.seconds, 1e-9)
    bar.console.print(
        f"{counted(result.step, 'step')}, {counted(result.samples, 'sample')} in "
        f"{result.seconds:,.0f} s ({speed:,.0f} samples/s): {result.checkpoint}",
        soft_wrap=True,
    )
    if not result.is_complete:
        raise InterruptError
    bar.console.print(next_command("export", folder, "-o", f"{folder.name}.onnx"))


def _own_beginning(folder: Path, given: str | None) -> str:
    """Return the initial weights of the run to resume. Raises UsageError if others are given."""
    from komadori.training.checkpoint import read_progress

    newest = newest_checkpoint(folder)
    own = read_progress(newest)[1].model.init_from if newest is not None else ""
    if given is not None and given != own:
        begun = f"from {own}" if own else "without --from"
        raise click.UsageError(f"--from {given}: the run {folder} began {begun}")
    return own
