"""Training: config, loader, loss, loop, checkpoints, evaluation, export.

    result = training.train(config, samples, None, "runs/first")
    training.export(result.checkpoint, "first.onnx")

Needs numpy, torch and the core only; TensorBoard is used where it is installed, and
`export` needs onnx.
"""

from komadori.training.checkpoint import newest_checkpoint, resolve
from komadori.training.config import (
    Config,
    ConfigError,
    DeviceConfig,
    LossConfig,
    OverrideError,
    config_from_dict,
    config_to_dict,
    load_config,
)
from komadori.training.data import MoveProbs, Part, Samples, Split, make_split, split_by_game
from komadori.training.device import Compute
from komadori.training.duplicates import average_duplicates
from komadori.training.errors import CheckpointError, DivergedError, TrainingError
from komadori.training.evaluate import FRACTIONS, Metrics, evaluate, loss_config_of, measure
from komadori.training.export import ExportError, ExportResult, export
from komadori.training.loader import Batch, Cursor, Encoder, Loader
from komadori.training.loop import train
from komadori.training.run import Report, RunResult
from komadori.training.run_log import read_log
from komadori.training.score_fit import fit_eval_coef
from komadori.training.setup import check_distill_from, check_init_from, save_untrained, split_of
from komadori.training.streamed import Files
from komadori.training.visits import load_visits

__all__ = [
    "FRACTIONS",
    "Batch",
    "CheckpointError",
    "Compute",
    "Config",
    "ConfigError",
    "Cursor",
    "DeviceConfig",
    "DivergedError",
    "Encoder",
    "ExportError",
    "ExportResult",
    "Files",
    "Loader",
    "LossConfig",
    "Metrics",
    "MoveProbs",
    "OverrideError",
    "Part",
    "Report",
    "RunResult",
    "Samples",
    "Split",
    "TrainingError",
    "average_duplicates",
    "check_distill_from",
    "check_init_from",
    "config_from_dict",
    "config_to_dict",
    "evaluate",
    "export",
    "fit_eval_coef",
    "load_config",
    "load_visits",
    "loss_config_of",
    "make_split",
    "measure",
    "newest_checkpoint",
    "read_log",
    "resolve",
    "save_untrained",
    "split_by_game",
    "split_of",
    "train",
]
