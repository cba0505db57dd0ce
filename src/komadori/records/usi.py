"""USI: one game per line, `position startpos moves ...` and optionally a word for the end."""

from __future__ import annotations

from komadori.records.ends import USI_WORDS, winner_for, word_of
from komadori.records.errors import RecordError
from komadori.records.game import STARTPOS, End, Game, Winner
from komadori.rules import Board, RulesError

__all__ = ["read_sound_part", "write_usi"]

_ENDS = {row.word: row for row in USI_WORDS}


def read_sound_part(line: str) -> tuple[Game, RecordError | None]:
    """Read a line: a position (default `startpos`), moves, an end.

    Also returns the error of the first illegal move; the game ends before it. Raises RecordError if
    that is the first move, or if the line can't be parsed.
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
        board = Board(sfen)
        fault = None
        for played, move in enumerate(moves):
            try:
                board.push_usi(move)
            except RulesError as error:
                if not played:
                    raise
                fault = RecordError(f"ply {played + 1}: {error}")
                del moves[played:]
                break
        game = Game.from_usi(moves, sfen)
    except RulesError as error:
        raise RecordError(str(error)) from error
    if fault is not None:
        return game, fault
    if row is not None:
        game.end, game.winner = row.end, winner_for(row.outcome, board.turn)
    elif board.is_checkmate():
        game.end, game.winner = End.MATE, winner_for(_ENDS["resign"].outcome, board.turn)
    return game, None


def keeps_winner(game: Game) -> bool:
    """Whether the written line tells who won: by a word for the end, or by a checkmate."""
    turn = (game.first_turn + len(game)) % 2
    return (
        game.winner == Winner.UNKNOWN
        or _word(game, turn) is not None
        or _is_mated(game, game.final_board())
    )


def _word(game: Game, turn: int) -> str | None:
    return word_of(USI_WORDS, game.winner, game.end, turn)


def _is_mated(game: Game, board: Board) -> bool:
    return game.end in (End.MATE, End.UNKNOWN) and board.is_checkmate()


def write_usi(game: Game) -> str:
    """Write a game as a line; an end without a word is left out. Raises RulesError."""
    board = Board(game.initial_sfen)
    start = "startpos" if game.initial_sfen == STARTPOS else f"sfen {game.initial_sfen}"
    moves = []
    for move16 in game.moves:
        move = board.move_from_move16(int(move16))
        moves.append(move.usi())
        board.push(move)
    word = None if _is_mated(game, board) else _word(game, board.turn)
    if word is None and game.winner == Winner.UNKNOWN and game.end != End.UNKNOWN:
        word = "interrupt"
    parts = ["position", start]
    if moves or word:
        parts += ["moves", *moves]
    return " ".join([*parts, word] if word else parts)
