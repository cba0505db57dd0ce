"""The laboratory's records: one JSON file per experiment, one record per run."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from komadori.atomic import write_text
from komadori.json_file import read_table
from komadori.lab.experiment import Experiment, Variant
from komadori.lab.size import LabError, Size
from komadori.wording import what_is_wrong

FORMAT_VERSION = 1
#: Older names of measures.
_RENAMED = {"root_share": "root_fraction"}


@dataclass(frozen=True)
class Record:
    """A finished run.

    size: normalized by the learner. config: the learner's `to_table`. measures: on the test part,
    without NaN; for networks `train_loss` is the mean policy loss of the last tenth of the steps.
    diverged: step whose loss was NaN or infinite, or None. cpu_seconds: CPU time of the last
    process for `cpu_samples` samples. facts: network, data, machine and versions.
    """

    variant: str
    seed: int
    size: Size
    config: Mapping[str, Any]
    measures: Mapping[str, float]
    samples: int
    seconds: float
    cpu_seconds: float
    cpu_samples: int
    diverged: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def measure(self, name: str) -> float:
        """A measure, or a derived one: `cpu_us`, CPU time per sample in microseconds; `channels`,
        the network's width. NaN if missing."""
        if name == "cpu_us":
            return 1e6 * self.cpu_seconds / self.cpu_samples if self.cpu_samples else math.nan
        if name == "time":
            return self.seconds
        if name == "channels":
            return float(self.config.get("model", {}).get("net", {}).get("channels", math.nan))
        return float(self.measures.get(name, math.nan))


class Store:
    """FOLDER/EXPERIMENT.json, written atomically; several processes may add to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: str) -> Path:
        return self.folder / f"{experiment}.json"

    def records(self, experiment: str) -> list[Record]:
        """All records of an experiment, oldest first."""
        path = self.path(experiment)
        if not path.exists():
            return []
        try:
            table = read_table(path)
            if table["format_version"] != FORMAT_VERSION:
                raise LabError(f"{path}: format version {table['format_version']}")
            return [_record(entry) for entry in table["records"]]
        except LabError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"{path}: not a file of results: {what_is_wrong(error)}") from error

    def add(self, experiment: str, record: Record) -> None:
        """Add a record; replaces one of the same variant, seed and size."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / ".lock"):
            kept = [
                old
                for old in self.records(experiment)
                if (old.variant, old.seed, old.size) != (record.variant, record.seed, record.size)
            ]
            lines = ",\n".join(json.dumps(dataclasses.asdict(one)) for one in (*kept, record))
            head = f'"format_version": {FORMAT_VERSION},\n"experiment": {json.dumps(experiment)}'
            write_text(self.path(experiment), f'{{\n{head},\n"records": [\n{lines}\n]\n}}\n')

    def current(
        self, experiment: Experiment, run: tuple[str, int, Size] | None = None
    ) -> list[Record]:
        """The records made with the present settings of the experiment's file.

        run: variant, seed and size, for the record of one run.
        """
        variants = {variant.name: variant for variant in experiment.variants}
        found = []
        for record in self.records(experiment.name):
            variant = variants.get(record.variant)
            if variant and run in (None, (record.variant, record.seed, record.size)):
                config = experiment.config(variant, record.size, record.seed)
                if experiment.kind.same(record.config, config):
                    found.append(record)
        return found

    def find(
        self, experiment: Experiment, variant: Variant, size: Size, seed: int
    ) -> Record | None:
        """The record of this run, if made with the present settings of the experiment's file."""
        found = self.current(experiment, (variant.name, seed, experiment.kind.size(size)))
        return found[0] if found else None

    def twin(
        self, experiment: Experiment, variant: Variant, size: Size, seed: int, samples: str = ""
    ) -> Record | None:
        """The record of an equal run of another experiment or variant. samples: digest of the
        training samples."""
        config, size = experiment.config(variant, size, seed), experiment.kind.size(size)
        for path in sorted(self.folder.glob("*.json")):
            for record in self.records(path.stem):
                if (record.seed, record.size) != (seed, size):
                    continue
                if samples and record.facts.get("samples", samples) != samples:
                    continue
                if experiment.extras and path.stem != experiment.name:
                    continue
                if experiment.kind.same(record.config, config):
                    return dataclasses.replace(record, variant=variant.name)
        return None


def _record(entry: Mapping[str, Any]) -> Record:
    """A record from its JSON object. Raises ValueError, KeyError and TypeError."""
    for name in ("size", "config", "measures", "facts"):
        if not isinstance(entry[name], dict):
            raise ValueError(f"{name} must be an object")
    for name, value in entry["measures"].items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"measures.{name} must be a number")
    for name in ("seed", "samples", "seconds", "cpu_seconds", "cpu_samples"):
        if isinstance(entry[name], bool) or not isinstance(entry[name], int | float):
            raise ValueError(f"{name} must be a number")
    measures = {_RENAMED.get(name, name): value for name, value in entry["measures"].items()}
    return Record(**{**entry, "size": Size(**entry["size"]), "measures": measures})
