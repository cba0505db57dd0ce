"""Runs a tree like a searcher, with the variations that tests need."""

from __future__ import annotations

import random

import numpy as np

from komadori._core.tree import Tree, TreeOptions
from komadori.inference import Evaluator
from komadori.rules import Board, Move
from komadori.search.pipeline import slot_batches

MEMORY = 16 << 20


def options(**changes: object) -> TreeOptions:
    result = TreeOptions()
    for name, value in changes.items():
        setattr(result, name, value)
    return result


class Driver:
    """A tree, one root of it, and as many batches as the evaluator has slots."""

    def __init__(
        self, evaluator: Evaluator, board: Board, memory: int = MEMORY, **changes: object
    ) -> None:
        self.evaluator = evaluator
        self.tree = Tree(memory, options(**changes))
        self.root = self.tree.add_root()
        self.batches = slot_batches(evaluator)
        self.place(board)

    def place(self, board: Board) -> int:
        return self.tree.set_root(self.root, board)

    def collect(self, slot: int, rows: int) -> int:
        return self.tree.collect(self.root, self.batches[slot], rows)

    def answer(self, slot: int) -> None:
        """Evaluate a slot's batch and hand it to the tree."""
        batch = self.batches[slot]
        self.evaluator.start(slot, batch.rows)
        self.tree.expand(batch, *self.evaluator.wait(slot))

    def run(self, visits: int, rows: int = 1) -> Driver:
        """One batch at a time until the root has so many visits or is solved."""
        while self.visits() < visits:
            before = self.ended()
            if self.collect(0, min(rows, visits)):
                self.answer(0)
            elif self.ended() == before:
                break
        return self

    def visits(self) -> int:
        return self.tree.root_visits(self.root)

    def ended(self) -> int:
        stats = self.tree.stats
        return stats.evaluated + stats.terminal + stats.transposed

    def run_mixed(self, playouts: int, seed: int) -> Driver:
        """Batches of random sizes, answered in random order, now and then cancelled."""
        chance = random.Random(seed)
        flying: list[int] = []
        while self.tree.stats.evaluated < playouts and not self.tree.root_solved(self.root):
            free = [s for s in range(len(self.batches)) if s not in flying]
            if free and chance.random() < 0.6:
                slot = chance.choice(free)
                if self.collect(slot, chance.randint(1, self.evaluator.max_batch)):
                    flying.append(slot)
                    continue
            if flying:
                slot = flying.pop(chance.randrange(len(flying)))
                if chance.random() < 0.1:
                    self.tree.cancel(self.batches[slot])
                else:
                    self.answer(slot)
        for slot in flying:
            self.answer(slot)
        return self

    def edges(self) -> dict[str, tuple[int, int]]:
        """Visits and value sum of the root's visited moves."""
        return {
            Move.from_move16(move16).usi(): (visits, value_sum)
            for move16, visits, value_sum, _, _ in self.tree.view(self.root).edges
            if visits
        }

    def in_flight(self) -> int:
        """Visits in flight in all reachable nodes."""
        total = 0
        stack: list[list[int]] = [[]]
        while stack:
            path = stack.pop()
            view = self.tree.view(self.root, path)
            total += view.in_flight
            if len(path) < 4:
                stack += [[*path, edge[0]] for edge in view.edges if edge[1]]
        return total


def uniform_outputs(rows: int, value: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((rows, 2187), np.float32), np.full(rows, value, np.float32)
