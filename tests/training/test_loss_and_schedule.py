import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from komadori import nets
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


def test_micro_batch_losses_sum_to_the_batch():
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
    losses(policy, value, to, LossConfig(entropy_bonus=0.1), Size(3, 0)).total.backward()
    assert policy.grad is not None
    assert not policy.grad.any()
    assert value.grad is not None
    assert value.grad.abs().min() > 0


def targets(n=6, labels=7, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return Targets(
        torch.randint(0, labels, (n,), generator=generator),
        torch.tensor([1.0, 0.0, 0.5] * (n // 3)),
        500 * torch.randn(n, generator=generator),
    )


def test_soft_targets_are_the_cross_entropy_of_distributions():
    to, logits = targets(), torch.randn(6, 7)
    soft_label = torch.tensor([[0, 3, 3], [1, 1, 1], [2, 4, 6], [5, 5, 5], [6, 0, 1], [2, 2, 2]])
    probs = torch.tensor(
        [[0.7, 0.3, 0], [1, 0, 0], [0.2, 0.3, 0.5], [0, 0, 0], [0.5, 0.5, 0], [1, 0, 0]]
    )
    dense = torch.zeros(6, 7).scatter_add_(1, soft_label, probs)
    found = losses(
        logits,
        torch.zeros(6),
        replace(to, soft_label=soft_label, target_probs=probs),
        LossConfig(),
        Size(6, 5),
    )
    expected = -(dense * logits.log_softmax(1)).sum() / 5
    assert found.policy == pytest.approx(expected.item(), rel=1e-5)
    one_hot = replace(to, soft_label=to.label[:, None], target_probs=torch.ones(6, 1))
    hard, soft = (
        losses(logits, torch.zeros(6), t, LossConfig(), Size(6, 6)) for t in (to, one_hot)
    )
    torch.testing.assert_close(hard.policy, soft.policy)


def test_a_mask_leaves_illegal_labels_out():
    to, logits = targets(), torch.randn(6, 7, requires_grad=True)
    legal = torch.rand(6, 7, generator=torch.Generator().manual_seed(1)) < 0.5
    legal[torch.arange(6), to.label] = True
    masked = losses(logits, torch.zeros(6), replace(to, legal=legal), LossConfig(), Size(6, 6))
    by_hand = [
        -logits.detach()[i][legal[i]].log_softmax(0)[legal[i][: to.label[i]].sum()]
        for i in range(6)
    ]
    assert masked.policy.item() == pytest.approx(torch.stack(by_hand).mean().item(), rel=1e-5)
    with_bonus = LossConfig(entropy_bonus=0.1)
    losses(
        logits, torch.zeros(6), replace(to, legal=legal), with_bonus, Size(6, 6)
    ).total.backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[~legal].any()


def test_entropy_bonus_and_result_weights():
    to, logits = targets(), torch.randn(6, 7)
    plain = losses(logits, torch.zeros(6), to, LossConfig(), Size(6, 6))
    p = logits.softmax(1)
    entropy = -(p * p.log()).sum(1).mean()
    with_bonus = losses(logits, torch.zeros(6), to, LossConfig(entropy_bonus=0.3), Size(6, 6))
    assert with_bonus.policy == plain.policy
    assert with_bonus.total == pytest.approx((plain.total - 0.3 * entropy).item(), rel=1e-5)
    to.label[:2] = NO_LABEL  # the mean over the others
    some = losses(logits, torch.zeros(6), to, LossConfig(entropy_bonus=0.3), Size(6, 4))
    bonus = losses(logits, torch.zeros(6), to, LossConfig(), Size(6, 4)).total - some.total
    entropy = -(p * p.log()).sum(1)[2:].mean()
    assert bonus == pytest.approx((0.3 * entropy).item(), rel=1e-4)
    to = targets()
    weighted = losses(logits, torch.zeros(6), to, LossConfig(result_weighted=True), Size(6, 6))
    weight = to.result - (to.score_cp / LossConfig().eval_coef).sigmoid() + 0.5
    each = F.cross_entropy(logits, to.label, reduction="none")
    assert weighted.policy == pytest.approx((weight * each).mean().item(), rel=1e-5)
    assert weighted.value_result == plain.value_result


def test_separate_outputs_add_their_losses():
    logits = torch.randn(4, 5)
    label = torch.tensor([[0, 1], [1, 2], [NO_LABEL, NO_LABEL], [1, 0]])
    to = Targets(label, torch.rand(4), torch.zeros(4), heads=(2, 3))
    found = losses(logits, torch.zeros(4), to, LossConfig(), Size(4, 3))
    rows = [0, 1, 3]
    first = F.cross_entropy(logits[rows, :2], label[rows, 0])
    second = F.cross_entropy(logits[rows, 2:], label[rows, 1])
    assert found.policy == pytest.approx((first + second).item(), rel=1e-5)
    assert Size.of(label.numpy()) == Size(4, 3)


def test_squared_error_is_that_of_tanh():
    to, u = targets(), torch.randn(6)
    config = LossConfig(value_loss="squared", value_lambda=0.0)
    found = losses(torch.zeros(6, 7), 2 * u, to, config, Size(6, 6))  # a tanh head gives 2 u
    expected = (u.tanh() - (2 * to.result - 1)).square().mean()
    assert found.value_result == pytest.approx(expected.item(), rel=1e-5)


def test_win_draw_loss_is_the_cross_entropy_of_three_classes():
    to, value = targets(), torch.randn(6, 3)
    found = losses(torch.zeros(6, 7), value, to, LossConfig(), Size(6, 6))
    classes = torch.tensor([0, 2, 1, 0, 2, 1])  # of results 1, 0, 1/2
    assert found.value_result == pytest.approx(F.cross_entropy(value, classes).item(), rel=1e-5)
    teacher = (to.score_cp / LossConfig().eval_coef).sigmoid()
    by_score = F.binary_cross_entropy_with_logits(nets.win_logit(value), teacher)
    assert found.value_score == pytest.approx(by_score.item(), rel=1e-5)


def test_lambda_decays_over_the_run():
    config = LossConfig(value_lambda=0.4, lambda_decay=0.5)
    assert [config.at(c).value_lambda for c in (0.0, 0.5, 1.0)] == pytest.approx([0.4, 0.3, 0.2])
    assert LossConfig().at(0.7) == LossConfig()


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
    cycles = ScheduleConfig("cycles", rate=2.0, warmup_steps=0, final=0.1, cycles=2)
    assert learning_rate(cycles, 9, 0.0) == learning_rate(cycles, 9, 0.5) == pytest.approx(2.0)
    assert learning_rate(cycles, 9, 0.25) == learning_rate(cycles, 9, 0.75) == pytest.approx(1.1)
    constant = ScheduleConfig("constant", rate=0.3, warmup_steps=0)
    assert learning_rate(constant, 5, 0.9) == 0.3


def test_budget_follows_the_nearer_limit():
    budget = Budget(4000, 100, total_seconds=1000.0, seconds_before=900.0)
    assert budget.progress(10, 300) == pytest.approx(0.9, abs=0.01)
    assert budget.progress(95, 300) == pytest.approx(0.95)
    assert budget.progress(95, 3920) == pytest.approx(0.98)
    assert budget.is_spent(100, 300)
    assert budget.is_spent(10, 4000)
    assert not Budget(0, 100, 0.0, seconds_before=1e9).is_spent(99, 10**9)
