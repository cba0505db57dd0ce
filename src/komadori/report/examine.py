"""Evaluates a network on each test position, for the report of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from komadori.nets import Network
from komadori.rules import BLACK, Board, Move
from komadori.training import Compute, Encoder, LossConfig, Part
from komadori.training.device import targets_on
from komadori.training.evaluate import most_probable
from komadori.training.loader import Loader
from komadori.training.loss import log_policy

#: Phases of a game, from a position alone: by the pieces in hand or promoted; a king in the
#: opponent's three ranks is a phase of its own.
PHASES = ("opening", "middle game", "endgame", "king in the enemy camp")
#: Most pieces in hand or promoted, of both sides, in an opening and in a middle game.
OPENING_PIECES, MIDDLE_PIECES = 2, 7


@dataclass(frozen=True)
class Examination:
    """Arrays [N], one row per position of the part, in its order.

    rows: int64, of the samples. labelled: bool, has a move. rank: int64, the move's rank among the
    most probable labels from 0, 5 beyond the fifth. policy_loss: float32, 0 without a move. win:
    float32, win probability of the side to move. result: float32, its result. is_legal: bool,
    of the most probable label, unmasked. ply: int16. phase: int8, index in `PHASES`.
    """

    rows: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    rank: NDArray[np.int64]
    policy_loss: NDArray[np.float32]
    win: NDArray[np.float32]
    result: NDArray[np.float32]
    is_legal: NDArray[np.bool_]
    ply: NDArray[np.int16]
    phase: NDArray[np.int8]


@torch.inference_mode()
def examine(
    network: Network, part: Part, encoder: Encoder, loss: LossConfig, compute: Compute
) -> Examination:
    """Evaluate every position; illegal moves are masked where training masks them."""
    network.eval()
    columns: dict[str, list[NDArray[np.generic]]] = {
        name: [] for name in ("rows", "labelled", "rank", "policy_loss", "win", "is_legal")
    }
    loader = Loader(
        part.without_target_probs(), encoder, 1024, shuffle=False, legal=loss.mask_illegal
    )
    for batch in loader.batches(epochs=1):
        with compute.autocast():
            logits, value = network(*compute.inputs(batch))
        to = targets_on(batch, value.device)
        log_p = log_policy(logits, to)
        top = most_probable(log_p, 5)
        labels = to.label.reshape(len(batch), -1)
        hits = (top == labels[:, None]).all(2)
        found = hits.any(1)
        rank = torch.where(found, hits.int().argmax(1), 5)
        known = labels.clamp(min=0).unbind(1)
        own = torch.stack(
            [p.gather(1, label[:, None])[:, 0] for p, label in zip(log_p, known, strict=True)]
        ).sum(0)
        best = top[:, 0]
        if to.legal is not None:  # is_legal is of the unmasked policy
            best = most_probable(log_policy(logits, replace(to, legal=None)), 1)[:, 0]
        columns["rows"].append(batch.rows.copy())
        columns["labelled"].append(to.has_label.cpu().numpy())
        columns["rank"].append(rank.cpu().numpy())
        columns["policy_loss"].append(torch.where(to.has_label, -own, 0.0).float().cpu().numpy())
        columns["win"].append(torch.sigmoid(value.float()).cpu().numpy())
        columns["is_legal"].append(encoder.is_legal(part.samples, batch.rows, best.cpu().numpy()))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    rows = joined["rows"]
    samples = part.samples
    return Examination(
        **joined,
        result=samples.result[rows],
        ply=samples.ply[rows],
        phase=np.array([phase_of(samples.hcp[row]) for row in rows], np.int8),
    )


def phase_of(hcp: NDArray[np.uint8]) -> int:
    """The index in `PHASES` of a position, hcp uint8 [32]."""
    board = Board.from_hcp(hcp.tobytes())
    for color in (0, 1):
        king = board.king(color)
        if king is not None:
            rank = king % 9 if color == BLACK else 8 - king % 9
            if rank < 3:
                return 3
    squares, _, hands, _ = board.sfen().split()
    pieces = squares.count("+")
    if hands != "-":
        pieces += sum(int(count or 1) for count, _ in re.findall(r"(\d*)([A-Za-z])", hands))
    return 0 if pieces <= OPENING_PIECES else 1 if pieces <= MIDDLE_PIECES else 2


@dataclass(frozen=True)
class Candidate:
    """A move and its probability among all labels."""

    move: Move
    probability: float
    is_teacher: bool


@torch.inference_mode()
def candidates(
    network: Network,
    part: Part,
    row: int,
    encoder: Encoder,
    labels: str,
    compute: Compute,
    count: int = 4,
) -> list[Candidate]:
    """The `count` most probable legal moves of a position, and the teacher's move."""
    from komadori import encoding

    one = Part(part.samples, np.array([row], np.int64))
    (batch,) = Loader(one, encoder, 1, shuffle=False).batches(epochs=1)
    network.eval()
    with compute.autocast():
        logits, _ = network(*compute.inputs(batch))
    log_p = [p[0].cpu().numpy() for p in log_policy(logits, targets_on(batch, logits.device))]
    board = Board.from_hcp(part.samples.hcp[row].tobytes())
    moves = list(board.legal_moves)
    own = encoding.legal_labels(board, labels).reshape(len(moves), -1)
    logs = np.array([[p[i] for p, i in zip(log_p, each, strict=True)] for each in own]).sum(1)
    order = np.argsort(-logs, kind="stable")
    teacher = int(part.samples.move16[row])
    chosen = [i for n, i in enumerate(order) if n < count or moves[i].move16 == teacher]
    return [Candidate(moves[i], float(np.exp(logs[i])), moves[i].move16 == teacher) for i in chosen]
