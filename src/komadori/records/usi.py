"""USI: one game per line, `position startpos moves ...` and optionally a word for the end."""

from __future__ import annotations

from komadori.records.ends import USI_WORDS, winner_for, word_of
from komadori.records.errors import RecordError
from komadori.records.game import STARTPOS, End, Game, Winner
from komadori.rules import Board, RulesError

__all__ = ["read_game", "write_usi"]

_ENDS = {row.word: row for row in USI_WORDS}


def read_game(line: str) -> Game:
    """Read a line: a position (default `startpos`), moves, an end.

    Raises RecordError if it can't be parsed, RulesError for illegal moves.
    """
    words = line.split()
    if words and words[0] == "position":
        del words[0]
    sfen = STARTPOS
    has_position = bool(words) and (words[0] in ("startpos", "sfen") or "/" in words[0])
    if words and words[0] == "startpos":
        del words[0]
    elif words and words[0] == "sfen":
        end = words.index("moves") if "moves" in words else min(len(words), 5)
        sfen = " ".join(words[1:end])
        del words[:end]
    elif words and "/" in words[0]:
        end = words.index("moves") if "moves" in words else min(len(words), 4)
        sfen = " ".join(words[:end])
        del words[:end]
    if words and words[0] == "moves":
        del words[0]
    row = _ENDS.get(words[-1]) if words else None
    moves = words[:-1] if row is not None else words
    if not moves and not has_position:
        raise RecordError(f"not a position: {line[:24]!r}")
    try:
        game = Game.from_usi(moves, sfen)
    except RulesError as error:
        raise RecordError(str(error)) from error
    board = game.final_board()
    if row is not None:
        game.end, game.winner = row.end, winner_for(row.outcome, board.turn)
    elif board.is_checkmate():
        game.end, game.winner = End.MATE, winner_for(_ENDS["resign"].outcome, board.turn)
    return game


def write_usi(game: Game) -> str:
    """Write a game as a line; an end without a word is left out. Raises RulesError."""
    board = Board(game.initial_sfen)
    start = "startpos" if game.initial_sfen == STARTPOS else f"sfen {game.initial_sfen}"
    moves = []
    for move16 in game.moves:
        move = board.move_from_move16(int(move16))
        moves.append(move.usi())
        board.push(move)
    mated = board.is_checkmate() and game.end in (End.MATE, End.UNKNOWN)
    word = None if mated else word_of(USI_WORDS, game.winner, game.end, board.turn)
    if word is None and game.winner == Winner.UNKNOWN and game.end != End.UNKNOWN:
        word = "interrupt"
    parts = ["position", start]
    if moves or word:
        parts += ["moves", *moves]
    return " ".join([*parts, word] if word else parts)
