import pytest

from komadori import nets
from komadori.training import ConfigError, config_from_dict, config_to_dict, load_config

TOML = """
seed = 7
[model]
net = "resnet5x64-swish"
[loop]
epochs = 2
batch_size = 64
[schedule]
drops = [0.4, 0.8]
[data]
train = "games.hcpe3"
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(TOML)
    return file


def test_reads_every_section(path):
    config = load_config(path, ["loop.batch_size=512", "device.device=cpu", "schedule.rate=1"])
    assert config.seed == 7
    assert config.model.net == nets.ResNetConfig(5, 64, "swish")
    assert config.loop.epochs == 2.0
    assert config.loop.batch_size == 512
    assert config.device.device == "cpu"
    assert config.schedule.rate == 1.0
    assert config.schedule.drops == (0.4, 0.8)
    assert config.data.train == ("games.hcpe3",)


def test_round_trip(path):
    config = load_config(path)
    assert config_from_dict(config_to_dict(config)) == config


def test_net_as_a_table(path):
    path.write_text('[model.net]\nfamily = "resnet"\nblocks = 3\nchannels = 32\n')
    assert load_config(path).model.net == nets.ResNetConfig(3, 32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", "unknown key 'sed'"),
        ("[loop]\nbatchsize = 1", r"unknown key 'loop.batchsize'; known: batch_size,"),
        ("[loop]\nbatch_size = '8'", "loop.batch_size must be int, not '8'"),
        ("[loop]\nbatch_size = true", "loop.batch_size must be int"),
        ("[loop]\nbatch_size = 0", r"\[loop\]"),
        ("loop = 1", "loop must be a table"),
        ("[model]\nnet = 'resnet5'", "model.net: unknown network 'resnet5'"),
        ("[model.net]\nfamily = 'x'", "model.net.family: unknown 'x'; known: attention"),
        ("[model.net]\nfamily = 'resnet'\ndepth = 1", "unknown key 'model.net.depth'"),
        ("[model.net]\nfamily = 'resnet'\nblocks = -1", "blocks >= 0"),
        ("[data]\ntrain = [1]", "data.train must be str"),
        ("[schedule]\nkind = 'x'", "kind is one of constant, cosine, cycles, step"),
        ("[loop]\nclip = -1.0", "clip is not negative"),
        ("[loop]\nevaluate_every = -1", "are not negative"),
        ("[loop]\nswa_start = 5", "swa_start needs swa_every"),
        ("[loss]\npolicy_weight = -1.0", "weights are not negative"),
        ("[loss]\nentropy_bonus = nan", "loss.entropy_bonus must be finite, not nan"),
        ("[schedule]\nrate = inf", "schedule.rate must be finite, not inf"),
        ("[schedule]\ndrops = [0.5, 7.0]", "drops are between 0 and 1"),
        ("[loss]\neval_coef = 'fitt'", "loss.eval_coef must be a number or \"fit\", not 'fitt'"),
        ("[data]\nthreads = 0", "threads are 1 to 256"),
        ("seed = ", "Invalid value"),
    ],
)
def test_errors_name_key_and_file(path, text, message):
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as raised:
        load_config(path)
    assert str(path) in str(raised.value)


def test_an_override_of_a_text_may_look_like_a_number(path):
    path.write_text("")
    config = load_config(path, ["model.labels=1496", "loss.eval_coef=fit"])
    assert config.model.labels == "1496"
    assert config.loss.eval_coef == 0
    with pytest.raises(
        ConfigError, match="--set loop.batch_size=x: loop.batch_size must".replace(".", r"\.")
    ):
        load_config(path, ["loop.batch_size=x"])


def test_overrides_are_checked_too(path):
    with pytest.raises(ConfigError, match=r"--set loop\.nothing=1: unknown key"):
        load_config(path, ["loop.nothing=1"])
    with pytest.raises(ConfigError, match=r"expected section\.key=value"):
        load_config(path, ["loop"])
    with pytest.raises(ConfigError, match="is not a section"):
        load_config(path, ["seed.deep=1"])


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: No such file"):
        load_config(tmp_path / "none.toml")
