"""NNUE: value, incremental updates, SIMD kernels, files."""

from __future__ import annotations

import numpy as np
import pytest
from nnue_oracle import INPUTS, Network, inputs, pieces, random_network
from two_piece_oracle import positions

from komadori import players
from komadori._core import alphabeta
from komadori._core import linear as core
from komadori.linear import NnueWeights, WeightsError
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.usi.option_tables import ALPHABETA_OPTIONS
from komadori.usi.protocol import GoCommand

MIDDLE = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
FEW = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"
NO_KING = "4k4/9/4P4/9/9/9/9/9/9 b 2R2B4G4S4N4L17P 1"
NO_KINGS = "9/9/4P4/9/9/9/9/9/9 w 2R2B4G4S4N4L17P 1"
HANDICAP = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


@pytest.fixture(scope="module", params=sorted(INPUTS))
def content(request: pytest.FixtureRequest) -> bytes:
    return random_network(request.param, 7)


@pytest.mark.parametrize("view", [0, 1])
def test_pieces_are_numbered_as_in_yaneuraou(view: int) -> None:
    for board in [*positions(100, 1), Board(MIDDLE), Board(FEW), Board(HANDICAP)]:
        assert sorted(core.bona_list(board, view)) == sorted(pieces(board, view)[0])
        for architecture in INPUTS:
            found = core.nnue_inputs(architecture, board, view)
            assert sorted(found) == sorted(inputs(architecture, board, view))


def test_value_is_the_definition_in_every_arithmetic(content: bytes) -> None:
    oracle, in_core = Network(content), NnueWeights(content).core()
    assert core.nnue_kernels()[-1] == "portable"
    seen = set()
    rare = [Board(sfen) for sfen in (MIDDLE, FEW, HANDICAP, NO_KING, NO_KINGS)]
    for board in [*positions(60, 2), *rare]:
        value = oracle.value(board)
        seen.add(value)
        for kernels in core.nnue_kernels():
            assert in_core.evaluate(board, kernels) == value, (kernels, board.sfen())
    assert len(seen) > 30


def test_layers_at_their_limits_in_every_arithmetic() -> None:
    """The largest possible inputs and weights, where saturation or overflow would show."""
    network = bytearray(random_network("k-p", 3))
    layers = len(network) - sum(4 * out + out * n for out, n in ((32, 512), (32, 32), (1, 32)))
    rows = layers - 4 - 2 * 256 * INPUTS["k-p"]
    for weight in (127, -128):
        network[rows - 512 : rows] = np.full(256, 32000, "<i2").tobytes()
        network[layers + 128 : layers + 128 + 32 * 512] = np.full(32 * 512, weight, "i1").tobytes()
        in_core = NnueWeights(bytes(network)).core()
        for board in positions(20, 5):
            found = {k: in_core.evaluate(board, k) for k in core.nnue_kernels()}
            assert len(set(found.values())) == 1, found


def test_increments_are_exact(content: bytes) -> None:
    engine = core.nnue_engine(NnueWeights(content).core(), alphabeta.Options())
    for seed, sfen in enumerate((None, MIDDLE, FEW, NO_KING)):
        assert engine.evaluator_mismatches(Board(sfen), 350_000, seed) == 0


def test_the_search_plays_with_it(content: bytes, tmp_path) -> None:
    path = tmp_path / "nn.bin"
    NnueWeights(content).save(path)
    assert path.read_bytes() == content
    searcher = AlphaBetaSearcher("nnue", path)
    halved = AlphaBetaSearcher("nnue", path, fv_scale=32)
    oracle = Network(content)
    for board in positions(10, 4):
        assert searcher.evaluate(board) == oracle.value(board)
        assert halved.evaluate(board) == oracle.value(board, 32)
    searcher.set_position(Board())
    assert searcher.search(Limits(nodes=5000)).best_move in Board().legal_moves


# -- files


def test_a_file_is_written_as_it_is_laid_out(content: bytes) -> None:
    in_core = NnueWeights(content).core()
    written = in_core.to_bytes()
    again = Network(written)
    assert again.architecture == in_core.architecture
    assert again.hash == core.nnue_hash(again.architecture)
    assert again.hash == again.transformer_hash ^ again.layers_hash
    assert again.description == core.nnue_architecture(again.architecture)
    assert np.array_equal(again.rows, Network(content).rows)
    for (bias, weights), (old_bias, old_weights) in zip(
        again.layers, Network(content).layers, strict=True
    ):
        assert np.array_equal(bias, old_bias)
        assert np.array_equal(weights, old_weights)
    assert NnueWeights(written).core().to_bytes() == written


def test_descriptions_are_those_of_yaneuraou() -> None:
    layers = (
        "AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-32](ClippedReLU[32]"
        "(AffineTransform[32<-512](InputSlice[512(0:512)])))))"
    )
    assert core.nnue_architecture("halfkp") == (
        f"Features=HalfKP(Friend)[125388->256x2],Network={layers}"
    )
    assert core.nnue_architecture("k-p") == f"Features=K+P[1710->256x2],Network={layers}"
    assert core.nnue_hash("halfkp") == 0x3E5AA6EE


def refusal(content: bytes) -> str:
    with pytest.raises(WeightsError) as caught:
        NnueWeights(content).core()
    return str(caught.value)


def test_a_broken_file_is_reported_with_place_and_reason(tmp_path) -> None:
    good = random_network("k-p", 1)
    length = len(b"made at random")
    for at, what in (
        (0, "the version at byte 0"),
        (4, "the hash at byte 4"),
        (8, "the description's length"),
        (12 + length, "the feature transformer's hash at byte 26"),
        (len(good) - 32 - 4 - 32 * 32 - 128 - 32 * 512 - 128 - 4, "the layers' hash"),
    ):
        bad = bytearray(good)
        bad[at : at + 4] = b"\xff" * 4
        assert what in refusal(bytes(bad))
    for size, what in (
        (0, "the version"),
        (20, "the description"),
        (100, "the feature transformer's biases"),
        (600, "the feature transformer's weights: 875520 bytes are needed at byte 542"),
        (len(good) - 17000, "the first layer's weights"),
        (len(good) - 1, "the last layer's weights: 32 bytes are needed"),
    ):
        assert f"the file ends in {what}" in refusal(good[:size])
    assert "3 bytes follow the last layer" in refusal(good + b"abc")
    assert "1 byte follows the last layer" in refusal(good + b"a")
    assert refusal(good[:1]).endswith("4 bytes are needed at byte 0, 1 is there")
    path = tmp_path / "short.bin"
    path.write_bytes(good[:1000])
    with pytest.raises(WeightsError, match=r"short\.bin"):
        NnueWeights.load(path)
    with pytest.raises(FileNotFoundError):
        NnueWeights.load(tmp_path / "none.bin")
    with pytest.raises(WeightsError, match="FV_SCALE"):
        NnueWeights(good, 0).core()


def test_bytes_of_something_else_are_not_saved(tmp_path) -> None:
    path = tmp_path / "nn.bin"
    path.write_bytes(b"old")
    with pytest.raises(WeightsError, match="not an NNUE network: the version at byte 0"):
        NnueWeights(b"junk").save(path)
    assert path.read_bytes() == b"old"


def test_mutated_files_are_read_or_refused() -> None:
    good = random_network("k-p", 1)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        bad = bytearray(good)
        for at in rng.integers(0, 60, rng.integers(1, 4)):
            bad[at] = rng.integers(256)
        bad = bad[: rng.integers(len(bad) + 1)] if rng.random() < 0.5 else bad
        try:
            NnueWeights(bytes(bad)).core().evaluate(Board())
        except WeightsError:
            refused += 1
    assert refused > 200


# -- the network of the package


def test_the_repr_has_no_megabyte_of_weights(content: bytes) -> None:
    assert repr(NnueWeights(content)) == "NnueWeights(fv_scale=16)"


def test_the_network_that_comes_with_the_package() -> None:
    searcher = AlphaBetaSearcher("nnue")
    assert abs(searcher.evaluate(Board())) < 150
    ahead = "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"  # a rook more
    assert searcher.evaluate(Board(f"{ahead} b - 1")) > 500
    assert searcher.evaluate(Board(f"{ahead} w - 1")) < -500
    searcher.set_position(Board())
    assert searcher.search(Limits(nodes=5000)).best_move in Board().legal_moves


def test_the_default_player() -> None:
    (option,) = [o.line for o in ALPHABETA_OPTIONS if o.line.name == "Eval"]
    assert option.default == "nnue"
    player = players.make("alphabeta?hash=8&nodes=2000")
    try:
        decision = player.play(Board(), GoCommand())
    finally:
        player.close()
    named = AlphaBetaSearcher("nnue", options=AlphaBetaOptions(hash_mb=8))
    named.set_position(Board())
    assert decision.move == named.search(Limits(nodes=2000)).best_move
