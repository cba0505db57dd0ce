"""`komadori analyse` on files: output, resuming, errors."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from komadori.analysis import AnalysedGame, Found, Journal, Line, positions
from komadori.analysis.journal import read_journal
from komadori.cli import analyse
from komadori.cli._group import group
from komadori.inference.fakes import UniformEvaluator
from komadori.inference.protocol import Floats
from komadori.inference.synthetic import write_random_resnet
from komadori.players import evaluators
from komadori.records import Game, GameWriter, Winner, read_games
from komadori.search import many

FIRST = ["7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b"]
SECOND = ["7g7f", "8c8d", "2g2f", "8d8e", "8h7g"]


def write(path: Path, *games: list[str]) -> Path:
    with GameWriter(path) as writer:
        for moves in games:
            writer.write(Game.from_usi(moves, winner=Winner.BLACK, headers={"black": "a"}))
    return path


def run(*arguments: str | Path) -> Result:
    own = "--player" in arguments
    fixed = ["--nodes", "200"] if own else ["--model", "random:1", "--nodes", "40"]
    return CliRunner().invoke(group, ["analyse", *map(str, arguments), *fixed])


def test_games_of_two_files(tmp_path: Path) -> None:
    kif = write(tmp_path / "one.kif", FIRST)
    csa = write(tmp_path / "two.csa", SECOND, FIRST)
    done = run(kif, csa)
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {
        "one.kif", "one.analysed.kif", "one.html", "one.analysis.jsonl",
        "two.csa", "two.analysed.csa", "two.html", "two.analysis.jsonl", "analysis-index.html",
    }  # fmt: skip
    assert done.output.count("moves agree with the search") == 6
    assert [game.usi_moves() for game in read_games(tmp_path / "two.analysed.csa")] == [
        SECOND,
        FIRST,
    ]
    text = (tmp_path / "one.analysed.kif").read_text("utf-8")
    assert text.count("*#評価値=") == len(FIRST)
    assert text.count("*#読み筋=") == len(FIRST)
    # Every position once, in each file that has it.
    for name, count in (("one", len(FIRST) + 1), ("two", len(FIRST) + 1 + len(SECOND) - 1)):
        rows = (tmp_path / f"{name}.analysis.jsonl").read_text().splitlines()[1:]
        keys = [json.loads(row)["position"] for row in rows]
        assert len(keys) == len(set(keys)) == count


def test_an_analysis_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    searched: list[str] = []
    monkeypatch.setattr(analyse, "BLOCK", 2)
    begin = many.ManySearch._begin
    limit = 4

    def counting(self: object, key: str, board: object) -> object:
        if len(searched) >= limit:
            raise KeyboardInterrupt
        searched.append(key)
        return begin(self, key, board)  # type: ignore[arg-type]

    monkeypatch.setattr(many.ManySearch, "_begin", counting)
    unwrapped = inspect.unwrap(positions.PositionAnalyser.__init__)
    monkeypatch.setattr(unwrapped, "__defaults__", (None, 2))
    broken = run(path)
    assert broken.exit_code == 130
    assert "the same command resumes" in broken.output
    assert not (tmp_path / "one.html").exists()
    kept = len((tmp_path / "one.analysis.jsonl").read_text().splitlines()) - 1
    assert 1 <= kept <= limit
    limit = 100
    done = run(path)
    assert done.exit_code == 0, done.output
    assert f"{kept} position{'s' * (kept > 1)} known" in done.output
    assert (tmp_path / "one.html").exists()
    # A third run searches nothing unless `--fresh` is given.
    before = len(searched)
    run(path)
    assert len(searched) == before
    run(path, "--fresh")
    assert len(searched) - before == len(FIRST) + 1


def test_another_network_of_the_same_name_starts_over(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    pages = []
    for seed in (1, 2, 2):
        model = write_random_resnet(tmp_path / "m.onnx", 1, 8, seed=seed)
        done = CliRunner().invoke(
            group, ["analyse", str(path), "--model", str(model), "--nodes", "10"]
        )
        assert done.exit_code == 0, done.output
        assert ("positions known" in done.output) == (len(pages) == 2)
        pages.append((tmp_path / "one.html").read_text())
    assert pages[0] != pages[1]
    assert pages[1] == pages[2]


def test_results_are_named_as_the_files_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csa", "b.csa"):
        write(tmp_path / name, ["7g7f"])
    output = run("a.csa", "b.csa").output
    assert output.splitlines()[-1] == "wrote analysis-index.html"


def test_a_file_without_a_game_leaves_the_others(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, FIRST) for name in ("a.kif", "c.kif")]
    junk = tmp_path / "b.kif"
    junk.write_text("nothing here")
    done = run(paths[0], junk, paths[1])
    assert done.exit_code == 1
    assert f"skipped: no game of kif can be read: {junk}" in done.output
    assert done.output.splitlines()[-1] == "Error: 1 file skipped: no game could be read"
    assert (tmp_path / "a.html").is_file()
    assert (tmp_path / "c.html").is_file()
    assert (tmp_path / "analysis-index.html").is_file()
    assert not (tmp_path / "b.html").exists()


def test_a_folder_for_the_results(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    done = run(path, "-o", tmp_path / "results")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "results" / "one.html").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.kif", "results"]


def test_files_that_cannot_be_analysed_are_named(tmp_path: Path) -> None:
    junk = tmp_path / "junk.kif"
    junk.write_text("nothing here")
    assert "junk.kif" in run(junk).output
    empty = write(tmp_path / "empty.kif", [])
    assert "no game with moves" in run(empty).output
    both = run(junk, empty)
    assert both.exit_code == 1
    assert both.output.splitlines()[-1] == "Error: no game in any of the files"
    path = write(tmp_path / "one.kif", FIRST)
    missing = CliRunner().invoke(group, ["analyse", str(path), "--model", "nowhere.onnx"])
    assert missing.exit_code == 2
    assert "nowhere.onnx" in missing.output
    nan = CliRunner().invoke(group, ["analyse", str(path), "--time", "nan"])
    assert nan.exit_code == 2
    assert "nan is not a finite number" in nan.output
    both = run(path, "--time", "1")
    assert "not both" in both.output
    twice = run(path, write(tmp_path / "one.csa", SECOND))
    assert f"one.kif and {tmp_path}/one.csa would both be written to" in " ".join(
        twice.output.split()
    )
    none = run(path, "--time", "0")
    assert none.exit_code == 2
    assert "'--time': 0.0 is not in the range 0<x<=86400" in none.output


def test_a_file_named_twice_is_analysed_once(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    done = run(path, tmp_path / "." / "one.kif", f"{tmp_path}/./one.kif")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "analysis-index.html").exists()


def test_a_side_without_moves_has_no_summary(tmp_path: Path) -> None:
    done = run(write(tmp_path / "one.kif", FIRST[:1]))
    assert done.exit_code == 0, done.output
    assert "▲ " in done.output
    assert done.output.count("accuracy") == 1
    assert "nan" not in done.output


def test_a_folder_stands_for_the_records_below_it(tmp_path: Path) -> None:
    games = tmp_path / "games"
    (games / "old").mkdir(parents=True)
    write(games / "one.csa", SECOND)
    write(games / "old" / "two.kif", FIRST)
    (games / "readme.md").write_text("not a record")
    for _ in range(2):  # what the first wrote is there too
        done = run(games)
        assert done.exit_code == 0, done.output
        pages = {path.name for path in games.rglob("*.html")}
        assert pages == {"one.html", "two.html", "analysis-index.html"}
    assert run(games, games / "one.csa").exit_code == 0
    (tmp_path / "empty").mkdir()
    done = run(tmp_path / "empty")
    assert done.exit_code == 1
    assert done.output == f"Error: {tmp_path / 'empty'}: no records there\n"


def test_files_of_one_name_in_several_folders_are_told_apart(tmp_path: Path) -> None:
    for folder in ("june", "july"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "one.kif", FIRST)
    assert run(tmp_path).exit_code == 0
    index = (tmp_path / "analysis-index.html").read_text("utf-8")
    assert re.findall(r'"file":"([^"]*one\.kif)"', index) == ["july/one.kif", "june/one.kif"]
    again = run(tmp_path)
    for folder in ("june", "july"):
        assert f"{tmp_path / folder / 'one.kif'}: 9 positions known" in again.output


def test_its_own_output_is_no_input(tmp_path: Path) -> None:
    write(tmp_path / "one.csa", SECOND)
    assert run(*tmp_path.glob("*.csa")).exit_code == 0
    before = {path.name for path in tmp_path.iterdir()}
    again = run(*sorted(tmp_path.glob("*.csa")))
    assert again.exit_code == 0, again.output
    assert "skipped 1 file that this command wrote" in again.output
    assert {path.name for path in tmp_path.iterdir()} == before
    assert run(tmp_path / "one.analysed.csa").exit_code == 1
    everything = run(*sorted(path for path in tmp_path.iterdir() if path.is_file()))
    assert everything.exit_code == 0, everything.output
    assert "skipped 3 files that this command wrote" in everything.output
    foreign = tmp_path / "two.html"
    foreign.write_text("<p>not ours</p>")
    assert "two.html" in run(tmp_path / "one.csa", foreign).output


def test_languages_and_styles(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    done = run(path, "--lang", "ja", "--comments", "shogigui", "--pieces", "western")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "one.analysed.kif").read_text("utf-8")
    assert text.count("**解析 0 候補1 ") == len(FIRST)
    page = (tmp_path / "one.html").read_text("utf-8")
    assert '<html lang="ja">' in page
    assert "1局面あたり40ノード" in page
    assert "40 nodes per position" in page  # in English, which readers may choose
    assert "実戦" in done.output
    assert "最善手との一致" in done.output
    assert not re.search("agree|better|won", done.output)
    assert '"pieces":"western"' in page


@pytest.mark.parametrize("style", ["shogihome", "shogigui"])
def test_comments_show_themselves_again(tmp_path: Path, style: str) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    run(path, "--comments", style)
    record, folder = str(tmp_path / "one.analysed.kif"), str(tmp_path / "o")
    shown = CliRunner().invoke(group, ["analyse", record, "--from-comments", "-o", folder])
    assert shown.exit_code == 0, shown.output
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["one.analysed.html"]
    nothing = CliRunner().invoke(group, ["analyse", str(path), "--from-comments"])
    assert "no comment holds a score" in nothing.output


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_table_keeps_moves_whole(
    language: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    game = Game.from_usi(FIRST, headers={"black": "a", "white": "b"})
    best = Line(0.9, None, 900, 9, ("2g2f", "3c3d", "7g7f", "4c4d", "2f2e"))
    found = [Found(0.9 if i % 2 == 0 else 0.7, 9, (best,)) for i in range(len(FIRST) + 1)]
    found = [Found(f.win_rate, 9, (Line(f.win_rate, None, 0, 9, pv),)) for f, pv in
             zip(found, (lines(i) for i in range(len(found))), strict=True)]  # fmt: skip
    analyse._print(AnalysedGame(game, found), language)  # type: ignore[arg-type]
    rows = capsys.readouterr().out.splitlines()
    assert max(cell_len(row) for row in rows) <= 80
    assert not any("…" in row for row in rows)
    for move in ("▲７六歩", "△３四歩") if language == "ja" else ("P-7f", "P-3d"):
        assert any(move in row for row in rows)


def lines(ply: int) -> tuple[str, ...]:
    """Legal moves of the position after `ply` moves of FIRST that aren't the game's own."""
    board = Game.from_usi(FIRST[:ply]).final_board()
    chosen = []
    for _ in range(4):
        move = next(m for m in board.legal_moves if m.usi() != FIRST[min(ply, len(FIRST) - 1)])
        chosen.append(move.usi())
        board.push(move)
    return tuple(chosen)


def test_an_effort_of_time(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    words = ["analyse", str(path), "--model", "random:1", "--time", "0.02"]
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "one.html").is_file()


def results(folder: Path) -> dict[str, bytes]:
    names = ("one.analysed.kif", "one.html", "two.analysed.csa", "two.html", "analysis-index.html")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.parametrize("player", [(), ("--player", "alphabeta")])
@pytest.mark.parametrize("after", [1, 3, 7, 10])
def test_an_analysis_is_the_same_however_often_it_was_killed(
    after: int, player: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyse, "BLOCK", 4)
    folders = tmp_path / "whole", tmp_path / "killed"
    files = []
    for folder in folders:
        folder.mkdir()
        files.append(
            (write(folder / "one.kif", FIRST), write(folder / "two.csa", SECOND, FIRST[:6]))
        )
    assert run(*files[0], *player).exit_code == 0
    add, count = Journal.add, 0

    def killed(self: Journal, key: str, found: Found) -> None:
        nonlocal count
        count += 1
        if count > after:
            with self.path.open("a") as file:
                file.write('{"position": "half a li')
            raise KeyboardInterrupt
        add(self, key, found)

    kills = 0
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", killed)
        while run(*files[1], *player).exit_code == 130:
            count, kills = 0, kills + 1
            assert kills < 30
    assert kills >= 1
    assert results(folders[0]) == results(folders[1])


@pytest.mark.parametrize("effort", [["--nodes", "300"], ["--time", "0.01"]])
def test_without_a_network_the_alpha_beta_search_analyses(
    effort: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    done = CliRunner().invoke(group, ["analyse", str(path), *effort, "--threads", "2"])
    assert done.exit_code == 0, done.output
    head, *rows = (tmp_path / "one.analysis.jsonl").read_text().splitlines()
    assert json.loads(head)["player"] == "alphabeta"
    assert len(rows) == len(FIRST) + 1
    assert all(json.loads(row)["lines"] for row in rows)
    assert "αβ" in (tmp_path / "one.html").read_text("utf-8")  # how strong it is


def test_a_network_of_the_environment_has_no_measured_strength(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_random_resnet(tmp_path / "net.onnx", 1, 8)
    monkeypatch.setenv("KOMADORI_MODEL", str(tmp_path / "net.onnx"))
    path = write(tmp_path / "one.kif", FIRST)
    done = CliRunner().invoke(group, ["analyse", str(path), "--nodes", "20"])
    assert done.exit_code == 0, done.output
    assert "has not been measured" in (tmp_path / "one.html").read_text("utf-8")


def test_the_alpha_beta_search_takes_no_network(tmp_path: Path) -> None:
    done = run(write(tmp_path / "one.kif", FIRST), "--player", "alphabeta", "--model", "x.onnx")
    assert done.exit_code == 2
    assert "--player alphabeta takes no network" in done.output


class OddNetwork(UniformEvaluator):
    """A model whose value isn't a win rate."""

    value = math.nan

    def _evaluate(self, inputs: object, policy: Floats, value: Floats) -> None:
        value[:] = self.value


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.5, 1.5])
def test_a_network_that_gives_no_win_rates_is_named(
    value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = OddNetwork()
    network.value = value
    monkeypatch.setattr(evaluators, "load_evaluator", lambda _options: network)
    done = run(write(tmp_path / "one.kif", FIRST))
    assert done.exit_code == 1
    assert done.output.startswith("Error: random:1: ")
    assert done.output.count("\n") == 1
    assert not (tmp_path / "one.html").exists()


def test_names_need_not_be_utf8(tmp_path: Path) -> None:
    paths = []
    for name in (b"a\xff<b>.kif", b"\x83\x5c.csa"):
        try:
            paths.append(write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)), FIRST))
        except OSError:
            pytest.skip("this file system takes UTF-8 only")
    done = run(*paths)
    assert done.exit_code == 0, done.output
    assert "a\ufffd&lt;b&gt;.kif" in paths[0].with_suffix(".html").read_text("utf-8")
    index = (tmp_path / "analysis-index.html").read_text("utf-8")
    assert "a%FF%3Cb%3E.html" in index
    assert "%83%5C.html" in index


@pytest.mark.parametrize("limit", [20, 3000], ids=["header", "results"])
def test_a_full_disk_is_one_line_and_keeps_what_was_found(tmp_path: Path, limit: int) -> None:
    resource = pytest.importorskip("resource")
    path = write(tmp_path / "one.kif", FIRST)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        full = run(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert full.exit_code == 1
    journal = tmp_path / "one.analysis.jsonl"
    assert full.output == f"Error: {journal}: File too large\n"
    kept = len(read_journal(journal)) if journal.exists() else 0
    assert (kept >= 1) == (limit == 3000)
    again = run(path)
    assert again.exit_code == 0, again.output
    assert (f"{kept} position{'s' * (kept > 1)} known" in again.output) == (kept >= 1)


@pytest.mark.parametrize(
    "words",
    [
        *(["--nodes", "5"], ["--time", "1"], ["--player", "model"], ["--model", "default"]),
        *(["--threads", "1"], ["--comments", "shogigui"], ["--fresh"]),
    ],
)
def test_options_of_a_search_are_refused_without_one(words: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    refused = CliRunner().invoke(group, ["analyse", str(path), "--from-comments", *words])
    assert refused.exit_code == 2
    assert f"takes no search options: leave out {words[0]}\n" in refused.output


def test_conflicting_outputs_are_reported_before_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    for name, text in (("one.html", "<p>my page</p>"), ("one.analysed.kif", "a diary")):
        (tmp_path / name).write_text(text)
        refused = run(path)
        assert refused.exit_code == 2
        assert f"{tmp_path / name} exists and holds no " in refused.output
        assert (tmp_path / name).read_text() == text
        assert not (tmp_path / "one.analysis.jsonl").exists()
        (tmp_path / name).unlink()
    journal = tmp_path / "one.analysis.jsonl"
    journal.write_text('{"mine": 1}\n')
    for words in ([], ["--fresh"]):
        refused = run(path, *words)
        assert refused.exit_code == 2
        assert f"{journal} exists and holds no results of an analysis" in refused.output
        assert journal.read_text() == '{"mine": 1}\n'
    (tmp_path / "one.html").write_text("<p>my page</p>")
    for words in (["--force"], []):
        assert run(path, *words).exit_code == 0
    assert "komadori" in (tmp_path / "one.html").read_text("utf-8")


def test_a_page_of_another_record_is_not_replaced(tmp_path: Path) -> None:
    """Also one command after the other."""
    write(tmp_path / "game.csa", FIRST)
    write(tmp_path / "game.kif", SECOND)
    out = ["-o", tmp_path / "out"]
    assert run(tmp_path / "game.csa", *out).exit_code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    for _ in range(2):
        done = run(tmp_path / "game.kif", *out)
        assert done.exit_code == 2
        assert "shows the analysis of game.csa: give another --out folder" in " ".join(
            done.output.split()
        )
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert run(tmp_path / "game.csa", *out).exit_code == 0
    assert run(tmp_path / "game.kif", *out, "--force").exit_code == 0


@pytest.mark.parametrize("language", ["en", "ja"])
def test_scores_without_lines_agree_with_nothing(tmp_path: Path, language: str) -> None:
    path = tmp_path / "game.csa"
    with GameWriter(path) as writer:
        writer.write(Game.from_usi(FIRST, scores_cp=[10] * len(FIRST)))
    done = CliRunner().invoke(group, ["analyse", str(path), "--from-comments", "--lang", language])
    assert done.exit_code == 0, done.output
    assert not re.search("agree|一致|search", done.output)
    assert re.search("points lost per move|一手平均の損失", done.output)
    assert '"compared": 0' in (tmp_path / "game.html").read_text("utf-8").replace('":', '": ')
    game = Game.from_usi(FIRST)
    game.comments = {1: "#評価値=10\n#読み筋=△３四歩(33)", 2: "#評価値=20"}
    with GameWriter(tmp_path / "game.kif") as writer:
        writer.write(game)
    done = CliRunner().invoke(
        group,
        ["analyse", str(tmp_path / "game.kif"), "--from-comments", "--force", "--lang", language],
    )
    assert re.search("1 of 1 moves agree with the record's lines|一致1/1", done.output)


def test_a_game_without_mistakes_has_no_table(tmp_path: Path) -> None:
    path = tmp_path / "game.csa"
    with GameWriter(path) as writer:
        writer.write(Game.from_usi(FIRST, scores_cp=[0] * len(FIRST)))
    for language, words in (("en", "no move lost 5 points"), ("ja", "5ポイント以上")):
        done = CliRunner().invoke(
            group, ["analyse", str(path), "--from-comments", "--lang", language]
        )
        assert words in done.output
        assert "┃" not in done.output
        assert "losses" not in done.output
        assert ("wrote " in done.output) == (language == "en")


def test_losses_are_unknown_with_the_scores_of_one_side(tmp_path: Path) -> None:
    game = Game.from_usi(FIRST)
    game.comments = {1: "#評価値=50", 3: "#評価値=-900"}
    with GameWriter(tmp_path / "game.kif") as writer:
        writer.write(game)
    for language, words in (("en", "no losses are known"), ("ja", "損失は分かりません")):
        done = CliRunner().invoke(
            group, ["analyse", str(tmp_path / "game.kif"), "--from-comments", "--lang", language]
        )
        assert words in done.output
        assert not re.search("no move lost|5ポイント以上", done.output)


@pytest.mark.parametrize("player", ["alphabeta", "model"])
def test_shogigui_comments_give_the_real_depth(tmp_path: Path, player: str) -> None:
    path = write(tmp_path / "one.kif", FIRST)
    words = (
        ["--nodes", "2000"] if player == "alphabeta" else ["--model", "random:1", "--nodes", "9"]
    )
    done = CliRunner().invoke(group, ["analyse", str(path), "--comments", "shogigui", *words])
    assert done.exit_code == 0, done.output
    rows = [
        r for r in (tmp_path / "one.analysed.kif").read_text("utf-8").splitlines() if "解析" in r
    ]
    assert len(rows) >= len(FIRST)
    assert not any("時間" in row for row in rows)
    depths = [int(found[1]) for row in rows if (found := re.search(r" 深さ (\d+) ノード数", row))]
    assert len(depths) == (len(rows) if player == "alphabeta" else 0)
    assert all(1 < depth < 40 for depth in depths)


def test_nameless_players_are_their_colours(tmp_path: Path) -> None:
    path = tmp_path / "game.csa"
    with GameWriter(path) as writer:
        writer.write(Game.from_usi(FIRST, scores_cp=[0] * len(FIRST)))
    for language, names in (("en", "▲ Black - △ White"), ("ja", "▲先手 対 △後手")):
        shown = ["analyse", str(path), "--from-comments", "--lang", language]
        assert names in CliRunner().invoke(group, shown).output


def test_the_effort_on_the_page_has_separators(tmp_path: Path) -> None:
    path = write(tmp_path / "one.kif", FIRST[:1])
    words = ["analyse", str(path), "--player", "alphabeta", "--nodes", "20000"]
    assert CliRunner().invoke(group, words).exit_code == 0
    page = (tmp_path / "one.html").read_text("utf-8")
    assert "20,000 nodes per position" in page
    assert "20000 nodes" not in page
