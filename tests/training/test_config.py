import pytest

from komadori import nets, records
from komadori.training import (
    ConfigError,
    config_from_dict,
    config_to_dict,
    load_config,
    train,
)
from komadori.training.config import OverrideError

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
        ("[loop]\nbatch_size = 0", r"\[loop\] batch_size is 0, at least 1 is needed"),
        ("[loop]\nmax_steps = -1", r"\[loop\] max_steps is -1, at least 0 is needed"),
        ("[data]\ntest_limit = -1", r"\[data\] test_limit is -1, at least 0 is needed"),
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
        ("[data]\nahead = 10000000000000000", "ahead is 1 to 1024"),  # it never began
        ("seed = ", "Invalid value"),
        ("seed = -1", r"\.toml: seed is 0 to"),
        (f"seed = {10**30}", r"seed must be below 2\^63, not 1e\+30"),
        (f"[loop]\nmax_steps = {10**30}", r"loop\.max_steps must be below 2\^63"),
        ("[model]\nnet = 'resnet0x0'", r"model\.net: network 'resnet0x0': a ResNet needs"),
        ("[model]\nnet = 'resnet5x64-gelu'", "unknown activation 'gelu'; one of relu"),
        ("[model]\nnet = 'attention1x0'", r"model\.net: network 'attention1x0': layers, width"),
        ("[model.net]\nfamily = 'resnet'\nactivation = 'gelu'", "unknown activation 'gelu'"),
        ("[loss]\neval_coef = nan", "loss.eval_coef must be finite, not nan"),
        ("[loss]\neval_coef = -1.0", "eval_coef is positive"),
    ],
)
def test_errors_name_key_and_file(path, text, message):
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as raised:
        load_config(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("device.device=foo", "device.device = 'foo': unknown; known: auto, cpu, cuda"),
        ("device.device=cpu:x", "device.device = 'cpu:x': unknown"),
        ("model.net=resnet1x99999999999", "model.net = resnet1x99999999999: "),
    ],
)
def test_what_the_machine_rejects_is_reported_in_one_line(override, message, path, tmp_path):
    path.write_text("")
    config = load_config(path, ["device.device=cpu", override])
    samples = records.load_samples(records.sample_path()).take(slice(0, 500))
    with pytest.raises(ConfigError) as raised:
        train(config, samples, None, tmp_path / "run")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_an_override_of_a_section_is_named(path):
    with pytest.raises(OverrideError, match=r"^--set loss=3: loss must be a table, not 3$"):
        load_config(path, ["loss=3"])


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
    for one in ("loop.batch_size=8", {"loop.batch_size": 8}):  # the l of loop isn't an override
        with pytest.raises(
            TypeError, match=r"^overrides: expected a list of section.key=value, got"
        ):
            load_config(path, one)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"with --set loop\.keep=0: \[loop\] keep is at least 1"):
        load_config(path, ["loop.keep=0", "data.threads=1"])
    with pytest.raises(ConfigError, match=r"\.toml with --set seed=-1: seed is 0 to 2\^63 - 1"):
        load_config(path, ["seed=-1"])
    with pytest.raises(ConfigError, match=r"expected section\.key=value"):
        load_config(path, ["loop"])
    with pytest.raises(ConfigError, match="is not a section"):
        load_config(path, ["seed.deep=1"])


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: No such file"):
        load_config(tmp_path / "none.toml")


def test_settings_of_older_files_have_their_present_names(path):
    path.write_text(
        "[model]\nbegin_with = 'runs/a'\n[data]\ntest_share = 0.25\n"
        "[loss]\npolicy_target = 'visits'\nhard_share = 0.5\n"
    )
    config = load_config(path)
    assert config.model.init_from == "runs/a"
    assert config.data.test_fraction == 0.25
    assert config.loss.hard_fraction == 0.5
