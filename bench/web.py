"""Benchmarks of `komadori web`: a page's search speed relative to the bare searcher, response times
with twenty pages, with a hundred unlimited analyses, the page in a browser, and memory after a
thousand positions.

    python bench/web.py                     # all parts, about eight minutes
    python bench/web.py --pages 50 pages
    python bench/web.py --analyses 20 analyses

Limits: nodes/s of a page's search at least 0.95 of the searcher's; with twenty pages, the median
response to a move under 200 ms; at least 5 analysis updates per second; first paint under 1 s, also
with an empty cache; no task over 50 ms in the page; no memory growth in the server or the page.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from komadori.rules import Board
from komadori.search.measure import POSITIONS

WEB = Path(__file__).parent.parent / "web"

#: Positions until caches are full, and the maximum growth of the server per position after them.
WARM_POSITIONS, LIMIT_KB = 300, 1.0
#: Number and length of the games for the page; they share only the first position.
GAMES, GAME_PLIES = 13, 100

#: Nodes per move of the alpha-beta opponent.
ALPHABETA_NODES = 10_000

#: Measurements per side of a comparison, in turns.
TURNS = 3


class Page:
    """A WebSocket client that behaves like a page."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    async def send(self, **fields: Any) -> int:
        self._number += 1
        await self._socket.send(json.dumps({"id": self._number, **fields}))
        return self._number

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self._socket.recv())
        if message["type"] == "error":
            raise RuntimeError(message)
        return message

    async def until(self, type: str, request: int) -> dict[str, Any]:
        while True:
            message = await self.receive()
            if message["type"] == type and message.get("id") == request:
                return message


class Server:
    """A `komadori web` process."""

    def __init__(self, model: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "komadori", "web", self._folder.name, "--no-browser"),
                *("--port", "0", "--library", self._folder.name, "--model", model),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        found = re.search(r"http://([^/]+)/", self.process.stdout.readline())
        assert found
        self.host = found[1]

    @contextlib.asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        origin: Any = f"http://{self.host}"
        async with connect(f"ws://{self.host}/ws", origin=origin, max_size=None) as socket:
            page = Page(socket)
            await page.receive()
            yield page

    async def idle_memory_mb(self) -> float:
        """Return the resident memory without pages: the minimum over 3 s, as the server returns
        freed memory with a delay.
        """
        samples = []
        for _ in range(12):
            await asyncio.sleep(0.25)
            text = Path(f"/proc/{self.process.pid}/status").read_text()
            found = re.search(r"VmRSS:\s+(\d+)", text)
            assert found
            samples.append(int(found[1]) / 1024)
        return min(samples)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self._folder.cleanup()


class Searcher:
    """The searcher in its own process, as in `komadori bench search`."""

    CODE = """
import sys, threading, time
from komadori.players.searching import load_evaluator
from komadori.rules import Board
from komadori.search import Limits, PuctOptions, PuctSearcher
from komadori.usi.options import option_table
options = option_table("model")
options.set("DNN_Model", sys.argv[1])
searcher = PuctSearcher(load_evaluator(options), PuctOptions())
for line in sys.stdin:
    seconds, sfen = line.strip().split(" ", 1)
    searcher.new_game()
    searcher.set_position(Board(sfen))
    stop = threading.Event()
    threading.Timer(float(seconds), stop.set).start()
    start = time.perf_counter()
    nodes = searcher.search(Limits(infinite=True), None, stop).infos[0].nodes
    print(nodes / (time.perf_counter() - start), flush=True)
"""

    def __init__(self, model: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.CODE, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def speed(self, sfen: str, seconds: float) -> float:
        """Return the nodes/s of a search with an empty tree."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds} {sfen}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


async def page_speed(page: Page, sfen: str, seconds: float) -> tuple[float, float]:
    """Return the nodes/s and updates/s of a page's analysis."""
    position = "startpos" if sfen == "startpos" else f"sfen {sfen}"
    request = await page.send(type="analyse", position=position, multipv=3, candidates=20)
    start = time.perf_counter()
    updates = 0
    while time.perf_counter() - start < seconds:
        await page.until("analysis", request)
        updates += 1
    elapsed = time.perf_counter() - start
    await page.send(type="stop")
    while (last := await page.until("analysis", request))["state"] != "done":
        pass
    return last["nodes"] / (last["time_ms"] / 1000), updates / elapsed


async def measure_speed(model: str, seconds: float) -> None:
    """Compare the bare searcher with a page's analysis, both with an empty tree."""
    ratios, rates = [], []
    searcher, server = Searcher(model), Server(model)
    print(f"{'position':<22}{'searcher':>10}{'page':>8}{'ratio':>7}{'updates/s':>11}")
    try:
        searcher.speed("startpos", 0.5)
        async with server.page() as page:
            await page_speed(page, "startpos", 0.5)
        for name, sfen in POSITIONS.items():
            alone, paged = [], []
            for _ in range(TURNS):
                alone.append(searcher.speed(sfen, seconds))
                async with server.page() as page:  # a new page has an empty tree
                    speed, rate = await page_speed(page, sfen, seconds)
                paged.append(speed)
                rates.append(rate)
            both = statistics.median(alone), statistics.median(paged)
            ratios.append(both[1] / both[0])
            print(
                f"{name:<22}{both[0]:>10,.0f}{both[1]:>8,.0f}{ratios[-1]:>7.3f}"
                f"{statistics.median(rates[-TURNS:]):>11.1f}"
            )
    finally:
        searcher.close()
        server.close()
    print(
        f"median ratio {statistics.median(ratios):.3f} (limit 0.95), "
        f"median updates {statistics.median(rates):.1f}/s (limit 5)\n"
    )


async def play(
    server: Server, number: int, seconds: float, opponent: dict[str, Any], pause_s: float
) -> list[float]:
    """Play against an engine, with pauses between moves; return the response times in ms."""
    rng = random.Random(number)
    answers: list[float] = []
    async with server.page() as page:
        request = await page.send(type="game_start", black={"kind": "human"}, white=opponent)
        game = (await page.until("game", request))["game"]
        end = time.perf_counter() + seconds
        while time.perf_counter() < end and game["phase"] == "playing":
            await asyncio.sleep(rng.expovariate(1 / pause_s))
            board = Board.from_usi(
                "startpos moves " + " ".join(game["moves"]) if game["moves"] else "startpos"
            )
            move = rng.choice(list(board.legal_moves)).usi()
            start = time.perf_counter()
            await page.send(type="game_move", game=game["game"], move=move)
            plies = len(game["moves"]) + 2
            while True:
                game = (await page.until("game", request))["game"]
                if len(game["moves"]) >= plies or game["phase"] != "playing":
                    break
            if game["phase"] == "playing":
                answers.append(1000 * (time.perf_counter() - start))
    return answers


async def analyse(
    server: Server, number: int, seconds: float, pause_s: float
) -> tuple[list[float], float]:
    """Analyse a series of positions; return the ms to the first line of each, and updates/s."""
    rng = random.Random(number)
    firsts, updates = [], 0
    async with server.page() as page:
        board = Board()
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            moves = " ".join(move.usi() for move in board.moves)
            position = f"startpos moves {moves}" if moves else "startpos"
            sent = time.perf_counter()
            request = await page.send(type="analyse", position=position, multipv=3, candidates=10)
            left = rng.expovariate(1 / pause_s)
            first = True
            while time.perf_counter() - sent < left or first:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(page.until("analysis", request), max(left, 5))
                    updates += 1
                    if first:
                        firsts.append(1000 * (time.perf_counter() - sent))
                        first = False
            if len(board.moves) > 60 or not board.legal_moves:
                board = Board()
            board.push(rng.choice(list(board.legal_moves)))
    return firsts, updates / elapsed


async def measure_pages(model: str, pages: int, seconds: float, playouts: int) -> None:
    """Measure concurrent pages: all play, half play and half analyse, all play alpha-beta."""
    network = {"kind": "engine", "player": "model:default", "playouts": playouts}
    alphabeta = {"kind": "engine", "player": "alphabeta", "playouts": ALPHABETA_NODES}
    server = Server(model)
    try:
        async with server.page() as page:
            request = await page.send(type="analyse", position="startpos", nodes=1)
            await page.until("analysis", request)
        sides = [
            (pages, network, f"{playouts} playouts"),
            (pages // 2, network, f"{playouts} playouts"),
            (pages, alphabeta, f"alpha-beta, {ALPHABETA_NODES:,} nodes"),
        ]
        for players, opponent, name in sides:
            tasks = [play(server, n, seconds, opponent, 3.0) for n in range(players)]
            analyses = [analyse(server, n, seconds, 3.0) for n in range(players, pages)]
            played, analysed = await asyncio.gather(
                asyncio.gather(*tasks), asyncio.gather(*analyses)
            )
            answers = sorted(ms for times in played for ms in times)
            print(
                f"{players} pages play ({name}), {pages - players} analyse: "
                f"{len(answers)} moves, median answer {statistics.median(answers):.0f} ms "
                f"(limit 200), 90 % {answers[int(0.9 * len(answers))]:.0f} ms"
            )
            if analysed:
                firsts = sorted(ms for times, _ in analysed for ms in times)
                rates = [rate for _, rate in analysed]
                print(
                    f"  analysis: first line after {statistics.median(firsts):.0f} ms (median), "
                    f"updates {statistics.median(rates):.1f}/s per page"
                )
        print()
    finally:
        server.close()


async def measure_analyses(model: str, pages: int, seconds: float) -> None:
    """Measure HTTP requests and a game beside unlimited alpha-beta analyses that start at once."""
    server = Server(model)
    began: list[float] = []
    updates = [0] * pages

    async def analyse(page: Page, number: int) -> None:
        rng = random.Random(number)
        board = Board()
        for _ in range(6):
            board.push(rng.choice(list(board.legal_moves)))
        position = "startpos moves " + " ".join(move.usi() for move in board.moves)
        start = time.perf_counter()
        request = await page.send(type="analyse", position=position, engine="alphabeta")
        while not (await page.until("analysis", request))["lines"]:
            pass
        began.append(1000 * (time.perf_counter() - start))
        while True:
            await page.until("analysis", request)
            updates[number] += 1

    def request_models() -> float:
        start = time.perf_counter()
        with urllib.request.urlopen(f"http://{server.host}/api/models", timeout=60) as answer:
            answer.read()
        return 1000 * (time.perf_counter() - start)

    async def request_often() -> list[float]:
        end, times = time.perf_counter() + seconds, []
        while time.perf_counter() < end:
            times.append(await asyncio.to_thread(request_models))
            await asyncio.sleep(0.2)
        return times

    def text(times: list[float]) -> str:
        times = sorted(times)
        return (
            f"median {statistics.median(times):.0f} ms, 90 % {times[int(0.9 * len(times))]:.0f} ms"
            f", longest {times[-1]:.0f} ms"
        )

    opponent = {"kind": "engine", "player": "alphabeta", "playouts": ALPHABETA_NODES}
    try:
        async with contextlib.AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(server.page()) for _ in range(pages)]
            tasks = [asyncio.ensure_future(analyse(page, n)) for n, page in enumerate(opened)]
            answers, http = await asyncio.gather(
                play(server, pages, seconds, opponent, 0.5), request_often()
            )
            for task in tasks:
                task.cancel()
        print(f"{pages} unlimited analyses: {len(answers)} moves, {text(answers)}")
        print(f"  {len(http)} HTTP requests, {text(http)}")
        print(f"  first line of {len(began)} pages, {text(began)}; ", end="")
        print(f"updates {statistics.median(updates) / seconds:.1f}/s per page\n")
    finally:
        server.close()


def distinct_games(games: int, plies: int) -> list[str]:
    """Return random games, as arguments of USI's `position`; they share only the first position."""
    rng = random.Random(1)
    seen: set[int] = set()
    found: list[str] = []
    while len(found) < games:
        board, keys = Board(), set[int]()
        while len(keys) < plies and board.legal_moves:
            board.push(rng.choice(list(board.legal_moves)))
            if board.key in seen or board.key in keys:
                board.pop()
                if rng.random() < 0.05:
                    break
                continue
            keys.add(board.key)
        if len(keys) == plies:
            seen |= keys
            found.append("startpos moves " + " ".join(move.usi() for move in board.moves))
    return found


async def measure_memory(model: str, positions: int) -> None:
    """Measure the server's memory over many distinct positions, in sessions of 50."""
    games = distinct_games(-(-(positions + WARM_POSITIONS) // GAME_PLIES), GAME_PLIES)
    server = Server(model)
    marks: list[tuple[int, float]] = []
    try:
        for number in range(2 * len(games)):
            words = games[number // 2].split()[2:]
            first = GAME_PLIES // 2 * (number % 2)
            async with server.page() as page:
                for ply in range(first + 1, first + GAME_PLIES // 2 + 1):
                    position = "startpos moves " + " ".join(words[:ply])
                    request = await page.send(
                        type="analyse", position=position, nodes=60, multipv=3
                    )
                    while (await page.until("analysis", request))["state"] != "done":
                        pass
            marks.append((GAME_PLIES // 2 * (number + 1), await server.idle_memory_mb()))
    finally:
        server.close()
    warm = [mark for mark in marks if mark[0] >= min(WARM_POSITIONS, marks[-2][0])]
    growth = 1024 * statistics.linear_regression(*zip(*warm, strict=True)).slope
    print(
        f"{marks[-1][0]} positions: server {marks[0][1]:.1f} MB after {marks[0][0]}, "
        f"{warm[0][1]:.1f} MB after {warm[0][0]}, {warm[-1][1]:.1f} MB at the end; "
        f"from there {growth:+.2f} kB per position (limit {LIMIT_KB:g}): "
        f"{'ok' if growth <= LIMIT_KB else 'EXCEEDED'}"
    )


def measure_browser(model: str) -> None:
    """Measure paint, updates, long tasks and memory of the page with `web/tools/measure.mjs`."""
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        print("browser: needs Node and `npm --prefix web ci`\n")
        return
    server = Server(model)
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".usi") as games:
            games.writelines(f"position {game}\n" for game in distinct_games(GAMES, GAME_PLIES))
            games.flush()
            command = [node, "tools/measure.mjs", f"http://{server.host}", games.name]
            subprocess.run(command, cwd=WEB, check=True)
        print()
    finally:
        server.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="speed, pages, analyses, browser, memory")
    parser.add_argument("--model", default="default")
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--analyses", type=int, default=100)
    parser.add_argument("--playouts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1.5, help="per speed measurement")
    parser.add_argument("--positions", type=int, default=1000)
    arguments = parser.parse_args()
    parts = arguments.parts or ["speed", "pages", "analyses", "browser", "memory"]
    if "speed" in parts:
        await measure_speed(arguments.model, arguments.seconds)
    if "pages" in parts:
        await measure_pages(arguments.model, arguments.pages, 20.0, arguments.playouts)
    if "analyses" in parts:
        await measure_analyses(arguments.model, arguments.analyses, 15.0)
    if "browser" in parts:
        await asyncio.to_thread(measure_browser, arguments.model)
    if "memory" in parts:
        await measure_memory(arguments.model, arguments.positions)


if __name__ == "__main__":
    asyncio.run(main())
