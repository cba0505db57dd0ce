"""int8 models load, stay close to their float32 originals and report the difference."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cli.export import _as_file, command
from komadori.encoding import encode_labels, encode_planes, legal_mask
from komadori.inference import ModelError, evaluate, load, quantization
from komadori.inference.quantization import (
    Accuracy,
    Answers,
    QuantizationError,
    compare,
    layer_errors,
    quantize,
    split,
)
from komadori.inference.without_telemetry import import_openvino

pytest.importorskip("onnx")

from komadori.inference.synthetic import write_random_resnet


@pytest.fixture(scope="module")
def samples() -> records.Samples:
    everything = records.load_samples(records.sample_path())
    return everything.take(everything.game < 40)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_random_resnet(tmp_path_factory.mktemp("models") / "small.onnx", 2, 16)
    path.with_suffix(".json").write_text(json.dumps({"name": "small", "labels": "2187"}))
    return path


def test_the_halves_share_no_game(samples: records.Samples) -> None:
    first, second = split(samples, 100, 1000, seed=3)
    assert len(first) == 100
    assert len(second) == 1000
    assert not set(first.game.tolist()) & set(second.game.tolist())
    assert (first.move16 != 0).all()
    again, _ = split(samples, 100, 1000, seed=3)
    np.testing.assert_array_equal(first.hcp, again.hcp)
    other, _ = split(samples, 100, 1000, seed=4)
    assert (first.hcp != other.hcp).any()


def test_one_game_is_too_few(samples: records.Samples) -> None:
    with pytest.raises(QuantizationError, match="1 games"):
        split(samples.take(samples.game == 0), 10, 10, 0)


def test_the_comparison_counts_as_by_hand(samples: records.Samples) -> None:
    some = samples.take(slice(0, 3))
    labels = encode_labels(some.hcp, some.move16)
    legal = legal_mask(some.hcp)
    illegal = int(np.flatnonzero(~legal[0])[0])
    others = [int(next(i for i in np.flatnonzero(row) if i != label))
              for row, label in zip(legal, labels, strict=True)]  # fmt: skip
    before = Answers(np.zeros((3, 2187), np.float32), np.array([0.5, 0.25, 1.0], np.float32))
    after = Answers(np.zeros((3, 2187), np.float32), np.array([0.5, 0.5, 0.5], np.float32))
    before.policy[[0, 1, 2], [labels[0], labels[1], others[2]]] = 1
    after.policy[[0, 1, 2], [labels[0], others[1], others[2]]] = 1
    after.policy[0, illegal] = 9  # illegal moves aren't compared
    found = compare(before, after, some)
    assert found.positions == 3
    assert found.agreement == pytest.approx(2 / 3)
    assert found.top1_before == pytest.approx(2 / 3)
    assert found.top1_after == pytest.approx(1 / 3)
    assert found.top1_lost == pytest.approx(100 / 3)
    assert found.value_error == pytest.approx(0.25)
    assert found.value_error_max == pytest.approx(0.5)


def test_an_int8_model_loads_and_stays_near(
    model: Path, samples: records.Samples, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    output = tmp_path / "folder" / "small-int8.xml"
    steps: list[str] = []
    result = quantize(
        model, output, samples, calibration=64, held_out=500, tolerance=5, on_step=steps.append
    )
    assert steps
    assert result.path == output
    assert sorted(p.name for p in output.parent.iterdir()) == [
        "small-int8.bin",
        "small-int8.json",
        "small-int8.xml",
    ]
    assert output.read_text().count("FakeQuantize") > 4  # it is quantised
    assert output.with_suffix(".bin").stat().st_size < model.stat().st_size / 2
    card = json.loads(output.with_suffix(".json").read_text())
    assert card["name"] == "small"
    assert card["quantization"]["calibration_positions"] == 64
    assert card["quantization"]["agreement"] == pytest.approx(result.accuracy.agreement, abs=1e-4)

    rows = samples.take(slice(0, 200))
    planes = encode_planes(rows.hcp)
    answers = []
    for path in (model, output):
        evaluator = load(path)
        answers.append(Answers(*evaluate(evaluator, planes[0], planes[1])))
        evaluator.close()
    near = compare(answers[0], answers[1], rows)
    assert near.agreement > 0.8
    assert 0 < near.value_error < 0.03
    assert abs(near.agreement - result.accuracy.agreement) < 0.1


def test_cross_blocks_and_attention_have_an_int8_form(
    samples: records.Samples, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    torch = pytest.importorskip("torch")
    from komadori import nets, training

    torch.manual_seed(1)
    config = nets.BottleneckConfig(3, 16, pool_every=2, pool_channels=8, cross=1, attention=1)
    network = nets.build(config)
    rows = samples.take(slice(0, 512))
    planes = [torch.from_numpy(plane) for plane in encode_planes(rows.hcp)]
    network.train()(*planes)  # norms as of real positions
    card = nets.ModelCard(config, "dlshogi", "2187", nets.DLSHOGI, 600.0)
    nets.save_model(tmp_path / "model", network, card)
    training.export(tmp_path / "model", tmp_path / "net.onnx")
    result = quantize(
        tmp_path / "net.onnx",
        tmp_path / "net-int8.xml",
        samples,
        calibration=64,
        held_out=300,
        tolerance=100,
    )
    assert result.accuracy.value_error < 0.05
    assert result.path.read_text().count("FakeQuantize") > 20
    nodes = import_openvino().Core().read_model(result.path).get_ops()
    (node,) = (node for node in nodes if node.get_type_name() == "Softmax")
    kinds = []
    while node.get_type_name() != "MatMul":
        (port,) = node.output(0).get_target_inputs()
        node = port.get_node()
        kinds.append(node.get_type_name())
    assert "FakeQuantize" not in kinds  # the product is of floats
    evaluator = load(result.path)
    policy, value = evaluate(evaluator, *encode_planes(rows.hcp))
    evaluator.close()
    with torch.no_grad():
        expected, logit = network.eval()(*planes)
    assert np.abs(value - logit.sigmoid().numpy()).mean() < 0.05
    noise = np.abs(policy - expected.numpy()).mean()
    assert noise < 0.25 * expected.numpy().std()


def test_a_network_of_other_labels_has_an_int8_form(
    samples: records.Samples, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    pytest.importorskip("torch")
    from komadori import nets, training

    config, interface = nets.parse("resnet1x8"), replace(nets.DLSHOGI, labels=8181)
    card = nets.ModelCard(config, "dlshogi", "8181", interface, 600.0)
    nets.save_model(tmp_path / "model", nets.build(config, interface), card)
    training.export(tmp_path / "model", tmp_path / "net.onnx")
    output = tmp_path / "net-int8.xml"
    quantize(tmp_path / "net.onnx", output, samples, calibration=64, held_out=300, tolerance=100)
    assert load(output).labels == "8181"


def test_the_int8_form_beside_a_model_is_taken(
    model: Path, samples: records.Samples, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    own = tmp_path / "own.onnx"
    own.write_bytes(model.read_bytes())
    with pytest.raises(ModelError, match=r"export .*own\.onnx --int8"):
        load(own, precision="int8")
    quantize(own, tmp_path / "own-int8.xml", samples, calibration=8, held_out=20, tolerance=100)
    taken = {}
    for precision in ("auto", "int8", "float32"):
        evaluator = load(own, precision=precision)
        taken[precision] = evaluator.precision  # type: ignore[attr-defined]
        evaluator.close()
    assert taken == {"auto": "int8", "int8": "int8", "float32": "float32"}
    # Trained on, the network is another: its old int8 form isn't taken.
    write_random_resnet(own, 2, 16, seed=1)
    evaluator = load(own, precision="auto")
    assert evaluator.precision != "int8"  # type: ignore[attr-defined]
    evaluator.close()


def test_parts_are_left_in_float_where_too_much_is_lost(
    model: Path, samples: records.Samples, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    output = tmp_path / "small.xml"
    steps: list[str] = []
    quantize(
        model, output, samples, calibration=8, held_out=50, tolerance=-100, on_step=steps.append
    )
    assert [step for step in steps if step.startswith("calibrating")] == [
        "calibrating on 8 positions",
        "calibrating on 8 positions, stem in float",
        "calibrating on 8 positions, stem and heads in float",
    ]


def test_what_can_not_be_quantised_is_named(
    model: Path, samples: records.Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(QuantizationError, match=r"NAME\.xml"):
        quantize(model, tmp_path / "small.onnx", samples)
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    pytest.importorskip("nncf")
    with pytest.raises(ModelError, match=r"broken\.onnx"):
        quantize(broken, tmp_path / "small.xml", samples)
    monkeypatch.setitem(sys.modules, "nncf", None)
    with pytest.raises(QuantizationError, match=r"package nncf: pip install .*nncf"):
        quantize(model, tmp_path / "small.xml", samples)
    other = ModuleNotFoundError("No module named 'torch'", name="torch")  # NNCF imports it
    monkeypatch.setattr("komadori.inference.quantization.import_nncf", Mock(side_effect=other))
    with pytest.raises(QuantizationError, match=r"package torch: pip install .*torch"):
        quantize(model, tmp_path / "small.xml", samples)
    assert not (tmp_path / "small.xml").exists()


def test_the_command_reports_the_loss(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("nncf")
    own = tmp_path / "own.onnx"
    own.write_bytes(model.read_bytes())
    output = tmp_path / "own-int8.xml"
    sizes = ["--calibration", "16", "--held-out", "200"]
    done = CliRunner().invoke(command, [str(own), "--int8", *sizes])
    assert done.exit_code == 0, done.output
    assert "points lost" in done.output
    assert "200 positions" in done.output
    assert "Statistics" not in done.output
    assert output.is_file()


def test_the_command_refuses_a_file_without_int8(model: Path) -> None:
    done = CliRunner().invoke(command, [str(model)])
    assert done.exit_code == 2
    assert "--int8" in done.output


def test_the_name_of_an_int8_model_is_checked_before_work_begins(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.cli.export._export_int8", lambda *_: pytest.fail("began"))
    for source in (model, tmp_path):
        refused = CliRunner().invoke(
            command, [str(source), "--int8", "-o", str(tmp_path / "x.onnx")]
        )
        assert refused.exit_code == 2
        assert "x.onnx: an int8 model is an OpenVINO IR, named NAME.xml" in refused.output


def test_the_temporary_model_of_a_run_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    training = pytest.importorskip("komadori.training")
    made = SimpleNamespace(
        path=tmp_path / "model.onnx",
        card_path=tmp_path / "model.json",
        checked_with="onnxruntime",
        policy_difference=0.0,
        value_difference=0.0,
    )
    monkeypatch.setattr(training, "export", lambda *_, **__: made)
    with _as_file(tmp_path, "", tmp_path / "m.xml") as path:
        assert path.name == "model.onnx"
    printed = capsys.readouterr().out
    assert "largest difference" in printed
    assert "model.onnx" not in printed


def test_layers_are_compared_by_their_outputs(model: Path, tmp_path: Path) -> None:
    """With one convolution changed, its layer differs most and earlier layers not at all."""
    import onnx
    from onnx import numpy_helper

    changed = onnx.load(model)
    weights = [t for t in changed.graph.initializer if len(t.dims) == 4 and t.dims[2:] == [3, 3]]
    victim = weights[2]
    array = numpy_helper.to_array(victim)
    noise = np.random.default_rng(0).normal(0, array.std(), array.shape).astype(np.float32)
    victim.CopyFrom(numpy_helper.from_array(array + noise, victim.name))
    (node,) = [n for n in changed.graph.node if victim.name in n.input]
    path = tmp_path / "changed.onnx"
    onnx.save(changed, path)
    planes = encode_planes(records.load_samples(records.sample_path()).hcp[:8])
    errors = layer_errors(model, path, planes)
    assert len(errors) >= 6
    same = [name for name, error in errors.items() if error < 1e-6]
    assert max(errors, key=errors.__getitem__).startswith(node.name or node.output[0])
    assert 2 <= len(same) < len(errors)


def test_a_network_that_loses_too_much_is_refused(
    model: Path, samples: records.Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nncf")
    from komadori.inference import quantization

    poor = Accuracy(1000, 0.7, 0.40, 0.39, 0.1, 0.01, 0.1)  # 1 point lost, 0.4 are allowed
    monkeypatch.setattr(quantization, "compare", lambda *_: poor)
    output = tmp_path / "small-int8.xml"
    with pytest.raises(QuantizationError, match=r"97\.5%.*the layer \S+ suffers most"):
        quantize(model, output, samples, calibration=16, held_out=64)
    assert not list(tmp_path.iterdir())
    assert quantize(model, output, samples, calibration=16, held_out=64, gate=0.9).path == output


def _old_model(folder: Path) -> Path:
    output = folder / "model.xml"
    for suffix in (".xml", ".bin", ".json"):
        output.with_suffix(suffix).write_text("old")
    return output


def test_an_error_while_writing_leaves_the_old_model(tmp_path: Path) -> None:
    output = _old_model(tmp_path)
    source = tmp_path / "new" / "model.xml"
    source.parent.mkdir()
    source.write_text("new")  # its .bin is missing: an error after the .xml was copied
    with pytest.raises(OSError, match=r"model\.bin"):
        quantization._publish(source, output, {})
    assert {p.name: p.read_text() for p in tmp_path.glob("model.*")} == {
        "model.xml": "old",
        "model.bin": "old",
        "model.json": "old",
    }
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("replaced", [0, 1, 2, 3])
def test_a_kill_never_leaves_parts_of_two_models(
    replaced: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after so many of the three files have their names."""
    output = _old_model(tmp_path)
    source = tmp_path / "new" / "model.xml"
    source.parent.mkdir()
    source.write_text("new")
    source.with_suffix(".bin").write_text("new")
    real, done = os.replace, []

    def replace_(a: str, b: str) -> None:
        if len(done) == replaced:
            raise KeyboardInterrupt
        done.append(b)
        real(a, b)

    monkeypatch.setattr(os, "replace", replace_)
    with contextlib.suppress(KeyboardInterrupt):
        quantization._publish(source, output, {})
    assert output.exists() == (replaced == 3)
    if output.exists():
        assert output.read_text() == output.with_suffix(".bin").read_text() == "new"


def test_quantization_sends_no_telemetry(model: Path, tmp_path: Path) -> None:
    """NNCF's telemetry would write an id to the home folder and contact a server."""
    pytest.importorskip("nncf")
    code = (
        "import socket, sys\n"
        "def forbidden(*a, **k): print('network', a); raise SystemExit(3)\n"
        "socket.getaddrinfo = socket.socket.connect = socket.create_connection = forbidden\n"
        "from komadori.cli import main\n"
        "sys.argv = ['komadori', 'export', sys.argv[1], '--int8', '-o', sys.argv[2],\n"
        "            '--calibration', '8', '--held-out', '16', '--gate', '0']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    assert 'openvino_telemetry' not in sys.modules\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(model), str(tmp_path / "int8.xml")],
        env={name: text for name, text in os.environ.items() if "TELEMETRY" not in name}
        | {"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "int8.xml").exists()
    left = [path.relative_to(home) for path in home.rglob("*") if path.is_file()]
    assert not [path for path in left if path.parts[:2] != (".cache", "matplotlib")]


@pytest.mark.parametrize("fails_in_folder", [False, True])
def test_temporary_files_that_cannot_be_written_name_the_output(
    fails_in_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "m.xml"
    if not fails_in_folder:
        monkeypatch.setattr(quantization.tempfile, "tempdir", str(tmp_path / "none"))
    match = rf"{output}: temporary files in .*: {'full' if fails_in_folder else 'No such file'}"
    with (
        pytest.raises(quantization.QuantizationError, match=match),
        quantization.temporary_folder(output) as folder,
    ):
        raise OSError(errno.ENOSPC, "full", str(folder / "0.xml"))
    monkeypatch.undo()
    with pytest.raises(OSError, match="full"), quantization.temporary_folder(output):
        raise OSError(errno.ENOSPC, "full", str(output))
