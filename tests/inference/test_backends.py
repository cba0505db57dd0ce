"""All backends agree, keep their slots independent and report faulty files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from komadori import inference, search
from komadori.encoding import encode_boards
from komadori.inference import Evaluator, InferenceError, ModelError, Polled, evaluate, load
from komadori.inference.fakes import FixedEvaluator
from komadori.inference.future_slots import FutureSlots
from komadori.inference.protocol import Floats
from komadori.inference.shared import SharedEvaluator
from komadori.rules import Board

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from komadori.inference.synthetic import write_random_resnet  # noqa: E402

BACKENDS = ("openvino", "onnxruntime")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_resnet(tmp_path_factory.mktemp("models") / "small.onnx", 2, 16)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    return write_random_resnet(folder / "extended.onnx", 1, 16, channels2=119)


def planes(n: int, channels2: int = 57, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return (
        (random.random((n, 62, 9, 9)) < 0.15).astype(np.float32),
        (random.random((n, channels2, 9, 9)) < 0.15).astype(np.float32),
    )


def reference(path: Path, features1: np.ndarray, features2: np.ndarray) -> Any:
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    policy, value = session.run(
        ["output_policy", "output_value"], {"input1": features1, "input2": features2}
    )
    return policy, value[:, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_equal_the_reference_for_any_number_of_rows(model: Path, backend: str) -> None:
    evaluator = load(model, backend=backend, max_batch=8)
    for n in (1, 3, 8, 21):
        features = planes(n, seed=n)
        policy, value = evaluate(evaluator, *features)
        expected_policy, expected_value = reference(model, *features)
        assert policy.shape == (n, 2187)
        assert value.shape == (n,)
        np.testing.assert_allclose(policy, expected_policy, atol=2e-4)
        np.testing.assert_allclose(value, expected_value, atol=1e-5)
    assert evaluate(evaluator, *planes(0))[0].shape == (0, 2187)
    evaluator.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_slots_do_not_mix(model: Path, backend: str) -> None:
    evaluator = load(model, backend=backend, max_batch=4)
    assert evaluator.slots >= 2
    batches = [planes(slot % 4 + 1, seed=slot) for slot in range(evaluator.slots)]
    for slot, (features1, features2) in enumerate(batches):
        rows1, rows2 = evaluator.inputs(slot)
        rows1[: len(features1)], rows2[: len(features2)] = features1, features2
    for slot, (features1, _) in enumerate(batches):
        evaluator.start(slot, len(features1))
    outputs = {slot: evaluator.wait(slot) for slot in reversed(range(evaluator.slots))}
    for slot, features in enumerate(batches):
        expected_policy, expected_value = reference(model, *features)
        np.testing.assert_allclose(outputs[slot][0], expected_policy, atol=2e-4)
        np.testing.assert_allclose(outputs[slot][1], expected_value, atol=1e-5)
    evaluator.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_channels_are_read_from_the_model(extended: Path, backend: str) -> None:
    evaluator = load(extended, backend=backend)
    assert evaluator.features == "dlshogi-119"
    assert evaluator.inputs(0)[1].shape == (evaluator.max_batch, 119, 9, 9)
    features = planes(2, 119)
    np.testing.assert_allclose(
        evaluate(evaluator, *features)[1], reference(extended, *features)[1], atol=1e-5
    )


def test_bfloat16_stays_near(model: Path) -> None:
    evaluator = load(model, backend="openvino", precision="bfloat16")
    features = planes(16)
    policy, value = evaluate(evaluator, *features)
    expected_policy, expected_value = reference(model, *features)
    assert np.abs(policy - expected_policy).max() < 0.15
    assert np.abs(value - expected_value).max() < 0.02


def test_torch_runs_a_callable() -> None:
    torch = pytest.importorskip("torch")
    from komadori.inference.torch_backend import TorchEvaluator

    torch.manual_seed(0)
    policy_layer = torch.nn.Linear(62 * 81, 2187)
    value_layer = torch.nn.Linear(57 * 81, 1)

    def network(x1: Any, x2: Any) -> tuple[Any, Any]:
        return policy_layer(x1.flatten(1)), value_layer(x2.flatten(1))

    with pytest.raises(ValueError, match="cuda_graphs needs a GPU"):
        TorchEvaluator(network, cuda_graphs=True)
    evaluator = TorchEvaluator(network, value_logits=True, max_batch=4)
    assert isinstance(evaluator, Evaluator)
    features = planes(10)
    policy, value = evaluate(evaluator, *features)
    with torch.no_grad():
        x1, x2 = (torch.from_numpy(x) for x in features)
        expected_policy, expected_value = network(x1, x2)
    np.testing.assert_allclose(policy, expected_policy.numpy(), atol=1e-5)
    np.testing.assert_allclose(value, expected_value.sigmoid().numpy()[:, 0], atol=1e-6)
    evaluator.close()


def test_torch_loads_a_model_folder(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from komadori.nets import DLSHOGI, ModelCard, ResNetConfig, build, save_model

    torch.manual_seed(1)
    config = ResNetConfig(blocks=1, channels=8)
    network = build(config, DLSHOGI).eval()
    save_model(tmp_path, network, ModelCard(config, "dlshogi", "2187", DLSHOGI, 756.0))
    evaluator = load(tmp_path)
    assert evaluator.name == "torch"
    features = planes(5)
    policy, value = evaluate(evaluator, *features)
    with torch.no_grad():
        expected_policy, expected_value = network(*(torch.from_numpy(x) for x in features))
    np.testing.assert_allclose(policy, expected_policy.numpy(), atol=1e-4)
    np.testing.assert_allclose(value, expected_value.sigmoid().numpy(), atol=1e-5)
    evaluator.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08" + bytes(100)])
def test_a_file_that_is_no_model(
    tmp_path: Path, backend: str, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("broken.onnx", "broken.xml"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ModelError, match=re.escape(name)) as caught:
            load(path, backend=backend)
        assert "\n" not in str(caught.value)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")  # of no library that logs


@pytest.mark.parametrize("backend", ["auto", *BACKENDS])
def test_a_file_that_is_missing(tmp_path: Path, backend: str) -> None:
    with pytest.raises(ModelError, match="no such model"):
        load(tmp_path / "none.onnx", backend=backend)


def test_a_truncated_model(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.onnx"
    path.write_bytes(model.read_bytes()[:-1000])
    for backend in BACKENDS:
        with pytest.raises(ModelError, match=r"half\.onnx"):
            load(path, backend=backend)


def rename(model: Path, path: Path, **names: str) -> Path:
    proto = onnx.load(model)
    for port in (*proto.graph.input, *proto.graph.output):
        port.name = names.get(port.name, port.name)
    for node in proto.graph.node:
        node.input[:] = [names.get(n, n) for n in node.input]
        node.output[:] = [names.get(n, n) for n in node.output]
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_of_another_kind(model: Path, tmp_path: Path, backend: str) -> None:
    with pytest.raises(ModelError, match=r"no input named 'input2' .*board"):
        load(rename(model, tmp_path / "a.onnx", input2="board"), backend=backend)
    with pytest.raises(ModelError, match="no output named 'output_value'"):
        load(rename(model, tmp_path / "b.onnx", output_value="v"), backend=backend)
    odd = write_random_resnet(tmp_path / "odd.onnx", 1, 8, channels2=60)
    with pytest.raises(ModelError, match=r"input2 is \[N, 60, 9, 9\], not \[N, 57, 9, 9\] or "):
        load(odd, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_graph_that_contradicts_itself_is_refused_with_the_reason(
    model: Path, tmp_path: Path, backend: str
) -> None:
    proto = onnx.load(model)
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    onnx.save(proto, tmp_path / "types.onnx")
    with pytest.raises(ModelError, match=r"types\.onnx: .*(do not match|Type Error).*64"):
        load(tmp_path / "types.onnx", backend=backend)
    proto = onnx.load(model)
    proto.graph.node[0].op_type = "Nonsense"
    onnx.save(proto, tmp_path / "kind.onnx")
    with pytest.raises(ModelError, match=r"kind\.onnx: .*Nonsense"):
        load(tmp_path / "kind.onnx", backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_of_another_shape(model: Path, tmp_path: Path, backend: str) -> None:
    proto = onnx.load(rename(model, tmp_path / "wide.onnx", output_value="v"))
    node = onnx.helper.make_node("Concat", ["v", "v", "v"], ["output_value"], axis=1)
    proto.graph.node.append(node)
    (port,) = [p for p in proto.graph.output if p.name == "v"]
    port.name = "output_value"
    port.type.tensor_type.shape.dim[1].dim_value = 3
    onnx.save(proto, tmp_path / "wide.onnx")
    with pytest.raises(ModelError, match=r"output_value is \[N, 3\], not \[N, 1\]"):
        load(tmp_path / "wide.onnx", backend=backend)


def _in_place_of_value(model: Path, node: Any, *constants: tuple[str, np.ndarray]) -> Any:
    """The model with its value computed by `node` from "v", the value before, and constants."""
    proto = onnx.load(model)
    for other in proto.graph.node:
        for number, name in enumerate(other.output):
            if name == "output_value":
                other.output[number] = "v"
    for name, array in constants:
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    proto.graph.node.append(node)
    return proto


def _loop(model: Path, iterations: int) -> Any:
    helper, numbers = onnx.helper, onnx.TensorProto
    ports = (("i", numbers.INT64, []), ("go", numbers.BOOL, []), ("x", numbers.FLOAT, None))
    after = (("going", numbers.BOOL, []), ("y", numbers.FLOAT, None))
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["going"]), helper.make_node("Neg", ["x"], ["y"])],
        "body",
        [helper.make_tensor_value_info(*port) for port in ports],
        [helper.make_tensor_value_info(*port) for port in after],
    )
    node = helper.make_node("Loop", ["trips", "true", "v"], ["output_value"], body=body)
    trips = ("trips", np.array(iterations, np.int64))
    return _in_place_of_value(model, node, trips, ("true", np.array(True)))


@pytest.mark.parametrize("backend", ["openvino", "onnxruntime"])
def test_graphs_that_would_run_forever_are_refused(
    model: Path, tmp_path: Path, backend: str
) -> None:
    onnx.save(_loop(model, 2), tmp_path / "short.onnx")
    x = planes(3)
    np.testing.assert_allclose(
        evaluate(load(tmp_path / "short.onnx", backend=backend), *x)[1],
        evaluate(load(model, backend=backend), *x)[1],
        atol=1e-6,
    )
    onnx.save(_loop(model, 1 << 60), tmp_path / "long.onnx")
    with pytest.raises(ModelError, match=r"long\.onnx: a loop of 1,152,921,504,606,846,976 iter"):
        load(tmp_path / "long.onnx", backend=backend)
    node = onnx.helper.make_node("Expand", ["v", "shape"], ["output_value"])
    shape = np.array([1, 20_000_000_000], np.int64)
    onnx.save(_in_place_of_value(model, node, ("shape", shape)), tmp_path / "large.onnx")
    with pytest.raises(ModelError, match=r"large\.onnx: .*\[N, 20000000000\], not"):
        load(tmp_path / "large.onnx", backend=backend)
    hidden = onnx.load(tmp_path / "large.onnx")
    hidden.graph.node[-1].output[0] = "wide"
    mean = onnx.helper.make_node("ReduceMean", ["wide"], ["output_value"], axes=[1], keepdims=1)
    hidden.graph.node.append(mean)
    onnx.save(hidden, tmp_path / "hidden.onnx")
    with pytest.raises(ModelError, match=r"a tensor of 20,000,000,000 elements per position"):
        load(tmp_path / "hidden.onnx", backend=backend)


def test_onnxruntime_needs_a_free_batch(model: Path, tmp_path: Path) -> None:
    proto = onnx.load(model)
    for port in proto.graph.input:
        port.type.tensor_type.shape.dim[0].dim_value = 4
    onnx.save(proto, tmp_path / "fixed.onnx")
    with pytest.raises(ModelError, match="input1 takes 4 rows at a time"):
        load(tmp_path / "fixed.onnx", backend="onnxruntime")
    openvino = load(tmp_path / "fixed.onnx", backend="openvino", max_batch=8)
    assert evaluate(openvino, *planes(3))[1].shape == (3,)


def test_an_unknown_table_of_a_model_folder_is_an_error_that_names_the_card(tmp_path: Path) -> None:
    nets = pytest.importorskip("komadori.nets")
    config, interface = nets.parse("resnet1x8"), nets.Interface(((62, 9, 9), (57, 9, 9)), 2187)
    network = nets.build(config, interface)
    card = nets.ModelCard(config, "dlshogi", "2187", interface, eval_coef=600.0)
    nets.save_model(tmp_path, network, card)
    for features, labels in (("nope", "2187"), ("dlshogi", "nope")):
        fields = {**card.to_json(), "features": features, "labels": labels}
        (tmp_path / "model.json").write_text(json.dumps(fields))
        with pytest.raises(ModelError, match=r"model\.json: .* unknown .* 'nope'"):
            load(tmp_path)


@pytest.mark.parametrize("version", [1 << 20, 1 << 31, 1 << 62])
def test_an_operator_set_of_the_far_future_is_an_error_at_once(
    model: Path, tmp_path: Path, version: int
) -> None:
    """OpenVINO would try each one down from it, for hours."""
    proto = onnx.load(model)
    proto.opset_import[0].version = version
    onnx.save(proto, tmp_path / "new.onnx")
    begun = time.process_time()
    with pytest.raises(ModelError, match=rf"new\.onnx: operator set {version:,}; at most 1,000"):
        load(tmp_path / "new.onnx", backend="openvino")
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (b"\x1d\0\0\0\0", "operator set 1,048,576; at most 1,000"),  # 32 bits
        (b"\x19\0\0\0\0\0\0\0\0", "operator set 1,048,576; at most 1,000"),
        (b"\x1b\x1c", "its operator sets can't be read"),  # a group
        (b"\x22\x80\x80\x80\x08" + bytes(1 << 24), "its operator sets can't be read"),
    ],
    ids=["fixed32", "fixed64", "group", "long"],
)
def test_unknown_fields_hide_no_operator_set(
    model: Path, tmp_path: Path, after: bytes, said: str
) -> None:
    """protobuf passes over them."""
    proto = onnx.load(model)
    del proto.opset_import[:]
    entry = onnx.helper.make_opsetid("", 1 << 20).SerializeToString() + after
    length, size = b"", len(entry)
    while size >= 0x80:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    written = b"\x42" + length + bytes([size]) + entry
    (tmp_path / "new.onnx").write_bytes(proto.SerializeToString() + written)
    begun = time.process_time()
    with pytest.raises(ModelError, match=rf"new\.onnx: {said}"):
        load(tmp_path / "new.onnx", backend="openvino")
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    ("backend", "damage"),
    [
        ("openvino", "name"),
        ("openvino", "operation"),
        ("onnxruntime", "name"),
        ("onnxruntime", "version"),
    ],
)
def test_the_error_of_a_damaged_model_is_one_line_that_names_it(
    model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], backend: str, damage: str
) -> None:
    path = tmp_path / "damaged.onnx"
    if damage == "name":
        path.write_bytes(model.read_bytes().replace(b"output_policy", b"output\xff_licy"))
    elif damage == "operation":
        path.write_bytes(model.read_bytes().replace(b"Sigmoid", b"\xff\xfegmoid"))
    else:
        proto = onnx.load(model)
        proto.ir_version = 99
        onnx.save(proto, path)
    with pytest.raises(ModelError, match=re.escape(str(path))) as caught:
        load(path, backend=backend)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_float_network_is_not_taken_for_int8(model: Path, tmp_path: Path) -> None:
    import openvino

    path = tmp_path / "plain.xml"
    openvino.save_model(openvino.Core().read_model(model), path, compress_to_fp16=False)
    with pytest.raises(ModelError, match="not an int8 network"):
        load(path, precision="int8")


def test_a_network_does_not_change_with_its_files(tmp_path: Path) -> None:
    bundled = Path(inference.__file__).parents[1] / "data" / "models"
    files = [shutil.copy(bundled / f"default-int8{end}", tmp_path) for end in (".xml", ".bin")]
    evaluator = load(files[0], max_batch=2, threads=1)
    before = evaluate(evaluator, *planes(2))
    for file in files:
        with Path(file).open("r+b") as opened:  # the same file, as `cp` writes it
            opened.write(bytes(Path(file).stat().st_size))
    after = evaluate(evaluator, *planes(2))
    evaluator.close()
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_card_that_contradicts_its_model(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model.read_bytes())
    card = path.with_suffix(".json")
    for text, problem in (
        ("{", "not a model card"),
        ("[]", "not a model card"),
        ('{"labels": "8181"}', "labels are '8181'"),
        ('{"labels": "elsewhere"}', "no label scheme 'elsewhere'"),
        ('{"features": "dlshogi-119"}', r"57, 9, 9\], but its features are 'dlshogi-119'"),
    ):
        card.write_text(text)
        with pytest.raises(ModelError, match=problem):
            load(path)
    card.write_text('{"features": "dlshogi", "labels": "2187"}')
    assert load(path).labels == "2187"


def test_options_out_of_range(model: Path) -> None:
    with pytest.raises(ValueError, match="max_batch is 0"):
        load(model, max_batch=0)
    for backend in ("openvino", "onnxruntime"):
        with pytest.raises(ValueError, match=r"^threads is -1, at least 0 is needed$"):
            load(model, backend=backend, threads=-1)
        with pytest.raises(ValueError, match=r"^slots is 0, at least 1 is needed$"):
            load(model, backend=backend, slots=0)
    with pytest.raises(ValueError, match=r"^streams is -1, at least 1 is needed$"):
        load(model, backend="openvino", streams=-1)
    known = "one of auto, int8, float32, bfloat16"
    with pytest.raises(ModelError, match=f"openvino has no precision 'int3': {known}"):
        load(model, precision="int3")
    with pytest.raises(ModelError, match="backend 'tpu'"):
        load(model, backend="tpu")
    with pytest.raises(ModelError, match="Nonsense"):
        load(model, backend="onnxruntime", providers=("Nonsense",))
    evaluator = load(model, max_batch=4)
    for n in (0, 5):
        with pytest.raises(ValueError, match=f"{n} rows"):
            evaluator.start(0, n)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", [0, -1])  # the first weights, the value's bias
def test_weights_that_are_not_numbers_are_an_error(
    model: Path, tmp_path: Path, place: int, backend: str
) -> None:
    """Also where OpenVINO's activations hide them: 0 is the greater of 0 and NaN."""
    proto = onnx.load(model)
    weights = proto.graph.initializer[place]
    shape = tuple(weights.dims)
    weights.CopyFrom(onnx.numpy_helper.from_array(np.full(shape, np.nan, "f4"), weights.name))
    onnx.save(proto, tmp_path / "nan.onnx")
    with pytest.raises((ModelError, InferenceError), match=r"nan\.onnx: .*aren't numbers"):
        evaluate(load(tmp_path / "nan.onnx", backend=backend), *planes(2))


def test_the_error_of_a_model_folder_names_it(tmp_path: Path) -> None:
    """Finite weights, whose products overflow: infinity minus infinity is no number."""
    pytest.importorskip("torch")
    from komadori.nets import DLSHOGI, ModelCard, ResNetConfig, build, save_model

    config = ResNetConfig(blocks=1, channels=2)
    network = build(config, DLSHOGI)
    for weights in network.state_dict().values():
        if weights.dim() == 4:
            weights.copy_(weights.sign() * 3e38)
    save_model(tmp_path / "huge", network, ModelCard(config, "dlshogi", "2187", DLSHOGI, 756.0))
    with pytest.raises(InferenceError, match=r"^huge: the network's outputs aren't numbers"):
        evaluate(load(tmp_path / "huge"), *planes(2))


@pytest.mark.parametrize("value", [1.5, -0.01, np.inf])
def test_values_that_are_not_probabilities_are_an_error(value: float) -> None:
    evaluator = FixedEvaluator(default_value=value)
    with pytest.raises(InferenceError, match="values aren't between 0 and 1"):
        evaluate(evaluator, *encode_boards([Board()]))


@pytest.mark.parametrize("rows", [1, 5])
def test_a_network_that_returns_other_shapes_is_an_error(rows: int) -> None:
    """A constant output has one row for any number of positions."""
    torch = pytest.importorskip("torch")
    from komadori.inference.torch_backend import TorchEvaluator

    size = 2187

    def network(*_: Any) -> tuple[Any, Any]:
        return torch.zeros(rows, size), torch.zeros(rows, 1)

    evaluator = TorchEvaluator(network, max_batch=8)
    planes = [np.zeros((3, *shape), np.float32) for shape in ((62, 9, 9), (57, 9, 9))]
    with pytest.raises(
        InferenceError, match=rf"\({rows}, 2187\).*not a policy of shape \(3, 2187\)"
    ):
        evaluate(evaluator, *planes)
    size = 100
    with pytest.raises(InferenceError, match=r", 100\)"):
        evaluate(evaluator, *planes)


@pytest.mark.parametrize("shape", [(2, 28, 9, 9), (2, 1, 9, 9), (2, 9, 9), (2,)])
def test_planes_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    evaluator = load("uniform")
    _, second = (np.zeros((2, *rows.shape[1:]), np.float32) for rows in evaluator.inputs(0))
    with pytest.raises(ValueError, match=r"^input 1 of dlshogi must be \[N, 62, 9, 9\], not \[2"):
        evaluate(evaluator, np.zeros(shape, np.float32), second)


def test_planes_without_the_dimension_of_rows_are_refused_by_their_shape() -> None:
    evaluator = load("uniform")
    planes = [np.zeros(rows.shape[1:], np.float32) for rows in evaluator.inputs(0)]
    with pytest.raises(ValueError, match=r"^input 1 of dlshogi must be \[N, 62, 9, 9\], not \[62,"):
        evaluate(evaluator, *planes)
    with pytest.raises(ValueError, match=r"^input 1 of dlshogi must be \[N, 62, 9, 9\], not \[\]$"):
        evaluate(evaluator, None, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^dlshogi has 2 inputs, not 1$"):
        evaluate(evaluator, planes)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.5, float("nan"), -1.0, 256.0, 1j, None])
def test_planes_that_bytes_cannot_hold_are_refused(model: Path, value: Any) -> None:
    planes = [np.zeros((3, *shape), np.float32) for shape in ((62, 9, 9), (57, 9, 9))]
    with contextlib.closing(load(model, "openvino")) as evaluator:
        evaluate(evaluator, *planes)
        planes[1] = planes[1].astype(np.array(value).dtype)
        planes[1][2, 5, 3, 3] = value
        with pytest.raises(ValueError, match="planes"):
            evaluate(evaluator, *planes)


@pytest.mark.parametrize("device", ["nosuch", "cuda:99", "mps:99", "hpu"])
def test_a_device_that_torch_cannot_use_is_an_error(tmp_path: Path, device: str) -> None:
    pytest.importorskip("torch")
    from komadori import training

    folder = training.save_untrained(
        training.config_from_dict({"model": {"net": "resnet1x8"}}, "test"), tmp_path / "net"
    )
    with pytest.raises(ModelError, match=f"device '{device}' can't be used") as caught:
        load(folder, "torch", device=device)
    assert len(str(caught.value)) < len(str(folder)) + 350


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_may_run_on_any_core(model: Path, backend: str) -> None:
    """Otherwise two engines of one thread each would share the core that both are pinned to."""
    tasks = Path("/proc/self/task")
    others = {task.name for task in tasks.iterdir()} - {str(threading.get_native_id())}
    evaluator = load(model, backend=backend, max_batch=64, threads=1)
    allowed = set()
    for _ in range(100):
        evaluator.start(0, 64)
        for task in tasks.iterdir():
            with contextlib.suppress(OSError):  # ended just now
                if task.name not in others:
                    status = (task / "status").read_text()
                    allowed |= set(re.findall("Cpus_allowed_list:.*", status))
        evaluator.wait(0)
    evaluator.close()
    assert len(allowed) == 1


def test_openvino_starts_no_process_of_its_own() -> None:
    code = (
        "import multiprocessing.process as p, sys\n"
        "def forbidden(*a, **k): print('a process'); sys.exit(3)\n"
        "p.BaseProcess.start = forbidden\n"
        "from komadori.inference.without_telemetry import import_openvino\n"
        "assert import_openvino().Core\n"
        "assert 'openvino_telemetry' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments", [["doctor"], ["bench", "inference", "--time", "0.1", "--batches", "1"]]
)
def test_backends_leave_nothing_in_the_home_folder(
    model: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """ONNX Runtime would write a device id there and upload events."""
    if arguments[0] == "bench":
        arguments = [*arguments, "--model", str(model), "--backend", "onnxruntime"]
    environment = {name: text for name, text in os.environ.items() if "TELEMETRY" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "komadori", *arguments],
        env=environment | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "onnxruntime" in done.stdout.lower()
    left = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in left if path.parts[:2] != (".cache", "matplotlib")]


@pytest.mark.parametrize("backend", [*BACKENDS, "uniform", "shared"])
def test_waiting_for_a_slot_that_was_never_started_is_an_error(model: Path, backend: str) -> None:
    if backend == "shared":
        evaluator = SharedEvaluator(load(model, max_batch=2)).lane()
    elif backend == "uniform":
        evaluator = load("uniform", max_batch=2)
    else:
        evaluator = load(model, backend=backend, max_batch=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="slot 0 was not started"):
            evaluator.wait(0)
    evaluator.start(0, 1)
    assert evaluator.wait(0)[1].shape == (1,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slot_dropped_in_flight_may_be_started_again(model: Path, backend: str) -> None:
    evaluator = load(model, backend=backend, max_batch=2)
    assert isinstance(evaluator, inference.Polled)
    features = planes(2, seed=3)
    expected, _ = reference(model, *features)
    for _ in range(20):
        for slot in range(evaluator.slots):
            evaluator.start(slot, 2)
            evaluator.drop(slot)
        policy, _ = evaluate(evaluator, *features)
        np.testing.assert_allclose(policy, expected, atol=2e-4)
    evaluator.start(0, 2)
    assert evaluator.first_done([0], 20) == 0
    evaluator.start(1, 1)
    evaluator.drop(1)
    evaluator.close()


def test_waiting_for_a_batch_that_was_dropped_is_an_error() -> None:
    class Blocked(FutureSlots):
        labels = "2187"
        started, free = threading.Event(), threading.Event()

        def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
            self.started.set()
            self.free.wait(20)
            return np.zeros((n, 2187), np.float32), np.zeros(n, np.float32)

    slots = Blocked("blocked", max_batch=1, slots=2, workers=1)
    slots.start(0, 1)
    assert slots.started.wait(20)
    slots.start(1, 1)
    slots.drop(1)
    with pytest.raises(InferenceError, match=r"slot 1: .* dropped"):
        slots.wait(1)
    slots.free.set()
    assert slots.wait(0)[1].shape == (1,)
    slots.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_evaluator_says_what_it_runs(model: Path, backend: str) -> None:
    evaluator = load(model, backend=backend, max_batch=4, slots=2)
    text = repr(evaluator)
    evaluator.close()
    assert f" {model.name} in float32: dlshogi -> 2187, 2 x 4 rows>" in text


def test_a_policy_in_one_line(model: Path) -> None:
    board = Board("startpos moves 7g7f 3c3d")
    chances = inference.policy(board, model)
    assert set(chances) == set(board.legal_moves)
    assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert list(chances.values()) == sorted(chances.values(), reverse=True)
    same, value = inference.policy_and_value("startpos moves 7g7f 3c3d", load(model))
    assert list(same) == list(chances)
    assert 0 < value < 1


def _torch() -> Evaluator:
    torch = pytest.importorskip("torch")
    from komadori.inference.torch_backend import TorchEvaluator

    return TorchEvaluator(lambda x, _: (torch.zeros(len(x), 2187), torch.zeros(len(x))))


EVALUATORS: dict[str, Callable[[Path], Evaluator]] = {
    **{name: lambda path, name=name: load(path, backend=name) for name in BACKENDS},
    "torch": lambda _: _torch(),
    "uniform": lambda _: load("uniform"),
    "random": lambda _: load("random"),
    "fixed": lambda _: FixedEvaluator(),
    "group": lambda _: inference.EvaluatorGroup([load("uniform"), load("uniform")]),
    "lane": lambda _: SharedEvaluator(load("uniform")).lane(),
}


@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("name", EVALUATORS)
def test_a_closed_evaluator_says_so(name: str, is_used: bool, model: Path) -> None:
    evaluator = EVALUATORS[name](model)
    if is_used:
        evaluate(evaluator, *planes(1))
    evaluator.start(0, 1)
    evaluator.close()
    calls: list[Callable[[], object]] = [
        lambda: evaluator.inputs(0),
        lambda: evaluator.start(0, 1),
        lambda: evaluator.start(1, 1),
        lambda: evaluator.wait(0),
        lambda: evaluate(evaluator, *planes(1)),
        lambda: evaluate(evaluator, *planes(0)),
    ]
    if isinstance(evaluator, Polled):
        calls += [lambda: evaluator.first_done([0]), lambda: evaluator.first_done([0], 0.0)]
        evaluator.drop(0)
    for call in calls:
        with pytest.raises(InferenceError, match="closed"):
            call()
    evaluator.close()
    assert repr(evaluator)


def test_a_shared_network_that_is_closed_says_so() -> None:
    shared = SharedEvaluator(load("uniform"))
    lane = shared.lane()
    evaluate(lane, *planes(1))
    shared.close()
    for call in (lambda: lane.start(0, 1), lambda: evaluate(lane, *planes(1)), shared.lane):
        with pytest.raises(InferenceError, match="closed"):
            call()
    lane.close()
    shared.close()


@pytest.mark.parametrize("name", EVALUATORS)
def test_a_searcher_with_a_closed_evaluator_says_so(name: str, model: Path) -> None:
    evaluator = EVALUATORS[name](model)
    searcher = search.PuctSearcher(evaluator)
    searcher.set_position(Board())
    evaluator.close()
    with pytest.raises(InferenceError, match="closed"):
        searcher.search(search.Limits(nodes=10))
    searcher.close()


FORK = """\
import multiprocessing, sys
from komadori import inference
from komadori.rules import Board

evaluator = inference.load(sys.argv[1], sys.argv[2])
inference.policy(Board(), evaluator)

def work(_):
    try:
        return len(inference.policy(Board(), evaluator))
    except inference.InferenceError as error:
        return str(error)
    finally:
        evaluator.close()

with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map(work, [0])[0])
print(len(inference.policy(Board(), evaluator)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize("backend", [*BACKENDS, "fake"])
def test_an_evaluator_loaded_before_a_fork_is_an_error_not_a_hang(
    backend: str, model: Path
) -> None:
    words = ("uniform", "auto") if backend == "fake" else (str(model), backend)
    done = subprocess.run(
        [sys.executable, "-c", FORK, *words], capture_output=True, text=True, timeout=120
    )
    child, parent = done.stdout.splitlines()
    assert parent == "30"
    if backend == "fake":
        assert child == "30"
    else:
        assert child.startswith(f"{model.name}: loaded before this process was forked; load it in")
    assert done.returncode == 0


#: What a forked process does with the evaluators of its parent before it exits as usual.
IN_THE_CHILD = {
    "nothing": "pass",
    "close": "evaluator.close()",
    "replace": "evaluator = inference.load(sys.argv[1], sys.argv[2])\n"
    "    assert len(inference.policy(Board(), evaluator)) == 30",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize("does", IN_THE_CHILD)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_forked_process_ends_and_loads_its_own_evaluator(
    backend: str, does: str, model: Path
) -> None:
    code = f"""\
import os, sys
from komadori import inference
from komadori.rules import Board

evaluator = inference.load(sys.argv[1], sys.argv[2])
inference.policy(Board(), evaluator)
child = os.fork()
if not child:
    import signal
    signal.alarm(30)
    {IN_THE_CHILD[does]}
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(model), backend],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["uniform", "fixed", "random:3", "default"])
def test_an_unknown_backend_is_an_error_for_every_model(name: str) -> None:
    with pytest.raises(ModelError, match="backend 'tensorrt': one of auto, openvino, "):
        load(name, backend="tensorrt")


def test_a_file_that_cannot_be_read_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ModelError, match=rf"{model.name}: Permission denied$"):
        load(model)


def test_an_empty_name_is_no_working_directory() -> None:
    with pytest.raises(ModelError, match="the name of the model is empty"):
        inference.load("")
