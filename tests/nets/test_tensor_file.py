import json

import pytest
import torch

from komadori.nets import TensorFileError, read_tensors, write_tensors

TENSORS = {
    "float": torch.randn(3, 4),
    "transposed": torch.arange(12.0).reshape(3, 4).t(),
    "channels_last": torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last),
    "half": torch.randn(5).bfloat16(),
    "scalar": torch.tensor(7),
    "bytes": torch.arange(9, dtype=torch.uint8),
    "flag": torch.tensor([True, False]),
    "empty": torch.empty(0, 3),
}


def assert_same(found):
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype
        assert found[name].shape == tensor.shape
        assert torch.equal(found[name], tensor)


def test_round_trip(tmp_path):
    write_tensors(tmp_path / "t", TENSORS, {"format": "pt"})
    assert_same(read_tensors(tmp_path / "t"))


def test_the_library_reads_ours_and_we_read_its(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    write_tensors(tmp_path / "ours", TENSORS, {"format": "pt"})
    assert_same(library.load_file(tmp_path / "ours"))
    contiguous = {name: t.contiguous() for name, t in TENSORS.items()}
    library.save_file(contiguous, tmp_path / "theirs", {"a": "b"})
    assert_same(read_tensors(tmp_path / "theirs"))


def test_every_truncation_is_reported(tmp_path):
    path = tmp_path / "t"
    write_tensors(path, {"a": torch.arange(4.0), "b": torch.arange(3)})
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(TensorFileError, match="truncated"):
            read_tensors(path)


def test_nonsense_is_reported(tmp_path):
    path = tmp_path / "t"

    def header(text):
        path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
        return path

    def tensor(*, name="a", dtype="F32", shape="[4]", offsets="[0,16]"):
        entry = f'"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}'
        return f'{{"{name}":{{{entry}}}}}'.encode()

    for text, message in [
        (b"[]", "broken safetensors header"),
        (b"{", "broken safetensors header"),
        (b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,8]}}', "disagree"),
        (b'{"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,0]}}', "disagree"),
        (b'{"a":{"dtype":"X","shape":[4],"data_offsets":[0,16]}}', "unknown dtype"),
        (b'{"a":{"shape":[4],"data_offsets":[0,16]}}', "broken safetensors header"),
        (b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}', "truncated"),
        (b'{"a":{"dtype":"F32","shape":[4],"data_offsets":"no"}}', "broken safetensors header"),
        (tensor(shape=f"[0,{2**62},{2**62}]", offsets="[0,0]"), "disagree"),
        (tensor(shape=f"[0,{10**4000}]", offsets="[0,0]"), "disagree"),
        (tensor(shape=f"[{','.join(['1'] * 5000)}]", offsets="[0,4]"), "5,000 dimensions"),
        # The product of these would take a minute.
        (tensor(shape=f"[{','.join([str(2**62)] * 100_000)}]"), "100,000 dimensions"),
        (tensor(offsets=f"[0,{10**4000}]"), "truncated"),
        (tensor(name="n" * 5000, shape="[5]"), "disagree"),
        (tensor(dtype="F" * 5000), "unknown dtype"),
        (
            b'{"__metadata__":{"\xe3":"pt"}}',
            "header: 'utf-8' codec can't decode byte 0xe3 in posit",
        ),
    ]:
        with pytest.raises(TensorFileError, match=message) as error:
            read_tensors(header(text))
        assert len(str(error.value)) < 1000
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(TensorFileError, match="not a safetensors file"):
        read_tensors(path)
    with pytest.raises(TensorFileError, match="No such file"):
        read_tensors(tmp_path / "none")


def test_tensors_that_share_bytes_are_refused(tmp_path):
    """They would need more memory than the file has bytes."""
    entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    text = json.dumps(dict.fromkeys("abc", entry)).encode()
    path = tmp_path / "t"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(40))
    with pytest.raises(TensorFileError, match="tensor 'c' overlaps others"):
        read_tensors(path)


@pytest.mark.parametrize(
    ("name", "dtype", "message"),
    [
        ("a", torch.complex64, r"t: a is torch\.complex64, which can't be stored"),
        ("__metadata__", torch.float32, "t: no tensor can be named __metadata__"),
    ],
)
def test_what_the_layout_lacks_is_named_and_the_old_file_kept(name, dtype, message, tmp_path):
    path = tmp_path / "t"
    write_tensors(path, {"b": torch.zeros(2)})
    before = path.read_bytes()
    with pytest.raises(TensorFileError, match=message):
        write_tensors(path, {name: torch.zeros(2, dtype=dtype)})
    assert path.read_bytes() == before
