"""`komadori records`: files, messages, exit status."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from komadori.cli._group import group
from komadori.cli.records import command
from komadori.records import (
    Candidates,
    End,
    Game,
    RecordError,
    Winner,
    load_samples,
    read_games,
    sample_path,
    samples_of,
    write_games,
)
from komadori.records.formats import find_format
from komadori.records.selection import find_files, match_files

from .conftest import random_game


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def csa(tmp_path: Path, even_games: list[Game]) -> Path:
    path = tmp_path / "games" / "deep" / "a.csa"
    path.parent.mkdir(parents=True)
    write_games(path, even_games)
    return path


@pytest.fixture
def damaged(csa: Path) -> Path:
    data = csa.read_bytes()
    second = data.index(b"/\n") + 2
    move = data.index(b"\n+", second) + 1
    csa.write_bytes(data[:move] + b"+1111OU\n" + data[move:])
    return csa


def test_a_folder_is_searched(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    (tmp_path / "games" / "notes.md").write_text("not a record")
    result = run("stats", tmp_path / "games")
    assert result.exit_code == 0
    assert f"games      {len(even_games)}" in result.stdout
    assert f"{sum(map(len, even_games)):,}" in result.stdout


def test_stats_of_no_game() -> None:
    result = run("stats", "--min-plies", "100000", sample_path())
    assert "games      0\n" in result.stdout


def test_stats_of_the_sample() -> None:
    result = run("stats", "--distinct", sample_path())
    assert result.exit_code == 0
    assert "games      2,467" in result.stdout
    assert "267,648" in result.stdout
    assert "distinct" in result.stdout
    assert "agrees with the result in 8" in result.stdout


def test_a_damaged_game_is_reported_with_file_byte_and_reason(
    damaged: Path, tmp_path: Path, even_games: list[Game]
) -> None:
    out = tmp_path / "a.kif"
    result = run("convert", damaged, "-o", out)
    assert result.exit_code == 1
    assert len(read_games(out)) == len(even_games) - 1
    offset = damaged.read_bytes().index(b"+1111OU")
    assert "1 skipped:" in result.stderr
    assert f"{damaged}: byte {offset}: ply 1: " in result.stderr


def test_a_kind_of_fault_keeps_its_apostrophes(tmp_path: Path) -> None:
    problem = Game.from_usi(["G*3b"], "8l/7k1/9/6S2/9/9/9/9/9 b 2G 1", winner=Winner.BLACK)
    write_games(tmp_path / "a.kif", [problem])
    result = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.hcpe3")
    assert "1 x hcp can't hold a position without Black's king\n" in result.stderr


def test_a_kind_of_fault_is_a_whole_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csa").write_text("P+11KI\nP-12OU\n+\n+1112KI\n")
    heading = run("stats", tmp_path / "a.csa").stderr.splitlines()[1]
    assert heading.endswith("is in check from 1a though it is the other side's move")


def test_a_kind_of_fault_names_no_place(tmp_path: Path) -> None:
    """The places follow below it: a line in KIF, a ply in CSA."""
    (tmp_path / "a.kif").write_text("手合割：平手\n   1 ７六歩(77)\n   2 １一玉(99)\n")
    (tmp_path / "b.csa").write_text("PI\n+\n+7776FU\n-1122OU\n")
    lines = run("stats", tmp_path / "a.kif", tmp_path / "b.csa").stderr.splitlines()
    kinds = [line for line in lines if line.startswith("  1 x ")]
    assert kinds == ["  1 x １一玉(N) is not legal", "  1 x -1122OU is not legal"]
    assert "a.kif: byte 38: line 3: ply 2: " in lines[2]


@pytest.mark.parametrize(
    "line",
    ["convert {all} -o b.kif", "dedupe {all} -o b.hcpe", "split {all} --train b.csa --test c.csa"],
)
def test_the_file_without_games_is_named(line: str, csa: Path, tmp_path: Path) -> None:
    positions = tmp_path / "positions.hcpe"
    assert run("convert", csa, "-o", positions).exit_code == 0
    words = line.split()
    at = words.index("{all}")
    outputs = [tmp_path / w if "." in w else w for w in words[at + 1 :]]
    result = run(*words[:at], csa, positions, *outputs)
    assert result.exit_code == 2
    assert f"{positions} holds " in result.stderr
    assert not [path for path in tmp_path.iterdir() if path.name[0] in "bc"]


def test_variations_that_a_format_has_none_of_are_counted(tmp_path: Path) -> None:
    game = random_game(1, plies=4)
    game.variations[0] = [random_game(2, plies=2)]
    write_games(tmp_path / "a.kif", [game])
    kept = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.kif")
    lost = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.csa")
    assert (kept.exit_code, kept.stderr) == (0, "")
    assert (lost.exit_code, lost.stderr) == (0, "1 variation left out: csa has none\n")


def test_bookmarks_that_a_format_has_none_of_are_counted(tmp_path: Path) -> None:
    game = random_game(1, plies=4)
    game.bookmarks = {0: "a", 2: "b"}
    positions = [board.sfen() for board, _ in game.moving_board()]
    game.variations[1] = [random_game(2, sfen=positions[1], plies=2)]
    game.variations[1][0].bookmarks = {1: "c"}
    write_games(tmp_path / "a.kif", [game])
    kept = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.kif")
    lost = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.jkf")
    assert (kept.exit_code, kept.stderr) == (0, "")
    assert (lost.exit_code, lost.stderr) == (0, "3 bookmarks left out: jkf has none\n")


@pytest.mark.parametrize("suffix", ["kif", "ki2", "csa", "jkf"])
def test_characters_that_an_encoding_lacks_are_counted(suffix: str, tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f"], headers={"black": "한글?", "white": "髙橋"})
    game.comments[1] = "é"
    write_games(tmp_path / "a.kif", [game, game])
    lost = run(
        "convert", tmp_path / "a.kif", "-o", tmp_path / f"b.{suffix}", "--encoding=shift-jis"
    )
    assert (lost.exit_code, lost.stderr) == (0, "6 characters written as ?: not in Shift-JIS\n")
    kept = run("convert", tmp_path / "a.kif", "-o", tmp_path / f"c.{suffix}")
    assert (kept.exit_code, kept.stderr) == (0, "")


def test_verbose_lists_every_place(csa: Path) -> None:
    bad = "/\nPI\n+\n+1111OU\n" * 7
    csa.write_text("PI\n+\n+7776FU\n%TORYO\n" + bad)
    short, full = run("stats", csa), run("stats", csa, "--verbose")
    assert short.stderr.count(f"{csa}: byte") == 3
    assert "and 4 more" in short.stderr
    assert full.stderr.count(f"{csa}: byte") == 7
    assert "7 x " in short.stderr


def test_nothing_usable(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csa"
    empty.write_text("")
    text = tmp_path / "text.csa"
    text.write_text("once upon a time\n")
    out = tmp_path / "out.hcpe3"
    for paths in ([empty], [text], [empty, text]):
        assert run("convert", *paths, "-o", out).exit_code == 2
        assert not out.exists()
    assert run("stats", tmp_path / "missing.csa").exit_code == 2
    assert run("stats", "--from", "nonsense", text).exit_code == 2


def test_a_sample_that_is_not_written_is_no_skipped_game(tmp_path: Path) -> None:
    kept = tmp_path / "a.kif"
    kept.write_text("mine")
    for output, named in (
        (kept, kept),
        (docx := tmp_path / "a.docx", docx),
        (kept / "b.kif", kept),
    ):
        result = run("sample", output, "--games", "1")
        assert result.exit_code == 2
        assert str(named) in result.stderr
    assert kept.read_text() == "mine"


def test_one_unreadable_file_does_not_stop_the_others(csa: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csa.xz"
    bad.write_bytes(b"not xz")
    result = run("stats", bad, csa)
    assert result.exit_code == 1
    assert "damaged compression" in result.stderr
    assert "games      8" in result.stdout


def test_an_unreadable_folder_is_reported(
    csa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    (folder / "locked").mkdir(parents=True)
    shutil.copy(csa, folder)
    scan = os.scandir

    def scan_unlocked(path: Any = ".") -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_unlocked)
    result = run("stats", folder)
    assert result.exit_code == 1
    assert "games      8" in result.stdout
    assert f"{folder / 'locked'}: byte 0: Permission denied" in result.stderr
    with pytest.raises(PermissionError, match="locked"):
        list(find_files([folder]))


def test_a_file_in_a_folder_that_may_not_be_entered_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "locked" / "a.csa"
    stat = os.stat

    def stat_unlocked(name: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if str(name) == str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(name))
        return stat(name, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat_unlocked)
    for find in (lambda: list(find_files([path])), lambda: match_files([str(path)])):
        with pytest.raises(RecordError, match=r"a\.csa: Permission denied"):
            find()


def test_conversion_round_the_formats(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    path = csa
    for suffix in ("kif", "jkf", "csa.xz", "hcpe3", "usi", "hcpe3.gz"):
        out = tmp_path / f"b.{suffix}"
        assert run("convert", path, "-o", out).exit_code == 0
        path = out
    games = read_games(path)
    assert [game.usi_moves() for game in games] == [game.usi_moves() for game in even_games]
    assert [game.winner for game in games] == [game.winner for game in even_games]


def test_positions_out_of_games(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    path = csa
    for suffix in ("psv", "hcpe", "apery", "hcpe2"):
        out = tmp_path / f"b.{suffix}"
        assert run("convert", path, "-o", out).exit_code == 0
        path = out
    samples = load_samples(path)
    assert np.array_equal(samples.hcp, samples_of(even_games).hcp)


def test_positions_do_not_make_games(csa: Path, tmp_path: Path) -> None:
    run("convert", csa, "-o", tmp_path / "a.psv")
    result = run("convert", tmp_path / "a.psv", "-o", tmp_path / "a.csa")
    assert result.exit_code == 2
    assert not (tmp_path / "a.csa").exists()
    assert run("stats", tmp_path / "a.psv", "--min-rating", "1000").exit_code == 2


def test_an_output_is_left_alone_where_the_run_fails(csa: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.kif"
    out.write_text("before")
    empty = tmp_path / "empty.csa"
    empty.write_text("")
    assert run("convert", empty, "-o", out).exit_code == 2
    assert out.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.kif", "empty.csa", "games"]


@pytest.mark.parametrize("command", ["convert", "split", "dedupe"])
def test_nothing_selected_beside_damage_writes_nothing(
    command: str, damaged: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.hcpe3"
    write_games(old, read_games(sample_path())[:1])
    before = old.read_bytes()
    train = ["--train", old, "--test", tmp_path / "test.hcpe3"]
    outputs = train if command == "split" else ["-o", old]
    result = run(command, damaged, *outputs, "--max-plies", "1")
    assert result.exit_code == 2
    assert "1 skipped:" in result.stderr
    assert result.stderr.endswith("nothing meets the conditions; nothing was written\n")
    assert old.read_bytes() == before


def test_conditions(tmp_path: Path) -> None:
    games = [random_game(seed, plies=10 * (seed + 1)) for seed in range(5)]
    for number, game in enumerate(games):
        game.headers = {
            "black": f"Engine{number}",
            "white": "other",
            "black_rating": str(1000 * number),
            "white_rating": "2500",
        }
    games[4].winner = Winner.DRAW
    games[4].end = games[4].end.SENNICHITE
    path = tmp_path / "a.csa"
    write_games(path, games)

    def left(*options: str) -> list[str]:
        out = tmp_path / "out.csa"
        result = run("convert", path, "-o", out, *options)
        assert result.exit_code == 0, result.output
        return [game.black for game in read_games(out)]

    assert left("--min-rating", "2500") == ["Engine3", "Engine4"]
    assert left("--min-plies", "20", "--max-plies", "30") == ["Engine1", "Engine2"]
    assert left("--engine", "engine3") == left("--player", "GINE3") == ["Engine3"]
    assert left("--result", "sennichite") == left("--result", "draw") == ["Engine4"]
    assert len(left("--result", "black", "--result", "white")) == 4
    assert "left out by the conditions" in run("stats", path, "--max-plies", "10").stderr


def test_split_by_game_is_repeatable(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    def parts(seed: int) -> tuple[list[list[str]], list[list[str]]]:
        train, test = tmp_path / "train.hcpe3", tmp_path / "test.hcpe3"
        options = ["--train", train, "--test", test, "--ratio", "0.4", "--seed", str(seed)]
        assert run("split", csa, *options).exit_code == 0
        return tuple([g.usi_moves() for g in read_games(p)] for p in (train, test))  # type: ignore[return-value]

    first = parts(1)
    assert first == parts(1)
    assert any(parts(seed) != first for seed in (2, 3, 4))
    together = sorted(first[0] + first[1])
    assert together == sorted(game.usi_moves() for game in even_games)
    assert all(first)


@pytest.mark.parametrize("suffix", ["hcpe3", "psv"])
def test_disjoint_parts_share_no_position(csa: Path, tmp_path: Path, suffix: str) -> None:
    train, test = tmp_path / f"train.{suffix}", tmp_path / f"test.{suffix}"
    result = run("split", csa, "--train", train, "--test", test, "--ratio", "0.5", "--disjoint")
    assert result.exit_code == 0
    seen = {row.tobytes() for row in load_samples(train).hcp}
    held = [row.tobytes() for row in load_samples(test).hcp]
    assert not seen & set(held)
    shared = int(result.stdout.splitlines()[-1].split()[0].replace(",", ""))
    total = int(result.stdout.splitlines()[-1].split()[3].replace(",", ""))
    assert shared > 0  # the start position, at least
    assert len(held) == total - shared


def test_split_makes_games_out_of_positions(csa: Path, tmp_path: Path) -> None:
    run("convert", csa, "-o", tmp_path / "all.psv")
    train, test = tmp_path / "train.psv", tmp_path / "test.psv"
    options = ["--train", train, "--test", test, "--ratio", "0.5"]
    assert run("split", tmp_path / "all.psv", *options).exit_code == 0
    whole = load_samples(tmp_path / "all.psv")
    lengths = set(np.unique(whole.game, return_counts=True)[1].tolist())
    for part in (train, test):
        assert set(np.unique(load_samples(part).game, return_counts=True)[1].tolist()) <= lengths


def test_dedupe_by_game(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    out = tmp_path / "out.csa"
    result = run("dedupe", csa, csa, "-o", out)
    assert result.exit_code == 0
    assert f"{len(even_games)} duplicate games dropped" in result.stdout
    assert list(read_games(out)) == even_games


def test_dedupe_by_position(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    every = samples_of(even_games).hcp
    distinct = len({row.tobytes() for row in every})
    for suffix in ("hcpe3", "psv"):
        out = tmp_path / f"out.{suffix}"
        result = run("dedupe", csa, csa, "-o", out, "--by", "position")
        assert result.exit_code == 0
        assert f"{2 * len(every) - distinct:,} duplicate positions dropped" in result.stdout
        hcp = load_samples(out).hcp
        assert len(hcp) == distinct == len({row.tobytes() for row in hcp})
    assert len(read_games(tmp_path / "out.hcpe3")) == 2 * len(even_games)
    assert run("dedupe", csa, "-o", tmp_path / "o.csa", "--by", "position").exit_code == 2


def test_head(csa: Path, tmp_path: Path, even_games: list[Game]) -> None:
    result = run("head", csa, "-n", "2")
    assert result.exit_code == 0
    assert result.stdout.count("White") >= 2
    assert even_games[1].usi_moves()[-1] in result.stdout
    assert even_games[2].usi_moves()[-3] + " " not in result.stdout.split("手番")[-1]
    assert str(even_games[0].final_board()) in result.stdout
    run("convert", csa, "-o", tmp_path / "a.psv")
    result = run("head", tmp_path / "a.psv", "-n", "3")
    assert result.stdout.count("move ") == 3


def test_links_in_a_folder_are_followed_once(tmp_path: Path) -> None:
    games, elsewhere = tmp_path / "games", tmp_path / "elsewhere"
    (games / "old").mkdir(parents=True)
    elsewhere.mkdir()
    for folder in (games, games / "old", elsewhere):
        write_games(folder / "a.csa", [Game.from_usi(["7g7f"])])
    (games / "up").symlink_to(games)  # a circle
    (games / "more").symlink_to(elsewhere)
    (games / ".#a.csa").symlink_to("an editor's lock")
    names = ["a.csa", "more/a.csa", "old/a.csa"]
    assert [str(path.relative_to(games)) for path in find_files([games])] == names
    (games / "gone.csa").symlink_to(tmp_path / "unmounted.csa")
    reason = f"a link to {tmp_path / 'unmounted.csa'}, which can't be found"
    with pytest.raises(FileNotFoundError, match=re.escape(reason)):
        list(find_files([games]))
    result = CliRunner().invoke(group, ["records", "stats", str(games)])
    assert result.exit_code == 1, result.output  # the others are read
    assert "gone.csa" in result.output
    assert reason in " ".join(result.output.split())
    result = CliRunner().invoke(group, ["train", "resnet5x64", "--data", str(games)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (
        2,
        f"Error: {games / 'gone.csa'}: {reason}",
    )


def test_json_that_is_no_game_is_passed_over_in_folders(tmp_path: Path) -> None:
    """Settings and counts lie beside generated games; a game in JSON is found in any encoding."""
    game = Game.from_usi(["7g7f", "3c3d"], winner=Winner.BLACK)
    write_games(tmp_path / "a.json", [game])
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    (tmp_path / "b.json").write_text(text, encoding="utf-16")
    (tmp_path / "c.json").write_text('{"moves": "damaged"}')
    (tmp_path / "settings.json").write_text('{"format": "komadori-games", "random_moves": 6}')
    found = list(find_files([tmp_path]))
    assert [path.name for path in found] == ["a.json", "b.json", "c.json"]
    assert list(find_files([tmp_path / "settings.json"])) == [tmp_path / "settings.json"]  # named


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("csa", "bookmarks, candidates, variations"),
        ("kif", "candidates"),
        ("ki2", "candidates, times_ms"),
        ("jkf", "bookmarks, candidates"),
        ("hcpe3", "bookmarks, comments, headers, pvs, times_ms, variations"),
        ("usi", "bookmarks, candidates, comments, headers, pvs, scores_cp, times_ms, variations"),
    ],
)
def test_a_format_says_what_it_lacks(name: str, lost: str, tmp_path: Path) -> None:
    def game() -> Game:
        ones = np.ones(2, np.uint16)
        made = Game.from_usi(
            ["7g7f", "3c3d", "2g2f"],
            winner=Winner.BLACK,
            end=End.RESIGN,
            scores_cp=[10, 30, 20],
            times_ms=[1000, 2000, None],
        )
        made.end_time_ms = 3000
        made.comments, made.pvs, made.bookmarks = {1: "a move"}, {2: "2g2f 8c8d"}, {3: "here"}
        made.candidates = Candidates(np.array([0, 1, 1], np.uint16), made.moves[1:], ones)
        return made

    whole = game()
    whole.headers["event"] = "An event"
    main_line = find_format("usi").lost(whole)
    whole.variations[0] = [game()]
    counts = {
        "bookmarks": 2,
        "candidates": 4,
        "comments": 2,
        "headers": 1,
        "pvs": 2,
        "scores_cp": 6,
        "times_ms": 6,
        "variations": 1,
    }
    assert find_format(name).lost(whole) == {field: counts[field] for field in lost.split(", ")}
    path = tmp_path / f"a.{name}"
    write_games(path, [whole])
    (read,) = read_games(path)
    expected = main_line if "variations" in lost else counts
    kept = find_format("usi").lost(read)
    for field in counts.keys() - lost.split(", "):
        assert kept[field] == expected[field], field


def test_lines_without_a_score_are_counted_as_left_out_of_csa(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], scores_cp=[None, 20])
    game.pvs = {1: "3c3d 2g2f", 2: "2g2f 8c8d"}
    write_games(tmp_path / "a.kif", [game])
    lost = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.csa")
    assert lost.stderr == "1 principal variation without a score left out: csa has none\n"
    [kept] = read_games(tmp_path / "b.csa")
    assert kept.pvs == {2: "2g2f 8c8d"}


def test_what_a_conversion_leaves_out_is_said_in_one_line(tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d"], times_ms=[1000, 2000], headers={"event": "An event"})
    game.comments = {1: "a", 2: "b"}
    write_games(tmp_path / "a.kif", [game])
    lost = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.usi")
    assert lost.exit_code == 0
    assert lost.stderr == "1 header, 2 comments, 2 times left out: usi has none\n"


def test_a_result_that_a_format_has_no_word_for_is_said(tmp_path: Path) -> None:
    """Training takes no game without a result, and this one was left out without a word."""
    games = [Game.from_usi(["7g7f", "3c3d"], winner=Winner.WHITE, end=end) for end in End]
    write_games(tmp_path / "a.kif", games)
    written = read_games(tmp_path / "a.kif")
    lost = run("convert", tmp_path / "a.kif", "-o", tmp_path / "b.usi")
    read = read_games(tmp_path / "b.usi")
    unsaid = sum(game.winner == Winner.UNKNOWN for game in read)
    assert 1 < unsaid < len(games)
    assert lost.stderr == f"{unsaid} results left out: usi has no word for their ends\n"
    for was, now in zip(written, read, strict=True):
        assert (was.winner != now.winner) == find_format("usi").lost(was)["winner"]


def test_analysed_copies_in_a_folder_are_not_counted_again(tmp_path: Path) -> None:
    game = random_game(1, plies=4)
    for name in ("a.csa", "a.analysed.csa", "b.csa.xz", "b.csa.analysed.csa", "c.analysed.kif"):
        write_games(tmp_path / name, [game])
    names = [path.name for path in find_files([tmp_path])]
    assert names == ["a.csa", "b.csa.xz", "c.analysed.kif"]
    assert len(list(find_files([tmp_path], with_analysed=True))) == 5
    copy = tmp_path / "a.analysed.csa"
    assert list(find_files([copy])) == [copy]  # named
    assert re.match(r"files +3\n", run("stats", tmp_path).stdout)


@pytest.mark.parametrize(("name", "stored"), [("hcpe3", True), ("psv", True), ("kif", False)])
def test_plies_without_a_score_are_counted(name: str, stored: bool, tmp_path: Path) -> None:
    game = Game.from_usi(["7g7f", "3c3d", "2g2f"], winner=Winner.BLACK, scores_cp=[30, None, None])
    write_games(tmp_path / "a.csa", [game])
    done = run("convert", tmp_path / "a.csa", "-o", tmp_path / f"b.{name}")
    assert done.exit_code == 0, done.output
    assert (f"2 plies have no score: {name} stores 0" in done.stderr) == stored
