"""Networks (torch): families, chosen by a config or a short name, and model files.

Every network maps a feature table's tensors to `(policy_logits [N, L], value_logit [N])`;
the sigmoid of the value logit is the side to move's win probability.
"""

from komadori.nets.attention import Attention, AttentionConfig
from komadori.nets.attention_end import AttentionEnd, AttentionEndConfig
from komadori.nets.bottleneck import Bottleneck, BottleneckConfig
from komadori.nets.bottleneck_transformer import (
    BottleneckTransformer,
    BottleneckTransformerConfig,
)
from komadori.nets.cnn import Cnn, CnnConfig
from komadori.nets.dlshogi import import_dlshogi
from komadori.nets.heads import HeadsConfig
from komadori.nets.model_file import (
    FORMAT_VERSION,
    ModelCard,
    ModelFileError,
    load_card,
    load_model,
    save_model,
)
from komadori.nets.network import DLSHOGI, Interface, Network, parameter_count, win_logit
from komadori.nets.registry import (
    FAMILIES,
    Family,
    NetConfig,
    UnknownNetError,
    build,
    parse,
    register,
    short_name,
)
from komadori.nets.resnet import ResNet, ResNetConfig
from komadori.nets.strips import Strips, StripsConfig
from komadori.nets.tensor_file import TensorFileError, read_tensors, write_tensors
from komadori.nets.wide_resnet import WideResNet, WideResNetConfig

__all__ = [
    "DLSHOGI",
    "FAMILIES",
    "FORMAT_VERSION",
    "Attention",
    "AttentionConfig",
    "AttentionEnd",
    "AttentionEndConfig",
    "Bottleneck",
    "BottleneckConfig",
    "BottleneckTransformer",
    "BottleneckTransformerConfig",
    "Cnn",
    "CnnConfig",
    "Family",
    "HeadsConfig",
    "Interface",
    "ModelCard",
    "ModelFileError",
    "NetConfig",
    "Network",
    "ResNet",
    "ResNetConfig",
    "Strips",
    "StripsConfig",
    "TensorFileError",
    "UnknownNetError",
    "WideResNet",
    "WideResNetConfig",
    "build",
    "import_dlshogi",
    "load_card",
    "load_model",
    "parameter_count",
    "parse",
    "read_tensors",
    "register",
    "save_model",
    "short_name",
    "win_logit",
    "write_tensors",
]
