"""A folder with something to see: a training with checkpoints, a network with attention, a match,
a ladder, a loop.

python tests/web/demo.py FOLDER        # about a minute
"""

from __future__ import annotations

import sys
from pathlib import Path

from komadori import arena, records, training
from komadori.arena.ladder import Ladder, make_settings
from komadori.generate.loop import GamesConfig, GateConfig, Loop, LoopConfig, run
from komadori.training import config_from_dict

#: More than a test needs makes better curves.
STEPS = 60


def make_demo(folder: Path, steps: int = STEPS) -> None:
    """Really train and really play, as short as it goes."""
    samples = records.load_samples([records.sample_path()])
    for name, net in (("resnet", "resnet2x32"), ("attention", "resnet1x32+attention1")):
        config = config_from_dict(
            {
                "model": {"net": net},
                "data": {"test_limit": 2000},
                "schedule": {"rate": 0.05, "warmup_steps": 5},
                "loop": {
                    "batch_size": 64,
                    "epochs": 0,
                    "max_steps": steps,
                    "evaluate_every": max(steps // 6, 1),
                    "checkpoint_every": max(steps // 6, 1),
                    "log_every": max(steps // 30, 1),
                    "keep": 100,
                    "tensorboard": False,
                },
            }
        )
        training.train(config, samples, None, folder / "runs" / name)
    checkpoint = training.newest_checkpoint(folder / "runs" / "resnet")
    arena.play_match(
        f"policy:{checkpoint}",
        "material",
        games=6,
        out=folder / "matches" / "first",
        seed=1,
        names=("resnet2x32, policy", "material"),
    )
    make_ladder(folder / "strength.db", str(checkpoint))
    make_loop(folder / "loop")


def make_ladder(path: Path, network: str) -> None:
    conditions = arena.Conditions(nodes=200, max_plies=200)
    with Ladder.create(path, make_settings(conditions)) as ladder:
        ladder.add("random", "random", anchor_elo=0.0)
        ladder.add("material", "material")
        ladder.add("policy", f"policy:{network}", note="resnet2x32, no search")
        for nodes in (200, 1000, 5000):
            ladder.add(f"alpha-beta, {nodes} nodes", f"alphabeta?nodes={nodes}")
        ladder.play(60, block=4)


def make_loop(folder: Path) -> None:
    config = LoopConfig(
        learner="two-piece",
        generations=3,
        test_fraction=0.2,
        games=GamesConfig(
            games=40,
            settings={"searches": ["nodes=100"], "hash_mb": 1, "max_plies": 100, "resign_cp": 300},
        ),
        train={"iterations": 4, "positions": 100, "updates": 4},
        gate=GateConfig(games=8, nodes=100, references=("material",), reference_games=4),
    )
    run(Loop(config, folder), threads=1, observer=lambda event: None, stop=lambda: False)


if __name__ == "__main__":
    make_demo(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else STEPS)
