"""The sample games shipped with the package."""

from pathlib import Path

__all__ = ["sample_path"]


def sample_path() -> Path:
    """The path of the sample games, an hcpe3 file; sample.json beside it names their source."""
    return Path(__file__).resolve().parent.parent / "data" / "sample.hcpe3.xz"
