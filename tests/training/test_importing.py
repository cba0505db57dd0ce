"""Exported models read back: outputs equal to the file's, norms that training can start from."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import nn

from komadori import inference, nets, records, training
from komadori.cli._group import group
from komadori.encoding import encode_planes
from komadori.records import Samples
from komadori.training.importing import import_exported

MODELS = Path(inference.__file__).parent.parent / "data" / "models"
#: Small networks of the families that can be read back, with their feature tables.
SMALL = {
    "resnet2x8": "dlshogi",
    "resnet2x16-se": "dlshogi",
    "wide-resnet1x8": "dlshogi",
    "bottleneck1x16": "dlshogi",
    "cnn3x8": "dlshogi",
    "strips1x8": "dlshogi",
}


@pytest.fixture(scope="module")
def samples() -> Samples:
    found = records.load_samples(records.sample_path())
    rows = np.random.default_rng(1).permutation(len(found))[:1000]
    return found.take(np.sort(rows))


def small_model(net: str, features: str, folder: Path) -> Path:
    """A model folder of random weights, whose norms have statistics unlike any data's."""
    config = training.config_from_dict({"model": {"net": net, "features": features}})
    training.save_untrained(config, folder)
    network, card = nets.load_model(folder)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():  # the exporter merges equal ones
            parameter.add_(0.05 * torch.randn_like(parameter))
        for module in network.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.3, 3)
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_(0, 0.2)
    nets.save_model(folder, network, card)
    return folder


def outputs(network: nets.Network, samples: Samples, features: str) -> list[torch.Tensor]:
    planes = encode_planes(samples.hcp, features)
    with torch.inference_mode():
        return list(network(*(torch.from_numpy(part).float() for part in planes)))


@pytest.mark.parametrize("net", SMALL)
def test_every_family_is_read_back(net: str, tmp_path: Path, samples: Samples) -> None:
    features = SMALL[net]
    folder = small_model(net, features, tmp_path / "model")
    training.export(folder, tmp_path / "model.onnx")
    few = samples.take(slice(0, 64))
    found = import_exported(tmp_path / "model.onnx", few)
    original, card = nets.load_model(folder)
    assert found.card.net == card.net
    for one, other in zip(
        outputs(original, few, features), outputs(found.network, few, features), strict=True
    ):
        assert (one - other).abs().max() < 1e-3


def test_a_transformer_is_refused_since_its_rotations_are_folded_into_constants(
    tmp_path: Path, samples: Samples
) -> None:
    folder = small_model("transformer1x16", "dlshogi", tmp_path / "model")
    training.export(folder, tmp_path / "model.onnx")
    with pytest.raises(nets.ModelFileError, match=r"rotate\.frequency is missing"):
        import_exported(tmp_path / "model.onnx", samples.take(slice(0, 8)))


def test_equal_biases_that_the_exporter_merged_are_read(tmp_path: Path, samples: Samples) -> None:
    config = training.config_from_dict({"model": {"net": "resnet2x8", "features": "dlshogi"}})
    training.export(training.save_untrained(config, tmp_path / "model"), tmp_path / "model.onnx")
    found = import_exported(tmp_path / "model.onnx", samples.take(slice(0, 32)))
    assert found.policy_difference < 1e-3


def test_norms_are_those_of_the_positions_so_that_training_starts_from_the_same_outputs(
    tmp_path: Path, samples: Samples
) -> None:
    folder = small_model("resnet2x8", "dlshogi", tmp_path / "model")
    training.export(folder, tmp_path / "model.onnx")
    samples = samples.take(slice(0, 200))
    network = import_exported(tmp_path / "model.onnx", samples).network
    plain = outputs(network, samples, "dlshogi")
    network.train()  # batch statistics, here of the very positions that the norms were measured on
    for one, other in zip(plain, outputs(network, samples, "dlshogi"), strict=True):
        assert (one - other).abs().max() < 1e-2


def test_the_bundled_network_equals_its_file_on_1000_positions(samples: Samples) -> None:
    found = import_exported(MODELS / "default.onnx", samples.take(slice(0, 128)))
    evaluator = inference.load(MODELS / "default.onnx", max_batch=64)
    try:
        policy, value = inference.evaluate(evaluator, *encode_planes(samples.hcp, "dlshogi"))
    finally:
        evaluator.close()
    own_policy, own_value = outputs(found.network, samples, "dlshogi")
    assert np.abs(own_policy.numpy() - policy).max() < 1e-3
    assert np.abs(own_value.sigmoid().numpy() - value.reshape(-1)).max() < 1e-4
    assert (found.is_int8, found.agreement) == (False, 1.0)
    assert max(found.policy_difference, found.value_difference) < 1e-3


def test_the_int8_form_is_dequantized_within_its_error(samples: Samples) -> None:
    about = json.loads((MODELS / "default-int8.json").read_text())["quantization"]
    few = samples.take(slice(0, 128))
    found = import_exported(MODELS / "default-int8.xml", few)
    assert found.is_int8
    assert found.agreement > about["agreement"] - 0.03
    assert found.value_difference < 2 * about["value_error_max"]
    # Rounding each weight of a layer to 8 bits changes it by at most half a step of its channel.
    exact = (
        import_exported(MODELS / "default.onnx", few.take(slice(0, 8)))
        .network.folded()
        .state_dict()
    )
    for name, weight in found.network.folded().state_dict().items():
        if name.endswith("conv1.weight"):
            step = exact[name].abs().amax((1, 2, 3), keepdim=True) / 127
            assert ((weight - exact[name]).abs() <= 1.01 * step).all(), name


def test_the_command_writes_a_model_that_can_be_exported_again(tmp_path: Path) -> None:
    folder = small_model("resnet1x8", "dlshogi", tmp_path / "model")
    training.export(folder, tmp_path / "model.onnx")
    run = CliRunner()
    source, out = str(tmp_path / "model.onnx"), str(tmp_path / "back")
    result = run.invoke(group, ["import", source, "-o", out])
    assert result.exit_code == 0, result.output
    assert "the same label first in 100.0%" in result.output
    command, option = result.output.split("next: komadori ")[1].split()[:3:2]
    assert f" {option} " in run.invoke(group, [command, "--help"]).output
    again = training.export(Path(out), tmp_path / "again.onnx")
    assert again.policy_difference < 1e-3
    for wrong in (["--part", "model"], ["--eval-coef", "600"]):
        refused = run.invoke(group, ["import", source, "-o", str(tmp_path / "x"), *wrong])
        assert refused.exit_code == 2
        assert "are for dlshogi's weights" in refused.output


def test_names_of_nodes_without_a_scope_are_no_layers(tmp_path: Path, samples: Samples) -> None:
    folder = small_model("resnet1x8", "dlshogi", tmp_path / "model")
    path = tmp_path / "model.onnx"
    training.export(folder, path)
    import onnx

    model = onnx.load(path)
    for number, node in enumerate(model.graph.node):
        node.name = f"node {number}"
    onnx.save(model, path)
    assert import_exported(path, samples).agreement == 1


@pytest.mark.parametrize("damage", ["card", "graph", "net", "shape"])
def test_bad_files_are_one_clear_error(damage: str, tmp_path: Path) -> None:
    folder = small_model("resnet1x8", "dlshogi", tmp_path / "model")
    path = tmp_path / "model.onnx"
    training.export(folder, path)
    import onnx

    model = onnx.load(path)
    if damage == "graph":
        path.write_bytes(path.read_bytes()[:2000])
        (tmp_path / "model.json").write_text(json.dumps(nets.load_card(folder).to_json()))
    elif damage == "shape":
        weights = model.graph.initializer[0]
        weights.dims[0] = 10**12
        onnx.save(model, path)
    else:
        (entry,) = model.metadata_props
        card = json.loads(entry.value)
        if damage == "net":
            card["net"]["blocks"] = 2
            entry.value = json.dumps(card)
        else:
            del model.metadata_props[:]
            (tmp_path / "model.json").unlink()
        onnx.save(model, path)
    result = CliRunner().invoke(group, ["import", str(path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {path}: ")
    assert len(result.output.splitlines()) == 1
    assert ".cpp" not in result.output  # OpenVINO's own source
    expected = {
        "card": "no model card",
        "graph": "",
        "net": "blocks.1.conv1.weight is missing",
        "shape": "does not match the number of elements",
    }
    assert expected[damage] in result.output
    assert not (tmp_path / "out").exists()


def test_outputs_that_are_not_finite_are_refused(
    tmp_path: Path, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_model("resnet2x8", "dlshogi", tmp_path / "model")
    network, card = nets.load_model(folder)
    with torch.no_grad():  # finite weights, whose products overflow
        network.value.hidden.weight.abs_().mul_(1000)
        network.value.out.weight.fill_(3e38)
        network.value.out.weight.view(-1)[::2] = -3e38
    nets.save_model(folder, network, card)
    with monkeypatch.context() as patched:  # as versions exported that didn't look
        exporting = importlib.import_module("komadori.training.export")
        patched.setattr(exporting, "np", SimpleNamespace(abs=np.abs, isfinite=np.ones_like))
        training.export(folder, tmp_path / "m.onnx")
    with pytest.raises(nets.ModelFileError, match=r"differs by .* nan in the value"):
        import_exported(tmp_path / "m.onnx", samples)
