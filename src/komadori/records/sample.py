"""The sample of games that comes with the package."""

from pathlib import Path

__all__ = ["sample_path"]


def sample_path() -> Path:
    """The bundled games, an hcpe3 file; sample.json beside it says where they come from."""
    return Path(__file__).resolve().parent.parent / "data" / "sample.hcpe3.xz"
