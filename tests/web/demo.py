"""Creates a demo folder: training runs with checkpoints, a network with attention, a match, a
ladder and a loop.

python tests/web/demo.py FOLDER        # about a minute
"""

from __future__ import annotations

import sys
from pathlib import Path

from komadori import arena, records, training
from komadori.arena.ladder import Ladder, make_settings
from komadori.generate.loop import GamesConfig, GateConfig, Loop, LoopConfig, run
from komadori.training import config_from_dict

#: Default number of training steps; tests use fewer.
STEPS = 60


def make_demo(folder: Path, steps: int = STEPS) -> None:
    """Train networks and play games; below STEPS steps, as short as possible."""
    is_short = steps < STEPS
    samples = records.load_samples([records.sample_path()])
    for name, net in (("resnet", "resnet2x32"), ("attention", "resnet1x32+attention1")):
        config = config_from_dict(
            {
                "model": {"net": net},
                "data": {"test_limit": 200 if is_short else 2000},
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
    make_ladder(folder / "strength.db", str(checkpoint), is_short)
    make_loop(folder / "loop", str(checkpoint), steps)


def make_ladder(path: Path, network: str, is_short: bool) -> None:
    conditions = arena.Conditions(nodes=200, max_plies=100 if is_short else 200)
    with Ladder.create(path, make_settings(conditions)) as ladder:
        ladder.add("random", "random", anchor_elo=0.0)
        ladder.add("material", "material")
        ladder.add("policy", f"policy:{network}", note="resnet2x32, no search")
        for nodes in (200, 1000, 5000):
            ladder.add(f"alpha-beta, {nodes} nodes", f"alphabeta?nodes={nodes}")
        games, block = (30, 2) if is_short else (60, 4)
        ladder.play(games, block=block)


def make_loop(folder: Path, network: str, steps: int) -> None:
    """Run a learning loop that continues with the network, on teacher games."""
    is_short = steps < STEPS
    teacher = {"evaluation": "nnue", "hash_mb": 1, "random_moves": 4, "resign_cp": 1500}
    config = LoopConfig(
        learner="network",
        generations=3 if is_short else 5,
        init_from=network,
        test_fraction=0.2 if is_short else 0.05,
        games=GamesConfig(
            games=12 if is_short else 100,
            settings={
                **teacher,
                "searches": ["nodes=50" if is_short else "nodes=400"],
                "max_plies": 40 if is_short else 160,
            },
        ),
        train={
            "model": {"net": "resnet2x32"},
            "schedule": {"rate": 0.05, "warmup_steps": 5},
            "loop": {
                "batch_size": 64,
                "epochs": 0 if is_short else 3,
                **({"max_steps": steps} if is_short else {}),
                "evaluate_every": 50,
                "log_every": 10,
                "tensorboard": False,
            },
        },
        gate=GateConfig(
            games=2 if is_short else 24,
            nodes=16,
            elo1=50.0,
            references=("random",),
            reference_games=2 if is_short else 8,
        ),
    )
    run(Loop(config, folder), threads=1, observer=lambda event: None, stop=lambda: False)


if __name__ == "__main__":
    make_demo(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else STEPS)
