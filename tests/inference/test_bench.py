"""`komadori bench`: measures every setting, recommends one and compares the search with it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori.cli.bench import command
from komadori.inference import load
from komadori.inference.measure import Setting, recommend

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from komadori.inference.openvino_backend import best_precision
from komadori.inference.synthetic import write_random_resnet


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_resnet(tmp_path_factory.mktemp("models") / "tiny.onnx", 1, 8)


def test_the_smallest_batch_that_is_nearly_the_fastest_is_recommended() -> None:
    small, middle, large = (Setting("openvino", "float32", batch, 2) for batch in (4, 16, 64))
    slow = Setting("onnxruntime", "float32", 1)
    assert recommend({small: 50, middle: 96, large: 100, slow: 10}) == middle
    assert recommend({small: 96, middle: 96, large: 100, slow: 10}) == small
    assert recommend({small: 50, middle: 90, large: 100, slow: 10}) == large


def test_every_setting_has_a_row(model: Path) -> None:
    arguments = ["inference", "--model", str(model), "--batches", "1,4", "--time", "0.03"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.output.splitlines()]
    measured = {(row[0], row[1]) for row in rows if row[0] in ("openvino", "onnxruntime")}
    expected = {("openvino", "float32"), ("openvino", best_precision()), ("onnxruntime", "float32")}
    assert measured == expected
    assert rows[-1][0] == "recommended:"


def test_the_search_is_compared_to_the_network(model: Path) -> None:
    arguments = ["search", "--model", str(model), "--positions", "2", "--time", "0.1"]
    done = CliRunner().invoke(command, [*arguments, "--beside-onnxruntime"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith(f"tiny.onnx, {best_precision()}: search by openvino, batch 64")
    assert [line.split(" ")[0] for line in lines[2:5]] == ["start", "opening,", "all"]
    assert "times that" in lines[-1]


def test_auto_selects_the_best_precision(model: Path) -> None:
    evaluator = load(model, precision="auto")
    assert evaluator.precision == best_precision()  # type: ignore[attr-defined]
    evaluator.close()
    evaluator = load(model)
    assert evaluator.precision == "float32"  # type: ignore[attr-defined]
    evaluator.close()
    evaluator = load(model, backend="onnxruntime", precision="auto")
    assert evaluator.precision == "float32"  # type: ignore[attr-defined]
    evaluator.close()


def test_a_full_disk_is_named_and_temporary_names_are_not(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nncf")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("komadori.inference.synthetic.write_random_resnet", fail)
    full = f"temporary files in {tmp_path}: No space left on device"
    done = CliRunner().invoke(command, ["inference", "--net", "1x8"])
    assert (done.exit_code, done.output) == (1, f"Error: {full}\n")

    def fail_in(_nncf: object, _model: Path, path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("komadori.inference.quantization._write_int8", fail_in)
    arguments = ["inference", "--model", str(model), "--int8", "--batches", "1", "--time", "0.01"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == f"Error: tiny.onnx: int8: {full}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("inference --backend torch", "--backend torch is for a run or a model folder"),
        ("inference --model FILE --backend torch", "--backend torch is for a run"),
        ("inference --model FOLDER --backend openvino", "--backend openvino is for an ONNX file"),
        ("inference --model FOLDER --int8", "--int8 is for an ONNX file"),
        ("inference --model FILE --net 1x8", "--net is the size of a random network"),
        ("search --model FILE --net 1x8", "--net is the size of a random network"),
        ("search --model FOLDER --precision int8", "--precision int8 is for an ONNX file"),
        ("search --model FOLDER --beside-onnxruntime", "--beside-onnxruntime is for an ONNX file"),
    ],
)
def test_options_for_another_kind_of_model_are_refused_first(
    line: str, message: str, model: Path, tmp_path: Path
) -> None:
    words = line.replace("FILE", str(model)).replace("FOLDER", str(tmp_path)).split()
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "positions/s" not in done.output
