"""The diary's attention encoder over 137 tokens, with options for its open questions.

81 square tokens and 56 hand-slot tokens of width 64 pass encoder layers as in torch's
`TransformerEncoderLayer` (post-norm), then one batch norm over all 137 * 64 activations; each head
is one fully connected hidden layer and its output. The diary has one or two layers of 8 heads.

Sources: diary, N駒関係をMulti-Head Self-Attentionで学習する and its 続き (July 2020). The
batch norm, the feed-forward width (64) and the dropout (0.1) are those of its code
(github.com/TadaoYamaoka/shogi_attention, d131bea), as are the projection of longer tokens and its
norm (c06bc1f).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_linear_bn_eval

from komadori.nets.heads import SQUARES, ValueOutput, check_value
from komadori.nets.layers import Dropout, attend
from komadori.nets.network import Interface, Network
from komadori.nets.registry import Family, register
from komadori.wording import names_arguments

POSITIONS = ("none", "one-hot", "learned")
HANDS = ("ones", "one-hot")
GEOMETRIES = ("none", "static", "relative")


@names_arguments
@dataclass(frozen=True)
class AttentionConfig:
    """Short name `attention2x64h8`: layers x width, heads.

    position: positional encoding of the square tokens: none (the diary); one-hot file and
    rank (the diary's open question); a learned vector for each token.
    hands: a held slot's token is all ones (the diary), or one-hot by slot (open question).
    geometry: a bias of the attention: none; static, learned for each pair of tokens; relative,
    learned for each step of files and ranks between two squares.
    head_norm: a batch norm before the heads; without it their ReLU units die at the diary's
    learning rate. head_units: width of each head's hidden layer. feed_forward: hidden units of the
    feed-forward layer, 0 for `width`. dropout: as in torch's layer, of the attention weights too;
    without it training on a CPU takes less than half the time.
    """

    layers: int = 1
    width: int = 64
    heads: int = 8
    feed_forward: int = 0
    dropout: float = 0.1
    position: str = "none"
    hands: str = "ones"
    geometry: str = "none"
    head_norm: bool = True
    head_units: int = 256
    value: str = "sigmoid"

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads, self.head_units) < 1:
            raise ValueError("layers, width, heads and head_units are at least 1")
        if self.feed_forward < 0:
            raise ValueError("feed_forward is not negative")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide among {self.heads} heads")
        if not 0 <= self.dropout < 1:
            raise ValueError("dropout is in [0, 1)")
        for name, known in (("position", POSITIONS), ("hands", HANDS), ("geometry", GEOMETRIES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}")
        check_value(self.value)


class TokenProjection(nn.Module):
    """[N, tokens, inputs] to [N, tokens, width], batch norm over all tokens."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, width, bias=False)
        self.norm: nn.Module = nn.BatchNorm1d(width)

    def fold(self) -> None:
        assert isinstance(self.norm, nn.BatchNorm1d)
        self.linear = fuse_linear_bn_eval(self.linear, self.norm)
        self.norm = nn.Identity()

    def forward(self, tokens: Tensor) -> Tensor:
        n, count, _ = tokens.shape
        out: Tensor = self.norm(self.linear(tokens).flatten(0, 1))
        # Not unflatten, whose sizes become constants of an exported network.
        return out.reshape(n, count, -1)


class TokenInput(nn.Module):
    """[N, tokens, size] to [N, tokens, width]; the tokens after the 81 squares are hand slots."""

    extra: Tensor

    def __init__(self, config: AttentionConfig, tokens: int, size: int) -> None:
        super().__init__()
        slots = tokens - SQUARES
        # Extra inputs of each token: [tokens, extra].
        parts = []
        if config.position == "one-hot":
            square = torch.arange(SQUARES)
            file_and_rank = torch.cat((F.one_hot(square // 9, 9), F.one_hot(square % 9, 9)), 1)
            parts.append(torch.cat((file_and_rank, torch.zeros(slots, 18))))
        if config.hands == "one-hot":
            parts.append(torch.cat((torch.zeros(SQUARES, slots), torch.eye(slots))))
        extra = torch.cat(parts, 1) if parts else torch.zeros(tokens, 0)
        self.register_buffer("extra", extra, persistent=False)
        self.has_extra = bool(parts)
        self.hands_one_hot = config.hands == "one-hot"
        inputs = size + extra.shape[1]
        self.project = TokenProjection(inputs, config.width) if inputs != config.width else None
        self.place = (
            nn.Parameter(0.02 * torch.randn(tokens, config.width))
            if config.position == "learned"
            else None
        )

    def forward(self, tokens: Tensor) -> Tensor:
        squares, slots = tokens[:, :SQUARES], tokens[:, SQUARES:]
        extra = self.extra.to(tokens.dtype).expand(tokens.shape[0], -1, -1)
        if self.hands_one_hot:  # a slot that isn't held stays zero, a held one is its one-hot
            held = slots[:, :, :1]
            extra = torch.cat((extra[:, :SQUARES], extra[:, SQUARES:] * held), 1)
            tokens = torch.cat((squares, torch.zeros_like(slots)), 1)
        if self.has_extra:
            tokens = torch.cat((tokens, extra), 2)
        if self.project is not None:
            tokens = self.project(tokens)
        return tokens if self.place is None else tokens + self.place


class GeometryBias(nn.Module):
    """A bias [heads, tokens, tokens] of the attention's scores."""

    index: Tensor

    def __init__(self, config: AttentionConfig, tokens: int) -> None:
        super().__init__()
        if config.geometry == "static":
            numbers = tokens * tokens
            index = torch.arange(numbers)
        else:  # the step between squares; one number for square to hand, hand to square, hands
            square = torch.arange(tokens)
            file, rank = square // 9, square % 9
            step = 17 * (file[:, None] - file + 8) + rank[:, None] - rank + 8
            is_hand = (square >= SQUARES).long()
            kind = 17 * 17 - 1 + 2 * is_hand[:, None] + is_hand
            index = torch.where(kind == 17 * 17 - 1, step, kind).flatten()
            numbers = 17 * 17 + (3 if tokens > SQUARES else 0)
        self.register_buffer("index", index, persistent=False)
        self.table = nn.Parameter(torch.zeros(config.heads, numbers))
        self.tokens = tokens

    def forward(self) -> Tensor:
        return self.table[:, self.index].reshape(-1, self.tokens, self.tokens)


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each with a skip and then a layer norm."""

    def __init__(self, config: AttentionConfig, tokens: int) -> None:
        super().__init__()
        self.heads, self.dropout_rate = config.heads, config.dropout
        hidden = config.feed_forward or config.width
        self.project = nn.Linear(config.width, 3 * config.width)
        self.mix = nn.Linear(config.width, config.width)
        self.widen = nn.Linear(config.width, hidden)
        self.narrow = nn.Linear(hidden, config.width)
        nn.init.xavier_uniform_(self.project.weight)  # as torch begins its attention
        nn.init.zeros_(self.project.bias)
        nn.init.zeros_(self.mix.bias)
        self.norm1, self.norm2 = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)
        self.geometry = GeometryBias(config, tokens) if config.geometry != "none" else None

    def forward(self, x: Tensor) -> Tensor:
        n, tokens, width = x.shape
        parts = self.project(x).reshape(n, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)  # [n, heads, tokens, each]
        bias = None if self.geometry is None else self.geometry()
        mixed = attend(query, key, value, bias, self.dropout_rate if self.training else 0.0)
        x = self.norm1(x + self.dropout(self.mix(mixed.transpose(1, 2).reshape(n, tokens, width))))
        wide = self.dropout(F.relu(self.widen(x)))
        out: Tensor = self.norm2(x + self.dropout(self.narrow(wide)))
        return out


@names_arguments
class Attention(Network):
    """Input [N, 137, 64], or any tokens of which the first 81 are the squares."""

    def __init__(self, config: AttentionConfig, interface: Interface) -> None:
        super().__init__()
        if len(interface.inputs) != 1 or len(interface.inputs[0]) != 2:
            raise ValueError(
                "attention takes one input tensor of tokens, "
                f"the feature table has {interface.inputs}"
            )
        tokens, size = interface.inputs[0]
        self.config = config
        self.interface = interface
        self.tokens = TokenInput(config, tokens, size)
        self.layers = nn.Sequential(*(EncoderLayer(config, tokens) for _ in range(config.layers)))
        everything = tokens * config.width
        self.norm: nn.Module = nn.BatchNorm1d(everything) if config.head_norm else nn.Identity()
        self.policy_hidden = nn.Linear(everything, config.head_units)
        self.policy = nn.Linear(config.head_units, interface.labels)
        self.value_hidden = nn.Linear(everything, config.head_units)
        self.value = ValueOutput(config.head_units, config.value)

    def fold(self) -> None:
        if isinstance(self.norm, nn.BatchNorm1d):
            for hidden in (self.policy_hidden, self.value_hidden):
                _fold_before(self.norm, hidden)
            self.norm = nn.Identity()

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        x = self.norm(self.layers(self.tokens(inputs[0])).flatten(1))
        policy = self.policy(F.relu(self.policy_hidden(x)))
        return policy, self.value(F.relu(self.value_hidden(x)))


def _fold_before(norm: nn.BatchNorm1d, linear: nn.Linear) -> None:
    """Fold the norm into the linear layer after it, in place (evaluation)."""
    assert norm.running_var is not None
    assert norm.running_mean is not None
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    with torch.no_grad():
        linear.bias.add_(linear.weight @ (norm.bias - norm.running_mean * scale))
        linear.weight.mul_(scale)


def _parse(name: str) -> AttentionConfig | None:
    match = re.fullmatch(r"attention(\d+)x(\d+)(?:h(\d+))?", name)
    if match is None:
        return None
    return AttentionConfig(int(match[1]), int(match[2]), int(match[3] or 8))


def _short_name(config: AttentionConfig) -> str:
    return f"attention{config.layers}x{config.width}h{config.heads}"


register(Family("attention", AttentionConfig, Attention, _parse, _short_name))
