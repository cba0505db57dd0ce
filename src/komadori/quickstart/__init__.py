"""The quickstart: from games to a trained network, its strength, and a page."""

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
