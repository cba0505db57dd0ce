"""Mate searches of the page."""

from __future__ import annotations

from web_pages import Server

from komadori.rules import Board

#: Black mates in three plies.
MATE_IN_3 = "sfen 4k4/9/4P4/9/9/9/9/9/4K4 b R2S 1"
#: The same position with White to move: Black threatens the mate.
TSUMERO = "sfen 4k4/9/4P4/9/9/9/9/9/4K4 w R2S 1"
IN_CHECK = "sfen 4k4/4R4/9/9/9/9/9/9/4K4 w - 1"
#: No mate was found in a million nodes.
OPEN = "sfen 8l/7k1/7pp/9/9/9/9/9/4K4 b R2G 1"


def test_a_mate_is_found_with_its_line(server: Server) -> None:
    with server.page() as page:
        found = page.ask("mate", "mate", position=MATE_IN_3)
        assert (found["status"], len(found["moves"]), found["is_shortest"]) == ("mate", 3, True)
        board = Board.from_usi(MATE_IN_3 + " moves " + " ".join(found["moves"]))
        assert board.is_check()
        assert not board.legal_moves


def test_a_threat_of_mate_is_found_after_a_pass(server: Server) -> None:
    with server.page() as page:
        assert page.ask("mate", "mate", position=TSUMERO)["status"] == "none"
        found = page.ask("mate", "mate", position=TSUMERO, after_pass=True)
        assert (found["status"], len(found["moves"])) == ("mate", 3)
        found = page.ask("mate", "mate", position=IN_CHECK, after_pass=True)
        assert found["status"] == "check"


def test_a_side_without_legal_moves_is_told_apart_from_one_in_check(server: Server) -> None:
    mated, stalemate = "sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", "sfen k8/2G6/1S7/9/9/9/9/9/8K w - 1"
    with server.page() as page:
        for position in (mated, stalemate):
            for after_pass in (False, True):
                found = page.ask("mate", "mate", position=position, after_pass=after_pass)
                assert found["status"] == "over"


def test_nothing_threatens_a_side_without_a_king(server: Server) -> None:
    problem = "sfen 4k4/9/9/9/9/9/9/9/9 b P 1"
    with server.page() as page:
        for after_pass in (False, True):
            found = page.ask("mate", "mate", position=problem, after_pass=after_pass)
            assert found["status"] == "none"


def test_stop_cancels_running_and_queued_searches(server: Server) -> None:
    with server.page() as page:
        requests = [
            page.send("mate", position="startpos", nodes=1),
            *(page.send("mate", position=OPEN, nodes=100_000_000) for _ in range(2)),
        ]
        assert page.until("mate", id=requests[0])["status"] in ("none", "unknown")
        page.ask("stop", "ok", what="mate")
        for request in requests[1:]:
            assert page.until("mate", id=request)["status"] == "unknown"


def test_a_wrong_position_is_refused(server: Server) -> None:
    with server.page() as page:
        assert page.ask("mate", "error", position="sfen x")["code"] == "bad_position"
