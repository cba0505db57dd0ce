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
from komadori.lab.experiment import Experiment, Variant
from komadori.lab.size import LabError, Size

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Record:
    """One finished run.

    size: as its learner sees it. config: as its learner's `to_table` makes it. measures: of the
    test part, NaN left out; of networks `train_loss` is the mean policy loss of the last tenth of
    the steps. diverged: the step whose loss was NaN or infinite, or None. cpu_seconds: CPU time of
    the steps of the last process, in which it processed `cpu_samples` samples. facts: network,
    data, machine and versions.
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
        the network's width. NaN where there is none."""
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
            table = json.loads(path.read_text(encoding="utf-8"))
            if table["format_version"] != FORMAT_VERSION:
                raise LabError(f"{path}: format version {table['format_version']}")
            return [_record(entry) for entry in table["records"]]
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"{path}: not a file of results: {error!r}") from error

    def add(self, experiment: str, record: Record) -> None:
        """Append a record in place of one of the same variant, seed and size."""
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

    def current(self, experiment: Experiment) -> list[Record]:
        """The records made with the present settings of the experiment's file."""
        names = {variant.name: variant for variant in experiment.variants}
        return [
            record
            for record in self.records(experiment.name)
            if (variant := names.get(record.variant)) is not None
            and experiment.kind.same(
                record.config, experiment.config(variant, record.size, record.seed)
            )
        ]

    def find(
        self, experiment: Experiment, variant: Variant, size: Size, seed: int
    ) -> Record | None:
        """The record of this run, if made with the present settings of the experiment's file."""
        config, size = experiment.config(variant, size, seed), experiment.kind.size(size)
        for record in self.records(experiment.name):
            same = (record.variant, record.seed, record.size) == (variant.name, seed, size)
            if same and experiment.kind.same(record.config, config):
                return record
        return None

    def twin(
        self, experiment: Experiment, variant: Variant, size: Size, seed: int, samples: str = ""
    ) -> Record | None:
        """The record of another experiment or variant that is of the same run. samples: digest of
        the training samples."""
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
    return Record(**{**entry, "size": Size(**entry["size"])})
