import pytest
import torch
from training_toys import make_config, make_samples

from komadori import nets, training
from komadori.training.averaging import WeightAverage, estimate_norms
from komadori.training.config import DeviceConfig, LoopConfig, OptimizerConfig
from komadori.training.device import Compute
from komadori.training.optimizer import make_optimizer

INTERFACE = nets.Interface(((4, 9, 9), (2, 9, 9)), 81)


def build(seed=0):
    torch.manual_seed(seed)
    return nets.build("resnet1x4", INTERFACE)


def test_swa_is_the_mean_of_the_chosen_steps():
    trained, averaged = build(), build(1)
    average = WeightAverage(LoopConfig(swa_every=3, swa_start=4), trained, averaged)
    weight = trained.policy.conv.weight
    seen = []
    for step in range(1, 12):
        with torch.no_grad():
            weight.add_(torch.randn_like(weight))
        average.update(step)
        if step in (4, 7, 10):
            seen.append(weight.detach().clone())
    assert [average.has_started(s) for s in (0, 3, 4, 9)] == [False, False, True, True]
    torch.testing.assert_close(averaged.policy.conv.weight, torch.stack(seen).mean(0))


def test_swa_never_counts_the_weights_it_starts_from():
    trained, averaged = build(), build(1)
    average = WeightAverage(LoopConfig(swa_every=5), trained, averaged)
    assert [average.has_started(s) for s in (0, 4, 5)] == [False, False, True]
    with torch.no_grad():
        trained.policy.conv.weight.add_(1)
    average.update(5)
    torch.testing.assert_close(averaged.policy.conv.weight, trained.policy.conv.weight)


def test_ema_forgets_the_weights_it_starts_from():
    """With a constant decay of 0.999 the initial weights would have 95 % of it after 50 steps."""
    trained, averaged = build(), build(1)
    average = WeightAverage(LoopConfig(ema_decay=0.999), trained, averaged)
    mean = averaged.policy.conv.weight.detach().clone()
    for step in range(1, 51):
        with torch.no_grad():
            trained.policy.conv.weight.add_(0.1)
        average.update(step)
        decay = (1 + step) / (10 + step)
        mean = decay * mean + (1 - decay) * trained.policy.conv.weight.detach()
    torch.testing.assert_close(averaged.policy.conv.weight, mean)
    assert (averaged.policy.conv.weight - build(1).policy.conv.weight).mean() > 3
    assert average.has_started(0)


def test_norms_get_the_statistics_of_their_inputs():
    net = build().train()
    inputs = [tuple(torch.randn(16, *shape) for shape in INTERFACE.inputs) for _ in range(4)]
    feed = iter(inputs)
    estimate_norms(net, 4, lambda: net(*next(feed)))
    stems = [net.stem_board(a) + net.stem_constant(b) for a, b in inputs]
    mean = torch.stack([s.mean((0, 2, 3)) for s in stems]).mean(0)
    torch.testing.assert_close(net.stem_norm.running_mean, mean, atol=1e-5, rtol=1e-4)
    assert net.stem_norm.momentum == 0.1
    assert not net.training
    assert not net.stem_norm.training


def test_a_stop_leaves_norms_of_the_batches_so_far():
    net, calls = build(), []
    inputs = [torch.randn(16, *shape) for shape in INTERFACE.inputs]

    def forward():
        calls.append(net(*inputs))

    estimate_norms(net, 50, forward, stop=lambda: len(calls) == 2)
    assert len(calls) == 2
    assert net.stem_norm.num_batches_tracked == 2
    assert net.stem_norm.momentum == 0.1
    assert not net.stem_norm.training


@pytest.mark.parametrize("stop", ["stop", "stop_test"])
def test_a_stopped_run_does_not_wait_for_its_norms(tmp_path, encoder, stop, monkeypatch):
    """50 batches of a large network take longer than people wait."""
    monkeypatch.setattr(training.run, "HURRY_S", -1.0)
    config = make_config(
        model={"net": "resnet1x16"},
        loop={"max_steps": 20, "evaluate_every": 3, "ema_decay": 0.8, "norm_batches": 50},
    )
    samples, calls = make_samples(900), iter(range(100))
    asked = {"stop": lambda: next(calls) == 2, "stop_test": lambda: True}[stop]
    run = training.train(config, samples, None, tmp_path / "run", encoder=encoder, **{stop: asked})
    network, _ = nets.load_model(run.checkpoint)
    assert network.stem_norm.num_batches_tracked == 1
    whole = training.train(config, samples, None, tmp_path / "run", encoder=encoder, resume=True)
    network, _ = nets.load_model(whole.checkpoint)
    assert network.stem_norm.num_batches_tracked == 50


@pytest.mark.parametrize("settings", [{"swa_every": 1, "swa_start": 8}, {"ema_decay": 0.8}])
def test_an_average_with_its_own_statistics_predicts(tmp_path, encoder, settings):
    config = make_config(
        model={"net": "resnet1x16"},
        schedule={"rate": 0.1},
        loop={"max_steps": 60, "evaluate_every": 0, "norm_batches": 5, **settings},
    )
    result = training.train(config, make_samples(900), None, tmp_path / "run", encoder=encoder)
    assert result.test.policy_top1 > 0.9
    tensors = nets.read_tensors(result.checkpoint / "training.safetensors")
    assert any(name.startswith("trained.") for name in tensors)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sgd", torch.optim.SGD),
        ("adagrad", torch.optim.Adagrad),
        ("rmsprop", torch.optim.RMSprop),
        ("adam", torch.optim.Adam),
        ("adamw", torch.optim.AdamW),
    ],
)
def test_optimizers_by_name(name, kind):
    net = build()
    optimizer = make_optimizer(net, OptimizerConfig(name=name, weight_decay=0.3))
    assert type(optimizer) is kind
    decays = {g["weight_decay"]: {p.ndim > 1 for p in g["params"]} for g in optimizer.param_groups}
    assert decays == {0.3: {True}, 0.0: {False}}


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam", "adamw"])
def test_fused_steps_are_the_plain_ones(name):
    """Also for weights in channels-last order, which the fused kernels take as flat memory."""
    nets = [Compute.of(DeviceConfig(device="cpu")).place(build()) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    config = OptimizerConfig(name=name, weight_decay=0.1)
    fused, plain = (make_optimizer(net, config) for net in nets)
    assert fused.defaults["fused"]
    for group in plain.param_groups:
        group["fused"] = False
    inputs = [torch.randn(8, *shape) for shape in INTERFACE.inputs]
    for net, optimizer in zip(nets, (fused, plain), strict=True):
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        for _ in range(3):
            optimizer.zero_grad()
            policy, value = net(*inputs)
            (policy.square().mean() + value.square().mean()).backward()
            optimizer.step()
    for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_momentum_is_optional():
    plain = make_optimizer(build(), OptimizerConfig(momentum=0.0, nesterov=True))
    assert plain.param_groups[0]["momentum"] == 0
    assert not plain.param_groups[0]["nesterov"]


def test_two_averages_exclude_each_other():
    with pytest.raises(ValueError, match="exclude each other"):
        LoopConfig(ema_decay=0.9, swa_every=3)
