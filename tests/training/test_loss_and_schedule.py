import math

import pytest
import torch
from torch.nn import functional as F

from komadori.training.config import LossConfig, ScheduleConfig
from komadori.training.loss import NO_LABEL, Losses, Size, Targets, losses
from komadori.training.schedule import Budget, learning_rate


def test_loss_is_the_formula():
    torch.manual_seed(0)
    policy, value = torch.randn(5, 7), torch.randn(5)
    label = torch.tensor([1, NO_LABEL, 6, 0, NO_LABEL])
    result = torch.tensor([1.0, 0.0, 0.5, 1.0, 0.0])
    score = torch.tensor([300.0, -1200.0, 0.0, 50.0, -60.0])
    config = LossConfig(2.0, 3.0, value_lambda=0.25, eval_coef=600)
    found = losses(policy, value, Targets(label, result, score), config, Size(5, 3))
    log_p = policy.log_softmax(1)
    expected_policy = -(log_p[0, 1] + log_p[2, 6] + log_p[3, 0]) / 3
    p, teacher = value.sigmoid(), 1 / (1 + torch.exp(-score / 600))
    expected = [-(t * p.log() + (1 - t) * (1 - p).log()).mean() for t in (result, teacher)]
    assert found.policy == pytest.approx(expected_policy.item(), rel=1e-5)
    assert found.value_result == pytest.approx(expected[0].item(), rel=1e-5)
    assert found.value_score == pytest.approx(expected[1].item(), rel=1e-5)
    total = 2 * expected_policy + 3 * (0.75 * expected[0] + 0.25 * expected[1])
    assert found.total == pytest.approx(total.item(), rel=1e-5)


def test_shares_sum_to_the_batch():
    torch.manual_seed(1)
    policy, value = torch.randn(9, 7, requires_grad=True), torch.randn(9, requires_grad=True)
    label = torch.tensor([1, -1, 6, 0, -1, 3, 3, -1, -1])
    to = Targets(label, torch.rand(9), 500 * torch.randn(9))
    size = Size.of(label.numpy())
    assert size == Size(9, 5)
    whole = losses(policy, value, to, LossConfig(), size)
    expected = torch.autograd.grad(whole.total, (policy, value))
    parts = [
        losses(
            policy[s],
            value[s],
            Targets(to.label[s], to.result[s], to.score_cp[s]),
            LossConfig(),
            size,
        )
        for s in (slice(0, 4), slice(4, 7), slice(7, 9))
    ]
    for name, total in vars(Losses.sum(parts)).items():
        torch.testing.assert_close(total, getattr(whole, name).detach())
    found = torch.autograd.grad(sum(part.total for part in parts), (policy, value))
    torch.testing.assert_close(found, expected)


def test_no_label_at_all_gives_no_policy_gradient():
    policy = torch.randn(3, 7, requires_grad=True)
    value = torch.randn(3, requires_grad=True)
    to = Targets(torch.full((3,), NO_LABEL), torch.rand(3), torch.zeros(3))
    losses(policy, value, to, LossConfig(), Size(3, 0)).total.backward()
    assert policy.grad is not None
    assert not policy.grad.any()
    assert value.grad is not None
    assert value.grad.abs().min() > 0


def test_huge_scores_stay_finite():
    to = Targets(torch.tensor([0]), torch.tensor([1.0]), torch.tensor([32767.0]))
    found = losses(torch.zeros(1, 4), torch.tensor([-80.0]), to, LossConfig(), Size(1, 1))
    assert math.isfinite(found.total)
    assert found.policy == pytest.approx(math.log(4))
    assert found.value_result == pytest.approx(float(F.softplus(torch.tensor(80.0))))


def test_rates():
    cosine = ScheduleConfig("cosine", rate=2.0, warmup_steps=10, final=0.1)
    assert learning_rate(cosine, 0, 0.0) == pytest.approx(0.2)
    assert learning_rate(cosine, 9, 0.0) == pytest.approx(2.0)
    assert learning_rate(cosine, 50, 0.5) == pytest.approx(1.1)
    assert learning_rate(cosine, 99, 1.0) == pytest.approx(0.2)
    step = ScheduleConfig("step", rate=1.0, warmup_steps=0, drops=(0.5, 0.75), factor=0.1)
    assert [learning_rate(step, 0, c) for c in (0.0, 0.49, 0.5, 0.8)] == pytest.approx(
        [1, 1, 0.1, 0.01]
    )
    constant = ScheduleConfig("constant", rate=0.3, warmup_steps=0)
    assert learning_rate(constant, 5, 0.9) == 0.3


def test_budget_follows_the_nearer_limit():
    budget = Budget(total_steps=100, total_seconds=1000.0, seconds_before=900.0)
    assert budget.course(10) == pytest.approx(0.9, abs=0.01)
    assert budget.course(95) == pytest.approx(0.95)
    assert budget.is_spent(100)
    assert not Budget(100, 0.0, seconds_before=1e9).is_spent(99)
