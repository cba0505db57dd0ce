"""Network requests: the answers equal the network's outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from web_pages import Server, make_server

from komadori import inference
from komadori.encoding import encode_boards, move_probabilities
from komadori.rules import Board

POSITION = "startpos moves 7g7f 3c3d 8h2b+ 3a2b"


def test_the_policy_is_the_networks(server: Server) -> None:
    with server.page() as page:
        answer = page.ask("network", "network", position=POSITION)
    board = Board.from_usi(POSITION)
    policy, value = inference.evaluate(
        inference.load("random:3"), *encode_boards([board], "dlshogi")
    )
    expected = move_probabilities(board, policy[0])
    reported = {row["move"]: row["p"] for row in answer["policy"]}
    for move, p in zip(board.legal_moves, expected, strict=True):
        assert reported[move.usi()] == pytest.approx(float(p), rel=1e-5)
    assert answer["value"] == pytest.approx(float(value[0]))
    assert sum(answer["to_squares"]) == pytest.approx(1, abs=1e-4)
    assert sum(answer["from_squares"]) + sum(answer["drops"].values()) == pytest.approx(1, abs=1e-4)
    assert answer["drops"]["B"] > 0
    assert answer["drops"]["G"] == 0
    assert 0 < answer["legal_mass"] < 1


def test_models_are_answered_in_order(tmp_path: Path) -> None:
    with make_server(tmp_path) as client, Server(client).page() as page:
        request = page.send("network", position=POSITION, models=["random:3", "random:3"])
        answers = [page.until("network", id=request) for _ in range(2)]
    assert [answer["index"] for answer in answers] == [0, 1]
    assert answers[0]["policy"] == answers[1]["policy"]


@pytest.mark.parametrize("position", ["startpos", "startpos moves 7g7f"])
def test_planes_use_board_coordinates(server: Server, position: str) -> None:
    with server.page() as page:
        answer = page.ask("planes", "planes", position=position)
    board = Board.from_usi(position)
    assert answer["total"] == 62 + 57
    own = {plane["name"]: plane["squares"] for plane in answer["planes"]}
    pawns = [s for s in range(81) if (p := board.piece_at(s)) and p.symbol in "Pp"]
    expected = [s for s in pawns if board.piece_at(s).color == board.turn]
    names = [name for name, squares in own.items() if squares == expected]
    assert "own pieces P" in names, sorted(own)


def test_attention_of_a_network_that_has_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from komadori import nets

    torch.manual_seed(1)
    name = "resnet1x32+attention1"
    network = nets.build(name)
    folder = tmp_path / "with-attention"
    folder.mkdir()
    card = nets.ModelCard(
        net=nets.parse(name),
        features="dlshogi",
        labels="2187",
        interface=network.interface,
        eval_coef=600.0,
    )
    nets.save_model(folder, network, card)
    with make_server(tmp_path) as client, Server(client).page() as page:
        models = {row["id"]: row for row in client.get("/api/models").json()}
        assert models["with-attention"]["has_attention"]
        fields = {"model": "with-attention"}
        black = page.ask("attention", "attention", position="startpos", **fields)
        weights = np.array(black["weights"])
        assert weights.shape == (81, 81)
        assert np.allclose(weights.sum(1) + np.array(black["hands"]), 1, atol=2e-3)
        assert (black["layers"], black["heads"]) == (1, 4)
        # The starting position is symmetric: White's attention is Black's, rotated.
        flipped = "sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
        white = page.ask("attention", "attention", position=flipped, **fields)
        assert np.allclose(np.array(white["weights"]), weights[::-1, ::-1], atol=2e-5)
        head = page.ask("attention", "attention", position="startpos", head=2, **fields)
        assert not np.allclose(head["weights"], weights)
        refused = page.ask("attention", "error", position="startpos", layer=1, **fields)
        assert refused["code"] == "not_possible"
        assert refused["message"].endswith("with-attention has 1 layer of attention")
        answer = page.ask("network", "network", position="startpos", models=["with-attention"])
        assert answer["model"] == "with-attention"


def test_a_finished_game_has_no_policy(server: Server) -> None:
    mated = "sfen 4k4/4G4/4G4/9/9/9/9/9/4K4 w - 1"
    with server.page() as page:
        assert page.ask("network", "error", position=mated)["code"] == "not_possible"
