"""The real encoder against the encodings and the rules."""

import random
import re

import numpy as np
import pytest
from training_toys import make_samples

from komadori import encoding, records
from komadori.rules import Board, Move
from komadori.training import ConfigError, Loader, Part
from komadori.training.encoder import CoreEncoder
from komadori.training.loss import NO_LABEL


def mirrored_sfen(sfen):
    board, turn, hand, ply = sfen.split()
    rows = []
    for row in board.split("/"):
        rows.append("".join(reversed(re.findall(r"\+?.", row))))
    return " ".join(("/".join(rows), turn, hand, ply))


def mirrored_usi(usi):
    def square(text):
        return str(10 - int(text[0])) + text[1]

    if usi[1] == "*":
        return usi[:2] + square(usi[2:])
    return square(usi[:2]) + square(usi[2:4]) + usi[4:]


@pytest.fixture(scope="module")
def positions():
    """Real positions of random games, each with one of its legal moves."""
    rng = random.Random(5)
    found = []
    for _ in range(6):
        board = Board()
        for _ in range(60):
            moves = list(board.legal_moves)
            if not moves:
                break
            move = rng.choice(moves)
            found.append((board.sfen(), move.usi()))
            board.push(move)
    return found


def as_samples(positions):
    samples = make_samples(len(positions))
    boards = [Board(sfen) for sfen, _ in positions]
    samples.hcp = np.array([np.frombuffer(b.hcp(), np.uint8) for b in boards])
    samples.move16 = np.array([Move.from_usi(usi).move16 for _, usi in positions], np.uint16)
    return samples


def encode(encoder, samples, mirror=None):
    rows = np.arange(len(samples.hcp))
    out = tuple(
        np.full((len(rows), *shape), 9, encoder.dtype) for shape in encoder.interface.inputs
    )
    return out, encoder.encode(samples, rows, mirror, out)


def test_interface_and_planes(positions):
    encoder = CoreEncoder("dlshogi", "2187")
    assert encoder.interface.inputs == ((62, 9, 9), (57, 9, 9))
    assert encoder.interface.labels == 2187
    samples = as_samples(positions)
    samples.move16[3] = 0
    out, label = encode(encoder, samples)
    for found, expected in zip(out, encoding.encode_planes(samples.hcp), strict=True):
        assert np.array_equal(found, expected)
    assert label[3] == NO_LABEL
    rest = np.arange(len(label)) != 3
    legal = encoder.legal(samples, np.flatnonzero(rest))
    assert legal[np.arange(rest.sum()), label[rest]].all()


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        ("dlshogi", "2187"),
        ("dlshogi-119", "1496"),
        ("pydlshogi", "2187-pydlshogi"),
        ("diary-turn", "8181"),
        ("diary-check", "from-to"),
        ("attention", "5839"),
        ("attention", "1134"),
    ],
)
def test_mirror_is_the_mirrored_position(positions, features, labels):
    encoder = CoreEncoder(features, labels)
    samples = as_samples(positions)
    other = as_samples([(mirrored_sfen(sfen), mirrored_usi(usi)) for sfen, usi in positions])
    mirror = np.arange(len(positions)) % 3 > 0
    found, found_label = encode(encoder, samples, mirror)
    plain, plain_label = encode(encoder, samples)
    expected, expected_label = encode(encoder, other)
    for a, b, c in zip(found, plain, expected, strict=True):
        assert np.array_equal(a[~mirror], b[~mirror])
        assert np.array_equal(a[mirror], c[mirror])
    assert np.array_equal(found_label[~mirror], plain_label[~mirror])
    assert np.array_equal(found_label[mirror], expected_label[mirror])
    rows = np.arange(len(positions))
    legal = encoder.legal(samples, rows, mirror)
    assert np.array_equal(legal[mirror], encoder.legal(other, rows[mirror]))
    assert np.array_equal(legal[~mirror], encoder.legal(samples, rows[~mirror]))


def test_turn_numbers_must_be_known(positions):
    samples = records.load_samples(records.sample_path()).take(slice(0, 8))
    loader = Loader(Part.whole(samples), CoreEncoder("diary-turn10", "1134"), 8)
    next(loader.batches())
    samples.ply[3] = 0
    with pytest.raises(ConfigError, match=r"'diary-turn10' needs move numbers.*position 3"):
        next(loader.batches())


def test_unknown_names():
    with pytest.raises(ConfigError, match=r"model\.features: unknown 'x'; known: dlshogi"):
        CoreEncoder("x", "2187")
    with pytest.raises(ConfigError, match=r"model\.labels: unknown 'x'"):
        CoreEncoder("dlshogi", "x")
