"""The reinforcement loop: games, training, gating match, promotion, repeat.

from komadori.generate.loop import Loop, load_config, run
run(Loop(load_config("loop.toml"), Path("runs/loop")))
"""

from komadori.generate.loop.config import (
    GamesConfig,
    GateConfig,
    LoopConfig,
    LoopConfigError,
    config_from_dict,
    load_config,
)
from komadori.generate.loop.folder import Loop, LoopError, Verdict, open_loop
from komadori.generate.loop.page import write_page
from komadori.generate.loop.stages import STAGES, Event, run, run_stage

__all__ = [
    "STAGES",
    "Event",
    "GamesConfig",
    "GateConfig",
    "Loop",
    "LoopConfig",
    "LoopConfigError",
    "LoopError",
    "Verdict",
    "config_from_dict",
    "load_config",
    "open_loop",
    "run",
    "run_stage",
    "write_page",
]
