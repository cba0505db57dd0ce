"""Reference PUCT, one playout and one evaluation at a time, that the tree must equal.

Nodes are kept in a dict. A shared node's key is its position; a private node's key is the chain
of moves from the last shared node on its path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from komadori._core.tree import Batch, Tree, value_bias_bucket
from komadori.inference import Evaluator
from komadori.rules import Board, Move, Repetition

F = np.float32
ONE = 4096
REPEATS = "repeats"


@dataclass
class Node:
    key: Any
    private: bool = False
    moves: list[Move] = field(default_factory=list)
    priors: list[np.float32] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    children: list[Any] = field(default_factory=list)
    lost: list[bool] = field(default_factory=list)
    own: int = 0
    raw: int = 0  # without the correction
    bucket: int = 0
    squares: int = 0
    proof: str | None = None
    expanded: bool = False

    @property
    def n(self) -> int:
        return int(self.expanded) + sum(self.visits)

    @property
    def w(self) -> int:
        return self.own + sum(self.sums)


def quantise(p: np.float32) -> np.float32:
    """A prior rounded to its 16-bit storage."""
    base = (127 - 31) << 23
    bits = int(np.float32(p).view(np.uint32))
    code = 0 if bits <= base else (bits - base + (1 << 11)) >> 12
    return np.uint32((code << 12) + base).view(np.float32)


def write_planes(board: Board, evaluator: Evaluator) -> None:
    """The position's planes in the first row of slot 0 (positions that hcp can't hold included)."""
    tree = Tree(1 << 20)
    tree.set_root(tree.add_root(), board)
    assert tree.collect(0, Batch(evaluator.inputs(0)), 1) == 1


def label(move: Move, turn: int) -> int:
    """dlshogi's label of a move."""

    def seen(square: int) -> int:
        return 80 - square if turn else square

    to = seen(move.to_square)
    if move.from_square is None:
        return (19 + int(move.drop or 0)) * 81 + to
    origin = seen(move.from_square)
    files = to // 9 - origin // 9  # positive: to the left
    ranks = to % 9 - origin % 9  # negative: up the board
    if abs(files) == 1 and ranks == -2:
        direction = 8 if files > 0 else 9
    else:
        step = (int(np.sign(files)), int(np.sign(ranks)))
        steps = [(0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1)]
        direction = steps.index(step)
    return (direction + 10 * move.promotion) * 81 + to


class Oracle:
    """The graph from one root, under the default options without declaration.

    growth, stdev_scale, temperature_root, value_bias: as in TreeOptions (defaults 1, 0, 0, 0).
    """

    def __init__(
        self,
        board: Board,
        evaluator: Evaluator,
        *,
        growth: float = 1.0,
        stdev_scale: float = 0.0,
        temperature_root: float = 0.0,
        value_bias: float = 0.0,
    ) -> None:
        self.growth, self.stdev_scale = F(growth), stdev_scale
        self.temperature_root = temperature_root
        self.value_bias = value_bias
        self.errors: dict[int, tuple[float, float]] = {}  # sum and weight by bucket
        self.board = board.copy()
        self.history = [m.move16 for m in board.moves]
        self.evaluator = evaluator
        self.nodes: dict[Any, Node] = {}
        self.root = self.meet(self.board, leaf=False)
        self.mark_root()

    def run(self, visits: int) -> None:
        while self.nodes[self.root].n < visits and not self.nodes[self.root].proof:
            self.playout()

    def edges(self) -> dict[str, tuple[int, int]]:
        """Visits and value sum of the root's visited moves."""
        node = self.nodes[self.root]
        return {
            m.usi(): (n, w) for m, n, w in zip(node.moves, node.visits, node.sums, strict=True) if n
        }

    # -- parts

    def meet(self, board: Board, leaf: bool = True) -> Any:
        node = Node(key=board.key, bucket=value_bias_bucket(board))
        self.nodes[node.key] = node
        if leaf and not board.is_check() and board.mate_in_one() is not None:
            node.proof = "win"
            return node.key
        node.moves = list(board.legal_moves)
        if not node.moves:
            node.proof = "loss"
        count = len(node.moves)
        node.visits, node.sums = [0] * count, [0] * count
        node.children, node.lost = [None] * count, [False] * count
        return node.key

    def temperature_at(self, depth: int) -> np.float32:
        if not self.temperature_root:
            return F(1.74)
        return F(F(1.74) + F(F(F(self.temperature_root) - F(1.74)) * F(0.5**depth)))

    def stdev(self, node: Node) -> float:
        """Standard deviation of the node's values, with two prior visits of 0.40 / 2 added."""
        squares = max(0.0, node.squares - node.w * node.w / node.n) / ONE**2
        return float(np.sqrt((2 * (0.5 * float(F(0.4))) ** 2 + squares) / (2 + node.n)))

    def expand(self, node: Node, board: Board, depth: int = 0) -> None:
        write_planes(board, self.evaluator)
        self.evaluator.start(0, 1)
        policy, value = self.evaluator.wait(0)
        logits = policy[0, [label(m, board.turn) for m in node.moves]].astype(np.float32)
        scaled = np.exp((logits - logits.max()) * (F(1) / self.temperature_at(depth)))
        total = F(0)
        for x in scaled:
            total = F(total + x)
        node.priors = [quantise(F(x * (F(1) / total))) for x in scaled]
        node.raw = int(np.floor(float(value[0]) * ONE + 0.5))
        error, weight = self.errors.get(node.bucket, (0.0, 1.0)) if self.value_bias else (0.0, 1.0)
        corrected = F(value[0]) + F(F(self.value_bias) * F(error / weight))
        node.own = int(np.floor(float(min(max(corrected, F(0)), F(1))) * ONE + 0.5))
        node.squares += node.own**2
        node.expanded = True

    def select(self, node: Node, at_root: bool) -> int | None:
        init, base, reduction = (1.16, 25617, 0.0) if at_root else (1.44, 28288, 0.27)
        n = F(node.n - 1)
        c = F(self.growth * F(np.log(F((n + F(base) + F(1)) / F(base))))) + F(init)
        exploration = F(c * np.sqrt(max(F(1), n)))
        if self.stdev_scale:
            spread = self.stdev(node) / (0.5 * float(F(0.4)))
            exploration = F(exploration * F(1 + float(F(self.stdev_scale)) * (spread - 1)))
        seen = F(0)
        best, best_score = None, F(-1)
        unvisited = None
        # Among equals the move that was first selected counts first, then the first generated.
        for i in self.order(node):
            if not node.visits[i]:
                if not node.lost[i] and (
                    unvisited is None or node.priors[i] > node.priors[unvisited]
                ):
                    unvisited = i
                continue
            seen = F(seen + node.priors[i])
            if node.lost[i]:
                continue
            q = F(F(F(node.sums[i]) * F(1 / ONE)) / F(node.visits[i]))
            score = F(q + F(F(exploration * node.priors[i]) / F(1 + node.visits[i])))
            if score > best_score:
                best, best_score = i, score
        if unvisited is not None:
            mean = F(F(node.w) / F(F(node.n) * F(ONE)))
            q = max(F(0), F(mean - F(F(reduction) * np.sqrt(seen))))
            if F(q + F(exploration * node.priors[unvisited])) > best_score:
                best = unvisited
        if best is not None and best not in self.order_of[id(node)]:
            self.order_of[id(node)].append(best)
        return best

    order_of: dict[int, list[int]]

    def order(self, node: Node) -> list[int]:
        if not hasattr(self, "order_of"):
            self.order_of = {}
        touched = self.order_of.setdefault(id(node), [])
        return touched + [i for i in range(len(node.moves)) if i not in touched]

    def playout(self) -> None:
        board = self.board
        path: list[tuple[Any, int]] = []
        keys = []
        key = self.root
        made = 0
        value: int | None = None
        node = self.nodes[key]
        if not node.expanded:
            self.expand(node, board)
            return
        while True:
            node = self.nodes[key]
            i = self.select(node, not path)
            assert i is not None
            keys.append((board.key, board.board_key))
            turn = board.turn
            board.push(node.moves[i])
            made += 1
            repetition = board.repetition(2)
            if repetition != Repetition.NONE:
                value = self.repeat(path, key, i, keys, repetition, board)
                if value is not None:
                    path.append((key, i))
                break
            path.append((key, i))
            if node.children[i] in (None, REPEATS):
                node.children[i] = board.key
                if board.key not in self.nodes:
                    self.meet(board)
            key = node.children[i]
            child = self.nodes[key]
            if child.proof:
                value = {"win": 0, "loss": ONE}[child.proof]
                self.back_up(path, value)
                self.prove(path, child)
                value = None
                path = []
                break
            if not child.expanded:
                self.expand(child, board, made)
                value = ONE - child.own
                break
            if node.visits[i] == 0:
                value = ONE - (child.w + child.n // 2) // child.n
                break
            assert board.turn != turn
        if value is not None:
            self.back_up(path, value)
        for _ in range(made):
            board.pop()

    def back_up(self, path: list[tuple[Any, int]], value: int) -> None:
        for key, i in reversed(path):
            self.nodes[key].visits[i] += 1
            self.nodes[key].sums[i] += value
            self.nodes[key].squares += value**2
            self.learn(self.nodes[key], value)
            value = ONE - value

    def learn(self, node: Node, value: int) -> None:
        """Learn the error of the network's value from the n-th value backed up through the node."""
        weight = float(sum(node.visits)) ** -0.15
        errors, weights = self.errors.get(node.bucket, (0.0, 0.0))
        error = (value - node.raw) / ONE
        self.errors[node.bucket] = errors + weight * error, weights + weight

    def repeat(
        self,
        path: list[tuple[Any, int]],
        key: Any,
        i: int,
        keys: list[tuple[int, int]],
        repetition: Repetition,
        board: Board,
    ) -> int | None:
        exact = repetition in (Repetition.DRAW, Repetition.WIN, Repetition.LOSS)
        now = board.key if exact else board.board_key
        anchor = max((d for d, k in enumerate(keys) if k[0 if exact else 1] == now), default=-1)
        chain = [k for k, _ in path] + [key]
        first = next(
            (d for d in range(anchor + 1, len(chain)) if not self.nodes[chain[d]].private), None
        )
        if first is not None:
            for d in range(first, len(chain)):
                if d == 0:
                    new = ("root", *self.history)
                    self.root = new
                else:
                    parent = self.nodes[chain[d - 1]]
                    new = (parent.key, parent.moves[path[d - 1][1]].move16)
                    parent.children[path[d - 1][1]] = new
                if new not in self.nodes:
                    self.fork(chain[d], new)
                chain[d] = new
            return None
        node = self.nodes[key]
        if node.children[i] != REPEATS:
            if node.visits[i]:
                node.squares -= node.sums[i] // node.visits[i] * node.sums[i]
            node.children[i], node.visits[i], node.sums[i] = REPEATS, 0, 0
            return None
        if repetition in (Repetition.WIN, Repetition.SUPERIOR):
            return 0
        return ONE // 2 if repetition == Repetition.DRAW else ONE

    def fork(self, old: Any, new: Any) -> None:
        source = self.nodes[old]
        children = [
            None if c == REPEATS or (c is not None and self.nodes[c].private) else c
            for c in source.children
        ]
        copy = Node(
            new,
            True,
            source.moves,
            source.priors,
            list(source.visits),
            list(source.sums),
            children,
            list(source.lost),
            source.own,
            source.raw,
            source.bucket,
            source.squares,
            None,
            source.expanded,
        )
        self.nodes[new] = copy
        self.order(copy)
        self.order_of[id(copy)] = list(self.order_of.get(id(source), []))

    def mark_root(self) -> None:
        node = self.nodes[self.root]
        repeats = []
        for i, move in enumerate(node.moves):
            self.board.push(move)
            if self.board.repetition(2) != Repetition.NONE:
                repeats.append(i)
            self.board.pop()
        if repeats:
            new = ("root", *self.history)
            self.fork(self.root, new)
            self.root = new
            for i in repeats:
                self.nodes[new].children[i] = REPEATS

    def prove(self, path: list[tuple[Any, int]], child: Node) -> None:
        for key, i in reversed(path):
            node = self.nodes[key]
            if child.proof == "loss":
                node.proof = "win"
            elif child.proof == "win":
                node.lost[i] = True
                if node.proof is None and all(node.lost):
                    node.proof = "loss"
            if node.proof is None:
                return
            child = node
