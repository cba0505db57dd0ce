"""A few steps on real games for each option that changes the inputs or targets."""

import numpy as np
import pytest

from komadori import nets, records, training

NET = {"family": "resnet", "blocks": 1, "channels": 8}
LOOP = {
    "batch_size": 16,
    "epochs": 0,
    "max_steps": 3,
    "evaluate_every": 0,
    "checkpoint_every": 0,
    "log_every": 1,
    "tensorboard": False,
}


@pytest.mark.parametrize(
    "sections",
    [
        {"model": {"labels": "1134"}},
        {"model": {"labels": "8181"}},
        {"model": {"labels": "from-to"}},
        {"model": {"labels": "from-to"}, "loss": {"mask_illegal": True}},
        {"model": {"labels": "1496"}, "net": {"policy": "linear"}},
        {"model": {"labels": "5839"}, "net": {"policy": "conv-linear", "policy_planes": 4}},
        {"net": {"value": "tanh"}, "loss": {"value_loss": "squared"}},
        {"net": {"value": "wdl"}},
        {"loss": {"mask_illegal": True}, "data": {"mirror": True}},
        {"loss": {"policy_target": "visits", "policy_temperature": 0.7}, "data": {"mirror": True}},
        {"loss": {"entropy_bonus": 0.01, "result_weighted": True, "eval_coef": "fit"}},
        {"data": {"duplicates": "average"}, "loss": {"mask_illegal": True}},
    ],
    ids=str,
)
def test_every_option_trains_and_exports(sections, games, tmp_path):
    table = {
        "model": {"net": NET | sections.get("net", {})} | sections.get("model", {}),
        "data": {"test_fraction": 0.3, "test_limit": 20} | sections.get("data", {}),
        "loss": sections.get("loss", {}),
        "loop": LOOP,
        "device": {"device": "cpu", "precision": "float32", "replicas": 2},
    }
    config = training.config_from_dict(table)
    if config.loss.policy_target == "visits":
        samples = training.load_visits([games])
    else:
        samples = records.load_samples(games)
    result = training.train(config, samples, None, tmp_path / "run")
    assert result.step == 3
    assert np.isfinite([result.test.loss, result.test.policy_entropy]).all()
    assert 0 < result.test.policy_top1_mass <= 1
    assert result.test.best_is_legal <= 1
    _, card = nets.load_model(result.checkpoint)
    assert training.config_from_dict(card.training["config"]).model == config.model
    pytest.importorskip("onnx")
    training.export(result.checkpoint, tmp_path / "m.onnx")


def test_several_outputs_have_no_soft_targets(games, tmp_path):
    config = training.config_from_dict(
        {"model": {"net": NET, "labels": "from-to"}, "loss": {"policy_target": "visits"}}
    )
    with pytest.raises(training.ConfigError, match="labels of one output"):
        training.train(config, training.load_visits([games]), None, tmp_path / "run")
