"""Layers with custom kernels, against torch."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from komadori._core import attention as core
from komadori.nets.layers import Dropout, attend

# batch, heads, tokens, head size
SHAPES = [(3, 2, 19, 5), (2, 3, 81, 32), (2, 8, 137, 8), (1, 1, 1, 1), (2, 2, 9, 64), (2, 1, 8, 16)]


def inputs_of(shape: tuple[int, ...], with_bias: bool) -> list[Tensor | None]:
    """Query, key, value as views of one projection, as the networks have them, and the bias."""
    n, heads, tokens, size = shape
    draw = torch.Generator().manual_seed(7)
    packed = 2 * torch.randn(n, tokens, 3, heads, size, generator=draw)
    parts = [part.requires_grad_() for part in packed.permute(2, 0, 3, 1, 4).unbind(0)]
    bias = torch.randn(heads, tokens, tokens, generator=draw).requires_grad_()
    return [*parts, bias if with_bias else None]


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention_and_its_gradient_are_those_of_the_formula(shape, with_bias):
    """Attention in float64, from its formula."""
    given = inputs_of(shape, with_bias)
    exact = [None if x is None else x.detach().double().requires_grad_() for x in given]
    query, key, value, bias = exact
    scores = query @ key.transpose(2, 3) / shape[3] ** 0.5
    expected = (scores if bias is None else scores + bias).softmax(3) @ value
    out = attend(*given)
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=2e-5)

    by_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(8))
    out.backward(by_out)
    expected.backward(by_out.double())
    for own, expected in zip(given, exact, strict=True):
        if own is not None:
            scale = max(1.0, expected.grad.abs().max().item())
            torch.testing.assert_close(own.grad.double(), expected.grad, rtol=0, atol=2e-5 * scale)


@pytest.mark.parametrize("with_bias", [False, True])
def test_attention_is_the_same_on_any_number_of_threads(with_bias):
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            given = [x for x in inputs_of((5, 3, 20, 8), with_bias) if x is not None]
            out = attend(*given)
            out.square().sum().backward()
            results.append([out.detach(), *(x.grad for x in given)])
    finally:
        torch.set_num_threads(before)
    for one, several in zip(*results, strict=True):
        assert torch.equal(one, several)


def test_attention_handles_extreme_scores():
    """Scores of several thousand: no overflow, and softmax is one-hot."""
    query, key, value, _ = (
        None if x is None else x.detach() for x in inputs_of((1, 1, 9, 4), False)
    )
    query = (1000 * query).requires_grad_()
    out = attend(query, key, value)
    expected = F.scaled_dot_product_attention(query.double(), key.double(), value.double())
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=1e-4)
    out.sum().backward()
    assert query.grad.isfinite().all()


def test_attention_under_autocast_learns_in_float32():
    given = inputs_of((2, 2, 9, 8), True)
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(*(x if x is None else x.bfloat16() for x in given))
    assert out.dtype == torch.float32
    out.sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in given)


def test_attention_of_larger_heads_is_torchs():
    given = inputs_of((2, 2, 9, core.MAX_SIZE + 1), False)
    expected = F.scaled_dot_product_attention(*given)
    assert torch.equal(attend(*given), expected)


def kept_shares(shape: tuple[int, int, int], dropout: float, seed: int) -> Tensor:
    """The core's dropout mask, [batch, heads, tokens, tokens], read from uniform attention
    over one-hot values."""
    positions, heads, tokens = shape
    zero = torch.zeros(positions, heads, tokens, core.MAX_SIZE)
    value = zero.clone()
    value[:, :, range(tokens), range(tokens)] = 1
    out, log_sum = torch.empty(positions, tokens, heads, core.MAX_SIZE), torch.empty(shape)
    arrays = [x.numpy() for x in (zero, zero, value)]
    core.attend(*arrays, None, out.numpy(), log_sum.numpy(), dropout, seed)
    return tokens * out.transpose(1, 2)[..., :tokens]


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_attention_drops_the_given_fraction(probability):
    kept = kept_shares((50, 3, 37), probability, seed=7)
    dropped = (kept == 0).float()
    numbers = dropped.numel()
    assert dropped.mean().item() == pytest.approx(probability, abs=2 / numbers**0.5)
    rest = kept[kept != 0]
    torch.testing.assert_close(rest, torch.full_like(rest, 1 / (1 - probability)))
    # Uniform over entries, and independent of the neighbouring ones.
    deviation = (probability * (1 - probability)) ** 0.5
    for axes in ((0, 1), (0, 2), (0, 3)):
        count = numbers / dropped.mean(axes).numel()
        assert dropped.mean(axes).std().item() < 1.3 * deviation / count**0.5
    centred = dropped - dropped.mean()
    for axis in range(4):
        both = (centred * centred.roll(1, axis)).mean().item()
        assert abs(both) < 5 * deviation**2 / numbers**0.5
    assert torch.equal(kept, kept_shares((50, 3, 37), probability, seed=7))
    other = (kept_shares((50, 3, 37), probability, seed=8) == 0).float()
    assert abs((centred * (other - other.mean())).mean().item()) < 5 * deviation**2 / numbers**0.5


@pytest.mark.parametrize("with_bias", [False, True])
def test_dropped_attention_and_its_gradient_equal_torch_with_the_same_mask(with_bias, monkeypatch):
    given = inputs_of((3, 2, 21, 8), with_bias)
    seed = 5
    monkeypatch.setattr(torch.Tensor, "random_", lambda self: self.fill_(seed))
    out = attend(*given, dropout=0.3)
    by_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(2))
    out.backward(by_out)
    kept = kept_shares((3, 2, 21), 0.3, seed).double()
    again = [None if x is None else x.detach().double().requires_grad_() for x in given]
    query, key, value, bias = again
    scores = query @ key.mT / 8**0.5 + (0 if bias is None else bias)
    expected = (scores.softmax(3) * kept) @ value
    expected.backward(by_out.double())
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(given, again, strict=True):
        if ours is not None:
            torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-4, atol=1e-4)


def test_dropped_attention_is_reproducible_on_any_number_of_threads():
    given = inputs_of((4, 2, 21, 8), False)
    results = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            torch.manual_seed(3)
            results.append(attend(*given, dropout=0.3))
        finally:
            torch.set_num_threads(before)
    assert torch.equal(*results)
    assert not torch.equal(attend(*given, dropout=0.3), results[0])


def test_the_core_refuses_other_shapes():
    arrays = [x.detach().numpy() for x in inputs_of((2, 2, 9, 8), False)[:3]]
    out, log_sum = torch.empty(2, 9, 2, 8).numpy(), torch.empty(2, 2, 9).numpy()
    with pytest.raises(ValueError, match="value and query differ in shape"):
        core.attend(*arrays[:2], arrays[2][:1], None, out, log_sum)
    with pytest.raises(ValueError, match="bias has the wrong shape"):
        core.attend(*arrays, torch.empty(2, 9, 8).numpy(), out, log_sum)
    with pytest.raises(ValueError, match="out has the wrong shape"):
        core.attend(*arrays, None, torch.empty(2, 2, 9, 8).numpy(), log_sum)
    with pytest.raises(ValueError, match="not contiguous"):
        core.attend(arrays[0][..., ::-1], *arrays[1:], None, out, log_sum)
    with pytest.raises(ValueError, match=r"dropout must be in \[0, 1\)"):
        core.attend(*arrays, None, out, log_sum, 1.0)
    wide = torch.empty(2, 2, 9, 65).numpy()
    with pytest.raises(ValueError, match="1 to 64"):
        core.attend(wide, wide, wide, None, torch.empty(2, 9, 2, 65).numpy(), log_sum)


def boards(count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(count, 5, 9, 9, generator=draw).abs() + 0.1
    return x.to(dtype).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("probability", [0.1, 0.4, 0.9])
def test_dropout_drops_the_given_fraction_and_keeps_the_mean(probability):
    x = boards(1500)
    torch.manual_seed(5)
    y = Dropout(probability)(x)
    dropped = (y == 0).float().mean().item()
    assert dropped == pytest.approx(probability, abs=5 * 0.5 / x.numel() ** 0.5)
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - probability), rtol=2e-4, atol=0)
    by_place = (y == 0).float().mean(0)  # every entry is dropped equally often
    assert by_place.std().item() < 1.2 * (probability * (1 - probability) / 1500) ** 0.5


def test_dropout_is_reproducible_and_off_in_evaluation():
    x = boards(3, torch.bfloat16)
    layer = Dropout(0.4)
    torch.manual_seed(5)
    first, other = layer(x), layer(x)
    torch.manual_seed(5)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, other)
    assert first.dtype == x.dtype
    assert first.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(layer.eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


@pytest.mark.parametrize("probability", [1e-7, 1 - 1e-7])
def test_dropout_of_nearly_nothing_and_nearly_everything(probability):
    """Rates that round to dropping nothing, or everything."""
    x = boards(20)
    y = Dropout(probability)(x)
    assert (y == 0).float().mean().item() == pytest.approx(probability, abs=0.001)
    assert y.isfinite().all()


def test_dropouts_gradient_passes_where_it_kept():
    x = boards(2).requires_grad_()
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / x.detach())
