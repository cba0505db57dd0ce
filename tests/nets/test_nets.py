import importlib
import re
import sys
from dataclasses import replace

import pytest
import torch

from komadori import nets
from komadori.cli._group import describe

torch.set_num_threads(1)


def inputs(n=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        (torch.rand(n, planes, 9, 9, generator=generator) < 0.2).float() for planes in (62, 57)
    )


def test_shapes_and_size():
    net = nets.build("resnet5x64")
    policy, value = net(*inputs())
    assert policy.shape == (3, 2187)
    assert value.shape == (3,)
    assert nets.parameter_count(net) == pytest.approx(0.5e6, rel=0.1)  # trunks.md: 0.5 M


def test_short_names():
    assert nets.parse("resnet10x128") == nets.ResNetConfig(10, 128)
    assert nets.parse("resnet3x32-mish").activation == "mish"
    for name in ("resnet10x128", "resnet5x64-swish"):
        assert nets.short_name(nets.parse(name)) == name
    for bad in ("resnet", "resnet5x", "renset5x64", "resnet5x64-", ""):
        with pytest.raises(nets.UnknownNetError, match=r"families: .*resnet"):
            nets.parse(bad)
    with pytest.raises(ValueError, match="unknown activation 'cube'"):
        nets.parse("resnet5x64-cube")


def test_policy_planes_follow_the_label_order():
    """A lone board plane moves only logits near its square: label = 81 * plane + square."""
    torch.manual_seed(0)
    net = nets.build("resnet0x8").eval()
    board, constant = (torch.zeros(1, n, 9, 9) for n in (62, 57))
    base = net(board, constant)[0]
    board[0, 0, 2, 5] = 1.0  # file 3, rank 6: square 23
    difference = (net(board, constant)[0] - base).reshape(27, 81).abs().amax(0)
    changed = (difference > 1e-6).nonzero().flatten()  # smaller ones are rounding
    near = {9 * file + rank for file in (1, 2, 3) for rank in (4, 5, 6)}
    assert set(changed.tolist()) <= near
    assert 23 in changed.tolist()


def test_other_interfaces():
    net = nets.build("resnet1x8", nets.Interface(((62, 9, 9), (119, 9, 9)), 8181))
    policy, _ = net(torch.zeros(1, 62, 9, 9), torch.zeros(1, 119, 9, 9))
    assert policy.shape == (1, 8181)
    with pytest.raises(ValueError, match="one or two input tensors"):
        nets.build("resnet1x8", nets.Interface(((137, 64),), 2187))
    with pytest.raises(ValueError, match="not whole planes"):
        nets.build("resnet1x8", nets.Interface(((62, 9, 9), (57, 9, 9)), 1496))


def test_registered_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        nets.register(nets.FAMILIES["resnet"])


OUTSIDE = """
import dataclasses
from torch import nn
from komadori import nets

@dataclasses.dataclass(frozen=True)
class OutsideConfig:
    kind: str

class Outside(nets.Network):
    def __init__(self, config, interface):
        if config.kind == "early":
            self.layer = nn.Linear(4, 4)
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def outputs(self, *inputs):
        return self.layer(inputs[0])

class Nameless(nets.Network):
    pass

def made(config, interface):
    kinds = {"nameless": Nameless, "module": nn.Identity}
    return kinds[config.kind]() if config.kind in kinds else Outside(config, interface)

def family(name="outside", parse=lambda name: OutsideConfig(name)):
    return nets.Family(name, OutsideConfig, made, parse, lambda config: config.kind)
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A module with a family, outside the package."""
    (tmp_path / "outside_family.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("outside_family")
    monkeypatch.setitem(nets.FAMILIES, "outside", module.family())
    yield module
    del sys.modules["outside_family"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("nameless", "Nameless defines no method `outputs`"),
        ("module", "built Identity, which is no komadori.nets.Network"),
    ],
)
def test_a_family_that_builds_no_network_is_refused(outside, kind, text):
    with pytest.raises(ValueError, match=text):
        nets.build(outside.OutsideConfig(kind))


def test_a_network_has_the_interface_that_it_was_built_for(outside):
    interface = nets.Interface(((62, 9, 9), (57, 9, 9)), 1134)
    assert nets.build(outside.OutsideConfig("good"), interface).interface == interface


def test_a_fault_in_a_family_outside_the_package_is_not_called_a_bug_of_it(outside):
    with pytest.raises(AttributeError) as early:
        nets.build(outside.OutsideConfig("early"))
    network = nets.build(outside.OutsideConfig("good"))
    with pytest.raises(RuntimeError) as shapes:
        network(*inputs(2))
    lines = [number for number, line in enumerate(OUTSIDE.splitlines(), 1) if "self.layer" in line]
    for caught, line in (early, lines[0]), (shapes, lines[-1]):
        where = f"{outside.__file__}, line {line}"
        assert nets.registry.fault_of(caught.value) == where
        text = describe(caught.value)
        assert text.startswith(f"{type(caught.value).__name__}: ")
        assert text.endswith(f" ({where}; KOMADORI_DEBUG=1 shows the traceback)")


def test_a_fault_of_the_package_stays_one_beside_a_family_outside_it(outside):
    with pytest.raises(TypeError) as caught:
        nets.build("resnet1x8")(*inputs(2)[:1])
    assert nets.registry.fault_of(caught.value) is None


def trained(name="resnet2x8"):
    """A network whose norms have non-trivial statistics and scales."""
    torch.manual_seed(1)
    net = nets.build(name)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.uniform_(module.bias, -0.5, 0.5)
    net.train()
    for seed in range(3):
        net(*inputs(8, seed))
    return net.eval()


def test_folded_computes_the_same_without_norms():
    net = trained()
    folded = net.folded()
    assert not [m for m in folded.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for a, b in zip(net(*inputs()), folded(*inputs()), strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    assert [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for a, b in zip(folded(*inputs()), folded.folded()(*inputs()), strict=True):
        assert torch.equal(a, b)


def card(net="resnet2x8"):
    return nets.ModelCard(nets.parse(net), "dlshogi", "2187", nets.DLSHOGI, 600.0, "toy")


def test_model_file_round_trip(tmp_path):
    net = trained()
    nets.save_model(tmp_path / "m", net, card())
    loaded, found = nets.load_model(tmp_path / "m")
    assert found == card()
    assert not loaded.training
    for a, b in zip(net(*inputs()), loaded(*inputs()), strict=True):
        assert torch.equal(a, b)


def test_model_file_errors(tmp_path):
    with pytest.raises(nets.ModelFileError, match=r"model\.json: No such file"):
        nets.load_model(tmp_path)
    nets.save_model(tmp_path, trained(), card())
    nets.write_tensors(tmp_path / "model.safetensors", trained("resnet3x8").state_dict())
    with pytest.raises(nets.ModelFileError, match="don't fit the network"):
        nets.load_model(tmp_path)
    text = (tmp_path / "model.json").read_text()
    for old, new, message in [
        ('"resnet"', '"transformer9"', "unknown network family 'transformer9'"),
        ('"komadori-model"', '"x"', "not a komadori model card"),
        ('"eval_coef"', '"coef"', "incomplete model card"),
        ('"format_version": 1', '"format_version": 2', "version 2"),
        ("{", "", "not JSON"),
    ]:
        (tmp_path / "model.json").write_text(text.replace(old, new, 1))
        with pytest.raises(nets.ModelFileError, match=message):
            nets.load_model(tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (card("resnet3x8"), r"model\.safetensors: weights don't fit the card's toy"),
        (replace(card(), labels="1134x"), r"model\.json: .*unknown label scheme '1134x'"),
        (replace(card(), features="none"), r"model\.json: .*unknown feature table 'none'"),
        (replace(card(), name=5), r"model\.json: .*name can't be 5"),
    ],
    ids=["net", "labels", "features", "name"],
)
def test_a_model_that_could_not_be_read_is_not_written(changed, message, tmp_path):
    nets.save_model(tmp_path, trained(), card())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(nets.ModelFileError, match=message):
        nets.save_model(tmp_path, trained(), changed)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def refuse_to_write_and_read(net, problem, folder):
    message = rf"model\.safetensors: {re.escape(problem)}"
    with pytest.raises(nets.ModelFileError, match=message):
        nets.save_model(folder, net, card())
    nets.save_model(folder, trained(), card())
    nets.write_tensors(folder / "model.safetensors", net.state_dict())
    with pytest.raises(nets.ModelFileError, match=message):
        nets.load_model(folder)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["policy.bias", "stem_norm.running_var"])
def test_weights_that_are_no_numbers_are_named(name, number, tmp_path):
    net = trained()
    net.state_dict()[name].view(-1)[0] = number
    refuse_to_write_and_read(net, f"{name} has numbers that aren't finite", tmp_path)


def test_negative_variances_are_refused_where_they_are_read_and_written(tmp_path):
    net = trained()
    net.state_dict()["stem_norm.running_var"].neg_()
    refuse_to_write_and_read(net, "stem_norm.running_var has a negative variance", tmp_path)


def test_numbers_beyond_the_networks_type_are_refused(tmp_path):
    nets.save_model(tmp_path, trained(), card())
    weights = trained().state_dict()
    weights["policy.bias"] = torch.full_like(weights["policy.bias"], 1e200, dtype=torch.float64)
    nets.write_tensors(tmp_path / "model.safetensors", weights)
    with pytest.raises(nets.ModelFileError, match=r"policy\.bias has numbers that aren't finite"):
        nets.load_model(tmp_path)


@pytest.mark.parametrize("name", ["resnet99999999x8", "cnn99999999x8", "resnet2x20000"])
def test_a_network_too_large_for_any_machine_is_refused_at_once(name):
    with pytest.raises(ValueError, match=r"(blocks|layers|channels) is \d+, 16384 at most"):
        nets.build(name)


def test_a_network_beyond_any_memory_is_refused_before_it_is_built():
    with pytest.raises(ValueError, match=r"^resnet2x16384 has 9,674,575,260 parameters, "):
        nets.build("resnet2x16384")
    assert nets.build("resnet1x1100").config.channels == 1100


@pytest.mark.parametrize("geometry", ["static", "relative"])
@pytest.mark.parametrize("slots", [0, 56])
def test_a_wide_attention_with_a_bias_of_geometry_can_be_built(geometry, slots):
    config = nets.AttentionConfig(layers=1, width=1032, heads=1, feed_forward=8, geometry=geometry)
    net = nets.build(config, nets.Interface(((81 + slots, 62),), 2187))
    bias = net.layers[0].geometry
    assert bias.table.shape[1] == int(bias.index.max()) + 1
