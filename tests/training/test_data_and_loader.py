import threading

import numpy as np
import pytest
from training_toys import ToyEncoder, make_samples

from komadori.training import Cursor, Loader, Part, make_split, split_by_game
from komadori.training.data import position_keys


def test_split_keeps_games_whole():
    part = Part.whole(make_samples(500))
    train, test = split_by_game(part, 0.13, seed=3)
    games = part.samples.game
    assert not np.intersect1d(games[train.rows], games[test.rows]).size
    assert len(np.unique(games[test.rows])) == 7  # 0.13 of 50, rounded up
    assert sorted([*train.rows, *test.rows]) == list(range(500))
    again = split_by_game(part, 0.13, seed=3)
    other = split_by_game(part, 0.13, seed=4)
    assert np.array_equal(again[1].rows, test.rows)
    assert not np.array_equal(other[1].rows, test.rows)


def test_seen_positions_leave_the_test():
    samples = make_samples(100)
    samples.hcp[95:] = samples.hcp[:5]
    train, test = Part(samples, np.arange(80)), Part(samples, np.arange(80, 100))
    split = make_split(train, test)
    assert (split.removed_seen, split.common_positions) == (5, 0)
    assert list(split.test.rows) == list(range(80, 95))
    kept = make_split(train, test, drop_seen=False)
    assert (len(kept.test), kept.removed_seen, kept.common_positions) == (20, 0, 5)
    mirror = ToyEncoder().mirrored
    samples.hcp[90:95] = mirror(samples.hcp[5:10])
    split = make_split(train, test, mirror=mirror)
    assert (split.removed_seen, split.common_positions) == (10, 0)
    kept = make_split(train, test, drop_seen=False, mirror=mirror)
    assert kept.common_positions == 10
    assert make_split(train, test).removed_seen == 5
    limited = make_split(train, test, test_limit=7, seed=2)
    assert len(limited.test) == 7
    assert set(limited.test.rows) <= set(range(80, 95))


def test_position_keys_tell_single_bits():
    base = make_samples(1).hcp
    flipped = np.repeat(base, 257, axis=0)
    for bit in range(256):
        flipped[bit + 1, bit // 8] ^= 1 << (bit % 8)
    assert len(np.unique(position_keys(flipped))) == 257
    assert np.array_equal(position_keys(flipped[:3]), position_keys(flipped)[:3])


def rows_of(batches):
    return [(batch.rows.tolist(), batch.after) for batch in batches]


def test_epochs_are_permutations_and_cursors_resume():
    loader = Loader(Part.whole(make_samples(70)), ToyEncoder(), 16, seed=5, mirror=True)
    whole = rows_of(loader.batches(epochs=3))
    assert [len(rows) for rows, _ in whole[:5]] == [16, 16, 16, 16, 6]
    epochs = [[row for rows, _ in whole[i : i + 5] for row in rows] for i in (0, 5, 10)]
    assert all(sorted(epoch) == list(range(70)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    for place, (_, after) in enumerate(whole[:-1]):
        assert rows_of(loader.batches(after, epochs=3)) == whole[place + 1 :]
    assert whole[-1][1] == Cursor(3, 0)


def test_batches_hold_the_samples_while_promised():
    samples = make_samples(200)
    encoder = ToyEncoder()
    loader = Loader(Part.whole(samples), encoder, 8, seed=1, ahead=1)
    previous = None
    for batch in loader.batches(epochs=2):
        for one in filter(None, (previous, batch)):
            bits = np.unpackbits(samples.hcp[one.rows], axis=1)
            assert np.array_equal(one.inputs[0][:, :, 4, 4], bits[:, :4])
            assert np.array_equal(one.targets.result, samples.result[one.rows])
            assert np.array_equal(one.targets.label, samples.move16[one.rows].astype(int) - 1)
        previous = batch


def test_mirror_flips_about_half_differently_each_epoch():
    class Recorder(ToyEncoder):
        def __init__(self):
            self.flips = []

        def encode(self, samples, rows, mirror, out):
            self.flips.append(mirror.copy())
            return super().encode(samples, rows, mirror, out)

    recorder = Recorder()
    list(Loader(Part.whole(make_samples(400)), recorder, 400, mirror=True).batches(epochs=2))
    first, second = recorder.flips
    assert 140 < first.sum() < 260
    assert (first != second).any()


def test_errors_and_early_ends_leave_no_thread():
    class Broken(ToyEncoder):
        def encode(self, samples, rows, mirror, out):
            raise ValueError("row 3 is bad")

    before = threading.active_count()
    part = Part.whole(make_samples(50))
    with pytest.raises(ValueError, match="row 3 is bad"):
        next(Loader(part, Broken(), 8).batches())
    batches = Loader(part, ToyEncoder(), 8).batches()
    next(batches)
    batches.close()
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="no samples"):
        Loader(Part(part.samples, np.empty(0, np.int64)), ToyEncoder(), 8)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_fraction_of_the_games_is_from_0_to_1(fraction):
    with pytest.raises(ValueError, match=r"test_fraction is .*, 0 to 1 is needed"):
        split_by_game(Part.whole(make_samples(50)), fraction, seed=3)
