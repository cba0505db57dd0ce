"""Targets of tools/fuzz.py for the record formats: mutated files.

A file counts as rejected if any part of it was skipped, else as read.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from komadori._core.records import fixed_samples
from komadori.records import (
    FORMATS,
    Candidates,
    End,
    Game,
    RecordError,
    SampleWriter,
    Skipped,
    Winner,
    samples_of,
    write_games,
)
from komadori.records.formats import Format
from komadori.rules import BLACK, Board, Move, RulesError

PLIES = 12
#: Tokens of the formats' grammars.
TOKENS = {
    "csa": r"\n /\n PI\n +\n -\n %TORYO\n '** '** 99 T5\n P1-KY N+ V2\n 0055FU ,",
    "kif": r"\n 変化：2手\n 投了 *#評価値=5\n 同 手合割： (0:01/ 先手：a\n 2 まで | 詰",
    "ki2": r"\n ▲ △ ☗ 同 まで * 先手：a\n ７六歩 左 成",
    "jkf": r'{ } [ ] "moves" "move" "from" {"x":5,"y":5} null 1e99 \n{',
    "usi": r"moves startpos sfen 7g7f P*5e resign \n",
}


def tokens_of(name: str) -> tuple[bytes, ...]:
    return tuple(
        token.replace(r"\n", "\n").encode() for token in TOKENS.get(name, "").split(" ") if token
    )


def random_games(rng: random.Random, number: int) -> list[Game]:
    """Short games from the start position, with scores, times, comments and candidates."""
    games = []
    for _ in range(number):
        board, moves = Board(), []
        for _ in range(PLIES):
            moves.append(rng.choice(list(board.legal_moves)).usi())
            board.push_usi(moves[-1])
        game = Game.from_usi(
            moves,
            winner=Winner.WHITE if board.turn == BLACK else Winner.BLACK,
            end=End.RESIGN,
            scores_cp=[rng.randrange(-999, 999) for _ in moves],
            times_ms=[1000 * rng.randrange(99) for _ in moves],
            headers={"black": "先", "white": "後", "black_rating": "1500"},
        )
        game.comments = {0: "始", 5: "a\nb"}
        count = np.array([rng.randrange(2) for _ in moves], np.uint16)
        game.candidates = Candidates(count, game.moves[count > 0], count[count > 0])
        games.append(game)
    return games


def seeds_of(format: Format) -> Callable[[random.Random], list[bytes]]:
    def seeds(rng: random.Random) -> list[bytes]:
        files = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "seed"
            for number in (1, 2, 3):
                games = random_games(rng, number)
                if format.holds_games:
                    write_games(path, games, format.name)
                else:
                    with SampleWriter(path, format.name) as writer:
                        writer.write(samples_of(games))
                files.append(path.read_bytes())
        return files

    return seeds


def reader_of(format: Format) -> Callable[[bytes], None]:
    def read_games(data: bytes, skipped: list[Skipped]) -> None:
        assert format.read is not None
        for chunk in format.read(np.frombuffer(data, np.uint8), Path("fuzzed")):
            skipped += chunk.skipped
            for game in chunk.games:
                try:
                    game.final_board()
                except RulesError as error:
                    raise AssertionError(f"an illegal move was read: {error}") from error

    def read_positions(data: bytes, skipped: list[Skipped]) -> None:
        columns, faults, _ = fixed_samples(format.name, np.frombuffer(data, np.uint8))
        skipped += [Skipped(Path("fuzzed"), *fault) for fault in faults]
        for hcp, move16 in zip(columns["hcp"], columns["move16"].tolist(), strict=True):
            board = Board.from_hcp(hcp.tobytes())
            if move16 and not board.is_legal(Move.from_move16(move16)):
                raise AssertionError(f"an illegal move was read: {board.sfen()}")

    def read(data: bytes) -> None:
        skipped: list[Skipped] = []
        (read_games if format.holds_games else read_positions)(data, skipped)
        for skip in skipped:
            if not (0 <= skip.begin <= skip.offset <= skip.end <= len(data)) or not skip.reason:
                raise AssertionError(f"an offset outside the file: {skip}")
        if skipped:
            raise RecordError(str(skipped[0]))

    return read


#: Name -> (seeds, reader, tokens): the fields of fuzz.Target.
RECORDS = {
    f"records-{name}": (seeds_of(format), reader_of(format), tokens_of(name))
    for name, format in FORMATS.items()
}
