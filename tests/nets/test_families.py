"""Every family: shapes, sizes, folding, model files and the exported form."""

import dataclasses

import numpy as np
import pytest
import torch

from komadori import encoding, nets, training
from komadori.inference import evaluate, load
from komadori.nets import bottleneck_transformer, whole_board
from komadori.training.encoder import interface_of as interface_of_pair

#: A small network of each family and each of its options, with a feature set it reads.
SMALL = {
    "resnet": (nets.ResNetConfig(2, 8), "dlshogi"),
    "resnet-119": (nets.ResNetConfig(1, 8), "dlshogi-119"),
    "resnet-pydlshogi": (nets.ResNetConfig(1, 8), "pydlshogi"),
    "resnet-swish": (nets.ResNetConfig(1, 8, "swish"), "dlshogi"),
    "resnet-mish-se": (nets.ResNetConfig(1, 8, "mish", squeeze=2), "dlshogi"),
    "wide-resnet": (nets.WideResNetConfig(2, 8), "dlshogi"),
    "wide-resnet-bug": (nets.WideResNetConfig(2, 8, end_activation=False), "dlshogi"),
    "cnn": (nets.CnnConfig(4, 8, norms=2), "diary"),
    "cnn-spread": (nets.CnnConfig(3, 8, norms=1, hands="spread"), "diary-turn15"),
    "cnn-3x3": (nets.CnnConfig(3, 8, norms=0, hands="3x3"), "diary-check"),
    "cnn-after": (nets.CnnConfig(4, 8, norms=3, norm_after_relu=True), "diary-turn"),
    "cnn-kernels": (nets.CnnConfig(3, 8, norms=1, kernels=(3, 5, 7)), "diary-color"),
    "cnn-no-bias": (nets.CnnConfig(3, 8, norms=1, policy_bias=False), "diary"),
    "pydlshogi": (nets.CnnConfig(3, 8, norms=0), "pydlshogi"),
    "attention": (
        nets.AttentionConfig(1, 64, 4, feed_forward=16, dropout=0.1, head_units=8),
        "attention",
    ),
    "attention-one-hot": (
        nets.AttentionConfig(
            2, 16, 2, 16, position="one-hot", hands="one-hot", geometry="static", head_units=8
        ),
        "attention",
    ),
    "attention-relative": (
        nets.AttentionConfig(
            1, 16, 2, 16, position="learned", geometry="relative", head_units=8, value="wdl"
        ),
        "attention",
    ),
    "bottleneck": (nets.BottleneckConfig(3, 8, pool_every=2, pool_channels=4), "dlshogi"),
    "bottleneck-cross": (
        nets.BottleneckConfig(4, 8, pool_every=3, pool_channels=4, cross=2, attention=1, heads=2),
        "dlshogi",
    ),
    "transformer": (nets.BottleneckTransformerConfig(2, 16, heads=2), "dlshogi"),
    "strips": (nets.StripsConfig(2, 8, strip=2), "dlshogi"),
    "attention-end": (nets.AttentionEndConfig(1, 8, heads=2), "dlshogi"),
    "cross": (nets.AttentionEndConfig(3, 8, cross=2, heads=2), "dlshogi"),
}
PLANES = {name: entry for name, entry in SMALL.items() if entry[1] == "dlshogi"}


def interface_of(features, labels="2187"):
    return interface_of_pair(features, labels)


def inputs_of(interface, n=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        (torch.rand(n, *shape, generator=generator) < 0.2).float() for shape in interface.inputs
    )


def trained(config, interface):
    """A network with non-trivial norms, biases and tables, as after training."""
    torch.manual_seed(1)
    net = nets.build(config, interface)
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.ndim != 4:
                parameter.add_(0.2 * torch.randn_like(parameter))
    net.train()
    for seed in range(3):
        net(*inputs_of(interface, 8, seed))
    return net.eval()


def test_every_family_is_here():
    families = {nets.registry.family_of(config).name for config, _ in SMALL.values()}
    assert families == set(nets.FAMILIES)


@pytest.mark.parametrize("name", SMALL)
def test_shapes_gradients_and_folding(name):
    config, features = SMALL[name]
    interface = interface_of(features)
    net = trained(config, interface)
    inputs = inputs_of(interface)
    policy, value = net(*inputs)
    assert policy.shape == (3, 2187)
    assert value.shape == (3,)
    assert (policy.std(0) > 0).any()  # the inputs matter
    assert value.std() > 0
    with torch.no_grad():
        for a, b in zip((policy, value), net.folded()(*inputs), strict=True):
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    net.train()
    policy, value = net.outputs(*inputs_of(interface, 16))
    (policy.square().sum() + value.square().sum()).backward()
    unused = [n for n, p in net.named_parameters() if p.grad is None or not p.grad.any()]
    assert not unused


@pytest.mark.parametrize("name", SMALL)
def test_model_file_and_export(name, tmp_path):
    config, features = SMALL[name]
    interface = interface_of(features)
    net = trained(config, interface)
    card = nets.ModelCard(config, features, "2187", interface, 600.0)
    nets.save_model(tmp_path / "model", net, card)
    loaded, found = nets.load_model(tmp_path / "model")
    assert found.net == config
    inputs = inputs_of(interface)
    assert all(torch.equal(a, b) for a, b in zip(net(*inputs), loaded(*inputs), strict=True))
    pytest.importorskip("onnx")
    result = training.export(tmp_path / "model", tmp_path / "m.onnx")  # raises where it differs
    assert result.policy_difference < 1e-3
    # Of other numbers of rows than the export was traced and checked with.
    evaluator = load(tmp_path / "m.onnx", backend="onnxruntime", max_batch=5)
    few = inputs_of(interface, n=7, seed=1)
    policy, _ = evaluate(evaluator, *(tensor.numpy() for tensor in few))
    evaluator.close()
    with torch.no_grad():
        wanted = net(*few)[0]
    assert torch.allclose(torch.from_numpy(policy), wanted, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Millions of parameters, 119 planes in, 2187 labels out, by the notes on trunks.
        ("resnet10x96", 1.8),
        ("resnet10x192", 6.9),
        ("bottleneck5x192", 2.1),
        ("strips10x96", 1.8),
        ("resnet8x96+attention1", 1.6),
    ],
)
def test_sizes_as_published(name, expected):
    count = nets.parameter_count(nets.build(name)) / 1e6
    assert count == pytest.approx(expected, rel=0.12)


def test_the_transformer_has_the_published_multiply_adds():
    """The notes on trunks give 886 million multiply-adds per position for 10 blocks of 384."""
    config = nets.parse("transformer10x384")
    block = bottleneck_transformer.TransformerBlock(config, torch.relu)
    weights = sum(p.numel() for p in block.parameters() if p.ndim in (2, 4))
    attention = 2 * config.layers * 81 * config.half  # scores and mixture, a square
    assert 10 * 81 * (weights + attention) / 1e6 == pytest.approx(886, rel=0.01)


def test_rotation_makes_scores_depend_on_steps_only():
    """The score of two squares with the same query and key depends on the step between them."""
    torch.manual_seed(0)
    rotate = bottleneck_transformer.Rotation(2, 8)
    with torch.no_grad():
        rotate.frequency.add_(torch.randn_like(rotate.frequency))  # as if learned
    query, key = (torch.randn(1, 2, 1, 8).expand(-1, -1, 81, -1) for _ in range(2))
    scores = (rotate(query) @ rotate(key).transpose(2, 3))[0].reshape(2, 9, 9, 9, 9)
    assert torch.allclose(scores[:, 1, 2, 3, 5], scores[:, 4, 3, 6, 6], atol=1e-4)
    assert torch.allclose(scores[:, 8, 8, 2, 3], scores[:, 6, 5, 0, 0], atol=1e-4)
    assert (scores[:, 4, 4, 5, 4] - scores[:, 4, 4, 4, 5]).abs().min() > 1e-3  # file, not rank
    plain = (query @ key.transpose(2, 3))[0].reshape(2, 9, 9, 9, 9)
    assert torch.allclose(scores[:, 4, 4, 4, 4], plain[:, 4, 4, 4, 4], atol=1e-4)


def test_sizes_by_hand():
    planes, labels, c = 28 + 76, 27 * 81, 192
    value = 8 * c + 2 * 8 + (8 * 81 + 1) * 128 + 129
    cnn = nets.build("cnn13x192", interface_of("diary"))
    convolutions = 28 * 9 * c + 76 * c + 11 * 9 * c * c + 27 * c
    norms, biases = 9 * 2 * c, (12 - 9) * c
    assert nets.parameter_count(cnn) == convolutions + norms + biases + labels + value
    book = nets.build("pydlshogi", interface_of("pydlshogi"))
    assert nets.parameter_count(book) == (
        planes * 9 * c + 11 * 9 * c * c + 12 * c + 27 * c + labels + value
    )
    wide = nets.build("wide-resnet5x192")
    trunk = 62 * 9 * c + 57 * c + 5 * (2 * 9 * c * c + 2 * 2 * c) + 2 * c
    assert nets.parameter_count(wide) == trunk + 27 * c + labels + value
    attention = nets.build("attention1x64h8", interface_of("attention"))
    layer = 6 * (64 * 64 + 64) + 4 * 64
    heads = 2 * 137 * 64 + 2 * (137 * 64 * 256 + 256) + 256 * labels + labels + 257
    assert nets.parameter_count(attention) == layer + heads


@pytest.mark.parametrize(
    "name",
    [
        "cnn13x64",
        "cnn13x64-bn0",
        "resnet5x64-se-mish",
        "wide-resnet5x192",
        "attention2x64h8",
        "bottleneck10x128",
        "bottleneck6x128+cross3+attention1",
        "bottleneck6x128+cross3",
        "strips10x96",
        "resnet8x96+attention1",
        "transformer10x384",
        "resnet6x128+cross2+attention1",
    ],
)
def test_short_names_round_trip(name):
    assert nets.short_name(nets.parse(name)) == name


def test_pydlshogi_is_the_book_net():
    config = nets.parse("pydlshogi")
    assert (config.layers, config.channels, config.norms) == (13, 192, 0)


@pytest.mark.parametrize("labels", ["1134", "2187", "8181", "2187-pydlshogi", "from-to"])
@pytest.mark.parametrize("policy", ["conv", "linear", "conv-linear"])
def test_every_label_scheme_has_its_heads(labels, policy):
    interface = interface_of("dlshogi", labels)
    net = nets.build(nets.ResNetConfig(1, 4, policy=policy, policy_planes=3), interface)
    assert net(*inputs_of(interface))[0].shape == (3, encoding.LABELS[labels].size)


def test_separate_outputs_may_go_without_biases():
    interface = interface_of("dlshogi", "from-to")
    for bias in (True, False):
        net = nets.build(nets.ResNetConfig(1, 4, policy_bias=bias), interface)
        assert any("bias" in name for name, _ in net.policy.named_parameters()) == bias


@pytest.mark.parametrize("labels", ["5839", "1496"])
def test_dense_labels_need_a_linear_head(labels):
    interface = interface_of("dlshogi", labels)
    for policy in ("linear", "conv-linear"):
        net = nets.build(nets.ResNetConfig(1, 4, policy=policy, policy_planes=3), interface)
        assert net(*inputs_of(interface))[0].shape == (3, int(labels))
    with pytest.raises(ValueError, match="must be linear or conv-linear"):
        nets.build(nets.ResNetConfig(1, 4), interface)


def test_spread_hands_are_the_1x1_convolution():
    """The diary's two ways are the same function: constant planes convolve to constants."""
    torch.manual_seed(0)
    interface = interface_of("diary")
    one = nets.build(nets.CnnConfig(3, 8, norms=1), interface).eval()
    other = nets.build(nets.CnnConfig(3, 8, norms=1, hands="spread"), interface).eval()
    other.load_state_dict(one.state_dict())
    board, _ = inputs_of(interface)
    hands = (torch.rand(3, 76, 1, 1) < 0.3).float().expand(-1, -1, 9, 9).contiguous()
    for a, b in zip(one(board, hands), other(board, hands), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_strips_see_the_whole_file_and_rank_at_once():
    """One block: a far square of the same file or rank changes the features, another doesn't."""
    net = nets.build(nets.StripsConfig(1, 12, strip=3)).eval()
    block = net.blocks[0]
    base = block(torch.zeros(1, 12, 9, 9))
    x = torch.zeros(1, 12, 9, 9)
    x[0, :, 2, 1] = 1.0
    changed = (block(x) - base).abs().amax((0, 1)) > 1e-6  # smaller ones are rounding
    near = torch.zeros(9, 9, dtype=torch.bool)
    near[1:4, :] = near[:, 0:3] = True  # the strips, seen through the second 3x3
    near[0:5, 0:4] = True  # the two 3x3, one after the other
    assert not changed[~near].any()
    assert changed[2, 8]
    assert changed[8, 1]


def test_cross_blocks_lie_among_the_others():
    net = nets.build(nets.AttentionEndConfig(4, 8, cross=2, heads=2))
    names = [type(block).__name__ for block in net.blocks]
    two = ["ResidualBlock", "ResidualBlock", "CrossBlock"]
    assert names == [*two, *two, "SquareAttention"]
    block = net.blocks[2].eval()
    base, x = block(torch.zeros(1, 8, 9, 9)), torch.zeros(1, 8, 9, 9)
    x[0, :, 2, 1] = 1.0
    with torch.no_grad():  # one layer reaches the file and the rank, two the whole board
        once = (block.first(x) - block.first(torch.zeros_like(x))).abs().amax((0, 1)) > 1e-6
        assert once[2].all()
        assert once[:, 1].all()
        assert int(once.sum()) == 17
        assert ((block(x) - base).abs().amax((0, 1)) > 1e-6).float().mean() > 0.9
    # 486 multiply-adds per channel pair and square (81 in each of six convolutions).
    weights = sum(p.numel() for n, p in block.named_parameters() if n.endswith("conv.weight"))
    assert weights == 2 * (9 + 9 + 1) * 8 * 8


def test_cross_and_attention_take_the_place_of_second_pairs():
    net = nets.build(nets.BottleneckConfig(6, 16, pool_every=3, cross=2, attention=1))
    seconds = [type(block.pairs[1]).__name__ for block in net.blocks]
    pair, cross = "PreActivationPair", "CrossBlock"
    assert seconds == [pair, pair, cross, pair, cross, "SquareAttention"]
    assert {type(block.pairs[0]).__name__ for block in net.blocks} == {pair}
    plain = nets.build(nets.BottleneckConfig(6, 16, pool_every=3))
    assert {type(block.pairs[1]).__name__ for block in plain.blocks} == {pair}


@pytest.mark.parametrize("kind", ["cross", "attention"])
def test_pre_activated_blocks_add_to_the_stream(kind):
    """Their output depends on the direction of the residual stream, not its norm."""
    torch.manual_seed(0)
    block = (
        whole_board.CrossBlock(8, torch.relu, pre_activated=True)
        if kind == "cross"
        else whole_board.SquareAttention(8, 2, 2, torch.relu, pre_activated=True)
    ).train()
    x = torch.randn(16, 8, 9, 9)
    with torch.no_grad():
        added = block(x) - x
        if kind == "cross":
            torch.testing.assert_close(block(10 * x) - 10 * x, added, atol=1e-3, rtol=1e-3)
        assert (block(x) < 0).float().mean() > 0.2
        assert added.abs().mean() > 0.1


def test_the_static_bias_directs_attention():
    """With a strong bias every square reads the square that its row of the bias names."""
    torch.manual_seed(0)
    block = whole_board.SquareAttention(8, 2, 2, torch.relu, pre_activated=True).eval()
    x = torch.randn(1, 8, 9, 9)
    y = x.clone()
    y[0, :, 7, 3] += 1.0
    with torch.no_grad():
        block.bias[:, 40, 7 * 9 + 3] = 50.0
        block.bias[:, 50, 0] = 50.0
        changed = (block(y) - block(x)).abs().amax(1).reshape(81)
    assert changed[40] > 1e-2
    assert changed[50] < 1e-6


def test_relative_bias_is_shared_along_the_board():
    config = nets.AttentionConfig(1, 8, 2, 8, geometry="relative", head_units=4)
    net = nets.build(config, interface_of("attention"))
    torch.nn.init.normal_(net.layers[0].geometry.table)
    bias = net.layers[0].geometry()
    assert bias.shape == (2, 137, 137)
    assert torch.equal(bias[:, 0, 10], bias[:, 40, 50])  # one file and one rank further
    assert not torch.equal(bias[:, 0, 10], bias[:, 10, 0])
    assert not torch.equal(bias[:, 8, 9], bias[:, 40, 41])  # neighbours in number, not on board
    assert torch.equal(bias[:, 3, 90], bias[:, 70, 100])
    assert not torch.equal(bias[:, 3, 90], bias[:, 90, 3])


def test_one_hot_tokens_tell_place_and_slot():
    config = nets.AttentionConfig(1, 8, 2, 8, position="one-hot", hands="one-hot", head_units=4)
    net = nets.build(config, interface_of("attention")).eval()
    tokens = torch.zeros(1, 137, 64)
    tokens[0, 81] = tokens[0, 82] = 1.0  # the first and second pawn in hand
    seen = net.tokens(tokens)[0]
    assert not torch.allclose(seen[0], seen[1])  # empty squares, different files or ranks
    assert not torch.allclose(seen[81], seen[82])
    assert torch.allclose(seen[83], seen[84])  # slots not held
    plain = nets.build(nets.AttentionConfig(1, 64, 2, feed_forward=8), interface_of("attention"))
    assert torch.equal(plain.tokens(tokens), tokens)  # the diary's: unchanged


def test_win_draw_loss_gives_the_win_probability():
    value = torch.tensor([[2.0, 0.5, -1.0], [0.0, 9.0, 0.0]])
    win, draw, _ = value.softmax(1).unbind(1)
    torch.testing.assert_close(nets.win_logit(value).sigmoid(), win + draw / 2)


@pytest.mark.parametrize("kind", ["sigmoid", "tanh", "wdl"])
def test_value_kinds(kind):
    interface = nets.DLSHOGI
    net = nets.build(nets.ResNetConfig(0, 4, value=kind)).eval()
    inputs = inputs_of(interface)
    raw = net.outputs(*inputs)[1]
    assert raw.shape == ((3, 3) if kind == "wdl" else (3,))
    assert net(*inputs)[1].shape == (3,)


@pytest.mark.parametrize(
    ("family", "settings", "message"),
    [
        ("cnn", {"layers": 1}, "layers >= 2"),
        ("cnn", {"norms": 13}, "norms follow"),
        ("cnn", {"hands": "2x2"}, "unknown hands"),
        ("cnn", {"kernels": [4]}, "odd"),
        ("resnet", {"policy": "fc"}, "unknown policy"),
        ("resnet", {"value": "relu"}, "unknown value"),
        ("wide-resnet", {"dropout": 1.0}, "dropout"),
        ("attention", {"heads": 3}, "does not divide"),
        ("attention", {"geometry": "round"}, "geometry is one of"),
        ("bottleneck", {"channels": 7}, "even width"),
        ("bottleneck", {"blocks": 3, "cross": 2, "attention": 2}, "at most as many"),
        ("bottleneck", {"channels": 12, "attention": 1}, "half of 12 channels"),
        ("strips", {"channels": 8, "strip": 4}, "channels > 2"),
        ("attention-end", {"channels": 10, "heads": 4}, "don't divide"),
    ],
)
def test_wrong_settings_are_named(family, settings, message):
    with pytest.raises(ValueError, match=message):
        nets.FAMILIES[family].config(**settings)


def test_frozen_configs_survive_a_card():
    for config, features in SMALL.values():
        card = nets.ModelCard(config, features, "2187", interface_of(features), 600.0)
        again = nets.ModelCard.from_json(card.to_json(), "card")
        assert again.net == config
        assert hash(again.net) == hash(config)
        assert dataclasses.asdict(again.net) == dataclasses.asdict(config)


def test_a_card_before_the_options_still_loads():
    """The card of a ResNet from before policies, values and squeeze could be chosen."""
    old = {
        "format": "komadori-model",
        "format_version": 1,
        "name": "old",
        "net": {
            "family": "resnet",
            "blocks": 5,
            "channels": 64,
            "activation": "relu",
            "value_planes": 8,
            "value_hidden": 128,
        },
        "features": "dlshogi",
        "labels": "2187",
        "inputs": [[62, 9, 9], [57, 9, 9]],
        "label_count": 2187,
        "eval_coef": 600.0,
    }
    card = nets.ModelCard.from_json(old, "old")
    assert card.net == nets.ResNetConfig(5, 64)
    assert card.interface == nets.DLSHOGI
    keys = set(nets.build(card.net, card.interface).state_dict())
    assert {"stem_board.weight", "stem_constant.weight", "stem_norm.weight"} <= keys
    assert {"blocks.4.conv2.weight", "policy.conv.weight", "policy.bias"} <= keys
    assert {"value.conv.weight", "value.norm.bias", "value.hidden.bias", "value.out.bias"} <= keys
    assert len(keys) == 3 + 4 + 5 * 12 + 2 + 10
    assert np.prod(card.interface.inputs[0]) == 62 * 81
