"""Load the networks named by options."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.cpus import threads_from_environment
from komadori.usi.models import defaults_file, find_model, is_fake, read_defaults
from komadori.usi.options import EvaluationOptions, NetworkOptions, OptionTable

if TYPE_CHECKING:
    from komadori.inference import Evaluator


def _apply_model_defaults(model: str, options: OptionTable) -> Callable[[], None]:
    """Apply a model's option defaults: the coefficient in its card, then its .ini.

    Returns a function that undoes it.
    """
    from komadori.inference import ModelError, card_of

    values: dict[str, str] = {}
    source = Path(model).name
    if not is_fake(model):
        path = Path(model)
        coefficient = card_of(path).get("eval_coef")
        if coefficient and not (
            isinstance(coefficient, int | float) and 0 < coefficient < math.inf
        ):
            raise ModelError(
                f"{model}: eval_coef of its card is {coefficient!r}, a positive number is needed"
            )
        if coefficient and options.has("Eval_Coef"):
            values["Eval_Coef"] = str(round(coefficient))
        if file := defaults_file(path):
            source = file.name
            values |= read_defaults(file)
    return options.apply_model_defaults(values, source)


def load_evaluator(options: OptionTable, *, is_typed: bool = False) -> Evaluator:
    """Load the network named by the model options and apply its option defaults.

    `is_typed` is that of `usi.models.find_model`.

    Raises like `inference.load`, `usi.models.ModelDefaultsError`, and ValueError for the number of
    threads in the environment.
    """

    model = find_model(options.group(NetworkOptions).model, is_typed=is_typed)
    undo = _apply_model_defaults(model, options)
    try:
        return _load_evaluator(model, options.group(NetworkOptions))
    except BaseException:
        undo()
        raise


def _load_evaluator(model: str, options: NetworkOptions) -> Evaluator:
    from komadori import inference

    settings: dict[str, Any] = {"precision": options.precision}
    if options.max_batch:
        settings["max_batch"] = options.max_batch
    threads = options.threads or threads_from_environment()
    devices = [name.strip() for name in options.device.split(",") if name.strip()]
    if is_fake(model) or devices in ([], ["auto"]):
        if threads and not is_fake(model):
            settings["threads"] = threads
        return inference.load(model, backend=options.backend, **settings)
    return _load_on_devices(model, options.backend, devices, threads, settings)


def _load_on_devices(
    model: str, backend: str, devices: list[str], threads: int, settings: dict[str, Any]
) -> Evaluator:
    """Load the network on each device; repeated CPUs divide the threads."""
    from komadori import inference

    cpus = devices.count("cpu")
    loaded: list[Evaluator] = []
    try:
        for number, device in enumerate(devices):
            options = dict(settings, device=device)
            if device == "cpu":
                share, rest = divmod(threads or inference.available_threads(), cpus)
                options["threads"] = max(1, share + (devices[:number].count("cpu") < rest))
            loaded.append(inference.load(model, backend=backend, **options))
        return loaded[0] if len(loaded) == 1 else inference.EvaluatorGroup(loaded)
    except BaseException:
        for evaluator in loaded:
            evaluator.close()
        raise


def load_policy(options: OptionTable, *, is_typed: bool = False) -> Evaluator | None:
    """Load the network that orders alpha-beta's moves, if the options name one.

    `is_typed` is that of `usi.models.find_model`.
    """
    if not (name := options.group(EvaluationOptions).policy_model):
        return None
    from komadori import inference

    model = find_model(name, is_typed=is_typed)
    threads = threads_from_environment()
    settings: dict[str, Any] = {"threads": threads} if threads and not is_fake(model) else {}
    return inference.load(model, max_batch=1, **settings)
