"""Moves from an opening book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from komadori.usi.job import Job
from komadori.usi.options import ServerOptions
from komadori.usi.protocol import BestMove, InfoLine, Score
from komadori.wording import counted

if TYPE_CHECKING:
    import random

    from komadori.usi.book import Book


class BookAnswers:
    """The book named by the options, opened on first use, and again when its file has changed."""

    def __init__(self) -> None:
        self._opened: object = None  # the option's value and the state of its file
        self._book: Book | None = None
        self._random: random.Random | None = None
        self._lacks_file = False  # told

    def find(
        self, job: Job, options: ServerOptions, multipv: int = 1
    ) -> tuple[list[InfoLine], BestMove | None]:
        """Return `multipv` of the book's moves as info lines, the move to play first, and that
        move; None if there is none.

        A book that can't be read, or an option that asks for one without a file, is reported once,
        as an `info string`.
        """
        go, limit = job.go, options.book_moves
        if options.own_book and not options.book_file and not self._lacks_file:
            self._lacks_file = True
            return [InfoLine(string="OwnBook is on, but Book_File names no book")], None
        if (
            not options.plays_from_book
            or go.infinite
            or go.ponder
            or go.searchmoves
            or (limit and job.board.ply > limit)
        ):
            return [], None
        from komadori.usi.book import Book, BookError, draw, file_state

        try:
            wanted = (options.book_file, file_state(options.book_file))
            if self._opened != wanted:
                self._opened, self._book = wanted, None
                self._book = Book.find(options.book_file)
            moves = self._book.moves(job.board) if self._book is not None else []
        except (BookError, OSError) as error:
            self._book = None
            return [InfoLine(string=f"error: {error}; playing without a book")], None
        if not moves:
            return [], None
        if self._random is None:
            import random

            self._random = random.Random()
        chosen = moves[0] if options.best_book_move else draw(moves, self._random)
        shown = [chosen, *(move for move in moves if move is not chosen)][:multipv]
        lines = [
            InfoLine(
                depth=move.depth,
                multipv=number,
                score=None if move.score_cp is None else Score(cp=move.score_cp),
                pv=(move.usi, *([move.ponder] if move.ponder else [])),
            )
            for number, move in enumerate(shown, 1)
        ]
        lines.append(InfoLine(string=f"book: {counted(len(moves), 'move')}"))
        return lines, BestMove(chosen.usi, chosen.ponder or "")
