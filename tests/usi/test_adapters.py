"""Engines from Debian's packages through their adapters: moves and a game each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from komadori.arena import Conditions, Opening, play_game
from komadori.players import make
from komadori.players.external import EnginePlayer
from komadori.rules import Board
from komadori.usi import adapters
from komadori.usi.adapters.gpsusi import GpsUsi
from komadori.usi.client import EngineError, ExternalEngine, UsiEngine
from komadori.usi.protocol import STARTPOS, GoCommand, InfoLine, Score

pytestmark = pytest.mark.engine

#: A short limit that each engine supports.
QUICK = {
    "gnushogi": GoCommand(depth=3),
    "gpsusi": GoCommand(),
    "sjaakii": GoCommand(movetime_ms=50),
    "fairy-stockfish": GoCommand(movetime_ms=50),
}
OPTIONS = {"gpsusi": {"LimitDepth": "2"}}
MOVES = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e", "5c5d"]


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[[str], ExternalEngine]]:
    """Engines by adapter, each started once: some take seconds."""
    engines: dict[str, ExternalEngine] = {}

    def started(name: str) -> ExternalEngine:
        if adapters.program(name) is None:
            pytest.skip(f"{name} isn't installed")
        if name not in engines:
            engines[name] = adapters.start(name, OPTIONS.get(name))
        return engines[name]

    yield started
    for engine in engines.values():
        engine.close()


Start = Callable[[str], ExternalEngine]


@pytest.mark.parametrize("name", QUICK)
def test_moves_and_drops_are_understood_both_ways(name: str, start: Start) -> None:
    engine = start(name)
    for moves in ([], MOVES, MOVES[:3]):
        board = Opening(moves=tuple(moves)).board()
        thought = engine.think(STARTPOS, moves, QUICK[name], 20.0)
        assert board.parse_usi(thought.best.move) in board.legal_moves
        for info in thought.infos:
            for move in info.pv[:1]:
                board.parse_usi(move)


@pytest.mark.parametrize("name", QUICK)
def test_a_whole_game(name: str, start: Start) -> None:
    """Against random moves, which every engine beats quickly."""
    engine = EnginePlayer(start(name), limits=QUICK[name])
    weak = make("random?seed=3")
    opening = Opening(moves=("7g7f", "3c3d"))
    first = play_game(engine, weak, opening, Conditions())
    assert (first.winner, first.reason) == ("black", "checkmate"), first.detail
    if name == "gpsusi":  # the slowest of them by far
        return
    second = play_game(weak, engine, opening, Conditions())
    assert (second.winner, second.reason) == ("white", "checkmate"), second.detail


@pytest.mark.parametrize("name", ["gpsusi", "sjaakii", "fairy-stockfish"])
def test_mate_in_one_from_a_position(name: str, start: Start) -> None:
    thought = start(name).think("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", [], QUICK[name], 20.0)
    board = Board("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    board.push_usi(thought.best.move)
    assert board.is_checkmate()
    info = thought.last_info
    if info is not None and info.score is not None:
        assert info.score.mate_plies == 1 or info.score.mate_sign == 1


@pytest.mark.parametrize(
    ("name", "go"),
    [
        ("gnushogi", GoCommand(nodes=10)),
        ("gpsusi", GoCommand(nodes=10)),
        ("gpsusi", GoCommand(depth=3)),
        ("sjaakii", GoCommand(nodes=10)),
    ],
)
def test_limits_an_engine_cannot_keep_are_refused(name: str, go: GoCommand, start: Start) -> None:
    with pytest.raises(EngineError):
        start(name).think(STARTPOS, [], go, 5.0)


def test_an_increment_is_told_to_gpsusi_once() -> None:
    """It knows no increments: they are its byoyomi, so they aren't in its clocks, too."""
    request = GpsUsi.request.__get__(object.__new__(GpsUsi))
    go = Conditions(main_ms=60_000, increment_ms=2000).go([0.0, 500.0])
    assert (go.btime_ms, go.wtime_ms, go.binc_ms) == (2000, 2500, 2000)
    assert request(go) == GoCommand(btime_ms=0, wtime_ms=500, byoyomi_ms=2000)
    go = Conditions(main_ms=60_000, byoyomi_ms=3000).go([1000.0, 500.0])
    assert request(go) == GoCommand(btime_ms=1000, wtime_ms=500, byoyomi_ms=3000)


def test_gnushogis_book_is_on_or_off() -> None:
    if adapters.program("gnushogi") is None:
        pytest.skip("gnushogi isn't installed")
    with pytest.raises(
        EngineError, match=r"^gnushogi: option book: 'maybe' is neither true nor false$"
    ):
        adapters.start("gnushogi", {"book": "maybe"})


def test_gnushogi_keeps_to_the_start_position(start: Start) -> None:
    with pytest.raises(EngineError, match="start position"):
        start("gnushogi").think("8k/9/9/9/9/9/9/9/K8 b - 1", [], GoCommand(depth=1), 5.0)


def test_gnushogi_follows_a_game_and_jumps(start: Start) -> None:
    engine = start("gnushogi")
    moves: list[str] = []
    for _ in range(4):
        thought = engine.think(STARTPOS, moves, GoCommand(depth=2), 10.0)
        moves.append(thought.best.move)
        board = Opening(moves=tuple(moves)).board()
        moves.append(next(iter(board.legal_moves)).usi())
    # another line and depth: the position is set up again
    thought = engine.think(STARTPOS, MOVES, GoCommand(depth=1), 10.0)
    Opening(moves=(*MOVES, thought.best.move)).board()


def test_fairy_stockfish_takes_either_name_of_its_options() -> None:
    if adapters.program("fairy-stockfish") is None:
        pytest.skip("fairy-stockfish isn't installed")
    adapters.start("fairy-stockfish", {"USI_Hash": "8", "Threads": "1"}).close()
    with pytest.raises(EngineError, match="no option Nonsense"):
        adapters.start("fairy-stockfish", {"Nonsense": "8"})


@pytest.mark.parametrize(("name", "cp"), [("gpsusi", 1_148_897), ("sjaakii", 15_999)])
def test_scores_beyond_the_scale_are_mates(name: str, cp: int, start: Start) -> None:
    engine = start(name)
    assert isinstance(engine, UsiEngine)
    assert engine.adjust(InfoLine(score=Score(cp=-cp))).score == Score(mate_sign=-1)
    assert engine.adjust(InfoLine(score=Score(cp=50))).score == Score(cp=50)


def test_an_engine_that_is_not_there_is_named() -> None:
    with pytest.raises(EngineError, match="isn't installed"):
        adapters.start("gnushogi", path="/no/such/gnushogi")
    with pytest.raises(EngineError, match="no adapter 'x'"):
        adapters.start("x")
