"""`python -m komadori.training CONFIG`: a run with nothing but numpy, torch and the core.

`komadori train` is the same with a progress bar, experiments and the table of measures.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

from komadori import records, training
from komadori.records.selection import match_files
from komadori.training.torchrun import rank_and_size
from komadori.wording import counted, on_one_line


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0, 1 for an error, 130 if the run was interrupted."""
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        result = _train(options, stop)
    except (ValueError, RuntimeError, OSError) as error:
        print(on_one_line(f"Error: {error}"), file=sys.stderr)
        return 1
    done = f"{counted(result.step, 'step')}, {counted(result.samples, 'sample')}"
    print(on_one_line(f"{done}: {result.checkpoint}"))
    if not result.is_complete:
        print("interrupted; repeat the command with --resume to continue")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m komadori.training", description="Train the network that CONFIG describes."
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--data", nargs="+", default=[], help="training games instead of CONFIG's")
    parser.add_argument("--test", nargs="+", default=[], help="test games instead of CONFIG's")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="override settings"
    )
    parser.add_argument("-o", "--run", type=Path, help="the run's folder; runs/NAME of CONFIG")
    parser.add_argument("--resume", action="store_true", help="resume from the newest checkpoint")
    return parser


def _train(options: argparse.Namespace, stop: threading.Event) -> training.RunResult:
    config = training.load_config(options.config, options.set)
    train_files = options.data or config.data.train
    test_files = options.test or config.data.test
    if not train_files:
        raise training.ConfigError(f"{options.config}: no games: give --data or set data.train")
    data = replace(config.data, train=tuple(train_files), test=tuple(test_files))
    config = replace(config, data=data)
    is_first = rank_and_size()[0] == 0  # it reports
    return training.train(
        config,
        training.Files.of(match_files(train_files))
        if data.window
        else _load(train_files, data.cache, visits=config.loss.policy_target == "visits"),
        _load(test_files, data.cache) if test_files else None,
        options.run or Path("runs") / options.config.stem,
        resume=options.resume,
        progress=_say if is_first else None,
        stop=stop.is_set,
        stop_test=stop.is_set,
    )


def _load(
    patterns: list[str] | tuple[str, ...], cache: str, *, visits: bool = False
) -> training.Samples | training.Part:
    paths = match_files(patterns)
    if visits:
        return training.load_visits(paths, cache)
    return records.map_samples(paths, cache) if cache else records.load_samples(paths)


def _say(report: training.Report) -> None:
    entry = report.entry
    if entry["kind"] == "test":
        line = (
            f"step {report.step:,}: test loss {_number(entry['loss'])}, policy "
            f"{_number(entry['policy_top1'])}, value {_number(entry['value_accuracy'])}"
        )
    else:
        line = (
            f"step {report.step:,} ({report.progress:.1%}): loss {_number(entry['loss'])}, "
            f"{report.samples_per_s:,.0f} samples/s, {report.seconds_left:,.0f} s left"
        )
    print(line, flush=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    sys.exit(main())
