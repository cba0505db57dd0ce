"""Game records in and out."""

from komadori.records.errors import RecordError, Skipped
from komadori.records.sample import sample_path
from komadori.records.samples import Samples, load_samples

__all__ = ["RecordError", "Samples", "Skipped", "load_samples", "sample_path"]
