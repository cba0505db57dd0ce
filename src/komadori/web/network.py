"""Inside the network: policy, value, input planes, attention, checkpoints."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from komadori import inference
from komadori.encoding import (
    FEATURES,
    LABELS,
    encode_boards,
    legal_labels,
    move_probabilities,
    softmax,
)
from komadori.extras import missing
from komadori.inference import Evaluator, InferenceError, ModelError
from komadori.rules import HAND_TYPES, WHITE, Board, Move, PieceType
from komadori.web import protocol
from komadori.web.errors import RefusedError
from komadori.web.folders import Folders
from komadori.web.models import Models
from komadori.web.positions import read_position, turn_of
from komadori.web.shapes import ModelInfo, PolicyMove
from komadori.wording import counted, reason_of

#: Maximum number of checkpoints per request.
MAX_CHECKPOINTS = 500
#: Maximum number of cached torch networks, used for attention.
MAX_LOADED = 2


class Network:
    """Evaluates positions and shows inputs and attention. Methods block: call them in threads."""

    def __init__(self, models: Models, folders: Folders) -> None:
        self._models = models
        self._folders = folders
        self._torch: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def evaluate(
        self, request: int, position: str, model: str | None, index: int
    ) -> protocol.NetworkAnswer:
        """Return policy and value of a position. Raises RefusedError."""
        board = _read_unfinished(position)
        with self._models.lease(model) as engine:
            policy, value = engine.evaluate(board)
            labels = engine.shared.evaluator.labels
        moves = list(board.legal_moves)
        probabilities = move_probabilities(board, policy, labels)
        from_squares, to_squares = np.zeros(81), np.zeros(81)
        drops = {type_.symbol: 0.0 for type_ in HAND_TYPES}
        for move, p in zip(moves, probabilities, strict=True):
            to_squares[move.to_square] += p
            if move.from_square is not None:
                from_squares[move.from_square] += p
            elif move.drop is not None:
                drops[PieceType(move.drop).symbol] += float(p)
        return protocol.NetworkAnswer(
            id=request,
            model=engine.model.id,
            index=index,
            turn=turn_of(board),
            value=value,
            policy=_ranked(moves, probabilities),
            legal_mass=_legal_mass(board, policy, labels),
            from_squares=[round(float(p), 6) for p in from_squares],
            to_squares=[round(float(p), 6) for p in to_squares],
            drops=drops,
        )

    def planes(self, request: protocol.AskPlanes) -> protocol.Planes:
        """Return the nonzero input planes of a position. Raises RefusedError."""
        board = read_position(request.position)
        info, _ = self._models.find(request.model)
        features = info.features
        if not features:  # there is no card
            with self._models.lease(request.model) as engine:
                features = engine.shared.evaluator.features
        table = FEATURES[features]
        arrays = encode_boards([board], features)
        planes = []
        total = 0
        for tensor, array in zip(table.inputs, arrays, strict=True):
            is_board = len(tensor.shape) == 3
            total += tensor.shape[0]
            for index, name in enumerate(tensor.planes):
                cells = np.flatnonzero(array[0, index])
                if not len(cells):
                    continue
                squares = _rotate(cells, board) if is_board else cells
                planes.append(
                    protocol.Plane(
                        input=tensor.name,
                        index=index,
                        name=name,
                        squares=sorted(int(cell) for cell in squares),
                    )
                )
        return protocol.Planes(
            id=request.id,
            model=info.id,
            features=features,
            turn=turn_of(board),
            planes=planes,
            total=total,
        )

    def attention(self, request: protocol.AskAttention) -> protocol.AttentionAnswer:
        """Return the attention of a layer. Raises RefusedError."""
        board = read_position(request.position)
        info, path = self._models.find(request.model)
        if not info.has_attention:
            raise RefusedError("not_possible", f"{info.name} has no attention that can be shown")
        layers = self._attention_layers(path, board)
        if request.layer >= len(layers):
            number = counted(len(layers), "layer")
            raise RefusedError("not_possible", f"{info.name} has {number} of attention")
        weights = layers[request.layer]  # [heads, tokens, tokens]
        heads = len(weights)
        if request.head is not None and request.head >= heads:
            number = counted(heads, "head")
            raise RefusedError("not_possible", f"{info.name} has {number} in this layer")
        chosen = weights.mean(0) if request.head is None else weights[request.head]
        order = _rotate(np.arange(81), board)
        squares = chosen[:81, :81][np.ix_(order, order)]  # in board coordinates
        hands = chosen[:81, 81:].sum(1)[order]
        return protocol.AttentionAnswer(
            id=request.id,
            model=info.id,
            turn=turn_of(board),
            layer=request.layer,
            layers=len(layers),
            head=request.head,
            heads=heads,
            weights=[[round(float(w), 5) for w in row] for row in squares],
            hands=[round(float(w), 5) for w in hands],
        )

    def _attention_layers(self, path: str, board: Board) -> list[Any]:
        try:
            import torch

            from komadori.nets import ModelFileError, load_model
            from komadori.nets.watching import watched_attention
        except ModuleNotFoundError as error:
            raise RefusedError(
                "not_possible",
                f"attention needs {missing(error)}",
            ) from error
        with self._lock:
            if path not in self._torch:
                try:
                    self._torch[path] = load_model(path)
                except ModelFileError as error:
                    raise RefusedError("failed", str(error)) from error
            self._torch.move_to_end(path)
            while len(self._torch) > MAX_LOADED:
                self._torch.popitem(last=False)
            network, card = self._torch[path]
            inputs = [torch.from_numpy(array) for array in encode_boards([board], card.features)]
            with torch.inference_mode(), watched_attention() as captured:
                network(*inputs)
            layers = [weights[0].numpy() for weights in captured if weights.shape[-1] >= 81]
        if not layers:
            raise RefusedError("not_possible", "the network has no attention over the squares")
        return layers

    # -- checkpoints

    def checkpoints(self, run: str) -> list[tuple[ModelInfo, str]]:
        """Return the models of a run, ordered by step. Raises RefusedError."""
        if run not in self._folders.scan().runs:
            raise RefusedError("unknown_name", f"no run {run!r}")
        found = [self._models.find(i.id) for i in self._models.infos() if i.run == run]
        found.sort(key=lambda entry: entry[0].step or 0)
        if len(found) > MAX_CHECKPOINTS:
            step = len(found) / MAX_CHECKPOINTS
            found = [found[int(n * step)] for n in range(MAX_CHECKPOINTS)]
        return found

    def evaluate_checkpoint(
        self, request: protocol.AskCheckpoints, entry: tuple[ModelInfo, str], index: int, total: int
    ) -> protocol.Checkpoint:
        """Evaluate a position with a checkpoint. Raises RefusedError."""
        board = _read_unfinished(request.position)
        info, path = entry
        evaluator: Evaluator | None = None
        try:
            evaluator = inference.load(Path(path), max_batch=1)
            policy, value = inference.evaluate(
                evaluator, *encode_boards([board], evaluator.features)
            )
            probabilities = move_probabilities(board, policy[0], evaluator.labels)
        except (ModelError, InferenceError, ValueError, OSError) as error:
            reason = reason_of(error).removeprefix(f"{path}: ")  # pages know models by name
            raise RefusedError("failed", f"{info.name}: {reason}") from error
        finally:
            if evaluator is not None:
                evaluator.close()
        return protocol.Checkpoint(
            id=request.id,
            run=request.run,
            model=info.id,
            step=info.step or 0,
            index=index,
            total=total,
            turn=turn_of(board),
            value=float(value[0]),
            policy=_ranked(list(board.legal_moves), probabilities)[: request.moves],
        )


def _read_unfinished(position: str) -> Board:
    """Parse a position that has legal moves. Raises RefusedError."""
    board = read_position(position)
    if not board.legal_moves:
        raise RefusedError("not_possible", "the game is over: there is no move to evaluate")
    return board


def _ranked(moves: list[Move], probabilities: Any) -> list[PolicyMove]:
    rows = [
        PolicyMove(move=move.usi(), p=float(p))
        for move, p in zip(moves, probabilities, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.p)


def _legal_mass(board: Board, logits: Any, labels: str) -> float | None:
    if len(LABELS[labels].heads) > 1 or not np.isfinite(logits).all():
        return None
    return float(softmax(logits)[np.unique(legal_labels(board, labels))].sum())


def _rotate(cells: Any, board: Board) -> Any:
    """Convert squares from the side to move's view to the board's, or back."""
    return 80 - cells if board.turn == WHITE else cells
