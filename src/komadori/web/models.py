"""The available networks, by id, and the pool of loaded ones."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from komadori.cpus import available_threads
from komadori.encoding import encode_boards
from komadori.inference import InferenceError, ModelError, evaluate
from komadori.inference.model_file import load_identified
from komadori.inference.protocol import Floats
from komadori.inference.shared import SharedEvaluator
from komadori.json_file import parse_encodable
from komadori.model_folder import CARD_FILE
from komadori.players.evaluators import load_evaluator
from komadori.rules import Board
from komadori.search import PuctOptions
from komadori.usi.models import (
    DEFAULT_PLAYER,
    ModelDefaultsError,
    find_model,
    is_fake,
    names_network,
)
from komadori.usi.options import option_table
from komadori.web.errors import RefusedError
from komadori.web.folders import Folders, printable
from komadori.web.shapes import Engine as EngineName
from komadori.web.shapes import ModelInfo
from komadori.wording import reason_of

#: Idle networks are evicted while more than this many are loaded.
MAX_LOADED = 4


@dataclass
class Engine:
    """A loaded network, shared by all searches."""

    model: ModelInfo
    shared: SharedEvaluator
    options: dict[str, Any]
    """Search settings of the model."""
    facts: dict[str, str]
    """Identity of the network; stored results are valid only for it."""
    users: int = 0
    used_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._single = self.shared.lane(slots=1, max_batch=1, urgent=True)
        self._single_lock = threading.Lock()

    def evaluate(self, board: Board) -> tuple[Floats, float]:
        """Return the policy logits [labels] and value of a position. Raises InferenceError."""
        with self._single_lock:
            planes = encode_boards([board], self._single.features)
            policy, value = evaluate(self._single, *planes)
        return policy[0], float(value[0])

    def search_options(self, **changes: Any) -> PuctOptions:
        return PuctOptions(**{**self.options, **changes})


class Models:
    """The list of networks, and the pool of loaded ones. Thread-safe."""

    def __init__(self, folders: Folders, default: str = "", threads: int = 0) -> None:
        """`default`: a model name for `find_model`; "" for the engine's default."""
        self._folders = folders
        self._threads = threads
        self.default_engine: EngineName = "model" if names_network(default) else DEFAULT_PLAYER
        self._default = _default_entry(default)
        self._lock = threading.RLock()
        self._loading: dict[str, threading.Lock] = {}
        self._engines: dict[str, Engine] = {}
        self._is_closed = False

    def infos(self) -> list[ModelInfo]:
        """Return all models, default first."""
        return [entry[0] for entry in self._entries().values()]

    def paths(self) -> list[tuple[ModelInfo, str]]:
        """Return each model with its path."""
        return list(self._entries().values())

    def _entries(self) -> dict[str, tuple[ModelInfo, str]]:
        entries = {}
        if self._default is not None:
            entries[self._default[0].id] = self._default
        for path, model_id, run in self._folders.models():
            with contextlib.suppress(OSError, ValueError):
                entries.setdefault(model_id, (_info(path, model_id, run), str(path)))
        return entries

    def default(self) -> ModelInfo | None:
        return self._default[0] if self._default else None

    def find(self, model: str | None) -> tuple[ModelInfo, str]:
        """Return the entry and path of an id (None: the default). Raises RefusedError."""
        if model is None:
            if self._default is None:
                raise RefusedError("no_engine", "there is no network: start with --model")
            return self._default
        if self._default is not None and model == self._default[0].id:
            return self._default
        entry = self._entries().get(model)
        if entry is None:
            raise RefusedError("unknown_model", f"no model {model!r}")
        return entry

    @property
    def threads(self) -> int:
        """Number of threads of a search that runs alone."""
        return self._threads or available_threads()

    def resolve_engine(self, engine: EngineName | None, model: str | None) -> EngineName:
        """Return the engine for a request with these fields. Raises RefusedError."""
        if engine == "alphabeta" and model:
            raise RefusedError("not_possible", "alphabeta takes no network")
        return engine or ("model" if model else self.default_engine)

    @contextlib.contextmanager
    def lease(self, model: str | None) -> Iterator[Engine]:
        """Lease the loaded network of an id during the block."""
        engine = self.acquire(model)
        try:
            yield engine
        finally:
            self.release(engine)

    def acquire(self, model: str | None) -> Engine:
        """Lease a network, loading it if necessary; `release` returns it. Blocks.

        Raises RefusedError.
        """
        info, path = self.find(model)
        with self._lock:
            loading = self._loading.setdefault(info.id, threading.Lock())
        with loading:
            with self._lock:
                if self._is_closed:
                    raise RefusedError("no_engine", "the server is closing")
                if engine := self._engines.get(info.id):
                    engine.users += 1
                    return engine
            engine = self._load(info, path)
            engine.users = 1
            with self._lock:
                self._engines[info.id] = engine
                evicted = self._evict()
        for other in evicted:
            other.shared.close()
        return engine

    def release(self, engine: Engine) -> None:
        with self._lock:
            engine.users -= 1
            engine.used_at = time.monotonic()
            evicted = self._evict()
        for other in evicted:
            other.shared.close()

    def _evict(self) -> list[Engine]:
        """Remove the least recently used idle networks and return them, still open."""
        idle = sorted((e for e in self._engines.values() if not e.users), key=lambda e: e.used_at)
        evicted = idle[: max(0, len(self._engines) - MAX_LOADED)]
        for engine in evicted:
            del self._engines[engine.model.id]
        return evicted

    def _load(self, info: ModelInfo, path: str) -> Engine:
        options = option_table("model")
        options.set("DNN_Model", path)
        options.set("UCT_Threads", str(self._threads))
        try:
            if Path(path).is_file():
                evaluator, sha256 = load_identified(path, lambda: load_evaluator(options))
            else:
                evaluator, sha256 = load_evaluator(options), ""
        except (ModelError, InferenceError, ModelDefaultsError, ValueError, OSError) as error:
            reason = reason_of(error).removeprefix(f"{path}: ")  # pages know models by name
            raise RefusedError("failed", f"{info.name} can't be loaded: {reason}") from error
        facts = {"model": info.id, "evaluator": evaluator.name}
        if sha256:
            facts["sha256"] = sha256
        return Engine(info, SharedEvaluator(evaluator), options.settings(), facts)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            engines = list(self._engines.values())
            self._engines.clear()
        for engine in engines:
            engine.shared.close()


def _default_entry(name: str) -> tuple[ModelInfo, str] | None:
    try:
        path = find_model(name)
    except OSError:
        return None
    if is_fake(path):
        info = ModelInfo(
            id=path, name=path, kind="fake", features="dlshogi", labels="2187", is_default=True
        )
        return info, path
    info = _info(Path(path), "default", None)
    return info.model_copy(update={"is_default": True}), path


def _info(path: Path, model_id: str, run: str | None) -> ModelInfo:
    """Read a model's card, if it has one. Raises OSError or ValueError if the card is damaged."""
    card_path = path / CARD_FILE if path.is_dir() else path.with_suffix(".json")
    try:
        card = parse_encodable(card_path.read_text(encoding="utf-8")) if card_path.is_file() else {}
        if not isinstance(card, dict):
            raise ValueError("a JSON object is expected")
    except ValueError as error:
        raise ValueError(f"{card_path}: no model's card: {error}") from error
    net = card.get("net")
    family = str(net.get("family", "")) if isinstance(net, dict) else ""
    features = str(card.get("features", ""))
    step = path.name.removeprefix("step-")
    return ModelInfo(
        id=model_id,
        name=str(card.get("name") or printable(path.stem)) if model_id == "default" else model_id,
        kind="checkpoint" if run else "folder" if path.is_dir() else "file",
        run=run,
        step=int(step) if run and step.isdigit() else None,
        net=str(card.get("name", "")),
        features=features,
        labels=str(card.get("labels", "")),
        has_attention=(path.is_dir() and "attention" in family) or "transformer" in family,
    )
