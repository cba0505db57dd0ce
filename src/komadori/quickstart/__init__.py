"""The whole path once: games in, a trained network out, its strength measured, one page."""

from komadori.quickstart.run import (
    Observer,
    Outcome,
    Settings,
    config,
    next_commands,
    run,
    shortfall,
)

__all__ = ["Observer", "Outcome", "Settings", "config", "next_commands", "run", "shortfall"]
