"""The page fetches nothing, runs nothing from a record and shows every move, in a browser too."""

from __future__ import annotations

import inspect
import json
import random
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tools import glyphs

from komadori import records
from komadori.analysis import (
    AnalysedGame,
    Found,
    IndexEntry,
    Line,
    PageOptions,
    Phase,
    annotated,
    from_comments,
    html_index,
    html_report,
    page_data,
)
from komadori.analysis.page.bundle import page_assets, page_module, page_style
from komadori.analysis.page.data import _side
from komadori.analysis.strength import (
    UNKNOWN,
    Match,
    Strength,
    measured,
    statement,
    stronger_players,
)
from komadori.records import Game, Winner
from komadori.rules import BLACK, HANDICAPS

MOVES = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def line(rate: float, *pv: str, mate: int | None = None) -> Line:
    return Line(rate, mate, None if mate else round(1000 * (rate - 0.5)), 10, pv)


@pytest.fixture
def analysed() -> AnalysedGame:
    headers = {"black": HOSTILE, "white": "藤井四段", "event": "第1局", "start_time": "2026/11/23"}
    game = Game.from_usi(MOVES, winner=Winner.BLACK, headers=headers)
    game.comments[2] = HOSTILE
    found = [
        Found(0.55, 10, (line(0.55, "7g7f", "3c3d"), line(0.5, "2g2f"))),
        Found(0.45, 10, (line(0.45, "8c8d", "2g2f"),)),
        Found(0.75, 10, (line(0.75, "2g2f", "8c8d"),)),
        Found(0.60, 10, (line(0.60, "3a2b"),)),
        Found(0.40, 10, (line(0.40, "2g2f"),)),
        Found(0.67, 10, (line(1.0, "2b3c", "4e3d", "3c4d", mate=3),)),
    ]
    return AnalysedGame(game, found)


class Scripts(HTMLParser):
    """The contents of script elements, and every attribute that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.sources: list[str] = []
        self.tags: list[str] = []
        self._open: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.sources += [str(values[name]) for name in ("src", "href") if values.get(name)]
        self._open = values if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.scripts.append((self._open, data))
            self._open = None


def parsed(page: str) -> Scripts:
    parser = Scripts()
    parser.feed(page)
    return parser


def data_of(page: str) -> Any:
    return next(
        json.loads(text) for at, text in parsed(page).scripts if at.get("id") == "komadori-data"
    )


def test_a_record_that_knows_only_the_day_of_its_game_has_a_date(tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    path.write_text("対局日：2010/03/04\n先手：甲\n後手：乙\n   1 ７六歩(77)\n", encoding="utf-8")
    (game,) = records.read_games(path)
    (data,) = data_of(html_report([AnalysedGame(game, [None, None])], "t"))["games"]
    assert data["date"] == "2010/03/04"
    assert data["headers"] == [["date", "2010/03/04"]]


def test_the_page_stands_alone(analysed: AnalysedGame) -> None:
    page = html_report([analysed, analysed], "two <games>", "note")
    found = parsed(page)
    assert found.sources == []
    assert found.tags.count("script") == 3
    assert "img" not in found.tags
    assert "two &lt;games&gt;" in page
    assert "default-src 'none'" in page
    rest = page.replace("http://www.w3.org/", "")
    assert "http:" not in rest
    assert "https:" not in rest


def test_the_data_holds_the_game(analysed: AnalysedGame) -> None:
    data = data_of(html_report([analysed], "t"))
    assert data == json.loads(json.dumps(page_data([analysed], "t")))
    game = data["games"][0]
    assert game["black"] == HOSTILE
    assert game["comments"]["2"] == HOSTILE
    assert game["moves"] == MOVES
    assert game["ki2"] == ["▲７六歩", "△３四歩", "▲２二角成", "△同銀", "▲４五角"]
    assert game["west"] == ["P-7f", "P-3d", "Bx2b+", "Sx2b", "B*4e"]
    assert game["rates"] == [0.55, 0.55, 0.75, 0.4, 0.4, 0.33]  # Black's
    assert [None if m is None else data["grades"][m][1] for m in game["marks"]] == [
        None, "悪手", "悪手", None, "緩手",
    ]  # fmt: skip
    assert game["lines"][1][0]["ki2"] == ["△８四歩", "▲２六歩"]
    assert game["lines"][5][0]["mate"] == -3  # White mates
    assert game["kif"].startswith("#KIF")
    assert "【悪手】" in game["kif"]


def test_texts_are_complete() -> None:
    texts = page_assets()["texts"]
    western_only = {key for key in texts["en"] if key.startswith("hc_")}
    assert set(texts["ja"]) == set(texts["en"]) - western_only
    assert {f"hc_{name}" for name in HANDICAPS if name != "even"} == western_only
    used = set(re.findall(r"\bt(?:\(\))?\.(\w+)", page_module())) - {"textContent"}
    assert used <= set(texts["en"])


def test_the_font_has_the_texts(analysed: AnalysedGame) -> None:
    folder = Path(inspect.getfile(inspect.unwrap(page_data))).parent
    known = (folder / "ui.txt").read_text("utf-8")
    wanted = json.dumps([page_assets()["texts"], page_data([], "")["grades"]], ensure_ascii=False)
    wanted += "".join(handicap.kif for handicap in HANDICAPS.values())
    commented = annotated(AnalysedGame(Game.from_usi(MOVES), analysed.found), language="ja")
    wanted += "".join("".join(commented.comments.values()).split())
    assert [char for char in wanted if char not in known] == []
    assert all(char in known for char in "▲△☗☖同成打直寄引上右左王玉")
    assert glyphs.missing() == []  # nor notes on strength and effort, nor kana


def test_the_font_precedes_the_systems_in_every_language() -> None:
    """After system-ui, Chromium draws boxes for Han characters that a later font has."""
    for family in re.findall(r"font(?:-family)?:([^;]*\bsans-serif)", page_style()):
        assert "komadori ui" in family.partition("system-ui")[0]


def test_paper_has_its_own_colours() -> None:
    """A page that a browser shows dark is printed as from a light one."""
    style = page_style()
    dark, paper = (
        set(re.findall(r"--[\w-]+(?=:)", style[style.index(media) :].partition("}")[0]))
        for media in ("@media (prefers-color-scheme: dark)", "@media print")
    )
    assert dark
    assert dark <= paper


def test_players_who_may_be_stronger(analysed: AnalysedGame) -> None:
    assert [(one.turn, one.reason) for one in stronger_players(analysed.game, 3000)] == [
        (1, "professional")
    ]
    own = measured().rating
    assert own is not None
    higher, lower = f"{own + 0.5:.1f}", f"{own - 0.5:.1f}"
    headers = {"black": "a", "white": "b", "black_rating": higher, "white_rating": lower}
    rated = Game.from_usi([], headers=headers)
    assert [(one.turn, one.reason, one.rating) for one in stronger_players(rated, own)] == [
        (0, "rating", float(higher))
    ]
    program = Game.from_usi([], headers={"black": "水匠5", "white": "b", "white_rating": "1200"})
    assert [one.reason for one in stronger_players(program, own)] == ["program"]
    for title in ("七冠", "女流三冠", "九段（五十歳）"):
        titled = Game.from_usi([], headers={"black": f"藤井 聡太 {title}", "white": "b"})
        assert [one.reason for one in stronger_players(titled, own)] == ["professional"]
    amateurs = Game.from_usi([], headers={"black": "佐藤アマ六段", "white": "鈴木アマチュア名人"})
    assert stronger_players(amateurs, own) == []
    assert all(match.games > 0 for match in measured().matches)
    assert set(statement(measured())) == {"en", "ja"}
    diary = Strength("", "", "", (Match("GPSfish", 3, 1, won=19, drawn=0, lost=31),))
    assert diary.rating == pytest.approx(2715, abs=1)  # the diary's own 38 % (その49)
    assert UNKNOWN.rating is None
    assert set(statement(UNKNOWN)) == {"en", "ja"}


@pytest.mark.parametrize("loss", [0.005504, 0.0054996, 0.0234496, 0.0])
def test_the_page_rounds_mean_losses_as_the_terminal_does(
    analysed: AnalysedGame, loss: float
) -> None:
    side = analysed.side(BLACK)
    phases = tuple(replace(phase, mean_loss=loss) for phase in side.phases)
    shown = _side(replace(side, mean_loss=loss, phases=phases))
    assert f"{100 * shown['loss']:.1f}" == f"{100 * loss:.1f}"
    assert {phase[1] for phase in shown["phases"]} == {shown["loss"]}


def test_players_are_compared_with_the_engine_that_analysed() -> None:
    headers = {"black": "GPSfish", "white": "b", "white_rating": "2700"}
    game = AnalysedGame(Game.from_usi(["7g7f"], headers=headers), [None, None])
    lost = Match("GPSfish", seconds=1, threads=1, won=2, drawn=0, lost=6)
    weak = replace(measured("model"), matches=(lost,))
    warned = {
        name: [
            one["reason"]
            for one in page_data([game], "", strength=strength)["games"][0]["stronger"]
        ]
        for name, strength in (("alphabeta", measured()), ("weak", weak))
    }
    assert warned == {"alphabeta": [], "weak": ["program", "rating"]}


def test_an_index(analysed: AnalysedGame) -> None:
    entries = [IndexEntry("a.html", "a", [analysed]), IndexEntry("b.html", "b", [analysed] * 2)]
    rows = data_of(html_index(entries, "games"))["index"]
    assert [row["href"] for row in rows] == ["a.html", "b.html#g1", "b.html#g2"]
    assert rows[0]["sides"][0]["mistakes"] == [0, 1, 0, 1]
    assert "kif" not in rows[0]


def dom(path: Path | str, *flags: str) -> str:
    done = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
         "--disable-background-networking", *flags, "--dump-dom", f"file://{path}"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(
    ("language", "mate"), [("ja", "先手の勝ち（詰み）"), ("en", "Black mates")]
)
def test_a_mate_of_unknown_length_has_none(tmp_path: Path, language: Any, mate: str) -> None:
    game = Game.from_usi(["7g7f", "3c3d"])
    game.comments[0] = "#評価値=0"
    game.comments[1] = "#詰み=先手勝ち\n#読み筋=△３四歩(33)"
    analysed = from_comments(game)
    assert analysed is not None
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions(language)), "utf-8")
    shown = dom(f"{path}#1")
    text = re.sub(r"<[^>]*>", "|", shown[shown.index("<main") : shown.index("</main")])
    assert re.search(rf"\|[^|]*{mate}[^|]*\|", text)
    assert "mates in" not in text
    assert "手詰め" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(
    ("language", "move", "played", "mate"),
    [
        ("ja", "▲２二角成", "実戦", "後手の勝ち（3手詰め）"),
        ("en", "Bx2b+", "Played", "White mates in 3"),
    ],
)
def test_a_browser_shows_it(
    analysed: AnalysedGame, tmp_path: Path, language: Any, move: str, played: str, mate: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions(language)), "utf-8")
    shown = dom(path)
    assert move in shown
    assert played in shown
    assert mate in shown
    assert shown.count("<article") == 3
    assert shown.count('class="dot grade') == 3
    assert 'class="arrow best"' in shown
    body = shown[shown.index("<main") : shown.index("</main")]
    assert "<img" not in body
    assert "<script" not in body  # the hostile names and comments are text
    style = "kanji" if language == "ja" else "western"
    assert body.count(f"#kmd-{style}-P") >= 18 * 7


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_browser_shows_scores_without_lines(tmp_path: Path) -> None:
    """Comments may hold a score or a mate alone."""
    game = Game.from_usi(MOVES)
    game.comments.update(
        {1: "#評価値=50", 2: "#評価値=900", 3: "#評価値=0", 4: "#詰み=先手勝ち:3手"}
    )
    analysed = from_comments(game)
    assert analysed is not None
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions("en")), "utf-8")
    shown = dom(path)
    assert shown.count("<article") == 3
    assert shown.count("<figure") == 3
    assert "better" not in annotated(analysed).comments[2]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_scores_of_one_side_are_a_line_without_losses(tmp_path: Path) -> None:
    """A program comments on its own moves: no move has a score both before and after it."""
    game = Game.from_usi(MOVES)
    game.comments.update({1: "#評価値=50", 3: "#評価値=-900"})
    analysed = from_comments(game)
    assert analysed is not None
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions("en")), "utf-8")
    shown = dom(path)
    line = re.search('class="rate" points="([^"]*)"', shown)
    assert line is not None
    assert len(set(line[1].split())) == 2
    assert "No losses are known" in shown
    assert "No move lost 5 points or more.</p>" not in shown
    assert not re.search(r"badge grade\d.*?<td[^>]*>0<", shown)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_graph_is_there_before_the_page_has_a_layout(
    analysed: AnalysedGame, tmp_path: Path
) -> None:
    """A browser without windows may print a page before it reports any size."""
    path = tmp_path / "page.html"
    page = html_report([analysed], "t", options=PageOptions("en"))
    silent = "<script>window.ResizeObserver = class { observe() {} };</script>"
    path.write_text(page.replace("<body", f"{silent}<body", 1), "utf-8")
    shown = dom(path)
    assert 'class="graph"' in shown
    assert shown.count('class="dot grade') == 3


def test_a_page_has_two_languages_and_two_kinds_of_pieces() -> None:
    with pytest.raises(ValueError, match="language is 'fr': one of auto, ja, en is needed"):
        PageOptions("fr")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pieces is 'chess': one of kanji, western is needed"):
        PageOptions("en", "chess")  # type: ignore[arg-type]


def test_the_index_rounds_accuracy_once(analysed: AnalysedGame) -> None:
    (row,) = data_of(html_index([IndexEntry("a.html", "a", [analysed])], "games"))["index"]
    side = row["sides"][0]
    assert side["accuracy"] == pytest.approx(analysed.side(0).accuracy, abs=1e-3)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_browser_shows_the_list(analysed: AnalysedGame, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed] * 2, "t", options=PageOptions("en")), "utf-8")
    shown = dom(path)
    assert shown.count('href="#g') == 2
    assert ">Event</th>" in shown
    assert shown.count('data-name="Event"') == 2  # a phone shows no head
    unnamed = AnalysedGame(Game.from_usi(MOVES, winner=Winner.BLACK), analysed.found)
    path.write_text(html_report([unnamed] * 2, "t", options=PageOptions("en")), "utf-8")
    shown = dom(path)
    assert shown.count("☗Black ☖White") == 2
    assert ">Event</th>" not in shown
    assert ">Date</th>" not in shown


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_page_and_the_index_fit_a_phone(tmp_path: Path, language: Any) -> None:
    """A game with many mistakes, of every class in one phase, and with long names without a place
    to break at, on the narrowest of phones."""
    sync_api = pytest.importorskip("playwright.sync_api")
    draw = random.Random(1)
    game = next(game for game in records.read_games(records.sample_path()) if len(game) > 120)
    game.headers |= {"black": "b" * 200, "white": "w" * 200, "event": "e" * 200}
    rates = [draw.random() for _ in range(len(game) + 1)]
    analysed = AnalysedGame(game, [Found(rate, 10, (line(rate),)) for rate in rates])
    assert any(all(phase.mistakes) for phase in analysed.side(0).phases)
    options = PageOptions(language)
    page, index = tmp_path / "page.html", tmp_path / "index.html"
    page.write_text(html_report([analysed], "t", options=options), "utf-8")
    entries = [IndexEntry("page.html", "t" * 200, [analysed])]
    index.write_text(html_index(entries, "t", options=options), "utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        phone = browser.new_page(viewport={"width": 320, "height": 640})
        for path in (page, index):
            phone.goto(path.as_uri())
            assert phone.locator("table").count(), path.name
            assert phone.evaluate("document.documentElement.scrollWidth") == 320, path.name
            for box in phone.locator(".scroll").all():
                assert box.evaluate("e => e.scrollWidth <= e.clientWidth"), path.name
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ([5_000, 3_723_000, None, 61_999], ["0:05", "1:02:03", "1:01"]),
        ([0, 0, 0, 0], []),
        ([0, 7_000, 0, 0], ["0:00", "0:07", "0:00", "0:00"]),
    ],
)
def test_the_page_shows_the_time_of_each_move(
    times: list[int | None], shown: list[str], tmp_path: Path
) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    game = Game.from_usi(["7g7f", "3c3d", "2g2f", "8c8d"], times_ms=times)
    path = tmp_path / "page.html"
    analysed = AnalysedGame(game, [Found(0.5, 10, (line(0.5),))] * 5)
    path.write_text(html_report([analysed], "t"), "utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{path.as_uri()}#p1")
        assert page.locator(".move .time").all_inner_texts() == shown
        if shown:
            assert f"({shown[1]})" in page.locator(".played-row").inner_text()
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_phases_stand_whole_beside_many_mistakes(tmp_path: Path) -> None:
    """On a phone; Japanese words have no blanks to break at."""
    sync_api = pytest.importorskip("playwright.sync_api")
    moves = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*6e", "B*5d", "6e5d", "5c5d"]
    rates = [0.9, 0.8, 0.7, 0.2, 0.9, 0.85, 0.9, 0.8, 0.9]
    found = [Found(rate, 10, (line(rate),)) for rate in rates]
    path = tmp_path / "page.html"
    analysed = AnalysedGame(Game.from_usi(moves), found)
    path.write_text(html_report([analysed], "t", options=PageOptions("ja")), "utf-8")
    lines = """[...document.querySelectorAll('tbody th')]
        .filter(name => ['序盤', '中盤', '終盤'].includes(name.textContent))
        .map(name => {
            const range = document.createRange();
            range.selectNodeContents(name);
            return range.getClientRects().length; })"""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(path.as_uri())
        page.evaluate(
            """() => document.querySelectorAll('td .tag').forEach(tag => {
                for (let i = 0; i < 4; i++) tag.after(tag.cloneNode(true)); })"""
        )
        assert page.evaluate(lines) == [1, 1, 1]
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_moves_under_the_boards_stand_whole(tmp_path: Path) -> None:
    """Chromium breaks lines between ▲ and a move even where words are kept together."""
    sync_api = pytest.importorskip("playwright.sync_api")
    game = Game.from_usi(["7g7f", "3c3d", "2g2f"])
    best = line(0.9, "2g2f", "3c3d", "7g7f", "4a3b", "6i7h")
    reply = line(0.2, "8c8d", "2g2f", "4a3b", "2f2e")
    found = [Found(0.9, 10, (best,)), Found(0.2, 10, (reply,))]
    found += [Found(0.8, 10, (line(0.8),)) for _ in range(2)]
    path = tmp_path / "page.html"
    path.write_text(html_report([AnalysedGame(game, found)], "t", options=PageOptions("ja")))
    broken = """() => {
        let moves = 0, broken = 0;
        for (const caption of document.querySelectorAll('figcaption')) {
            const walker = document.createTreeWalker(caption, NodeFilter.SHOW_TEXT);
            for (let text; (text = walker.nextNode());) {
                for (const { index } of text.data.matchAll(/[▲△]/g)) {
                    const range = document.createRange();
                    const top = at => {
                        range.setStart(text, at);
                        range.setEnd(text, at + 1);
                        return range.getBoundingClientRect().top; };
                    moves++;
                    broken += top(index + 1) > top(index) + 5; } } }
        return [moves, broken]; }"""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(path.as_uri())
        for width in range(200, 400, 20):
            page.evaluate("w => document.body.style.width = `${w}px`", width)
            moves, breaks = page.evaluate(broken)
            assert moves >= 6
            assert not breaks, width
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_losses_stand_whole_beside_long_moves(tmp_path: Path) -> None:
    """Also on a phone and on A4."""
    sync_api = pytest.importorskip("playwright.sync_api")
    moves = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*6e", "B*5d", "6e5d", "5c5d"]
    game = Game.from_usi(moves)
    analysed = AnalysedGame(game, [Found(0.9, 10, (line(0.9),)) for _ in range(len(moves) + 1)])
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions("ja")), "utf-8")
    beyond = """[...document.querySelectorAll('.move .tag')].map(tag => {
        tag.parentElement.querySelector('.text').textContent = '▲５三桂不成';
        return tag.getBoundingClientRect().right
            - tag.closest('li').getBoundingClientRect().right; })"""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for width, media in ((360, "screen"), (390, "screen"), (1280, "screen"), (688, "print")):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.emulate_media(media=media)
            page.goto(path.as_uri())
            found = page.evaluate(beyond)
            assert len(found) == len(moves)
            assert max(found) <= 0, (width, media)
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_game_of_one_move_has_1_move(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    analysed = AnalysedGame(Game.from_usi(["7g7f"]), [Found(0.5, 10, (line(0.5),))] * 2)
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions("en")), "utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        assert "· 1 move\n" in page.inner_text("body")
        assert page.locator("[title='1 move']").count() == 1
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_address_names_a_move(analysed: AnalysedGame, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    for games, addresses in ((1, ("#2", "#p2", "#g1p2")), (2, ("#g2p2",))):
        path.write_text(html_report([analysed] * games, "t", options=PageOptions("en")), "utf-8")
        for address in addresses:
            shown = dom(f"{path}{address}")
            assert re.search('data-ply="2"[^>]* aria-current="step"', shown), address


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_positions_in_the_browser_are_the_rules_own(tmp_path: Path) -> None:
    """The page's `play` and SFEN against the core, over whole games with every kind of move."""
    import itertools

    games = list(itertools.islice(iter(records.read_games(records.sample_path())), 40))
    cases = []
    for game in games:
        before = [board.sfen() for board, _ in game.positions()]
        after = [*before[1:], game.final_board().sfen()]
        cases.append([game.initial_sfen, game.usi_moves(), after])
    script = f"""{page_module()}
    const cases = {json.dumps(cases)};
    let wrong = 0, count = 0;
    for (const [sfen, moves, after] of cases) {{
      let position = parseSfen(sfen);
      if (toSfen(position, 1) !== sfen) wrong += 1;
      moves.forEach((usi, i) => {{
        position = play(position, usi);
        count += 1;
        if (toSfen(position, i + 2) !== after[i]) wrong += 1;
      }});
    }}
    document.body.textContent = `${{wrong}} wrong of ${{count}}`;"""
    path = tmp_path / "check.html"
    path.write_text(f"<body><script>{script}</script></body>", "utf-8")
    assert f"0 wrong of {sum(len(game) for game in games)}" in dom(path)


def test_comments_are_shown_without_analyses(analysed: AnalysedGame) -> None:
    earlier = "*解析 0 ○ 候補1 時間 00:01.0 深さ 9 ノード数 12 評価値 -900 読み筋 △８四歩(83)"
    players = "*評価値=50\n*読み筋=△８四歩(83)"
    game = replace(
        analysed.game,
        comments={
            0: "*Engines 0 Gikou 2",
            1: f"{earlier}\n先手の得意形。",
            2: "#評価値=-40\n#読み筋=▲２六歩(27)\nkomadori: mistake, 12.0 points lost, 50% -> 38%",
            3: f"{players}\n交換。",
            4: f"{earlier}\n{players}",
        },
    )
    own = page_data([replace(analysed, game=game)], "t")["games"][0]["comments"]
    assert own == {"1": "先手の得意形。", "3": f"{players}\n交換。", "4": players}
    said = from_comments(game)
    assert said is not None
    shown = page_data([said], "t")["games"][0]["comments"]
    assert shown == {"1": "先手の得意形。", "3": "交換。", "4": players}


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_names_of_phases_do_not_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    game = Game.from_usi(["2h3h", "8b7b", "3h2h", "7b8b"] * 12)
    game.comments = {1: "#評価値=10", 2: "#評価値=10"}
    analysed = from_comments(game)
    assert analysed is not None
    short = [Phase.OPENING] * 30 + [Phase.MIDDLEGAME] * 2 + [Phase.ENDGAME] * 16
    monkeypatch.setattr(AnalysedGame, "phases", short)
    path = tmp_path / "page.html"
    path.write_text(html_report([analysed], "t", options=PageOptions("en")), "utf-8")
    boxes = """[...document.querySelectorAll('.phase-name')].map(e => {
        const box = e.getBoundingClientRect();
        return [box.left, box.right, box.top, box.bottom]; })"""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for width in (360, 700, 1400):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.goto(path.as_uri())
            found = page.evaluate(boxes)
            assert len(found) == 2
            for i, a in enumerate(found):
                for b in found[:i]:
                    assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
        browser.close()
