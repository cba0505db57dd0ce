"""Every screen in a real browser: desktop and phone, Japanese and English, by keyboard alone, and
checked by axe.

Needs Debian's Chromium. KOMADORI_SCREENSHOTS=FOLDER writes screenshots to a folder, such as
docs/images/web.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
from demo import make_demo
from playwright.sync_api import Browser, Dialog, Locator, Page, WebSocket, expect, sync_playwright
from test_serve import Process, running

from komadori.web.app import STATIC

CHROMIUM = shutil.which("chromium")
REPOSITORY = Path(__file__).parents[2]
SCREENSHOTS = os.environ.get("KOMADORI_SCREENSHOTS", "")
#: A folder created by `demo.py`; if empty, the tests create one.
DEMO = os.environ.get("KOMADORI_DEMO", "")
TIMEOUT_MS = 30_000
expect.set_options(timeout=TIMEOUT_MS)

SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1440, "height": 900}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
    "landscape": {
        "viewport": {"width": 844, "height": 390},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
}
SCREENS = ("analyse", "network", "play", "library", "train", "matches", "lab")
RECORD = """先手：佐藤
後手：鈴木
   1 ７六歩(77)
   2 ３四歩(33)
   3 ２六歩(27)
   4 ８四歩(83)
   5 ２五歩(26)
   6 ８五歩(84)
   7 ７八金(69)
   8 ３二金(41)
   9 ２四歩(25)
  10 同　歩(23)
  11 同　飛(28)
  12 ９九歩打
"""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium"),
    pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="the pages aren't built"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = Path(DEMO) if DEMO else tmp_path_factory.mktemp("demo")
    if not DEMO:
        pytest.importorskip("torch")
        make_demo(folder, steps=12)
    report = folder / "runs" / "resnet" / "report" / "index.html"
    if not report.exists():
        report.parent.mkdir()
        report.write_text("<h1>A report</h1>")
    library = tmp_path_factory.mktemp("library")
    options = [str(REPOSITORY / "docs" / "results"), "--library", str(library)]
    model = ["--model", ""] if SCREENSHOTS else []  # the bundled engine
    with running(folder, *options, *model) as server:
        add_ladder_games(server)
        yield server


def add_ladder_games(site: Process) -> None:
    """Add the ladder's games to the library."""
    for record in site.get("/api/ladders/strength.db/games"):
        start = record["sfen"] if record["sfen"] == "startpos" else f"sfen {record['sfen']}"
        game = {"position": f"{start} moves {' '.join(record['moves'])}"}
        game |= {name: record[name] for name in ("black", "white", "winner")}
        game["end"] = record["reason"]
        request = urllib.request.Request(
            f"http://{site.host}/api/games",
            json.dumps(game).encode(),
            {"content-type": "application/json", "origin": f"http://{site.host}"},
        )
        urllib.request.urlopen(request).close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield launched
        launched.close()


Open = Callable[..., Page]
#: The connections that each page has opened.
SOCKETS: dict[Page, list[WebSocket]] = {}


@pytest.fixture
def visit(browser: Browser, site: Process) -> Iterator[Open]:
    """Return a function that opens a screen; fails if pages logged errors or warnings."""
    logged: list[str] = []
    contexts = []

    def opened(
        screen: str = "", size: str = "desktop", language: str = "en", theme: str = "light"
    ) -> Page:
        context = browser.new_context(
            **SIZES[size], color_scheme=theme, locale={"ja": "ja-JP", "en": "en-GB"}[language]
        )
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        SOCKETS[page] = []
        page.on("websocket", lambda socket: SOCKETS[page].append(socket))
        page.on("pageerror", lambda error: logged.append(str(error)))
        page.on(
            "console",
            lambda m: logged.append(m.text) if m.type in ("error", "warning") else None,
        )
        page.goto(f"http://{site.host}/#/{screen}")
        page.locator("main").first.wait_for()
        expect(page.locator(".status.open")).to_be_attached(timeout=TIMEOUT_MS)
        expect(page.locator("main[aria-busy]")).to_have_count(0)
        return page

    yield opened
    for context in contexts:
        context.close()
    SOCKETS.clear()
    assert logged == []


def screenshot(page: Page, name: str, *, whole: bool = False) -> None:
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(
            path=Path(SCREENSHOTS) / f"{name}.jpg",
            type="jpeg",
            quality=85,
            full_page=whole,
            timeout=120_000,
        )


def paste(page: Page, text: str) -> None:
    """Paste text, as by Ctrl-V."""
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData('text/plain', text);
            document.body.dispatchEvent(
                new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
        }""",
        text,
    )


def open_record(page: Page) -> None:
    """Open a game at its end."""
    paste(page, RECORD.rsplit("  12", 1)[0])
    expect(page.locator(".moves, main").first).to_contain_text("11")
    expect(page.get_by_role("button", name=re.compile("^11 "))).to_be_visible()
    page.keyboard.press("End")


def analyse(page: Page) -> None:
    """Analyse the game, to the end. The button alone doesn't show it: it is there before the server
    answers, too."""
    start = page.get_by_role("button", name=re.compile("^(Analyse the game|棋譜を解析)$"))

    def is_last(frame: str | bytes) -> bool:
        message = json.loads(frame)
        return message.get("type") == "study" and message["state"] != "running"

    with SOCKETS[page][-1].expect_event("framereceived", is_last, timeout=240_000) as last:
        start.click()
    assert json.loads(last.value)["state"] == "done"
    expect(page.locator(".study-bar .button.primary")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("size", list(SIZES))
def test_every_screen_fits_and_is_accessible_and_translated(
    visit: Open, site: Process, size: str, language: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visit("", size, language, "dark" if size == "phone" else "light")
    assert page.locator("html").get_attribute("lang") == language
    known = words_of_data(site)
    problems = []
    for screen in (*SCREENS, "matches/ladder/strength.db", "train/loop/loop"):
        page.evaluate("name => { location.hash = '#/' + name; }", screen)
        expect(
            page.locator(f"nav [aria-current=page][href='#/{screen.split('/')[0]}']")
        ).to_have_count(1)
        page.wait_for_timeout(600)
        overflow = width_of_overflow(page)
        if overflow > 0:
            problems.append(f"{screen}: {overflow} px too wide")
        options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "iframes": False}
        found = Axe().run(page, options=options)
        problems += [
            f"{screen}: {v['id']}: {v['nodes'][0]['html'][:120]}"
            for v in found.response["violations"]
        ]
        if language == "ja":
            shown = set(re.findall("[A-Za-z]{3,}", page.evaluate(SHOWN_TEXT)))
            problems += [f"{screen}: {word!r} isn't Japanese" for word in sorted(shown - known)]
    assert not problems, "\n".join(problems)


#: All text that a page shows or exposes to screen readers, except code and keys.
SHOWN_TEXT = """() => {
    const found = [];
    for (const e of document.body.querySelectorAll('*')) {
        if (e.closest('code, kbd, script, noscript, style, iframe, [translate=no]')) continue;
        for (const name of ['aria-label', 'title', 'placeholder', 'aria-valuetext', 'alt'])
            found.push(e.getAttribute(name) ?? '');
        for (const child of e.childNodes) if (child.nodeType === 3) found.push(child.data);
    }
    return found.join(' ');
}"""


def words_of_data(site: Process) -> set[str]:
    """Return words from data, and those that Japanese text doesn't translate."""
    lists = ("models", "players", "runs", "matches", "loops", "ladders", "lab", "games")
    text = " ".join(json.dumps(site.get(f"/api/{name}")) for name in lists)
    text += " komadori Language KIF CSA USI SFEN JKF HTML PNG GIF Elo LOS NNUE "
    text += "Enter Tab Home End Shift Ctrl Control Delete Esc "
    return set(re.findall("[A-Za-z]{3,}", text))


def test_the_browser_asks_before_it_leaves_changes(visit: Open) -> None:
    page = visit("analyse")
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    def leave() -> list[str]:
        asked.clear()
        page.reload()
        expect(page.locator(".status.open")).to_be_attached()
        return asked

    page.on("dialog", answer)
    open_record(page)
    page.locator(".comment-box textarea").click()
    assert leave() == []  # only read
    open_record(page)
    page.locator(".comment-box textarea").press_sequentially("!")
    with page.expect_download():
        page.keyboard.press("Control+s")
    assert leave() == []  # in a file
    open_record(page)
    page.locator(".comment-box textarea").press_sequentially("!")
    assert leave() == ["beforeunload"]


def test_a_mated_side_is_told(visit: Open) -> None:
    page = visit("analyse")
    paste(page, "4k4/4G4/4P4/9/9/9/9/9/4K4 w P 1")
    expect(page.locator(".hand-bottom [data-nb='1']")).to_be_visible()
    page.keyboard.press("t")
    told = "The side to move has no legal move: it has lost."
    expect(page.locator(".mate-box p")).to_have_text(told)


def test_kif_edited_by_hand_is_read_whole(visit: Open) -> None:
    page = visit("analyse")
    paste(
        page,
        " 先手 ：甲\n後手:乙\n備考:a\n備考:b\n手合割：平手\n"
        "１ ７六歩(77) （ 0:05/00:00:05）\n  *好手\n"
        "２ ３四歩(33)\n  まで2手で後手の勝ち\n 変化：2手\n２ ８四歩(83)\n*変化の手\n",
    )
    expect(page.get_by_role("button", name=re.compile("^2 P-3d"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile(r"^2\.P-8d"))).to_be_visible()
    for text in ("甲", "乙", "好手", "変化の手"):
        expect(page.locator("main")).to_contain_text(text)


def test_mate_search(visit: Open) -> None:
    page = visit("analyse", language="ja")
    paste(page, "4k4/9/4P4/9/9/9/9/9/4K4 b R2S 1")
    expect(page.locator(".hand-bottom [data-nb='2']")).to_be_visible()  # two silvers
    page.keyboard.press("t")
    expect(page.locator(".mate-box")).to_contain_text("3手の詰みがあります")
    expect(page.locator(".mate-box .line-moves button")).to_have_count(3)
    screenshot(page, "mate-ja")
    page.get_by_role("button", name="Language").click()
    score = page.locator(".mate-box .line-score")
    expect(score).to_have_text("mate in 3")
    assert score.bounding_box()["height"] < 25  # type: ignore[index]
    page.set_viewport_size({"width": 390, "height": 844})
    rate = page.locator(".mate-box .line-rate")
    assert rate.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.set_viewport_size(SIZES["desktop"]["viewport"])
    page.get_by_role("button", name="Language").click()
    page.locator(".mate-box .line-moves button").first.click()
    expect(page.locator(".mate-box")).to_have_count(0)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_position_is_analysed_live(visit: Open, language: str) -> None:
    page = visit("analyse", language=language)
    open_record(page)
    page.keyboard.press("l")
    lines = page.locator(".line-rate")
    expect(lines.first).to_be_visible()
    page.wait_for_timeout(4_000 if SCREENSHOTS else 300)
    screenshot(page, f"analyse-{language}")
    before = page.locator(".line").first.inner_text()
    notation = (
        "[１-９同][一二三四五六七八九　]" if language == "ja" else r"[A-Z](-|x|\*)?[1-9][a-i]"
    )
    assert re.search(notation, before), before
    page.keyboard.press("ArrowLeft")  # the search follows
    expect(lines.first).to_be_visible()
    page.keyboard.press("l")


def test_a_game_is_analysed_and_printed(visit: Open) -> None:
    page = visit("analyse")
    if SCREENSHOTS:
        paste(page, (REPOSITORY / "web" / "tests" / "games" / "game.kif").read_text())
        expect(page.get_by_role("button", name=re.compile("^11 "))).to_be_visible()
    else:
        open_record(page)
    effort = page.get_by_label(re.compile("(Nodes|Playouts) per move"))
    effort.select_option("50000" if SCREENSHOTS else "100")
    analyse(page)
    expect(page.locator("canvas, svg.graph, .uplot").first).to_be_visible()
    page.keyboard.press(".")  # the next mistake
    page.wait_for_timeout(1_000 if SCREENSHOTS else 0)
    screenshot(page, "study", whole=True)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # as the browser's print command does
    page.emulate_media(media="print")
    expect(page.locator(".paper-moves li")).to_have_count(103 if SCREENSHOTS else 11)
    expect(page.locator(".paper-graph polyline")).to_be_visible()
    expect(page.locator(".paper-mistake .mini-board").first).to_be_visible()
    expect(page.locator(".side")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".paper")).to_have_count(0)


#: Black loses a bishop.
BLUNDER = "position startpos moves 7g7f 3c3d 8h3c+ 2b3c 2g2f 8c8d"


@pytest.mark.parametrize("screen", ["analyse", "train"])
def test_the_last_label_below_a_graph_is_whole(visit: Open, screen: str) -> None:
    page = visit(screen, size="phone")
    page.locator(".uplot").first.wait_for()
    longest = "100" if screen == "analyse" else "60"
    room, width = page.evaluate(
        """text => {
            const plot = document.querySelector('.uplot').getBoundingClientRect();
            const lines = document.querySelector('.u-over').getBoundingClientRect();
            const context = document.createElement('canvas').getContext('2d');
            context.font = '11px system-ui';
            return [plot.right - lines.right, context.measureText(text).width];
        }""",
        longest,
    )
    assert 2 * room >= width


def test_an_analysis_is_followed_after_a_reload(visit: Open) -> None:
    page = visit("analyse")
    settings = {"engine": "alphabeta", "studyAlphaBetaNodes": 2_000_000}  # seconds per move
    page.evaluate("s => localStorage.setItem('komadori', JSON.stringify(s))", settings)
    page.reload()
    expect(page.locator(".status.open")).to_be_attached()
    open_record(page)
    page.get_by_role("button", name="Analyse the game").click()
    page.wait_for_url(re.compile(r"#/analyse/\d+/11$"))  # the game is in the library now
    page.reload()
    expect(page.locator(".graph-place")).to_have_attribute("data-ply", "11")
    expect(page.locator(".study-bar progress")).to_be_visible()
    expect(page.locator(".summary")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".study-bar .button.primary")).to_be_visible(timeout=60_000)
    summary = page.locator(".summary").inner_text()
    other = visit(page.url.split("#/")[1])  # reads what is stored
    other.get_by_role("radio", name="Mistakes").click()
    expect(other.locator(".summary")).to_be_visible()
    assert other.locator(".summary").inner_text() == summary


def test_a_saved_game_without_a_date_gets_none(visit: Open) -> None:
    """The time of saving is the library's; in the record it would be the date of the game."""
    page = visit("analyse")
    open_record(page)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("menuitem", name="Save to the library").click()
    page.wait_for_url(re.compile(r"#/analyse/\d+/11$"))
    other = visit(page.url.split("#/")[1])  # a page that reads what is stored
    expect(other.get_by_role("button", name=re.compile("^11 "))).to_be_visible()
    with other.expect_download() as record:
        other.keyboard.press("Control+s")
    text = Path(record.value.path()).read_text(encoding="utf-8")
    assert "先手：佐藤" in text
    assert "日" not in text.partition("手数")[0]


def test_the_mistakes_of_a_game_are_exercises_and_the_address_names_its_moves(visit: Open) -> None:
    page = visit("analyse")
    settings = {"engine": "alphabeta", "studyAlphaBetaNodes": 20_000}
    page.evaluate("s => localStorage.setItem('komadori', JSON.stringify(s))", settings)
    page.reload()
    expect(page.locator(".status.open")).to_be_attached()
    paste(page, BLUNDER)
    expect(page.get_by_role("button", name=re.compile("^5 "))).to_be_visible()
    page.get_by_role("button", name="Analyse the game").click()
    first = page.locator(".mistake-list .mistake").first
    expect(first).to_contain_text("3 B-3c+", timeout=120_000)
    page.keyboard.press("r")
    retry = page.locator(".retry")
    expect(retry).to_contain_text("Black played B-3c+ and lost")
    expect(page.locator(".line, .rate")).to_have_count(0)  # nothing reveals the answer
    page.wait_for_url(re.compile(r"#/analyse/\d+/2$"))
    page.keyboard.press("i")
    expect(retry.locator(".hint")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#typed-move")).to_be_focused()
    page.keyboard.type("8h5e")  # the bishop hangs there as well
    page.keyboard.press("Enter")
    expect(retry.locator(".verdict.wrong")).to_contain_text("B-5e")
    expect(page.get_by_role("button", name=re.compile("^2 P-3d"))).to_have_attribute(
        "aria-current", "step"
    )
    page.locator("#typed-move").blur()
    page.keyboard.press(" ")
    expect(retry).to_contain_text("The answer is")
    screenshot(page, "retry")
    page.keyboard.press(".")
    expect(retry).to_contain_text("0 of 1")
    page.keyboard.press("r")
    expect(retry).to_have_count(0)

    page.evaluate("location.hash = '#4'")
    page.wait_for_url(re.compile(r"#/analyse/\d+/4$"))
    page.get_by_role("radio", name="Moves").click()
    expect(page.locator(".move.current")).to_contain_text("Bx3c")
    address = page.url.split("#/")[1]
    other = visit(address)  # a page that hasn't loaded the game
    expect(other.locator(".move.current")).to_contain_text("Bx3c")
    expect(other.locator(".move.mistake, .move.blunder, .move.disaster")).to_have_count(1)
    other.get_by_role("link", name="Library").click()
    other.locator(".table.library .move-link").nth(1).click()
    other.wait_for_url(re.compile(r"#/analyse/\d+/0$"))
    other.keyboard.press("ArrowRight")
    other.wait_for_url(re.compile(r"#/analyse/\d+/1$"))
    other.go_back()
    other.wait_for_url("**/#/library")
    other.go_back()
    other.wait_for_url(f"**/#/{address}")
    expect(other.locator(".move.current")).to_contain_text("Bx3c")


def test_the_moves_of_the_library_are_shown_and_played(visit: Open) -> None:
    page = visit("analyse", language="ja")
    rows = page.locator(".openings tbody tr")
    expect(rows.first).to_be_visible()
    screenshot(page, "openings-ja")
    rows.first.locator("button").click()
    expect(page.locator(".move.current .ply")).to_have_text("1")
    page.locator("[data-panel=openings] h2 button").click()
    expect(rows).to_have_count(0)  # hidden, also after a reload
    page.reload()
    expect(page.locator("[data-panel=openings].shut")).to_be_visible()


def test_the_network_screen(visit: Open) -> None:
    page = visit("network")
    page.locator(".candidates").first.wait_for()
    page.locator(".inside-bar .search-toggle").click()
    expect(page.locator(".candidates tbody tr").first).to_be_visible()
    for name in ("tree", "checkpoints", "compare", "planes", "attention"):
        page.locator(f"[data-panel={name}] h2 button").click()
    # The server loads torch and a checkpoint first.
    expect(page.locator("[data-panel=checkpoints] .uplot").first).to_be_visible(timeout=120_000)
    expect(page.locator("[data-panel=attention] [aria-busy=true]")).to_have_count(0)
    if SCREENSHOTS:
        page.set_viewport_size({"width": 1760, "height": 1100})
    page.wait_for_timeout(6_000 if SCREENSHOTS else 300)
    screenshot(page, "network")


def test_a_game_is_played_by_keyboard_alone(visit: Open) -> None:
    page = visit("play")
    screenshot(page, "play-new")
    focused = "document.activeElement.textContent + document.activeElement.className"
    for _ in range(80):
        page.keyboard.press("Tab")
        if "primary" in page.evaluate(focused):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".seat").first).to_be_visible()
    expect(page.locator("#typed-move")).to_be_attached()
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "typed-move":
            break
    page.keyboard.type("7g7f")
    page.keyboard.press("Enter")
    page.wait_for_timeout(3_000 if SCREENSHOTS else 500)
    screenshot(page, "play")


def test_enter_in_a_field_ends_the_dialog_of_headers(visit: Open) -> None:
    page = visit("analyse")
    page.locator(".analyse .toolbar .button").last.click()
    page.get_by_role("menuitem", name="Players and event").click()
    field = page.get_by_role("textbox", name="Event")
    field.fill("Meijin")
    field.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    page.locator(".analyse .toolbar .button").last.click()
    page.get_by_role("menuitem", name="Players and event").click()
    expect(page.get_by_role("textbox", name="Event")).to_have_value("Meijin")


def test_the_current_move_stays_in_sight_when_the_panels_above_grow(visit: Open) -> None:
    page = visit("analyse")
    page.keyboard.press("Control+o")
    page.locator("dialog textarea").fill(RECORD.rsplit("  12", 1)[0])
    page.locator("dialog footer button").last.click()
    expect(page.locator("dialog")).to_have_count(0)
    hidden = """list => {
        const [a, b] = [list.querySelector('.current'), list].map(e => e.getBoundingClientRect());
        return a.bottom > b.bottom || a.top < b.top;
    }"""
    for ply in range(1, 12):
        page.set_viewport_size({"width": 1440, "height": 900})
        page.locator(".move-list .move").nth(ply).click()
        page.set_viewport_size({"width": 1440, "height": 640})
        page.wait_for_timeout(100)
        assert not page.locator(".move-list").evaluate(hidden), ply


def test_a_session_by_keyboard_alone(visit: Open) -> None:
    page = visit("analyse")
    key = page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(150):
            key.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab doesn't reach {selector}")

    key.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    key.press("Enter")  # skips the header
    expect(page.locator("main")).to_be_focused()
    key.press("Tab")
    expect(page.locator(".board-cursor")).to_be_focused()

    key.press("Control+o")
    expect(page.locator("dialog textarea")).to_be_visible()
    tab_to("dialog textarea")
    key.insert_text(RECORD.rsplit("  12", 1)[0])
    tab_to("dialog footer button")
    key.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^11 "))).to_be_visible()
    for name in ("Home", "ArrowRight", "ArrowRight"):
        key.press(name)
    expect(page.locator(".move.current")).to_contain_text("P-3d")
    key.press("l")
    expect(page.locator(".line-rate").first).to_be_visible()
    key.press("l")
    key.press("c")
    expect(page.locator("#comment")).to_be_focused()
    key.type("a comment")
    key.press("Escape")  # back to the other keys
    expect(page.locator("#comment")).not_to_be_focused()
    key.press("End")
    expect(page.locator(".move.current .ply")).to_have_text("11")

    tab_to(".analyse .toolbar .button:nth-child(2)")
    key.press("Enter")
    sfen = page.locator("dialog input.mono")
    expect(sfen).to_be_visible()
    expect(page.locator("dialog sg-board")).to_be_visible()  # no keys before the board is there
    tab_to("dialog .board-cursor")
    for name in ("ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown", "Enter", "ArrowUp", "Enter"):
        key.press(name)  # the pawn 5g to 5f
    expect(sfen).to_have_value(re.compile(r"/2P1P4/.* w Pp "))
    key.press("+")
    expect(sfen).to_have_value(re.compile(r"/2P1\+P4/"))
    key.press("+")
    expect(sfen).to_have_value(re.compile(r"/2P1p4/"))
    key.press("Delete")  # in White's hand
    expect(sfen).to_have_value(re.compile(r"/2P6/.* w P2p "))
    key.press("?")  # not over another dialog
    expect(page.locator("dialog")).to_have_count(1)
    tab_to("dialog footer .primary")
    key.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(".analyse .toolbar .button:nth-child(2)")).to_be_focused()

    key.press("Alt+3")
    page.locator(".new-game").wait_for()
    tab_to(".new-game .primary")
    key.press("Enter")
    expect(page.locator(".seat").first).to_be_visible()
    expect(page.locator(".board-cursor")).to_be_focused()
    for name in ("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft", "Enter", "ArrowUp", "Enter"):
        key.press(name)
    expect(page.locator(".play-moves li").first).to_contain_text("P-7f")
    tab_to(".play .toolbar .button:nth-child(3)")
    key.press("Enter")
    key.press("Enter")
    expect(page.locator(".result")).to_contain_text("White won by resignation")


def test_a_reloaded_page_continues_its_game(visit: Open) -> None:
    page = visit("play", language="ja")
    page.get_by_label("手合割").select_option(label="二枚落ち")
    page.get_by_role("radio", name="△ 上手").click()
    page.locator(".new-game .primary").click()
    expect(page.locator(".seat").first).to_be_visible()
    page.locator("#typed-move").fill("7a6b")
    page.keyboard.press("Enter")
    expect(page.locator(".play-moves li")).to_have_count(2, timeout=30_000)  # and the answer
    page.reload()
    expect(page.locator(".play-moves li")).to_have_count(2)
    expect(page.locator(".result")).to_have_count(0)


def test_a_game_on_a_phone(visit: Open) -> None:
    page = visit("play", "phone", "ja", "dark")
    page.locator(".new-game .primary").click()
    expect(page.locator(".seat").first).to_be_visible()
    buttons = page.locator(".play .toolbar .button")
    expect(buttons).to_have_count(4)
    assert len({button.bounding_box()["y"] for button in buttons.all()}) == 1  # type: ignore[index]
    page.wait_for_timeout(500)
    screenshot(page, "play-phone-ja-dark")


def width_of_overflow(page: Page) -> float:
    """Return by how many pixels the page is wider than the screen."""
    # Not innerWidth: on phones it grows with the content.
    element = "document.documentElement"
    width: float = page.evaluate(f"{element}.scrollWidth - {element}.clientWidth")
    return width


def middle(place: Locator) -> tuple[float, float]:
    """Return the middle of an element in the window."""
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def square(board: Locator, file: int, rank: int) -> tuple[float, float]:
    """Return the middle of a square in the window."""
    box = board.bounding_box()
    assert box is not None
    return (
        box["x"] + (9.5 - file) * box["width"] / 9,
        box["y"] + (rank - 0.5) * box["height"] / 9,
    )


def drag(page: Page, start: tuple[float, float], end: tuple[float, float], *, touch: bool) -> None:
    """Drag by mouse or by a finger."""
    steps = [tuple(a + (b - a) * n / 8 for a, b in zip(start, end, strict=True)) for n in range(9)]
    if touch:
        devtools = page.context.new_cdp_session(page)
        for n, (x, y) in enumerate(steps):
            event = {"type": "touchMove" if n else "touchStart", "touchPoints": [{"x": x, "y": y}]}
            devtools.send("Input.dispatchTouchEvent", event)
            page.wait_for_timeout(20)
        devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    else:
        page.mouse.move(*start)
        page.mouse.down()
        for x, y in steps:
            page.mouse.move(x, y)
        page.mouse.up()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_position_is_set_up_by_dragging_between_board_and_hands(visit: Open, size: str) -> None:
    page = visit("analyse", size)
    page.get_by_role("button", name="Set up", exact=True).click()
    board, sfen = page.locator(".setup .board-place"), page.locator(".setup input.mono")
    touch = size == "phone"

    def hand(piece: str) -> tuple[float, float]:
        return middle(page.locator(f".setup sg-hp-wrap piece.{piece}"))

    rest = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP"
    drag(page, square(board, 8, 8), hand("sente.bishop"), touch=touch)
    expect(sfen).to_have_value(f"{rest}/7R1/LNSGKGSNL b B 1")
    drag(page, square(board, 2, 8), hand("gote.rook"), touch=touch)
    expect(sfen).to_have_value(f"{rest}/9/LNSGKGSNL b Br 1")
    drag(page, hand("sente.bishop"), square(board, 5, 8), touch=touch)
    expect(sfen).to_have_value(f"{rest}/4B4/LNSGKGSNL b r 1")
    # A piece dropped elsewhere stays.
    drag(page, square(board, 5, 8), middle(page.locator(".setup h2")), touch=touch)
    expect(sfen).to_have_value(f"{rest}/4B4/LNSGKGSNL b r 1")
    # A mate problem needs one king.
    drag(page, square(board, 5, 9), hand("sente.king"), touch=touch)
    expect(sfen).to_have_value(f"{rest}/4B4/LNSG1GSNL b r 1")
    expect(page.locator(".setup .primary")).to_be_enabled()
    drag(page, hand("sente.king"), square(board, 5, 9), touch=touch)
    expect(sfen).to_have_value(f"{rest}/4B4/LNSGKGSNL b r 1")


def test_a_dropped_piece_isnt_marked_in_hand_at_other_moves(visit: Open) -> None:
    page = visit()
    paste(page, "position sfen 4k4/9/9/9/9/9/9/9/4K4 b P 1")
    board, pawn = page.locator(".board-place").first, page.locator("sg-hp-wrap piece.sente.pawn")
    expect(page.locator('sg-hp-wrap[data-nb="1"] piece.sente.pawn')).to_be_visible()
    page.mouse.click(*middle(pawn))
    page.mouse.click(*square(board, 5, 5))
    expect(page.get_by_role("button", name=re.compile("^1 "))).to_be_visible()
    expect(page.locator("sq.last-dest")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("sq.last-dest")).to_have_count(0)
    expect(page.locator("sg-hp-wrap.last-dest")).to_have_count(0)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_button_to_use_a_set_up_position_is_in_sight_on_a_phone(
    visit: Open, language: str
) -> None:
    page = visit("analyse", "phone", language)
    page.get_by_role("button", name=re.compile("^(Set up|局面編集)$")).click()
    expect(page.locator("dialog footer .primary")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_an_analysed_game_fits_on_a_phone(visit: Open, language: str) -> None:
    page = visit("analyse", "phone", language)
    open_record(page)
    page.get_by_label(re.compile("per move|1手あたり")).select_option(index=0)  # the least
    analyse(page)
    expect(page.locator(".summary tbody tr")).to_have_count(2)
    assert width_of_overflow(page) == 0


#: The parts of the search bar that overlap the next one, stick out or hide part of their text.
CROWDED = """bar => {
    const limit = bar.getBoundingClientRect();
    const boxes = [...bar.children].map(e => e.getBoundingClientRect());
    return [...bar.children].filter((e, i) => e.scrollWidth > e.clientWidth + 1
        || boxes[i].right > limit.right + 1
        || boxes.some((b, k) => k > i && b.left < boxes[i].right - 1 && b.right > boxes[i].left + 1
            && b.top < boxes[i].bottom - 1 && b.bottom > boxes[i].top + 1)).map(e => e.className);
}"""


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_search_bar_fits_at_every_width(visit: Open, language: str) -> None:
    page = visit("analyse", "desktop", language)
    page.get_by_role("switch").first.click()
    expect(page.locator(".line-rate").first).to_be_visible()
    page.get_by_role("switch").first.click()
    bar = page.locator(".search-bar")
    for width in (320, 360, 390, 768, 834, 1000, 1024, 1180, 1200, 1280, 1366, 1640, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert not bar.evaluate(CROWDED), width
        tops = [box.bounding_box()["y"] for box in bar.locator("button").all()]  # type: ignore[index]
        assert max(tops) - min(tops) < 10, width  # in one row


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_candidates_fit_at_every_width(visit: Open, language: str) -> None:
    page = visit("network", "desktop", language)
    table = page.locator(".candidates")
    expect(table.locator(".move-link").first).to_be_visible()
    for width in (320, 390, 768, 1000, 1024, 1180, 1280, 1640):
        page.set_viewport_size({"width": width, "height": 700})
        assert table.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth"), width
        for move in table.locator(".move-link").all():
            assert move.bounding_box()["height"] < 30, width  # type: ignore[index]  # one line


def test_phone_analysis(visit: Open) -> None:
    page = visit("analyse", "phone", "ja")
    open_record(page)
    page.get_by_role("switch").first.click()
    expect(page.locator(".line-rate").first).to_be_visible()
    page.wait_for_timeout(3_000 if SCREENSHOTS else 200)
    numbers = page.locator(".numbers > span")
    expect(numbers.first).to_be_visible()
    for width in (390, 320):  # the search statistics fit on one line
        page.set_viewport_size({"width": width, "height": 844})
        assert page.locator(".numbers").evaluate("e => e.scrollWidth <= e.clientWidth")
        assert len({number.bounding_box()["y"] for number in numbers.all()}) == 1  # type: ignore[index]
    page.set_viewport_size({"width": 390, "height": 844})
    screenshot(page, "analyse-phone-ja")


def test_the_library_lists_the_games(visit: Open, site: Process) -> None:
    games = site.get("/api/games")["games"]
    page = visit("library")
    if games:
        expect(page.locator("main")).to_contain_text(games[0]["black"] or games[0]["white"])
    screenshot(page, "library")
    page = visit("library", "phone", "ja")
    if games:
        expect(page.locator(".table.library tbody tr").first).to_be_visible()
    screenshot(page, "library-phone-ja")


def test_the_page_before_follows_the_last_game_of_a_page_deleted(
    visit: Open, site: Process
) -> None:
    """An empty page without buttons would look like an empty library."""
    address = f"http://{site.host}/api/games"
    headers = {"content-type": "application/json", "origin": f"http://{site.host}"}
    added = []
    for number in range(51):
        game = json.dumps({"position": "startpos moves 1g1f", "black": f"many {number}"})
        request = urllib.request.Request(address, game.encode(), headers)
        with urllib.request.urlopen(request) as response:
            added.append(json.load(response)["game"])
    page = visit("library")
    page.get_by_role("searchbox").fill("many")
    rows = page.locator(".table.library tbody tr")
    expect(page.locator(".pager")).to_contain_text("1–50 / 51")
    page.locator(".pager button").last.click()
    expect(rows).to_have_count(1)
    page.once("dialog", lambda dialog: dialog.accept())
    rows.first.get_by_role("button", name="Delete: ").click()
    expect(rows).to_have_count(50)
    for number in added[1:]:  # the oldest one was on the second page
        urllib.request.urlopen(
            urllib.request.Request(f"{address}/{number}", None, headers, method="DELETE")
        ).close()


def test_a_game_without_names_is_one_of_question_marks(visit: Open, site: Process) -> None:
    """Its row names the players so, and its buttons must too."""
    address = f"http://{site.host}/api/games"
    headers = {"content-type": "application/json", "origin": f"http://{site.host}"}
    game = json.dumps({"position": "startpos moves 9g9f 1c1d"}).encode()
    with urllib.request.urlopen(urllib.request.Request(address, game, headers)) as response:
        number = json.load(response)["game"]
    page = visit("library")
    row = page.locator(".table.library tbody tr").first
    expect(row).to_contain_text("▲ ? △ ?")
    expect(row.get_by_role("button", name="Delete: ? – ?")).to_be_visible()
    expect(row.get_by_role("link", name="? – ?")).to_be_visible()
    urllib.request.urlopen(
        urllib.request.Request(f"{address}/{number}", None, headers, method="DELETE")
    ).close()


def test_trainings_and_matches_are_shown(visit: Open) -> None:
    page = visit("train")
    expect(page.locator(".uplot").first).to_be_visible()
    page.wait_for_timeout(1_500)
    screenshot(page, "train")
    page = visit("matches", language="ja", theme="dark")
    expect(page.locator("main")).to_contain_text("material")
    screenshot(page, "matches-ja-dark")
    page = visit("matches/ladder/strength.db")
    expect(page.locator(".ladder tbody tr")).to_have_count(6)
    expect(page.locator(".board-card").first).to_be_visible()
    screenshot(page, "ladder")
    page.locator(".cross .move-link").first.click()
    expect(page.locator("#ladder-games select").nth(1)).not_to_have_value("")
    page = visit("train/loop/loop")
    expect(page.locator(".loop tbody tr").nth(2)).to_be_visible()
    screenshot(page, "loop")
    page = visit("lab")
    expect(page.locator("main")).to_contain_text("laboratory")
    page.wait_for_timeout(500)
    screenshot(page, "lab")


def test_plots_follow_a_window_that_gets_narrower(visit: Open) -> None:
    page = visit("train/runs%2Fresnet")
    expect(page.locator(".uplot").first).to_be_visible()
    for width in (844, 390):  # also a phone that is turned
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(300)
        assert width_of_overflow(page) == 0, width


def test_the_report_of_a_run_opens(visit: Open) -> None:
    page = visit("train/runs%2Fresnet")
    with page.expect_popup() as popup:
        page.locator(".run-head a").click()
    expect(popup.value.locator("h1")).to_be_visible()


def test_the_laboratorys_pages_lead_to_each_other_and_have_their_plots(
    visit: Open, site: Process
) -> None:
    index = next(p["name"] for p in site.get("/api/lab") if p["name"].endswith("index"))
    page = visit(f"lab/{urllib.parse.quote(index, safe='')}")
    lab = page.frame_locator(".lab-page")
    lab.locator("td a").first.click()
    expect(page.locator("aside [aria-current]")).not_to_contain_text("The laboratory")
    title = page.locator("aside [aria-current]").inner_text()
    expect(lab.locator("h1")).to_have_text(title)
    expect(lab.locator("img")).to_be_visible()
    assert lab.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def colour(place: Locator) -> str:
    return place.evaluate("place => getComputedStyle(place).color")


def test_a_page_of_the_laboratory_is_printed_whole(visit: Open, site: Process) -> None:
    index = next(p["name"] for p in site.get("/api/lab") if p["name"].endswith("index"))
    page = visit(f"lab/{urllib.parse.quote(index, safe='')}", theme="dark")
    lab = page.frame_locator(".lab-page")
    expect(lab.locator("h1")).to_have_text("The laboratory")
    rows = lab.locator("tr").count()
    # A link to a file that isn't shown has no address and doesn't look like a link.
    text = lab.locator("p").first
    assert colour(lab.locator("a:not([href])").first) == colour(text)
    page.locator("aside a:has-text('The policy head')").first.click()
    expect(lab.locator("img")).to_be_visible()
    paper = page.locator(".lab-paper")
    expect(paper.locator("h1")).to_have_text(lab.locator("h1").inner_text())
    expect(paper).to_be_hidden()
    page.evaluate("history.back()")  # one step: the frame's pages are no steps of their own
    expect(page.locator("aside [aria-current]")).to_contain_text("The laboratory")
    expect(lab.locator("h1")).to_have_text("The laboratory")
    expect(paper.locator("tr")).to_have_count(rows)
    page.emulate_media(media="print")
    expect(paper).to_be_visible()
    expect(page.locator(".lab-page, aside")).to_have_count(2)
    expect(page.locator(".lab-page")).to_be_hidden()
    expect(page.locator("aside")).to_be_hidden()
    assert paper.bounding_box()["height"] > 1200
    assert colour(paper) == "rgb(0, 0, 0)"
    assert width_of_overflow(page) <= 0


def test_boards_are_printed_with_their_pieces_and_uncut(visit: Open) -> None:
    page = visit("train/runs%2Fresnet", theme="dark")
    expect(page.locator(".curves .u-wrap").first).to_be_visible()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 900})  # A4's
    style = "(place, name) => getComputedStyle(place).getPropertyValue(name)"
    assert page.locator("sg-board").evaluate(style, "print-color-adjust") == "exact"
    assert page.locator(".would-play > *").first.evaluate(style, "break-inside") == "avoid"
    assert page.locator(".curve-grid > .card").first.evaluate(style, "break-inside") == "avoid"
    assert page.locator("html").evaluate(style, "--link") == "#2c6488"
    for plot in page.locator(".curves").all():
        inside = plot.locator(".u-wrap").bounding_box()
        assert inside["width"] <= plot.bounding_box()["width"]


@pytest.mark.parametrize("screen", ["library", "matches", "lab", "play"])
def test_a_record_pasted_on_a_screen_without_its_board_is_shown(visit: Open, screen: str) -> None:
    page = visit(screen)
    paste(page, RECORD.rsplit("  12", 1)[0])
    expect(page.get_by_role("button", name=re.compile("^11 "))).to_be_visible()


def test_a_game_opened_from_the_end_of_a_list_begins_with_its_board(visit: Open) -> None:
    page = visit("matches/ladder/strength.db", "phone")
    page.locator(".board-card").last.click()
    expect(page.locator(".stage")).to_be_in_viewport()
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_words_of_a_table_stay_whole_on_a_phone(visit: Open, language: str) -> None:
    page = visit("train/loop/loop", "phone", language)
    rows = page.locator(".loop tbody tr")
    expect(rows.nth(2)).to_be_visible()
    assert all(row.bounding_box()["height"] < 60 for row in rows.all())  # type: ignore[index]


def test_the_preview_of_a_move_and_the_menu_to_save_are_within_the_window(visit: Open) -> None:
    page = visit("analyse")
    page.set_viewport_size({"width": 1280, "height": 800})
    for _ in range(3):
        open_record(page)
    page.keyboard.press("l")
    page.locator(".line-moves button").first.hover()
    page.locator(".preview").wait_for()
    page.keyboard.press("l")
    page.locator(".line-moves button").first.hover()
    for shown in (page.locator(".preview"), page.locator("[role=menu]")):
        if shown.count() == 0:
            page.get_by_role("button", name="Save").click()
        expect(shown).to_be_in_viewport(ratio=1)
        assert shown.evaluate("e => e.scrollHeight <= e.clientHeight")


def test_a_phone_shows_the_matches_whole(visit: Open) -> None:
    page = visit("matches", size="phone")
    page.locator(".match-table tbody tr").first.wait_for()
    widths = page.locator(".table-wrap").evaluate_all(
        "all => all.map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert all(content <= shown for content, shown in widths)


def test_the_keys_are_listed(visit: Open) -> None:
    page = visit("analyse", language="ja")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.locator("kbd").count() > 30
    screenshot(page, "keys-ja")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_screens_are_reached_by_keys(visit: Open) -> None:
    page = visit("analyse")
    for number, screen in enumerate(SCREENS, 1):
        page.keyboard.press(f"Alt+{number}")
        page.wait_for_url(f"**/#/{screen}")


def test_a_lost_connection_is_restored(visit: Open) -> None:
    page = visit("analyse")
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    page.context.set_offline(False)
    expect(page.locator(".status.open")).to_be_attached()
