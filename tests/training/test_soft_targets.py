"""Soft policy targets, averaged duplicates, the fitted coefficient: from samples to batches."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from training_toys import ToyEncoder, make_config, make_samples

from komadori import encoding, nets, records, training
from komadori.training import Loader, MoveProbs, Part
from komadori.training.config import ConfigError, LossConfig
from komadori.training.encoder import CoreEncoder
from komadori.training.loss import losses
from komadori.training.targets import Size


def targets_of(rows):
    """From a list of {move16: weight}."""
    count = np.array([len(row) for row in rows])
    move16 = np.array([m for row in rows for m in row], np.uint16)
    weight = np.array([w for row in rows for w in row.values()], np.float32)
    return MoveProbs.of_weights(count, move16, weight)


def as_dicts(targets):
    count, move16, probs = targets.rows(np.arange(len(targets.first) - 1))
    edges = [0, *np.cumsum(count).tolist()]
    rounded = np.round(probs.astype(float), 4)
    return [
        dict(zip(move16[a:b].tolist(), rounded[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(edges)
    ]


def test_weights_are_normalised():
    targets = targets_of([{5: 3, 6: 1}, {}, {7: 0, 8: 0}])
    assert as_dicts(targets) == [{5: 0.75, 6: 0.25}, {}, {7: 0.5, 8: 0.5}]
    sharp = targets.at_temperature(0.5)
    assert as_dicts(sharp)[0] == {5: 0.9, 6: 0.1}
    count, move16, probs = targets.rows(np.array([2, 1, 0]))
    assert count.tolist() == [2, 0, 2]
    assert move16.tolist() == [7, 8, 5, 6]
    assert probs.tolist() == [0.5, 0.5, 0.75, 0.25]


def test_batches_carry_soft_targets_as_labels():
    samples = make_samples(3)
    samples.move16[1] = 0
    part = Part.whole(samples, targets_of([{5: 3, 6: 1}, {}, {9: 1}]))
    batch = next(Loader(part, ToyEncoder(), 3, shuffle=False).batches())
    assert batch.targets.soft_label.tolist() == [[4, 5], [0, 0], [8, 8]]
    assert batch.targets.target_probs.tolist() == [[0.75, 0.25], [0, 0], [1, 0]]
    assert batch.part(1, 3).targets.target_probs.tolist() == [[0, 0], [1, 0]]


def test_duplicates_become_one_mean():
    samples = make_samples(6)
    samples.hcp[[2, 5]] = samples.hcp[0]
    samples.move16[:] = [7, 1, 8, 3, 4, 7]
    samples.result[:] = [1, 0, 0.5, 1, 1, 0]
    samples.score_cp[:] = [100, 5, 200, 6, 7, 360]
    part = training.average_duplicates(Part(samples, np.array([5, 1, 0, 2, 3])))
    assert np.array_equal(part.samples.hcp, samples.hcp[[5, 1, 3]])  # in the order first seen
    assert as_dicts(part.target_probs) == [{7: 0.6667, 8: 0.3333}, {1: 1.0}, {3: 1.0}]
    assert part.samples.move16.tolist() == [7, 1, 3]
    assert part.samples.result.tolist() == [0.5, 0, 1]
    assert part.samples.score_cp.tolist() == [220, 5, 6]
    assert part.samples.game.tolist() == samples.game[[5, 1, 3]].tolist()


def test_averaged_results_keep_their_draws():
    """A win and a loss aren't a draw: the gradient is the mean of both samples'."""
    samples = make_samples(6)
    samples.hcp[1] = samples.hcp[0]
    samples.hcp[[3, 4, 5]] = samples.hcp[2]
    samples.result[:] = [1, 0, 0.5, 0.5, 1, 0]
    samples.move16[:], samples.score_cp[:] = 1, 0
    part = training.average_duplicates(Part.whole(samples))
    assert part.draws.tolist() == [0, 0.5]
    config = LossConfig(value_lambda=0.0)
    value = torch.randn(2, 3, generator=torch.Generator().manual_seed(1))
    found = []
    for whole, owner in ((part, [0, 1]), (Part.whole(samples), [0, 0, 1, 1, 1, 1])):
        batch = next(Loader(whole, ToyEncoder(), 6, shuffle=False).batches())
        own = value[owner].requires_grad_()
        to = batch.targets.tensors((), torch.device("cpu"))
        each = losses(torch.zeros(len(owner), 16 * 81), own, to, config, Size(1, 1)).value_result
        (gradient,) = torch.autograd.grad(each, own)
        groups = [[i for i, o in enumerate(owner) if o == g] for g in (0, 1)]
        found.append(torch.stack([gradient[group].mean(0) for group in groups]))
    torch.testing.assert_close(*found)
    twice = training.average_duplicates(part)
    assert twice.draws.tolist() == [0, 0.5]


def test_temperature_needs_soft_targets(tmp_path, encoder, samples):
    config = make_config(loss={"policy_temperature": 2.0})
    with pytest.raises(ConfigError, match=r"policy_temperature = 2\.0: without visits"):
        training.train(config, samples, None, tmp_path / "run", encoder=encoder)
    averaged = make_config(loss={"policy_temperature": 2.0}, data={"duplicates": "average"})
    training.train(averaged, samples, None, tmp_path / "run", encoder=encoder)


def test_a_mask_of_soft_targets_keeps_unlabelled_rows():
    samples = records.load_samples(records.sample_path()).take(slice(20, 24))
    samples.move16[1] = 0
    moves = samples.move16
    part = Part.whole(samples, targets_of([{m: 1} if m else {} for m in moves.tolist()]))
    encoder = CoreEncoder("dlshogi", "2187")
    batch = next(Loader(part, encoder, 4, shuffle=False, legal=True).batches())
    assert np.array_equal(batch.targets.legal, encoder.legal(samples, np.arange(4)))


def test_duplicates_without_moves_and_with_soft_targets():
    samples = make_samples(3)
    samples.hcp[1] = samples.hcp[0]
    samples.move16[:] = [0, 4, 0]
    part = training.average_duplicates(Part.whole(samples))
    assert as_dicts(part.target_probs) == [{4: 1.0}, {}]
    assert part.samples.move16.tolist() == [4, 0]
    soft = Part.whole(samples, targets_of([{4: 1, 5: 3}, {4: 1}, {}]))
    merged = training.average_duplicates(soft)
    assert as_dicts(merged.target_probs) == [{4: 0.625, 5: 0.375}, {}]


def test_training_on_averaged_duplicates(tmp_path, encoder):
    samples = make_samples(300)
    samples.hcp[::3] = samples.hcp[0]
    config = make_config(data={"duplicates": "average", "test_fraction": 0}, loop={"max_steps": 2})
    result = training.train(config, samples, None, tmp_path / "run", encoder=encoder)
    data = next(e for e in result.history if e["kind"] == "data")
    assert data["train_positions"] == 201


def test_a_single_file_is_one_file_not_its_letters():
    path = records.sample_path()
    many = training.load_visits([path])
    for one in (path, str(path)):
        assert np.array_equal(training.load_visits(one).samples.hcp, many.samples.hcp)
        assert training.Files.of(one) == training.Files.of([one])


def test_visits_are_those_of_the_file(tmp_path):
    path = tmp_path / "games.hcpe3"
    moves, visits = ["7g7f", "3c3d", "2g2f"], [[("7g7f", 30), ("2g2f", 10)], [], [("2g2f", 5)]]
    game = records.Game.from_usi(moves, winner=records.Winner.BLACK, scores_cp=[10, 20, 30])
    codes = [[training_code(usi), n] for ply in visits for usi, n in ply]
    game.candidates = records.Candidates(
        np.array([len(ply) for ply in visits], np.uint16),
        np.array([c for c, _ in codes], np.uint16),
        np.array([n for _, n in codes], np.uint16),
    )
    records.write_games(path, [game])
    part = training.load_visits([path])
    plain = records.load_samples(path)
    assert len(part) == len(plain) == 2
    assert np.array_equal(part.samples.hcp, plain.hcp)
    assert as_dicts(part.target_probs) == [
        {training_code("7g7f"): 0.75, training_code("2g2f"): 0.25},
        {training_code("2g2f"): 1.0},
    ]
    encoder = CoreEncoder("dlshogi", "2187")
    batch = next(Loader(part, encoder, 2, shuffle=False, mirror=False).batches())
    expected = encoding.encode_labels(
        np.repeat(plain.hcp[:1], 2, 0),
        np.array([training_code("7g7f"), training_code("2g2f")], np.uint16),
    )
    assert batch.targets.soft_label[0].tolist() == expected.tolist()


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_mapped_batches_are_those_in_memory(tmp_path, temperature):
    games = list(itertools.islice(records.read_games(records.sample_path()), 4))
    rng = np.random.default_rng(1)
    for game in games:
        count = rng.integers(0, 4, len(game.moves)).astype(np.uint16)
        total = int(count.sum())
        game.candidates = records.Candidates(
            count,
            np.repeat(game.moves, count),  # one repeated move is a distribution too
            rng.integers(0, 30, total).astype(np.uint16),
        )
    records.write_games(tmp_path / "games.hcpe3", games)
    parts = [
        training.load_visits([tmp_path / "games.hcpe3"], cache)
        for cache in (None, tmp_path / "cache")
    ]
    assert isinstance(parts[1].target_probs.weight, np.memmap)
    batches = []  # side by side: a batch's inputs last until the loader has gone round its buffers
    for part in parts:
        soft = Part.whole(part.samples, part.target_probs.at_temperature(temperature))
        assert isinstance(soft.target_probs.move16, np.memmap) == isinstance(
            part.samples.hcp, np.memmap
        )
        loader = Loader(soft, CoreEncoder("dlshogi", "2187"), 32, seed=3, mirror=True)
        batches.append(itertools.islice(loader.batches(), 8))
    for one, other in zip(*batches, strict=True):
        assert all(map(np.array_equal, one.inputs, other.inputs))
        for field in dataclasses.fields(one.targets):
            a, b = (getattr(batch.targets, field.name) for batch in (one, other))
            assert (a is None and b is None) or np.array_equal(a, b), field.name
        assert one.targets.soft_label.shape[1] == 3
        assert np.allclose(one.targets.target_probs.sum(1), 1)


def training_code(usi):
    from komadori.rules import Move

    return Move.from_usi(usi).move16


def test_visits_need_games_with_candidates(tmp_path, encoder, samples):
    config = make_config(loss={"policy_target": "visits"})
    with pytest.raises(ConfigError, match="have no candidates"):
        training.train(config, samples, None, tmp_path / "run", encoder=encoder)


def test_masks_follow_the_mirror():
    samples = records.load_samples(records.sample_path()).take(slice(20, 60))
    encoder = CoreEncoder("dlshogi", "2187")
    rows = np.arange(40)
    mirror = rows % 2 == 0
    plain, flipped = encoder.legal(samples, rows), encoder.legal(samples, rows, mirror)
    assert np.array_equal(plain[1::2], flipped[1::2])
    other = records.Samples(**{**samples.columns(), "hcp": encoding.mirror_hcps(samples.hcp)})
    assert np.array_equal(encoder.legal(other, rows)[::2], flipped[::2])
    batch = next(Loader(Part.whole(samples), encoder, 40, mirror=True, legal=True).batches())
    assert batch.targets.legal[np.arange(40), batch.targets.label].all()
    assert batch.targets.legal.sum() < 40 * 300


def test_separate_outputs_are_legal_together_only():
    samples = records.load_samples(records.sample_path()).take(slice(0, 30))
    encoder = CoreEncoder("dlshogi", "from-to")
    assert encoder.interface.heads == (88, 1134)
    rows = np.arange(30)
    labels = encoding.encode_labels(samples.hcp, samples.move16, "from-to")
    assert encoder.is_legal(samples, rows, labels).all()
    mixed = np.stack((labels[:, 0], np.roll(labels[:, 1], 1)), 1)
    found = encoder.is_legal(samples, rows, mixed)
    assert not found.all()
    union = encoder.legal(samples, rows)
    assert union[rows, labels[:, 0]].all()


def test_pairs_of_separate_outputs_are_ranked_together():
    from komadori.training.evaluate import most_probable

    torch.manual_seed(0)
    log_p = tuple(torch.randn(4, n).log_softmax(1) for n in (9, 11))
    joint = (log_p[0][:, :, None] + log_p[1][:, None, :]).flatten(1).topk(5).indices
    expected = torch.stack((joint // 11, joint % 11), 2)
    assert torch.equal(most_probable(log_p, 5), expected)
    assert torch.equal(most_probable(log_p[:1], 3)[:, :, 0], log_p[0].topk(3).indices)


@pytest.mark.parametrize("coef", [300.0, 756.0])
def test_the_coefficient_is_found_again(coef):
    rng = np.random.default_rng(0)
    samples = make_samples(60_000)
    samples.score_cp[:] = rng.normal(0, 800, 60_000)
    samples.score_cp[:2000] = 32000  # mates, some of them lost
    samples.result[:] = rng.random(60_000) < 1 / (1 + np.exp(-samples.score_cp / coef))
    samples.result[:1000] = 0
    assert training.fit_eval_coef(Part.whole(samples)) == pytest.approx(coef, rel=0.03)


def test_scores_that_say_nothing_are_refused():
    samples = make_samples(100)
    samples.score_cp[:] = 0
    with pytest.raises(ConfigError, match="don't predict the results"):
        training.fit_eval_coef(Part.whole(samples))
    samples.score_cp[:] = np.where(samples.result > 0.5, -500, 500)
    with pytest.raises(ConfigError, match="don't predict the results"):
        training.fit_eval_coef(Part.whole(samples))


def test_a_fitted_coefficient_is_in_the_card(tmp_path, encoder):
    samples = make_samples(600)
    samples.result[:60] = 1 - samples.result[:60]
    config = make_config(loss={"eval_coef": "fit"}, loop={"max_steps": 2})
    assert config.loss.eval_coef == 0
    result = training.train(config, samples, None, tmp_path / "run", encoder=encoder)
    _, card = nets.load_model(result.checkpoint)
    p = 1 / (1 + np.exp(-600 / card.eval_coef))  # all scores are +-600
    assert 0.85 < p < 0.95
    assert training.loss_config_of(card).eval_coef == card.eval_coef
    assert LossConfig().eval_coef != card.eval_coef
