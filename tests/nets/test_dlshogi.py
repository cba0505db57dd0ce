"""dlshogi's weights: each form against its formula, written here with torch's functions."""

import json
import pickle
import zipfile

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch.nn import functional as F

from komadori import nets
from komadori.cli._group import BUG, group

CHANNELS, HIDDEN = 6, 5


def norm_weights(channels):
    return {
        "weight": torch.rand(channels) + 0.5,
        "bias": torch.randn(channels),
        "running_mean": torch.randn(channels),
        "running_var": torch.rand(channels) + 0.1,
        "num_batches_tracked": torch.tensor(7),
    }


def common(constant, conv, bias, value, norms):
    """Stem and heads under their names in each form."""
    weights = {
        "l1_1_1.weight": 0.3 * torch.randn(CHANNELS, 62, 3, 3),
        "l1_1_2.weight": 0.3 * torch.randn(CHANNELS, 62, 1, 1),
        "l1_2.weight": 0.3 * torch.randn(CHANNELS, constant, 1, 1),
        f"{conv}.weight": torch.randn(27, CHANNELS, 1, 1),
        f"{bias}.bias": torch.randn(2187),
        f"{value[0]}.weight": torch.randn(27, CHANNELS, 1, 1),
        f"{value[2]}.weight": 0.02 * torch.randn(HIDDEN, 2187),
        f"{value[2]}.bias": torch.randn(HIDDEN),
        f"{value[3]}.weight": torch.randn(1, HIDDEN),
        f"{value[3]}.bias": torch.randn(1),
    }
    for name, channels in {**norms, value[1]: 27}.items():
        weights |= {f"{name}.{part}": t for part, t in norm_weights(channels).items()}
    return weights


def blocks_form(constant=57, blocks=2):
    torch.manual_seed(0)
    names = [f"blocks.{b}" for b in range(blocks)]
    norms = {f"{n}.bn{i}": CHANNELS for n in names for i in (1, 2)} | {"norm1": CHANNELS}
    value = ("value_conv1", "value_norm1", "value_fc1", "value_fc2")
    weights = common(constant, "policy", "policy_bias", value, norms)
    for name in names:
        for i in (1, 2):
            weights[f"{name}.conv{i}.weight"] = 0.2 * torch.randn(CHANNELS, CHANNELS, 3, 3)
    return weights


def numbered_form(wide):
    torch.manual_seed(1)
    norms = {f"norm{i}": CHANNELS for i in range(1, 22)}
    weights = common(57, "l22", "l22_2", ("l22_v", "norm22_v", "l23_v", "l24_v"), norms)
    for i in range(2, 22):
        weights[f"l{i}.weight"] = 0.1 * torch.randn(CHANNELS, CHANNELS, 3, 3)
    if wide:
        weights["l22_v.bias"] = torch.randn(27)
    return weights


def inputs(constant=57):
    generator = torch.Generator().manual_seed(3)
    return tuple(
        (torch.rand(3, n, 9, 9, generator=generator) < 0.2).float() for n in (62, constant)
    )


def formula(weights, board, constant, activation, names, wide=False):
    """dlshogi's forward pass. names: of policy, its bias, and the value head's four layers."""

    def norm(x, name):
        w, b, mean, var = (
            weights[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")
        )
        return F.batch_norm(x, mean, var, w, b, eps=2e-5 if wide else 1e-5)

    def conv(x, name, padding):
        return F.conv2d(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"), padding=padding)

    policy, bias, value_conv, value_norm, value1, value2 = names
    x = conv(board, "l1_1_1", 1) + conv(board, "l1_1_2", 0) + conv(constant, "l1_2", 0)
    if wide:
        for i in range(1, 20, 2):
            y = conv(F.relu(norm(x, f"norm{i}")), f"l{i + 1}", 1)
            x = x + conv(F.relu(norm(y, f"norm{i + 1}")), f"l{i + 2}", 1)
        x = F.relu(norm(x, "norm21"))
    else:
        x = activation(norm(x, "norm1"))
        if "l2.weight" in weights:
            pairs = [(f"l{i}", f"norm{i}", f"l{i + 1}", f"norm{i + 1}") for i in range(2, 21, 2)]
        else:
            pairs = [
                (f"blocks.{b}.conv1", f"blocks.{b}.bn1", f"blocks.{b}.conv2", f"blocks.{b}.bn2")
                for b in range(2)
            ]
        for conv1, norm1, conv2, norm2 in pairs:
            y = activation(norm(conv(x, conv1, 1), norm1))
            x = activation(norm(conv(y, conv2, 1), norm2) + x)
    logits = conv(x, policy, 0) if policy != value_conv else None
    y = activation(norm(conv(x, value_conv, 0), value_norm)).flatten(1)
    y = activation(F.linear(y, weights[f"{value1}.weight"], weights[f"{value1}.bias"]))
    value = F.linear(y, weights[f"{value2}.weight"], weights[f"{value2}.bias"])
    return logits.flatten(1) + weights[f"{bias}.bias"], value[:, 0]


BLOCKS = ("policy", "policy_bias", "value_conv1", "value_norm1", "value_fc1", "value_fc2")
NUMBERED = ("l22", "l22_2", "l22_v", "norm22_v", "l23_v", "l24_v")


def check(found, weights, activation, names, wide=False, constant=57):
    network, card = found
    board, other = inputs(constant)
    expected = formula(weights, board, other, activation, names, wide)
    with torch.inference_mode():
        for net in (network, network.folded()):
            for a, b in zip(net(board, other), expected, strict=True):
                torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)
    assert card.labels == "2187"


def test_a_small_file_does_not_unpack_to_gigabytes(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, a=np.zeros(1 << 26, np.float32))
    with pytest.raises(nets.ModelFileError, match=r"bomb\.npz: broken: a: larger than"):
        nets.import_dlshogi(path)


def test_a_damaged_torch_file_is_an_error_in_our_words(tmp_path):
    """torch's ask for a report to its authors; a part before the file was an invalid argument."""
    path = tmp_path / "c.pth"
    torch.save({"model": blocks_form(57)}, path)
    data = path.read_bytes()
    damaged = [
        data.replace(b"/data/", b"/dote/"),
        data.replace(b"/version", b"/verxion"),
        data.replace(b"c/data/3", b"x/data/3"),
    ]
    directory = data.rindex(b"PK\x01\x02")  # an entry whose content lies elsewhere
    damaged.append(data[: directory + 42] + b"\xff\xff\xff\x7f" + data[directory + 46 :])
    end = data.rindex(b"PK\x05\x06")
    damaged += [
        data[:at] + b"\xff" + data[at + 1 :]
        for at in [*range(directory, directory + 46), *range(end - 76, len(data))]
    ]
    reasons = set()
    for content in damaged:
        path.write_bytes(content)
        try:
            nets.import_dlshogi(path)
        except nets.ModelFileError as error:
            reasons.add(str(error).removeprefix(f"{path}: "))
    assert "broken: torch can't read it" in reasons
    assert "Invalid argument" not in reasons
    assert not [reason for reason in reasons if len(reason) > 100 or "enforce" in reason]


@pytest.mark.parametrize(("activation", "function"), [("relu", F.relu), ("swish", F.silu)])
@pytest.mark.parametrize(("constant", "features"), [(57, "dlshogi"), (119, "dlshogi-119")])
def test_blocks(tmp_path, activation, function, constant, features):
    weights = blocks_form(constant)
    checkpoint = {"epoch": 3, "t": 9, "model": weights, "optimizer": {"state": {}}, "scaler": {}}
    torch.save(checkpoint, tmp_path / "c.pth")
    found = nets.import_dlshogi(tmp_path / "c.pth", activation=activation)
    check(found, weights, function, BLOCKS, constant=constant)
    assert found[1].features == features
    assert (found[1].net.blocks, found[1].net.channels) == (2, CHANNELS)


def test_numbered(tmp_path):
    weights = numbered_form(wide=False)
    torch.save({"model": weights}, tmp_path / "c.pth")
    check(nets.import_dlshogi(tmp_path / "c.pth"), weights, F.silu, NUMBERED)


def test_wide(tmp_path):
    weights = numbered_form(wide=True)
    torch.save(weights, tmp_path / "c.pth")
    found = nets.import_dlshogi(tmp_path / "c.pth")
    check(found, weights, F.relu, NUMBERED, wide=True)
    assert isinstance(found[1].net, nets.WideResNetConfig)


def test_published_npz(tmp_path):
    weights = numbered_form(wide=False)
    plain = {"weight": "W", "bias": "b"}
    normed = {
        "weight": "gamma",
        "bias": "beta",
        "running_mean": "avg_mean",
        "running_var": "avg_var",
        "num_batches_tracked": "N",
    }
    arrays = {}
    for name, tensor in weights.items():
        module, last = name.split(".")
        arrays[f"{module}/{(normed if 'norm' in module else plain)[last]}"] = tensor.numpy()
    np.savez_compressed(tmp_path / "m.npz", **arrays)
    check(nets.import_dlshogi(tmp_path / "m.npz"), weights, F.silu, NUMBERED)


def test_the_average_is_taken_where_there_is_one(tmp_path):
    weights = blocks_form()
    average = {f"module.{n}": t + 0.01 if t.is_floating_point() else t for n, t in weights.items()}
    average["n_averaged"] = torch.tensor(4)
    torch.save({"model": weights, "swa_model": average}, tmp_path / "c.pth")
    plain = {n.removeprefix("module."): t for n, t in average.items()}
    check(nets.import_dlshogi(tmp_path / "c.pth"), plain, F.relu, BLOCKS)
    check(nets.import_dlshogi(tmp_path / "c.pth", part="model"), weights, F.relu, BLOCKS)
    torch.save({"model": weights}, tmp_path / "d.pth")
    with pytest.raises(nets.ModelFileError, match="has no swa_model; it has model"):
        nets.import_dlshogi(tmp_path / "d.pth", part="swa_model")


class Trap:
    def __reduce__(self):
        return (open, ("/nonexistent/trap", "w"))


def test_nothing_but_tensors_is_unpickled(tmp_path):
    torch.save({"model": blocks_form(), "scheduler": Trap()}, tmp_path / "trap.pth")
    with pytest.raises(nets.ModelFileError, match=r"trap\.pth: holds more than tensors"):
        nets.import_dlshogi(tmp_path / "trap.pth")
    np.savez(tmp_path / "trap.npz", a=np.array([Trap.__name__, None], object))
    with pytest.raises(nets.ModelFileError, match=r"trap\.npz: "):
        nets.import_dlshogi(tmp_path / "trap.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("policy_bias.bias"), "policy_bias.bias' is missing"),
        (lambda w: w.pop("blocks.1.bn2.bias"), "blocks.1.bn2.bias' is missing"),
        (lambda w: w.update({"l1_2.weight": torch.zeros(6, 58, 1, 1)}), "58 planes"),
        (lambda w: w.update({"blocks.0.se.fc1.weight": torch.zeros(1)}), "senet"),
        (lambda w: w.update({"policy_bias.bias": torch.zeros(10)}), "10 labels"),
        (lambda w: w.update({"norm1.bias": torch.zeros(5)}), "don't fit the network"),
        (
            lambda w: w.update({"blocks.1.conv1.bias": torch.zeros(CHANNELS)}),
            "'blocks.1.conv1.bias' is unknown",
        ),
        (
            lambda w: w.update({"blocks.1.se.weight": torch.zeros(1)}),
            "'blocks.1.se.weight' is unknown",
        ),
        (lambda w: w.update({"value_conv1.bias": torch.zeros(27)}), "'value_conv1.bias' is unkn"),
    ],
)
def test_other_forms_are_named(tmp_path, change, message):
    weights = blocks_form()
    change(weights)
    torch.save({"model": weights}, tmp_path / "c.pth")
    with pytest.raises(nets.ModelFileError, match=rf"c\.pth: .*{message}"):
        nets.import_dlshogi(tmp_path / "c.pth")


def test_a_further_head_is_left_out(tmp_path):
    torch.save({"model": {**blocks_form(), "l25_v.weight": torch.zeros(2, 5)}}, tmp_path / "c.pth")
    check(nets.import_dlshogi(tmp_path / "c.pth"), blocks_form(), F.relu, BLOCKS)


def each(change):
    return lambda weights: {name: change(tensor) for name, tensor in weights.items()}


@pytest.mark.filterwarnings("ignore")  # torch's, of nested and quantized tensors
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (each(lambda t: t.to("meta")), "isn't a plain tensor of real numbers"),
        (each(lambda t: t.to_sparse()), "isn't a plain tensor of real numbers"),
        (each(lambda t: t.to(torch.complex64)), "isn't a plain tensor of real numbers"),
        (
            each(lambda t: torch.quantize_per_tensor(t.float(), 0.1, 0, torch.qint8)),
            "isn't a plain tensor of real numbers",
        ),
        (
            each(lambda t: torch.nested.nested_tensor([t, t])),
            "isn't a plain tensor of real numbers",
        ),
        (
            each(lambda t: torch.zeros(()).expand([2000 if n == CHANNELS else n for n in t.shape])),
            "its tensors claim more bytes than the file has",
        ),
        (each(lambda t: torch.zeros(())), "its shapes don't fit"),
        (lambda w: {**w, "l1_2.weight": torch.zeros(())}, "its shapes don't fit"),
        (
            lambda w: {**w, "value_fc1.weight": torch.zeros(20000, 1)},
            "value_hidden is 20000, 16384 at most",
        ),
        (
            lambda w: {**w, f"blocks.{'9' * 5000}.conv1.weight": torch.zeros(1)},
            "'blocks.2.conv1.weight' is missing",
        ),
        # shapes whose sum broadcasts
        (lambda w: {**w, "l1_1_2.weight": w["l1_1_2.weight"][:1]}, "its shapes don't fit"),
        (lambda w: {**w, "l1_1_2.weight": torch.ones(1, 1, 1, 1)}, "its shapes don't fit"),
        (lambda w: {**w, "l1_1_1.weight": torch.ones(1, 1, 3, 3)}, "its shapes don't fit"),
        (lambda w: {**w, "l1_1_1.weight": torch.ones(CHANNELS, 62, 1, 1)}, "shapes don't fit"),
        (lambda w: {**w, "module.norm1.bias": w["norm1.bias"] + 1}, "holds norm1.bias twice"),
        (
            lambda w: {**w, "policy.weight": w["policy.weight"].double() * 1e200},
            "policy.conv.weight has numbers that aren't finite",
        ),
        (
            lambda w: {**w, "norm1.running_var": -w["norm1.running_var"]},
            "stem_norm.running_var has a negative variance",
        ),
    ],
)
def test_the_command_refuses_hostile_tensors_in_one_line(tmp_path, change, message):
    torch.save({"model": change(blocks_form())}, tmp_path / "c.pth")
    arguments = ["import", str(tmp_path / "c.pth"), "-o", str(tmp_path / "m")]
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: {tmp_path / 'c.pth'}: ")
    assert message in done.output
    assert done.output.count("\n") == 1
    assert BUG not in done.output
    assert not (tmp_path / "m").exists()


def npz_arrays(weights):
    return {name.replace(".", "/"): tensor.numpy() for name, tensor in weights.items()}


@pytest.mark.parametrize("kind", ["c8", "bool", "u2", "U9", "m8[s]", [("a", "f4")]])
def test_arrays_of_other_kinds_are_refused_by_name(tmp_path, recwarn, kind):
    """torch converts some of them with a warning, and has long messages for the others."""
    arrays = npz_arrays(blocks_form())
    arrays["policy/weight"] = np.zeros(arrays["policy/weight"].shape, kind)
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(nets.ModelFileError, match=r"m\.npz: policy\.weight isn't a plain tensor"):
        nets.import_dlshogi(tmp_path / "m.npz")
    assert not recwarn.list


def test_arrays_in_another_byte_order_are_read(tmp_path):
    arrays = npz_arrays(blocks_form())
    np.savez(
        tmp_path / "m.npz", **{k: a.astype(a.dtype.newbyteorder(">")) for k, a in arrays.items()}
    )
    check(nets.import_dlshogi(tmp_path / "m.npz"), blocks_form(), F.relu, BLOCKS)


def test_archives_of_other_kinds_are_not_unpacked(tmp_path, recwarn):
    whole, bomb = tmp_path / "whole.pth", tmp_path / "bomb.pth"
    torch.save({"model": blocks_form()}, whole)
    with zipfile.ZipFile(whole) as given, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            made.writestr(name, bytes(1 << 20) if name.endswith("/0") else given.read(name))
    with pytest.raises(nets.ModelFileError, match=r"bomb\.pth: .*its tensors are compressed"):
        nets.import_dlshogi(bomb)
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "jit.pth"))
    recwarn.clear()
    with pytest.raises(nets.ModelFileError, match=r"jit\.pth: .*a TorchScript program"):
        nets.import_dlshogi(tmp_path / "jit.pth")
    (tmp_path / "raw.pth").write_bytes(pickle.dumps({"model": Trap()}, 4))
    with pytest.raises(nets.ModelFileError, match=r"raw\.pth: holds more than tensors"):
        nets.import_dlshogi(tmp_path / "raw.pth")
    assert [str(warning.message) for warning in recwarn] == []


def test_broken_files_are_named(tmp_path):
    for name, data in (("a.pth", b""), ("b.pth", b"PK\x03\x04rubbish"), ("c.npz", b"none")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(nets.ModelFileError, match=name):
            nets.import_dlshogi(tmp_path / name)
    torch.save(torch.zeros(3), tmp_path / "d.pth")
    with pytest.raises(nets.ModelFileError, match="no checkpoint: Tensor"):
        nets.import_dlshogi(tmp_path / "d.pth")


def test_command(tmp_path):
    torch.save({"model": blocks_form()}, tmp_path / "c.pth")
    arguments = ["import", str(tmp_path / "c.pth"), "-o", str(tmp_path / "m"), "--eval-coef", "600"]
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 0, done.output
    assert "resnet2x6" in done.output
    network, card = nets.load_model(tmp_path / "m")
    assert card.eval_coef == 600
    assert json.loads((tmp_path / "m/model.json").read_text())["training"]["imported_from"]
    check((network, card), blocks_form(), F.relu, BLOCKS)
    again = CliRunner().invoke(group, arguments)
    assert again.exit_code == 2
    assert "holds a model already; --force replaces it" in again.output
    assert CliRunner().invoke(group, [*arguments, "--force"]).exit_code == 0


@pytest.mark.parametrize("name", ["checkpoints/step-00000010/model.safetensors", "state.npz"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_no_model_is_written_into_a_run(tmp_path, name, force):
    torch.save({"model": blocks_form()}, tmp_path / "c.pth")
    own = tmp_path / "run" / name
    own.parent.mkdir(parents=True)
    own.write_bytes(b"the run's")
    command = ["import", str(tmp_path / "c.pth"), "-o", str(tmp_path / "run"), *force]
    refused = CliRunner().invoke(group, command)
    assert refused.exit_code == 2
    assert "run holds a run; choose another folder with --out" in refused.output
    assert [path for path in (tmp_path / "run").rglob("*") if path.is_file()] == [own]


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_file_of_the_model_folder_is_kept(tmp_path, name):
    torch.save({"model": blocks_form()}, tmp_path / "c.pth")
    foreign = tmp_path / "m" / name  # other programs name their weights so, too
    foreign.parent.mkdir()
    foreign.write_bytes(b"another program's")
    arguments = ["import", str(tmp_path / "c.pth"), "-o", str(foreign.parent)]
    refused = CliRunner().invoke(group, arguments)
    assert refused.exit_code == 2
    assert "holds a model already; --force replaces it" in refused.output
    assert [*foreign.parent.iterdir()] == [foreign]
    assert foreign.read_bytes() == b"another program's"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("notes.txt", b"hello"),
        ("a.npz", bytes(range(1, 200))),
        ("b.pth", b"PK\x03\x04rubbish"),
        ("c.npz", b"PK\x03\x04rubbish"),
        ("d.pth", b"\x80\x02rubbish"),
        ("e.pth", b""),
    ],
)
def test_the_command_reports_an_invalid_model_in_one_line(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    done = CliRunner().invoke(group, ["import", str(tmp_path / name), "-o", str(tmp_path / "m")])
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: {tmp_path / name}: ")
    assert done.output.count("\n") == 1
    assert BUG not in done.output
    assert not (tmp_path / "m").exists()
