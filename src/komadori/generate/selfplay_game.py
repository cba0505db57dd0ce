"""A self-play game: its position, tree and record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from komadori._core.alphabeta import Engine
from komadori._core.tree import Batch, Proof, Tree
from komadori.arena.openings import Opening
from komadori.encoding import score_from_win_rate
from komadori.generate.folder import StoredFacts, StoredGame
from komadori.generate.selfplay_root import Choice, RootSearch, make_root
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.mate import MateSolver
from komadori.records import MATE_CP, Candidates, End, Game, Winner
from komadori.records.formats import find_format
from komadori.rules import BLACK, DECLARATION_POINTS, Board, Move, Repetition
from komadori.search.leaf_search import search_leaves
from komadori.search.puct import tree_options

#: Maximum score of a win rate, just below the score of a mate.
SCORE_LIMIT_CP = MATE_CP - 1

#: Maximum moves and playouts of a game between two leaves, so that the player can be interrupted:
#: one ply before the limit, every playout ends in a draw, and no leaf comes.
MAX_STEPS = 10_000


@dataclass(frozen=True)
class GameTree:
    """A tree for one game at a time. leaves: the engine that searches its leaves, if any."""

    tree: Tree
    leaves: Engine | None = None

    @classmethod
    def of(cls, settings: SelfPlaySettings, leaves: Engine | None = None) -> GameTree:
        options = settings.search_options()
        tree = Tree(options.memory_mb << 20, tree_options(options))
        tree.add_root()
        if leaves is not None:
            search_leaves(tree, options, leaves)
        return cls(tree, leaves)

    def new_game(self) -> None:
        """Clear the state of earlier games."""
        self.tree.clear()
        if self.leaves is not None:
            self.leaves.new_game()


class SelfPlayGame:
    """A game that collects one leaf at a time.

    Deterministic given the settings, its number, the openings and the network.
    """

    def __init__(
        self,
        number: int,
        settings: SelfPlaySettings,
        openings: Sequence[Opening],
        mates: MateSolver,
        game_tree: GameTree,
    ) -> None:
        """`mates`: shared by all games. `game_tree`: new, or of a finished game."""
        self.number = number
        self.playouts = 0
        self.finished: StoredGame | None = None
        self._settings, self._mates = settings, mates
        self._rng = np.random.default_rng([settings.seed, number])
        game_tree.new_game()
        self.game_tree, self.tree = game_tree, game_tree.tree
        self._board = self._opening(openings)
        self._start = len(self._board.moves)
        self._never_resigns = bool(self._rng.random() < settings.play_on_fraction)
        self._foreseen: Winner | None = None
        self._low_moves = [0, 0]  # consecutive moves below resign_win_rate, by side
        self._scores: list[int] = []
        self._choices: list[Choice | None] = []
        self._root: RootSearch | None = None
        self._next_position()

    def collect(self, batch: Batch) -> bool:
        """Put a leaf into an empty one-row batch; False if the game ended instead, or pauses after
        many playouts that need no network: the next call resumes it."""
        tree = self.tree
        for _ in range(MAX_STEPS):
            if self.finished is not None:
                break
            root = self._root
            assert root is not None
            before = tree.playouts()
            first = None if tree.root_solved(0) else root.next_move()
            if first is None:
                self._play(root.choose())
                continue
            if tree.collect(0, batch, 1, 1, first):
                self.playouts += 1
                return True
            ended = tree.playouts() - before
            self.playouts += ended
            if not ended and not first and not tree.root_solved(0):  # the tree is full
                self._play(root.choose())
        return False

    # -- moves

    def _opening(self, openings: Sequence[Opening]) -> Board:
        rng, settings = self._rng, self._settings
        if not openings or rng.random() >= settings.opening_fraction:
            return Board()
        opening = openings[int(rng.integers(len(openings)))]
        board = Board(opening.sfen)
        least, most = settings.opening_plies
        for usi in opening.moves[: int(rng.integers(least, most + 1))]:
            board.push_usi(usi)
            if not board.legal_moves or board.repetition(2) != Repetition.NONE:
                board.pop()
                break
        return board

    def _next_position(self) -> None:
        """Set up the search of the position, or end the game by rule or by a mate found."""
        while True:
            if end := self._end():
                self._finish(*end)
                return
            moves = self._board.legal_moves
            if len(moves) > 1:
                break
            # A forced move is played without a search and gives no training sample.
            self._push(next(iter(moves)), None)
        if not self._settings.reuse_tree:
            self.tree.clear()
        self.tree.set_root(0, self._board)
        ply = len(self._board.moves)
        self._root = make_root(self.tree, self._settings, self._rng, ply)

    def _push(self, move: Move, choice: Choice | None) -> None:
        if choice is None:
            score = self._scores[-1] if self._scores else 0
            self._scores.append(-score)
        else:
            coef = self._settings.eval_coef
            score = round(score_from_win_rate(choice.win_rate, coef, limit_cp=SCORE_LIMIT_CP))
            self._scores.append(score)
        self._choices.append(choice)
        self._board.push(move)

    def _play(self, choice: Choice) -> None:
        board, tree = self._board, self.tree
        side = board.turn
        if tree.root_solved(0):
            best = tree.root_moves(0)[0]
            if best.proof in (Proof.WIN, Proof.LOSS):
                winner = side if best.proof == Proof.WIN else 1 - side
                self._finish(_won(winner), End.ADJUDICATION)
                return
        if self._resigns(side, choice.win_rate):
            self._finish(_won(1 - side), End.RESIGN)
            return
        self._push(Move.from_move16(choice.move16), choice)
        self._next_position()

    def _resigns(self, side: int, win_rate: float) -> bool:
        settings = self._settings
        is_low = win_rate < settings.resign_win_rate
        self._low_moves[side] = self._low_moves[side] + 1 if is_low else 0
        if not settings.resign_moves or self._low_moves[side] < settings.resign_moves:
            return False
        if self._never_resigns:
            self._foreseen = self._foreseen or _won(1 - side)
            return False
        return True

    # -- end of the game

    def _end(self) -> tuple[Winner, End] | None:
        board, settings = self._board, self._settings
        if not board.legal_moves:
            return _won(1 - board.turn), End.MATE
        match board.repetition(settings.repetitions):
            case Repetition.DRAW:
                return Winner.DRAW, End.SENNICHITE
            case Repetition.WIN:
                return _won(board.turn), End.PERPETUAL_CHECK
            case Repetition.LOSS:
                return _won(1 - board.turn), End.PERPETUAL_CHECK
        points = DECLARATION_POINTS[settings.declaration]
        if points[0] and board.can_declare_win(*points):
            return _won(board.turn), End.DECLARATION
        if len(board.moves) >= settings.max_plies:
            return Winner.DRAW, End.MAX_MOVES
        if settings.mate_nodes and self._mates.solve(board, settings.mate_nodes).is_mate:
            return _won(board.turn), End.ADJUDICATION
        return None

    def _finish(self, winner: Winner, end: End) -> None:
        usi = [move.usi() for move in self._board.moves]
        start = self._board.copy()
        while start.moves:
            start.pop()
        scored = [choice for choice in self._choices if choice is not None and choice.candidates]
        data = b""
        if scored:
            game = Game.from_usi(
                usi,
                sfen=start.sfen(),
                winner=winner,
                end=end,
                scores_cp=[*[None] * self._start, *self._scores],
                headers={"black": "komadori", "white": "komadori"},
            )
            game.candidates = self._candidates()
            write = find_format("hcpe3").write
            assert write is not None
            data = write(game, "utf-8")
        digest = hashlib.sha256(f"{start.sfen()} {' '.join(usi)}".encode()).digest()
        facts = StoredFacts(
            number=self.number,
            digest=int.from_bytes(digest[:8], "little"),
            winner=winner,
            end=end,
            foreseen=Winner.UNKNOWN if self._foreseen is None else self._foreseen,
            plies=len(usi),
            scored=len(scored),
            differing=sum(choice.move16 != choice.best16 for choice in scored),
            with_candidates=sum(len(choice.candidates) > 1 for choice in scored),
            nodes=self.playouts,
        )
        self.finished = StoredGame(facts, data, b"")
        self._root = None

    def _candidates(self) -> Candidates:
        plies = [()] * self._start + [c.candidates if c else () for c in self._choices]
        flat = [candidate for ply in plies for candidate in ply]
        return Candidates(
            np.array([len(ply) for ply in plies], np.uint16),
            np.array([move16 for move16, _ in flat], np.uint16),
            np.array([visits for _, visits in flat], np.uint16),
        )


def _won(side: int) -> Winner:
    return Winner.BLACK if side == BLACK else Winner.WHITE
