"""Blocks that have arithmetic of their own, against torch's."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from komadori._core import attention as core
from komadori.nets.layers import Dropout, attend

# positions, heads, tokens, numbers of a head
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
    """In float64, written out."""
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
    for mine, its in zip(given, exact, strict=True):
        if mine is not None:
            scale = max(1.0, its.grad.abs().max().item())
            torch.testing.assert_close(mine.grad.double(), its.grad, rtol=0, atol=2e-5 * scale)


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


def test_attention_bears_extreme_scores():
    """Scores of some thousands: no overflow, and the largest takes all."""
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


def test_attention_of_larger_heads_and_with_dropout_is_torchs():
    given = inputs_of((2, 2, 9, core.MAX_SIZE + 1), False)
    expected = F.scaled_dot_product_attention(*given)
    assert torch.equal(attend(*given), expected)
    small = inputs_of((2, 2, 9, 8), False)
    out = attend(*small, dropout=0.5)
    assert not torch.allclose(out, attend(*small))


def test_the_core_refuses_other_shapes():
    arrays = [x.detach().numpy() for x in inputs_of((2, 2, 9, 8), False)[:3]]
    out, log_sum = torch.empty(2, 9, 2, 8).numpy(), torch.empty(2, 2, 9).numpy()
    with pytest.raises(ValueError, match="value has another shape"):
        core.attend(*arrays[:2], arrays[2][:1], None, out, log_sum)
    with pytest.raises(ValueError, match="bias has a wrong shape"):
        core.attend(*arrays, torch.empty(2, 9, 8).numpy(), out, log_sum)
    with pytest.raises(ValueError, match="out has a wrong shape"):
        core.attend(*arrays, None, torch.empty(2, 2, 9, 8).numpy(), log_sum)
    with pytest.raises(ValueError, match="neighbours"):
        core.attend(arrays[0][..., ::-1], *arrays[1:], None, out, log_sum)
    wide = torch.empty(2, 2, 9, 65).numpy()
    with pytest.raises(ValueError, match="1 to 64"):
        core.attend(wide, wide, wide, None, torch.empty(2, 9, 2, 65).numpy(), log_sum)


def boards(count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(count, 5, 9, 9, generator=draw).abs() + 0.1
    return x.to(dtype).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("probability", [0.1, 0.4, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(probability):
    x = boards(1500)
    torch.manual_seed(5)
    y = Dropout(probability)(x)
    dropped = (y == 0).float().mean().item()
    assert dropped == pytest.approx(probability, abs=5 * 0.5 / x.numel() ** 0.5)
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - probability), rtol=2e-4, atol=0)
    by_place = (y == 0).float().mean(0)  # every place is dropped as often
    assert by_place.std().item() < 1.2 * (probability * (1 - probability) / 1500) ** 0.5


def test_dropout_repeats_itself_and_is_still_in_evaluation():
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
    """Where the share rounds to none of the draws, or to all of them."""
    x = boards(20)
    y = Dropout(probability)(x)
    assert (y == 0).float().mean().item() == pytest.approx(probability, abs=0.001)
    assert y.isfinite().all()


def test_dropouts_gradient_passes_where_it_kept():
    x = boards(2).requires_grad_()
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / x.detach())
