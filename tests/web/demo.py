"""A folder with something to see: a training with checkpoints, a network with attention, a match.

python tests/web/demo.py FOLDER        # about half a minute
"""

from __future__ import annotations

import sys
from pathlib import Path

from komadori import arena, records, training
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


if __name__ == "__main__":
    make_demo(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else STEPS)
