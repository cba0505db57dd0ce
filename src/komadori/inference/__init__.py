"""Networks behind one protocol: OpenVINO, ONNX Runtime, torch, and fakes.

    evaluator = inference.load("model.onnx")  # or "default", the network of the package
    policy, value = inference.evaluate(evaluator, features1, features2)
    chances = inference.policy(board)  # {move: probability}, the likeliest first

A backend's library is imported only when a model is loaded through it.
"""

from komadori.cpus import available_threads
from komadori.inference.batch_size import batch_sizes
from komadori.inference.group import EvaluatorGroup
from komadori.inference.loading import BACKENDS, load
from komadori.inference.model_file import card_of, default_model, digest
from komadori.inference.policies import policy, policy_and_value
from komadori.inference.protocol import Evaluator, InferenceError, ModelError, Polled, evaluate

__all__ = [
    "BACKENDS",
    "Evaluator",
    "EvaluatorGroup",
    "InferenceError",
    "ModelError",
    "Polled",
    "available_threads",
    "batch_sizes",
    "card_of",
    "default_model",
    "digest",
    "evaluate",
    "load",
    "policy",
    "policy_and_value",
]
