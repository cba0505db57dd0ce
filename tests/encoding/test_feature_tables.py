"""The tables' planes are those of their sources."""

import pytest

from komadori.encoding import FEATURES, FeatureInput

PIECES = ["P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R"]


def planes(features: str, name: str) -> tuple[str, ...]:
    return FEATURES[features][name].planes


def test_shapes() -> None:
    shapes = {name: [one.shape for one in table.inputs] for name, table in FEATURES.items()}
    assert shapes["dlshogi"] == [(62, 9, 9), (57, 9, 9)]
    assert shapes["dlshogi-119"] == [(62, 9, 9), (119, 9, 9)]
    assert shapes["pydlshogi"] == [(104, 9, 9)]
    assert shapes["attention"] == [(137, 64)]
    assert shapes["diary"] == [(28, 9, 9), (76, 9, 9)]
    assert shapes["diary-turn10"] == shapes["diary-turn20"] == [(28, 9, 9), (84, 9, 9)]


def test_dlshogi_order() -> None:
    names = planes("dlshogi", "features1")
    for c, side in enumerate(("own", "opponent")):
        for k, piece in enumerate(PIECES):
            assert names[31 * c + k] == f"{side} pieces {piece}"
            assert names[31 * c + 14 + k] == f"{side} attacks {piece}"
        assert names[31 * c + 28 : 31 * c + 31] == tuple(
            f"{side} attack count >= {n}" for n in (1, 2, 3)
        )
    hands = planes("dlshogi", "features2")
    for c, side in enumerate(("own", "opponent")):
        wanted = [f"{side} hand {p} >= {i + 1}" for p, n in HANDS for i in range(n)]
        assert hands[28 * c : 28 * (c + 1)] == tuple(wanted)
    assert hands[56] == "in check"


HANDS = [("P", 8), ("L", 4), ("N", 4), ("S", 4), ("G", 4), ("B", 2), ("R", 2)]


def test_pydlshogi_order() -> None:
    names = planes("pydlshogi", "features")
    order = ["P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "+B", "+R"]
    full = [("P", 18), *HANDS[1:]]
    for c, side in enumerate(("own", "opponent")):
        wanted = [f"{side} pieces {p}" for p in order]
        wanted += [f"{side} hand {p} >= {i + 1}" for p, n in full for i in range(n)]
        assert names[52 * c : 52 * (c + 1)] == tuple(wanted)


def test_declaration_planes_follow_dlshogi() -> None:
    names = planes("dlshogi-119", "features2")
    assert names[:57] == planes("dlshogi", "features2")
    for c, side in enumerate(("own", "opponent")):
        first = 57 + 31 * c
        assert names[first] == f"{side} king in zone"
        assert names[first + 1] == f"{side} pieces lacking in zone = 0"
        assert names[first + 11] == f"{side} points lacking = 0"


def test_packed_sizes() -> None:
    bits = {name: [one.packed_bits for one in t.inputs] for name, t in FEATURES.items()}
    assert bits["dlshogi"] == [62 * 81, 57]
    assert bits["dlshogi-119"] == [62 * 81, 119]
    assert bits["pydlshogi"] == [2 * (14 * 81 + 38)]
    assert bits["attention"] == [81 * 64 + 56]
    assert [one.packed_bytes for one in FEATURES["dlshogi"].inputs] == [628, 8]


@pytest.mark.parametrize(
    "one", [i for t in FEATURES.values() for i in t.inputs], ids=lambda one: one.name
)
def test_blocks_cover_every_plane_once(one: FeatureInput) -> None:
    assert len(set(one.planes)) == len(one.planes) == one.shape[0]
    first = 0
    for block in one.blocks:
        assert block.first == first
        first += len(block.planes)
    assert first == one.shape[0]
