"""Players that ask a network once a move: by its policy, or by its value one ply on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from komadori.players.player import Decision
from komadori.players.spec import PlayerSpec, PlayerSpecError
from komadori.usi.protocol import GoCommand

if TYPE_CHECKING:
    from komadori.inference import Evaluator
    from komadori.rules import Board


def evaluate_hcps(
    evaluator: Evaluator, hcps: NDArray[np.uint8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Policy logits [N, L] and values [N] of positions given as hcp [N, 32]."""
    from komadori.encoding import encode_planes
    from komadori.inference import evaluate

    features1, features2 = encode_planes(hcps, features=evaluator.features)
    policy, value = evaluate(evaluator, features1, features2)
    return policy, value


class PolicyPlayer:
    """Plays by the policy alone: the most likely legal move, or by chance at a temperature.

    With `temperature` above 0 moves are drawn with probability proportional to
    exp(logit / temperature).
    """

    def __init__(
        self,
        evaluator: Evaluator,
        name: str = "policy",
        seed: int | None = None,
        temperature: float = 0.0,
    ) -> None:
        self.name = name
        self._evaluator = evaluator
        self._temperature = temperature
        self._random = random.Random(seed)

    def new_game(self, seed: int | None = None) -> None:
        if seed is not None:
            self._random.seed(seed)

    def play(self, board: Board, go: GoCommand) -> Decision:
        from komadori.encoding import encode_labels

        hcp = np.frombuffer(board.hcp(), np.uint8)[None]
        policy, value = evaluate_hcps(self._evaluator, hcp)
        moves = list(board.legal_moves)
        move16s = np.array([move.move16 for move in moves], np.uint16)
        labels = encode_labels(
            np.repeat(hcp, len(moves), axis=0), move16s, scheme=self._evaluator.labels
        )
        logits = policy[0][np.asarray(labels)]
        if self._temperature > 0.0:
            weights = np.exp((logits - logits.max()) / self._temperature)
            move = self._random.choices(moves, weights.tolist())[0]
        else:
            move = moves[int(np.argmax(logits))]
        return Decision(move=move, score_cp=cp_from_value(float(value[0])), pv=(move.usi(),))

    def close(self) -> None:
        self._evaluator.close()


class OnePlyPlayer:
    """Tries every legal move and makes the one after which the network values it most.

    A mate is seen, and a move that ends the game by repetition counts as the rules say.
    """

    def __init__(
        self, evaluator: Evaluator, name: str = "one-ply", seed: int | None = None
    ) -> None:
        self.name = name
        self._evaluator = evaluator
        self._random = random.Random(seed)

    def new_game(self, seed: int | None = None) -> None:
        if seed is not None:
            self._random.seed(seed)

    def play(self, board: Board, go: GoCommand) -> Decision:
        moves = list(board.legal_moves)
        known: dict[int, float] = {}
        hcps: list[bytes] = []
        for i, move in enumerate(moves):
            board.push(move)
            try:
                end = settled_value(board)
                if end is None:
                    hcps.append(board.hcp())
                else:
                    known[i] = 1.0 - end
            finally:
                board.pop()
            if known.get(i) == 1.0:
                return Decision(move=move, pv=(move.usi(),), mate_plies=1)
        values = np.empty(len(moves), np.float64)
        is_open = np.ones(len(moves), bool)
        for i, value in known.items():
            values[i], is_open[i] = value, False
        if hcps:
            planes = np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32)
            values[is_open] = 1.0 - evaluate_hcps(self._evaluator, planes)[1]
        best = self._random.choice(np.flatnonzero(values == values.max()).tolist())
        move = moves[best]
        return Decision(move=move, score_cp=cp_from_value(float(values[best])), pv=(move.usi(),))

    def close(self) -> None:
        self._evaluator.close()


def settled_value(board: Board) -> float | None:
    """The side to move's value where the rules settle the position, else None."""
    from komadori.rules import Repetition

    if not board.legal_moves:
        return 0.0
    match board.repetition():
        case Repetition.DRAW:
            return 0.5
        case Repetition.WIN:
            return 1.0
        case Repetition.LOSS:
            return 0.0
    return None


#: Centipawns a unit of log odds: dlshogi's Eval_Coef.
EVAL_COEF = 756.0


def cp_from_value(value: float, coefficient: float = EVAL_COEF) -> int:
    """A win probability as centipawns: coefficient * log odds, within +-30,000."""
    value = min(max(value, 1e-12), 1.0 - 1e-12)
    cp = coefficient * float(np.log(value / (1.0 - value)))
    return round(min(max(cp, -30_000.0), 30_000.0))


def make_network_player(spec: PlayerSpec) -> PolicyPlayer | OnePlyPlayer:
    """Build a `policy:` or `one-ply:` player."""
    from komadori import inference

    options = spec.own_options
    backend = options.pop("backend", "auto")
    temperature = 0.0
    if spec.kind == "policy" and (text := options.pop("temperature", "")):
        try:
            temperature = float(text)
        except ValueError:
            raise PlayerSpecError(f"temperature={text} is no number") from None
    if options:
        raise PlayerSpecError(f"{spec.kind} has no option {', '.join(options)}")
    evaluator = inference.load(spec.argument, backend=backend)
    seed = spec.number("seed")
    if spec.kind == "policy":
        return PolicyPlayer(evaluator, spec.name, seed, temperature)
    return OnePlyPlayer(evaluator, spec.name, seed)
