"""Distillation: a teacher network's outputs as targets."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F
from training_toys import ToyEncoder, make_config, make_samples

from komadori import nets, training
from komadori.training.config import ConfigError, LossConfig
from komadori.training.distill import Distilled
from komadori.training.loss import losses
from komadori.training.targets import Size, Targets


def targets(**others) -> Targets:
    return Targets(
        label=torch.tensor([2, 0, -1]),
        result=torch.tensor([1.0, 0.0, 0.5]),
        score_cp=torch.tensor([300.0, -100.0, 0.0]),
        **others,
    )


def random(*shape, seed: int = 1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_loss_is_the_mix_of_both():
    logits, value = random(3, 4).float(), random(3, seed=2).float()
    taught = Distilled(random(3, 4, seed=3).float(), random(3, seed=4).float())
    size, config = Size(3, 2), LossConfig(distill_weight=0.3, policy_weight=2.0)
    alone = losses(logits, value, targets(), config, size)
    mixed = losses(logits, value, targets(), config, size, distilled=taught)
    log_p, q = logits.log_softmax(1), taught.policy.softmax(1)
    policy = -(q * log_p).sum(1)[:2].sum() / 2  # the third has no label
    won, expected = torch.sigmoid(value), torch.sigmoid(taught.value)
    of_value = -(expected * won.log() + (1 - expected) * (1 - won).log()).mean()
    torch.testing.assert_close(
        mixed.total, 0.7 * alone.total + 0.3 * (2 * policy + of_value), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(mixed.policy, alone.policy)
    torch.testing.assert_close(mixed.value_result, alone.value_result)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_student_that_is_its_teacher_has_no_gradient(outputs):
    logits = random(3, 5).requires_grad_()
    value = (random(3, 3) if outputs == 3 else random(3)).requires_grad_()
    taught = Distilled(logits.detach().float(), value.detach().float())
    legal = torch.tensor([[True, False, True, True, True]] * 3)
    for masks in ({}, {"legal": legal}):
        config = LossConfig(distill_weight=1.0)
        loss = losses(logits, value, targets(**masks), config, Size(3, 2), distilled=taught)
        assert math.isfinite(float(loss.total.detach()))
        for gradient in torch.autograd.grad(loss.total, (logits, value)):
            torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-6, rtol=0)


def test_each_of_several_policy_outputs_is_taught():
    logits, taught = random(1, 5).float(), random(1, 5, seed=2).float()
    two = Targets(torch.tensor([[0, 1]]), torch.ones(1), torch.zeros(1), heads=(2, 3))
    config = LossConfig(distill_weight=1.0, value_weight=0.0)
    found = losses(
        logits, torch.zeros(1), two, config, Size(1, 1), distilled=Distilled(taught, torch.zeros(1))
    )
    expected = sum(
        F.cross_entropy(a, b.softmax(1))
        for a, b in zip(logits.split([2, 3], 1), taught.split([2, 3], 1), strict=True)
    )
    torch.testing.assert_close(found.total, expected)


def test_a_win_draw_loss_teacher_teaches_a_single_value():
    value, wdl = torch.zeros(1), torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    config = LossConfig(distill_weight=1.0, policy_weight=0.0)
    one = replace(targets(), label=torch.zeros(1, dtype=torch.int64), result=torch.ones(1))
    one = replace(one, score_cp=torch.zeros(1))
    value.requires_grad_()
    taught = Distilled(torch.zeros(1, 2), wdl)
    loss = losses(torch.zeros(1, 2), value, one, config, Size(1, 1), distilled=taught).total
    loss.backward()
    assert float(value.grad) == pytest.approx(0.5 - (0.5 + 0.3 / 2))  # p - q


def test_a_run_learns_its_teachers_moves_and_resumes(tmp_path):
    samples = make_samples()
    # The teacher has learned other moves in the same positions.
    others = replace(samples, move16=81 * ((samples.move16 // 81 + 5) % 16) + 1)
    config = make_config(loop={"max_steps": 80})
    teacher = training.train(config, others, None, tmp_path / "teacher", encoder=ToyEncoder())
    assert teacher.test.policy_top1 > 0.8
    loss = {"distill_from": str(tmp_path / "teacher"), "distill_weight": 1.0}
    config = make_config(
        model={"net": "resnet1x12"}, loss=loss, loop={"max_steps": 80},
        device={"replicas": 2, "threads": 2},
    )  # fmt: skip
    student = training.train(config, samples, None, tmp_path / "student", encoder=ToyEncoder())
    assert student.test.policy_top1 < 0.1
    of_teacher = training.train(
        replace(config, schedule=replace(config.schedule, rate=1e-9, warmup_steps=0),
                loss=LossConfig(), model=replace(config.model, init_from=str(student.run_dir)),
                loop=replace(config.loop, max_steps=1)),
        others, None, tmp_path / "measured", encoder=ToyEncoder(),
    )  # fmt: skip
    assert of_teacher.test.policy_top1 > 0.7
    steps = iter(range(100))
    training.train(
        config, samples, None, tmp_path / "again", encoder=ToyEncoder(),
        stop=lambda: next(steps) >= 7,
    )  # fmt: skip
    again = training.train(
        config, samples, None, tmp_path / "again", encoder=ToyEncoder(), resume=True
    )
    a, b = (nets.load_model(r.checkpoint)[0].state_dict() for r in (student, again))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_teacher_has_the_features_and_labels_of_the_run(tmp_path):
    start = training.save_untrained(make_config(), tmp_path / "start", ToyEncoder())
    config = make_config(model={"labels": "1134"}, loss={"distill_from": str(start)})
    with pytest.raises(ConfigError, match=r"loss\.distill_from.*its labels: 2187, not 1134"):
        training.train(config, make_samples(), None, tmp_path / "run", encoder=ToyEncoder())
    config = make_config(loss={"distill_from": str(tmp_path / "nothing")})
    with pytest.raises(training.CheckpointError, match=r"loss\.distill_from: .*nothing"):
        training.train(config, make_samples(), None, tmp_path / "run", encoder=ToyEncoder())
    with pytest.raises(ConfigError, match="distill_weight"):
        make_config(loss={"distill_weight": 1.5})
