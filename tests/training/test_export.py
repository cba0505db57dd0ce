import errno
import json
import os
import resource
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from komadori import nets, training
from komadori.cli._group import group
from komadori.training.export import _without_folders

onnx = pytest.importorskip("onnx")


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(2)
    net = nets.build("resnet1x8")
    net.train()
    for _ in range(2):
        net(torch.rand(4, 62, 9, 9).round(), torch.rand(4, 57, 9, 9).round())
    card = nets.ModelCard(nets.parse("resnet1x8"), "dlshogi", "2187", nets.DLSHOGI, 600.0)
    nets.save_model(tmp_path / "model", net, card)
    return tmp_path / "model"


def test_names_shapes_and_card(model, tmp_path):
    result = training.export(model, tmp_path / "m.onnx", name="toy")
    assert result.policy_difference < 1e-4
    assert result.value_difference < 1e-5
    graph = onnx.load(tmp_path / "m.onnx")

    def shapes(values):
        return {
            v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in values
        }

    assert shapes(graph.graph.input) == {
        "input1": ["batch", 62, 9, 9],
        "input2": ["batch", 57, 9, 9],
    }
    assert shapes(graph.graph.output) == {
        "output_policy": ["batch", 2187],
        "output_value": ["batch", 1],
    }
    assert "BatchNormalization" not in {node.op_type for node in graph.graph.node}
    card = json.loads({p.key: p.value for p in graph.metadata_props}["komadori"])
    assert card == json.loads((tmp_path / "m.json").read_text())
    assert card["name"] == "toy"
    assert nets.ModelCard.from_json(card, "m.json").net == nets.ResNetConfig(1, 8)


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes")
def test_a_pipe_gets_the_model_and_no_card_beside_it(model, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ["export", str(model), "--name", "toy", "-o", str(pipe)]
    with ThreadPoolExecutor(1) as pool:
        data = pool.submit(pipe.read_bytes)
        done = CliRunner().invoke(group, words)
    assert done.exit_code == 0, done.output
    assert not done.stdout
    graph = onnx.load_from_string(data.result())
    assert json.loads({p.key: p.value for p in graph.metadata_props}["komadori"])["name"] == "toy"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "pipe"]


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_backends_agree_with_torch_at_any_batch(model, tmp_path, backend):
    module = pytest.importorskip(backend)
    training.export(model, tmp_path / "m.onnx")
    net, _ = nets.load_model(model)
    rng = np.random.default_rng(0)
    for n in (1, 5):
        x1 = (rng.random((n, 62, 9, 9)) < 0.1).astype(np.float32)
        x2 = (rng.random((n, 57, 9, 9)) < 0.1).astype(np.float32)
        if backend == "onnxruntime":
            session = module.InferenceSession(str(tmp_path / "m.onnx"))
            policy, value = session.run(
                ["output_policy", "output_value"], {"input1": x1, "input2": x2}
            )
        else:
            compiled = module.Core().compile_model(
                str(tmp_path / "m.onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
            )
            outputs = compiled({"input1": x1, "input2": x2})
            policy, value = outputs["output_policy"], outputs["output_value"]
        with torch.inference_mode():
            logits, logit = net(torch.from_numpy(x1), torch.from_numpy(x2))
        np.testing.assert_allclose(policy, logits, atol=1e-4)
        np.testing.assert_allclose(value[:, 0], logit.sigmoid(), atol=1e-5)


def test_a_wrong_export_is_refused(model, tmp_path, monkeypatch):
    monkeypatch.setattr(nets.ResNet, "folded", lambda self: nets.build("resnet1x8"))
    with pytest.raises(training.ExportError, match="differs from torch"):
        training.export(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_an_exported_card_names_files_without_their_folders(model, tmp_path):
    path = model / "model.json"
    card = json.loads(path.read_text())
    data = {"train": ["/home/me/games/a-*.hcpe3"], "test": ["b.csa"], "cache": "/home/me/cache"}
    model_facts = {"init_from": "/home/me/runs/one", "begin_with": "/home/me/runs/two"}
    training_card = {"model": model_facts, "data": data}
    path.write_text(json.dumps(card | {"training": {"config": training_card}}))
    training.export(model, tmp_path / "m.onnx")
    found = json.loads((tmp_path / "m.json").read_text())["training"]["config"]
    assert found["data"] == {"train": ["a-*.hcpe3"], "test": ["b.csa"], "cache": "cache"}
    assert found["model"] == {"init_from": "one", "begin_with": "two"}
    assert b"/home/me" not in (tmp_path / "m.onnx").read_bytes()


@pytest.mark.parametrize("damage", [None, "x", 5, [], {}, [None, 5, ["x"]]])
@pytest.mark.parametrize("keys", [(), ("data",), ("data", "train"), ("model", "init_from")])
def test_facts_of_another_kind_are_exported_as_they_are(model, damage, keys):
    card = nets.load_card(model)
    facts = {"config": damage}
    for key in reversed(keys):
        facts = {"config": {key: facts["config"]}}
    found = _without_folders(replace(card, training=facts)).training
    assert found == facts


def test_an_export_needs_no_temporary_folder(model, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    training.export(model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize("write", ["export", "save_model"])
def test_a_full_disk_leaves_a_model_and_its_card(model, tmp_path, write, monkeypatch):
    """The card is the larger file here, so that it is the one that isn't written."""

    def save(name: str) -> None:
        if write == "export":
            training.export(model, tmp_path / "out" / "model.onnx", name=name)
        else:
            nets.save_model(tmp_path / "out", network, replace(card, name=name))

    network, card = nets.load_model(model)
    save("old")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert len(before) == 2
    most = max(map(len, before.values()))
    data = training.export(model, tmp_path / "new.onnx", name="new").path.read_bytes()
    monkeypatch.setattr(sys.modules["komadori.training.export"], "_to_onnx", lambda *_: data)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * most, hard))
    try:
        with torch.no_grad():
            for weight in network.parameters():
                weight += 1
        with pytest.raises(OSError, match="File too large"):
            save("x" * 3 * most)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.parametrize("options", [["-o", "model.onnx"], ["--int8", "-o", "model.xml"]])
def test_an_export_keeps_the_card_of_its_source(model, options):
    """The card of model.onnx would have the name of the model folder's."""
    before = (model / "model.json").read_bytes()
    *others, name = options
    arguments = ["export", str(model), *others, str(model / name), "--force", "--name", "other"]
    refused = CliRunner().invoke(group, arguments)
    assert refused.exit_code == 2
    assert f"{model / 'model.json'} is an input; writing there would destroy it" in refused.output
    assert (model / "model.json").read_bytes() == before


def test_an_onnx_file_does_not_replace_an_int8_model(model, tmp_path):
    old = tmp_path / "m.xml"
    old.write_text('<?xml version="1.0"?><net name="m"/>')
    refused = CliRunner().invoke(group, ["export", str(model), "-o", str(old)])
    assert refused.exit_code == 2
    assert f"{old}: NAME.xml is an int8 model, an OpenVINO IR; give --int8" in refused.output
    assert old.read_text().startswith("<?xml")


def test_an_onnx_file_is_not_named_as_another_kind(model, tmp_path):
    refused = CliRunner().invoke(group, ["export", str(model), "-o", str(tmp_path / "m.pth")])
    assert refused.exit_code == 2
    assert "m.pth: the output is an ONNX file, named NAME.onnx" in refused.output
    assert not list(tmp_path.glob("m.*"))


def test_outputs_that_are_not_finite_are_refused(model, tmp_path):
    network, card = nets.load_model(model)
    with torch.no_grad():  # finite weights, whose products overflow
        for name, weight in network.named_parameters():
            if name.startswith("value.") and weight.ndim > 1:
                weight.fill_(3e38)
                weight.view(-1)[::2] = -3e38
    nets.save_model(model, network, card)
    with pytest.raises(training.ExportError, match="outputs are NaN or infinite"):
        training.export(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
