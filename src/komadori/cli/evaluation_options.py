"""The evaluation of an alpha-beta search, checked before any work starts."""

from __future__ import annotations

from pathlib import Path

import click


def check_evaluation(name: str, weights: Path | None, *, prefix: str = "--") -> None:
    """Raise UsageError for an evaluation that doesn't exist, lacks its weights or takes none.

    `prefix` begins the names of the options, such as `--opponent-`.
    """
    from komadori.search.alphabeta import EVALUATIONS

    if name not in EVALUATIONS:
        known = ", ".join(EVALUATIONS)
        raise click.UsageError(f"{prefix}eval {name}: one of {known} is needed")
    if name == "material":
        if weights is not None:
            raise click.UsageError(f"{prefix}weights: the evaluation material takes none")
    elif EVALUATIONS[name] is None and weights is None:
        raise click.UsageError(f"{prefix}eval {name} needs {prefix}weights")


def check_fv_scale(*names: str) -> None:
    """Raise UsageError if --fv-scale was given and none of the evaluations is NNUE."""
    if "nnue" not in names:
        raise click.UsageError("--fv-scale is for --eval nnue")
