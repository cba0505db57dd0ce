"""Muon, the auxiliary soft policy head, surprise weights: each alone, and in a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from training_toys import ToyEncoder, make_config, make_samples

from komadori import nets, training
from komadori.nets import Interface
from komadori.training import MoveProbs, Part
from komadori.training.auxiliary import WithSoftPolicy, flattened
from komadori.training.config import ConfigError, LossConfig, OptimizerConfig
from komadori.training.loss import losses
from komadori.training.muon import Muon, matrix_parameters, orthogonalize
from komadori.training.optimizer import make_optimizer
from komadori.training.targets import Size, Targets

INTERFACE = Interface(((4, 9, 9), (2, 9, 9)), 16 * 81)


# ---------------------------------------------------------------------------- Muon


@pytest.mark.parametrize("shape", [(20, 50), (50, 20), (30, 60)])
def test_an_update_has_singular_values_near_one(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    matrix[:, 0] *= 100
    values = torch.linalg.svdvals(orthogonalize(matrix))
    assert values.min() > 0.3
    assert values.max() < 1.3
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    direction = orthogonalize(matrix, 30)
    assert torch.nn.functional.cosine_similarity(
        direction.flatten(), (u @ v).flatten(), dim=0
    ) == pytest.approx(1, abs=0.03)


def test_muon_steps_matrices_and_adamw_the_rest():
    network = nets.build(nets.parse("resnet1x8"), INTERFACE)
    optimizer = make_optimizer(network, OptimizerConfig("muon", momentum=0.95, weight_decay=0.1))
    assert isinstance(optimizer, Muon)
    matrices = {id(p) for p in matrix_parameters(network)}
    assert {id(p) for g in optimizer.param_groups if g["muon"] for p in g["params"]} == matrices
    assert sum(len(g["params"]) for g in optimizer.param_groups) == len([*network.parameters()])
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    for parameter in network.parameters():
        parameter.grad = torch.randn_like(parameter)
    for group in optimizer.param_groups:
        group["lr"], group["weight_decay"] = 0.01, 0.0
    optimizer.step()
    for name, p in network.named_parameters():
        size = float((p - before[name]).detach().square().mean().sqrt())
        if id(p) in matrices and min(p.flatten(1).shape) > 1:
            assert 0.2 * 0.01 * 0.5 < size < 0.2 * 0.01 * 1.3  # about AdamW's 0.2 per entry
        elif id(p) not in matrices:
            assert size == pytest.approx(0.01, rel=1e-3)  # Adam's first step


def test_the_rest_is_torchs_adamw():
    weights = torch.nn.Parameter(torch.randn(7)), torch.nn.Parameter(torch.empty(7))
    weights[1].data.copy_(weights[0].data)
    ours = Muon([{"params": [weights[0]], "weight_decay": 0.3}])
    theirs = torch.optim.AdamW([weights[1]], weight_decay=0.3)
    for optimizer in (ours, theirs):
        optimizer.param_groups[0]["lr"] = 0.02
    for step in range(6):
        gradient = torch.randn(7, generator=torch.Generator().manual_seed(step))
        for weight, optimizer in zip(weights, (ours, theirs), strict=True):
            weight.grad = gradient.clone()
            optimizer.step()
        assert torch.allclose(*weights, atol=1e-6)


def test_matrices_of_one_shape_are_orthogonalised_one_by_one():
    torch.manual_seed(1)
    matrices = torch.randn(3, 5, 12)
    each = torch.stack([orthogonalize(matrix) for matrix in matrices])
    torch.testing.assert_close(orthogonalize(matrices), each)
    torch.testing.assert_close(orthogonalize(matrices.mT), each.mT)
    # So a step moves each matrix as a step of that matrix alone.
    starts = [torch.randn(4, 3, 3, 3) for _ in range(3)] + [torch.randn(6, 2)]
    gradients = [torch.randn_like(start) for start in starts]
    together, alone = ([nn.Parameter(start.clone()) for start in starts] for _ in range(2))
    optimizers = [Muon([{"params": together, "muon": True, "weight_decay": 0.1}])]
    optimizers += [Muon([{"params": [one], "muon": True, "weight_decay": 0.1}]) for one in alone]
    for _ in range(2):
        for parameters in (together, alone):
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient.clone()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = 0.1
            optimizer.step()
    for a, b in zip(together, alone, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", ["muon"])
def test_a_muon_run_resumes_as_if_uninterrupted(tmp_path, name):
    config = make_config(optimizer={"name": name, "momentum": 0.95}, schedule={"rate": 0.003})
    samples = make_samples()
    whole = training.train(config, samples, None, tmp_path / "a", encoder=ToyEncoder())
    steps = iter(range(100))
    training.train(
        config, samples, None, tmp_path / "b", encoder=ToyEncoder(), stop=lambda: next(steps) >= 6
    )
    training.train(config, samples, None, tmp_path / "b", encoder=ToyEncoder(), resume=True)
    a, b = (
        nets.load_model(training.newest_checkpoint(tmp_path / run))[0].state_dict() for run in "ab"
    )
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert whole.history[-2]["policy_loss"] < whole.history[2]["loss"]


# ---------------------------------------------------------------------------- soft policy


def soft_part(n=300):
    samples = make_samples(n)
    count = np.full(n, 3)
    first = samples.move16
    moves = np.stack([first, first + 1, first + 2], 1).astype(np.uint16).ravel()
    weight = np.tile([6, 3, 1], n).astype(np.float32)
    return Part.whole(samples, MoveProbs.of_weights(count, moves, weight))


def test_targets_are_flattened():
    flat = flattened(torch.tensor([[0.81, 0.19, 0.0], [0.0, 0.0, 0.0]]))
    assert flat[0, :2].tolist() == pytest.approx([0.5897, 0.4103], abs=1e-3)
    assert flat[0, 2] == 0
    assert flat[1].tolist() == [0, 0, 0]


def test_the_auxiliary_head_is_trained_and_not_exported(tmp_path):
    config = make_config(
        loss={"soft_policy_weight": 8.0, "policy_target": "visits"},
        loop={"ema_decay": 0.9},
    )
    result = training.train(config, soft_part(), None, tmp_path / "a", encoder=ToyEncoder())
    network, card = nets.load_model(result.checkpoint)
    assert not any("soft" in name for name in network.state_dict())
    assert nets.parameter_count(network) == nets.parameter_count(
        nets.build(card.net, card.interface)
    )
    tensors = nets.read_tensors(result.checkpoint / "training.safetensors")
    soft = {name for name in tensors if name.startswith("trained.soft.")}
    assert {"trained.soft.conv.weight", "trained.soft.bias"} <= soft
    steps = iter(range(100))
    training.train(
        config,
        soft_part(),
        None,
        tmp_path / "b",
        encoder=ToyEncoder(),
        stop=lambda: next(steps) >= 6,
    )
    again = training.train(
        config, soft_part(), None, tmp_path / "b", encoder=ToyEncoder(), resume=True
    )
    other = nets.read_tensors(again.checkpoint / "training.safetensors")
    assert all(torch.equal(tensors[name], other[name]) for name in soft)
    bias = tensors["trained.soft.bias"]
    assert float(bias.abs().max()) > 0  # it has learned something


def test_the_head_reads_what_the_policy_head_reads():
    network = nets.build(nets.parse("resnet1x8"), INTERFACE)
    wrapped = WithSoftPolicy(network).eval()
    wrapped.soft.load_state_dict(network.policy.state_dict())
    inputs = [torch.rand(3, *shape) for shape in INTERFACE.inputs]
    policy, value, soft = wrapped.outputs(*inputs)
    assert torch.equal(policy, soft)
    assert torch.equal(value, network(*inputs)[1])


def test_replicas_have_taps_of_their_own(tmp_path):
    config = make_config(
        loss={"soft_policy_weight": 2.0, "policy_target": "visits"},
        device={"replicas": 2, "threads": 2},
    )
    result = training.train(config, soft_part(), None, tmp_path, encoder=ToyEncoder())
    assert result.is_complete


def test_one_move_cannot_be_flattened(tmp_path):
    config = make_config(loss={"soft_policy_weight": 8.0})
    with pytest.raises(ConfigError, match="soft_policy_weight"):
        training.train(config, make_samples(), None, tmp_path, encoder=ToyEncoder())


# ---------------------------------------------------------------------------- surprise


def test_surprising_positions_weigh_more():
    logits = torch.zeros(3, 4)
    logits[0, 0], logits[1, 0] = 3.0, 3.0
    to = Targets(torch.tensor([0, 1, -1]), torch.tensor([1.0, 0, 0]), torch.zeros(3))
    value = torch.zeros(3)
    size = Size(3, 2)
    plain = losses(logits, value, to, LossConfig(), size)
    weighted = losses(logits, value, to, LossConfig(surprise=0.5), size)
    expected, surprising = (float(-logits[i].log_softmax(0)[i]) for i in range(2))
    mean = (expected + surprising) / 2
    weights = [0.5 + 0.5 * one / mean for one in (expected, surprising)]
    assert sum(weights) == pytest.approx(2)
    policy = (weights[0] * expected + weights[1] * surprising) / 2
    assert float(weighted.policy) == pytest.approx(policy, rel=1e-5)
    assert float(weighted.policy) > float(plain.policy)
    assert float(plain.value_result) == pytest.approx(math.log(2), rel=1e-5)
    assert float(weighted.value_result) == pytest.approx(math.log(2), rel=1e-5)


def test_a_target_that_is_met_is_no_surprise():
    """With soft targets the surprise is the divergence, without the target's entropy."""
    target_probs = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    logits = torch.tensor([[5.0, 5.0, -20.0], [0.0, 0.0, -20.0]])
    to = Targets(
        torch.tensor([0, 0]),
        torch.ones(2),
        torch.zeros(2),
        torch.tensor([[0, 1], [0, 0]]),
        target_probs,
    )
    weighted = losses(logits, torch.zeros(2), to, LossConfig(surprise=1.0), Size(2, 2))
    assert float(weighted.policy) == pytest.approx(2 * math.log(2) / 2, rel=1e-4)
