"""Opening books: reading, sampling, building from games, use by the engine."""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from usi_fakes import Gui

from komadori import records
from komadori.cli.book import command
from komadori.records import Game, Winner
from komadori.rules import Board
from komadori.usi.book import (
    HEADER,
    NO_BOOK,
    TEST_SFEN,
    Book,
    BookError,
    BookMaker,
    BookMove,
    draw,
    flip_move,
    flip_sfen,
    write_book,
)
from komadori.usi.book_answers import BookAnswers
from komadori.usi.job import Job
from komadori.usi.options import ServerOptions
from komadori.usi.protocol import GoCommand

START = Board().sfen()
BOOK = f"""{HEADER}
sfen {START}
7g7f 3c3d 30 20 1
2g2f 8c8d 20 20 3
5i9a none 900 20 50
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.db"
    path.write_text(BOOK)
    return path


def test_the_legal_moves_are_read_the_most_played_first(book: Path) -> None:
    assert Book(book).moves(Board()) == [
        BookMove("2g2f", "8c8d", 20, 20, 3),
        BookMove("7g7f", "3c3d", 30, 20, 1),
    ]
    board = Board()
    board.push_usi("7g7f")
    assert Book(book).moves(board) == []


def test_a_path_that_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "b\udcff.db"
    with pytest.raises(BookError, match="a book's path must be UTF-8"):
        write_book(path, [])
    games = tmp_path / "a.kif"
    games.write_text("1 ７六歩(77)\n2 ３四歩(33)\n")
    result = CliRunner().invoke(command, ["make", str(games), "-o", str(path)])
    assert result.exit_code == 2
    assert "must be UTF-8" in result.output
    assert [file.name for file in tmp_path.iterdir()] == ["a.kif"]


def test_a_book_is_used_with_the_colours_exchanged_too(tmp_path: Path) -> None:
    board = Board()
    for move in ("7g7f", "3c3d", "8h2b+"):
        board.push_usi(move)
    path = tmp_path / "book.db"
    path.write_text(f"{HEADER}\nsfen {board.sfen()}\n3a2b B*4e 30 20 1\n8b2b none 9 20 5\n")
    other = Board(flip_sfen(board.sfen()))
    assert other.turn != board.turn
    assert [m.usi for m in Book(path).moves(board)] == ["8b2b", "3a2b"]
    assert [m.usi for m in Book(path).moves(other)] == ["2h8h", "7i8h"]
    assert Book(path).moves(other)[1].ponder == "B*6e"


@given(st.randoms(use_true_random=False), st.integers(0, 120))
def test_flipping_exchanges_the_colours_and_twice_is_nothing(
    source: random.Random, plies: int
) -> None:
    board = Board()
    other = Board(flip_sfen(START))
    for _ in range(plies):
        moves = [move.usi() for move in board.legal_moves]
        if not moves:
            break
        assert sorted(moves) == sorted(flip_move(m.usi()) for m in other.legal_moves)
        move = source.choice(moves)
        board.push_usi(move)
        other.push_usi(flip_move(move))
        assert flip_sfen(board.sfen()) == other.sfen()
        assert flip_sfen(other.sfen()) == board.sfen()


def test_the_first_row_of_a_move_counts(tmp_path: Path) -> None:
    rows = "7g7f 3c3d 10 10 5\n2g2f none 5 10 4\n7g7f 8c8d 99 10 9\n"
    book = tmp_path / "a.db"
    book.write_text(f"#YANEURAOU-DB2016 1.00\nsfen {Board().sfen()}\n{rows}")
    found = [(move.usi, move.ponder, move.count) for move in Book(book).moves(Board())]
    assert found == [("7g7f", "3c3d", 5), ("2g2f", None, 4)]


def test_the_number_of_the_move_counts_for_nothing(book: Path) -> None:
    assert len(Book(book).moves(Board(START.rpartition(" ")[0] + " 9"))) == 2


def test_moves_are_drawn_by_their_counts() -> None:
    moves = [BookMove("7g7f", None, 0, 0, 9), BookMove("2g2f", None, 0, 0, 1)]
    source = random.Random(1)
    drawn = [draw(moves, source).usi for _ in range(1000)]
    assert 850 < drawn.count("7g7f") < 950


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"junk\n", "not a book: the first line isn't"),
        (b"", "not a book: the first line isn't"),
        (
            f"{HEADER}\nsfen {START}\n7g7f none 0 0 1\n"
            "sfen 4k4/9/9/9/9/9/9/9/4K4 b - 1\n5i5h none 0 0 1\n".encode(),
            "the positions aren't sorted by SFEN, or one occurs twice",
        ),
        (b"#YANEURAOU-DB2016 9.99\n", f"not a book: the first line isn't {HEADER}"),
        (f"{HEADER}\nsfen {TEST_SFEN}\n5i5z none 0 0 1\n".encode(), "damaged: .* move"),
        (f"{HEADER}\nsfen {TEST_SFEN}\n5i5h none 0 0 x\n".encode(), "damaged: .* numeric field"),
        (f"{HEADER}\nsfen {TEST_SFEN}\n5i5h none 0 0 1 定跡\n".encode("cp932"), "damaged: .*UTF-8"),
    ],
)
def test_a_file_that_is_no_book_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.db"
    path.write_bytes(content)
    with pytest.raises(BookError, match=rf"bad\.db: {message}") as raised:
        Book(path)
    assert "book error" not in str(raised.value)  # the library's words
    assert "unsupported" not in str(raised.value)
    with pytest.raises(BookError, match="nowhere"):
        Book.find("nowhere.db")
    with pytest.raises(BookError, match="no book aaa"):  # stat() is an error, not "no such file"
        Book.find("a" * 300)


def test_a_place_of_a_book_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.db"
    path.write_text(f"{HEADER}\nsfen {START}\n7g7f none x 0 1\n")
    with pytest.raises(BookError, match=rf"bad\.db: damaged: invalid .*, in the position {START}"):
        Book(path).moves(Board())
    shown = CliRunner().invoke(command, ["show", str(path)])
    assert (shown.exit_code, "bad.db: " in shown.output) == (1, True)


def games(*extra: tuple[str, Winner, list[int]]) -> list[Game]:
    lines = (
        ("7g7f 3c3d 2g2f", Winner.BLACK, [40, -30, 20]),
        ("7g7f 3c3d 6g6f", Winner.WHITE, [60, -50, 0]),
        ("7g7f 8c8d", Winner.WHITE, [20, -10]),
        ("2g2f 8c8d", Winner.BLACK, [10, 0]),
        *extra,
    )
    return [
        Game.from_usi(moves.split(), winner=winner, scores_cp=scores)
        for moves, winner, scores in lines
    ]


def test_a_book_of_games(tmp_path: Path) -> None:
    maker = BookMaker(plies=2)
    for game in games():
        maker.add(game)
    path = tmp_path / "made.db"
    assert write_book(path, maker.entries(min_count=1)) == (3, 5)
    book = Book(path)
    assert book.moves(Board()) == [
        BookMove("7g7f", "3c3d", 40, 0, 3),
        BookMove("2g2f", "8c8d", 10, 0, 1),
    ]
    board = Board()
    board.push_usi("7g7f")
    assert book.moves(board) == [
        BookMove("3c3d", "2g2f", -40, 0, 2),
        BookMove("8c8d", None, -10, 0, 1),
    ]
    assert write_book(path, maker.entries(min_count=2)) == (2, 2)


def test_a_book_of_winners(tmp_path: Path) -> None:
    maker = BookMaker(winner_only=True)
    for game in games(("9g9f 9c9d", Winner.DRAW, [0, 0]), ("1g1f", Winner.UNKNOWN, [0])):
        maker.add(game)
    write_book(tmp_path / "w.db", maker.entries())
    # Two of Black's first moves won, each once: the better score comes first.
    found = [(m.usi, m.count, m.score_cp) for m in Book(tmp_path / "w.db").moves(Board())]
    assert found == [("7g7f", 1, 40), ("2g2f", 1, 10)]


def test_the_command_makes_a_book_of_the_sample(tmp_path: Path) -> None:
    path = tmp_path / "sample.db"
    arguments = ["make", str(records.sample_path()), "-o", str(path), "--plies", "12"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert "2,467 games" in done.output
    book = Book(path)  # sorted, or it wouldn't open
    assert all(move.count >= 2 for move in book.moves(Board()))
    shown = CliRunner().invoke(command, ["show", str(path), "startpos"])
    assert shown.output.splitlines()[0].startswith(book.moves(Board())[0].usi)


def many_positions() -> list[tuple[str, list[BookMove]]]:
    """12,960 positions of two kings, sorted, each with a score of its own."""
    found = []
    for place, other in itertools.permutations(range(81), 2):
        squares = ["1"] * 81
        squares[place], squares[other] = "K", "k"
        ranks = ["".join(squares[i : i + 9]) for i in range(0, 81, 9)]
        board = "/".join(re.sub("1+", lambda ones: str(len(ones[0])), rank) for rank in ranks)
        found += [f"{board} {turn} Pp" for turn in "bw"]
    found.sort()
    return [(f"{sfen} 1", [BookMove("P*5e", None, i, 0, 1)]) for i, sfen in enumerate(found)]


def test_every_position_of_a_book_of_many_is_found(tmp_path: Path) -> None:
    """The library checks the order of 10,000 positions, and looked up none in a longer book."""
    entries = many_positions()
    path = tmp_path / "large.db"
    assert write_book(path, entries) == (12_960, 12_960)
    book = Book(path)
    for sfen, moves in [*entries[:20], *entries[::500], *entries[-20:]]:
        entry = book._entry(sfen.removesuffix("1") + "7")
        assert [row.score for row in entry.moves] == [moves[0].score_cp]
    sfen, moves = next(e for e in entries if e[0].startswith("4k4/9/9/9/9/9/9/9/4K4 b"))
    assert book.moves(Board(sfen)) == moves
    assert book.moves(Board(flip_sfen(sfen))) == [
        BookMove("P*5e", None, book._entry(flip_sfen(sfen)).moves[0].score, 0, 1)
    ]
    assert book.moves(Board()) == []
    shown = CliRunner().invoke(command, ["show", str(path), "sfen", *sfen.split()])
    assert (shown.exit_code, shown.output.split()[:2]) == (0, ["P*5e", "1"])


def test_damage_in_a_book_of_many_positions_is_named(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    entries = many_positions()
    sfen = entries[6_000][0]
    write_book(path, entries)
    whole = path.read_bytes()
    row = b"sfen " + sfen.encode() + b"\nP*5e none "
    assert whole.count(row) == 1
    path.write_bytes(whole.replace(row, row + b"x"))
    with pytest.raises(BookError, match=r"large\.db: damaged: .*numeric field"):
        Book(path)._entry(sfen)
    path.write_bytes(whole + b"5i5h none 0 0 1\n" * 100_000)
    with pytest.raises(BookError, match=r"large\.db: damaged: a position of more than"):
        Book(path)._entry(entries[-1][0])
    # Beyond the positions that are checked when a book is opened.
    write_book(path, [*entries[:10_500], *reversed(entries[10_500:])])
    with pytest.raises(BookError, match=r"large\.db: the positions aren't sorted by SFEN"):
        Book(path)._entry(entries[-1][0])


def test_an_answer_that_cannot_follow_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    path.write_text(f"{HEADER}\nsfen {START}\n7g7f 9i9a 10 0 5\n2g2f 8c8d 10 0 4\n")
    assert [move.ponder for move in Book(path).moves(Board())] == [None, "8c8d"]


def test_the_engine_plays_its_book(book: Path) -> None:
    with Gui().ready() as gui:
        gui.send("setoption name OwnBook value true", f"setoption name Book_File value {book}")
        gui.send("setoption name Best_Book_Move value true")
        gui.send("position startpos", "go btime 1000 wtime 1000")
        assert gui.expect("info depth 20").endswith("score cp 20 pv 2g2f 8c8d")
        assert gui.expect("bestmove") == "bestmove 2g2f ponder 8c8d"
        assert gui.source.searcher.seen == []
        gui.send("setoption name Best_Book_Move value false")
        drawn = set()
        for _ in range(60):
            gui.send("go btime 1000 wtime 1000")
            drawn.add(gui.expect("bestmove").split()[1])
        assert drawn == {"7g7f", "2g2f"}
        # Out of book, for analysis, or beyond its ply limit, the searcher is used.
        for line in ("go infinite", "go nodes 10 searchmoves 7g7f"):
            gui.send(line, "stop")
            gui.expect("bestmove")
        gui.send("position startpos moves 7g7f", "go nodes 10")
        gui.expect("bestmove")
        assert len(gui.source.searcher.seen) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_book_that_is_no_regular_file_is_refused(book: Path, tmp_path: Path) -> None:
    """Of a pipe, such as a shell's <(...), the library would wait in vain for a second opening."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    show = [sys.executable, "-m", "komadori", "book", "show"]
    feed = 'exec 3<>"$0"; cat "$1" >&3; shift; exec "$@" "$0" 3<&-'
    done = subprocess.run(
        ["sh", "-c", feed, pipe, book, *show], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stderr) == (1, f"Error: {pipe}: not a regular file\n")
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(BookError, match="not a regular file"):
            Book(path)


def test_book_moves_are_bounded_by_the_ply(book: Path) -> None:
    with Gui().ready() as gui:
        gui.send("setoption name OwnBook value true", f"setoption name Book_File value {book}")
        gui.send("setoption name Book_Moves value 2")
        gui.send(f"position sfen {START.rpartition(' ')[0]} 3", "go nodes 10")
        gui.expect("bestmove")
        assert len(gui.source.searcher.seen) == 1


def test_a_bad_book_is_reported_and_played_without(tmp_path: Path) -> None:
    with Gui().ready() as gui:
        gui.send("setoption name OwnBook value true")
        gui.send(f"setoption name Book_File value {tmp_path / 'none.db'}")
        gui.send("position startpos", "go nodes 10")
        assert "none.db" in gui.expect("info string error")
        gui.expect("bestmove")
        assert len(gui.source.searcher.seen) == 1


def test_no_book_is_a_name_for_none() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name USI_OwnBook value true", "setoption name BookFile value no_book")
        gui.send("position startpos", "go nodes 10")
        assert not any("book" in line for line in gui.rest())
        assert len(gui.source.searcher.seen) == 1


def test_a_missing_name_of_a_book_is_reported_once() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name USI_OwnBook value true", "position startpos", "go nodes 10")
        assert gui.expect("info string") == "info string OwnBook is on, but Book_File names no book"
        gui.expect("bestmove")
        gui.send("go nodes 10")
        gui.expect("bestmove")
        assert not [line for line in gui.rest() if "Book_File" in line]


def test_a_book_that_is_removed_is_reported_once_and_played_without(book: Path) -> None:
    with Gui().ready() as gui:
        gui.send("setoption name OwnBook value true", f"setoption name Book_File value {book}")
        gui.send("position startpos", "go nodes 10")
        gui.expect("bestmove")
        assert gui.source.searcher.seen == []
        book.unlink()
        gui.send("go nodes 10")
        assert f"{book}: " in gui.expect("info string error")
        gui.expect("bestmove")
        gui.send("go nodes 10")
        gui.expect("bestmove")
        assert len(gui.source.searcher.seen) == 2
        assert not [line for line in gui.rest() if "error" in line]


def test_a_book_that_is_replaced_is_opened_again(book: Path) -> None:
    options = ServerOptions(own_book=True, book_file=str(book), best_book_move=True)
    answers, job = BookAnswers(), Job(GoCommand(), Board())

    def played_and_said() -> tuple[str | None, str]:
        lines, chosen = answers.find(job, options)
        return chosen and chosen.move, lines[-1].string if lines else ""

    assert played_and_said() == ("2g2f", "book: 2 moves")
    book.write_text(BOOK.partition("\n")[2])
    for said in (f"error: {book}: {NO_BOOK}; playing without a book", ""):
        assert played_and_said() == (None, said)
    book.unlink()
    if hasattr(os, "mkfifo"):  # of which the library would wait for a writer
        os.mkfifo(book)
    for said in (f"error: no book {book}: looked for {book}; playing without a book", ""):
        assert played_and_said() == (None, said)
    book.unlink()
    book.write_text(f"{HEADER}\nsfen {START}\n7g7f none 0 0 1\n")
    assert played_and_said() == ("7g7f", "book: 1 move")


def test_options_that_limit_the_search() -> None:
    with Gui().ready() as gui:
        gui.send("setoption name Threads value 2", "isready")
        gui.expect("readyok")
        assert gui.server._options.values()["UCT_Threads"] == "2"
        gui.send("setoption name UCT_NodeLimit value 5000", "position startpos", "go nodes 10")
        gui.expect("bestmove")
        gui.send("setoption name Const_Playout value 20", "go btime 1000 wtime 1000")
        gui.expect("bestmove")
    limited, constant = gui.source.searcher.seen
    assert (limited.nodes, limited.playouts) == (10, 5000)
    assert (constant.nodes, constant.playouts, constant.btime_ms) == (20, None, None)


def test_the_move_played_is_the_first_of_the_lines_asked_for(book: Path) -> None:
    for multipv in (1, 2):
        answers = BookAnswers()
        for _ in range(30):
            options = ServerOptions(own_book=True, book_file=str(book))
            lines, chosen = answers.find(Job(GoCommand(), Board()), options, multipv)
            moves = [line for line in lines if line.pv]
            assert chosen is not None
            assert len(moves) <= multipv
            assert moves[0].pv[0] == chosen.move
            assert [line.multipv for line in moves] == list(range(1, len(moves) + 1))
