"""`komadori generate relabel`: new policies and values for existing positions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from komadori.cli.everywhere import ray_option
from komadori.cli.given import as_options, first_given
from komadori.cli.interrupt import InterruptError, interrupt_sets
from komadori.cli.network_options import BACKEND, DEVICE
from komadori.cli.numbers import BATCH, THREADS
from komadori.cli.resumed_folder import games_folder
from komadori.cli.sample_files import sources_argument

#: Seconds for the labels in progress to end after a signal; then the process is killed, which loses
#: only the segment in progress.
GRACE_S = 1.0


#: Options that only some kinds of labellers use.
_NETWORK, _ENGINE, _FUNCTION = "network", "engine", "function"
_USED_BY = {
    "playouts": (_NETWORK,),
    "nodes": (_ENGINE,),
    "depth": (_ENGINE,),
    "multipv": (_ENGINE,),
    "score_temperature": (_ENGINE,),
    "temperature": (_NETWORK,),
    "least": (_NETWORK, _FUNCTION),
    "eval_coef": (_NETWORK, _FUNCTION),
    "device": (_NETWORK,),
    "backend": (_NETWORK,),
    "batch": (_NETWORK,),
}


def _refuse_unused(spec: str, kind: str) -> None:
    """Raise UsageError for an option that was given and that this labeller would ignore."""
    if option := first_given(*(name for name, kinds in _USED_BY.items() if kind not in kinds)):
        kinds = _USED_BY[option.removeprefix("--").replace("-", "_")]
        raise click.UsageError(
            f"{option} is for {' and '.join(f'{k}s' for k in kinds)}; --by {spec} isn't one of them"
        )


@click.command()
@sources_argument()
@click.option("--by", "spec", required=True, metavar="LABELLER", help="The labeller; see above.")
@games_folder()
@click.option(
    "--playouts", type=click.IntRange(1), help="Playouts per position of a network's search."
)
@click.option("--nodes", type=click.IntRange(1), help="Nodes per position of an engine.")
@click.option("--depth", type=click.IntRange(1), help="Depth of an engine, instead of nodes.")
@click.option(
    "--multipv",
    default=8,
    show_default=True,
    type=click.IntRange(1, 593),
    help="Number of an engine's lines.",
)
@click.option(
    "--score-temperature",
    default=100.0,
    show_default=True,
    help="An engine's policy is the softmax of its scores divided by this, in centipawns.",
)
@click.option(
    "--temperature", default=1.0, show_default=True, help="Temperature of a network's policy."
)
@click.option(
    "--least", default=0.005, show_default=True, help="Minimum probability of a stored move."
)
@click.option(
    "--eval-coef",
    default=0.0,
    help="Centipawns per unit of the value's logit. [default: the model's]",
)
@click.option("--device", type=DEVICE, help="Network's device: cpu, cuda, ...")
@click.option(
    "--backend", default="auto", show_default=True, type=BACKEND, help="Network's backend."
)
@click.option("--batch", type=BATCH, help="Network's batch size.")
@click.option(
    "--threads",
    type=THREADS,
    help="Concurrent engines or engine processes; threads of a network. [default: all cores]",
)
@ray_option("Label on all machines of a Ray cluster.")
@click.option(
    "--segment",
    default=0,
    type=click.IntRange(0),
    help="Positions per output file. [default: 100,000 at one visit, 2,000 by search]",
)
def command(
    sources: tuple[Path, ...],
    spec: str,
    folder: Path,
    playouts: int | None,
    nodes: int | None,
    depth: int | None,
    multipv: int,
    score_temperature: float,
    temperature: float,
    least: float,
    eval_coef: float,
    device: str | None,
    backend: str,
    batch: int | None,
    threads: int | None,
    address: str | None,
    segment: int,
) -> None:
    """Write new soft policies and values for the positions of SOURCES, as hcpe3.

    \b
    LABELLER is
      PATH or default     a network (komadori's, or dlshogi's
                          ONNX), one visit; with
                          --playouts N its tree search
      alphabeta,          an engine: --nodes or --depth,
      usi:COMMAND         --multipv
      python:MODULE:NAME  a function: SFENs to a list of
                          ({move: probability}, win rate)

    SOURCES are files, folders or quoted patterns, of games or positions in any format. Games keep
    their moves and results; each ply gets candidates and a score. Train with loss.policy_target =
    "visits"; loss.hard_fraction mixes the moves played into the policy, loss.value_lambda the
    results into the value.
    """
    import threading
    from functools import partial

    from komadori.cli.console import console, say, say_skipped
    from komadori.cli.generate_run import segments_bar
    from komadori.cluster import ClusterError
    from komadori.generate import labellers
    from komadori.generate.cluster_labels import LabellerSpec, relabel_on_cluster
    from komadori.generate.folder import FolderError
    from komadori.generate.relabel import LabelFolder, relabel
    from komadori.generate.search_labellers import EngineSettings
    from komadori.generate.segments import nothing_usable
    from komadori.inference import InferenceError, ModelError
    from komadori.records import RecordError
    from komadori.records.files import identify
    from komadori.usi.client import EngineError

    if spec.startswith("python:"):
        sys.path.append("")  # the working directory, as for `python -m`
    terminal = console(err=True)
    network: dict[str, Any] = {"backend": backend, "precision": "auto"}
    network |= {"device": device} if device else {}
    network |= {"max_batch": batch} if batch else {}
    engine: dict[str, Any] = {
        "nodes": nodes,
        "depth": depth,
        "multipv": multipv,
        "score_temperature": score_temperature,
    }
    stop = threading.Event()
    try:
        policy = labellers.PolicySettings(temperature, least, eval_coef)
        labeller_spec = LabellerSpec(spec, playouts or 0, policy, engine, network, threads or 0)
        _refuse_unused(spec, labeller_spec.kind)
        if labeller_spec.kind == _ENGINE:
            EngineSettings(**engine)
    except labellers.LabelError as error:
        names = ("eval_coef", "score_temperature")
        raise click.UsageError(as_options(str(error), names)) from error
    try:
        labeller = labeller_spec.make()
        try:
            own_card = labeller.card()
            size = segment or labeller.segment_positions
            card = {
                "kind": "relabel",
                "sources": identify(sources),
                "labeller": own_card,
                "segment_positions": size,
            }
            with (
                LabelFolder(folder, card) as labels,
                interrupt_sets(stop, GRACE_S),
                segments_bar(terminal) as show,
            ):
                if address is not None:
                    labeller.close()
                    counts = relabel_on_cluster(
                        address,
                        sources,
                        labels,
                        labeller_spec,
                        own_card,
                        size,
                        threads=threads,
                        on_progress=show,
                        on_skipped=say_skipped,
                        on_change=partial(say, err=True),
                        stop=stop.is_set,
                    )
                else:
                    counts = relabel(
                        sources,
                        labels,
                        labeller,
                        segment_positions=size,
                        on_progress=show,
                        on_skipped=say_skipped,
                        stop=stop.is_set,
                    )
        finally:
            labeller.close()
    except (
        labellers.LabelError,
        FolderError,
        ModelError,
        InferenceError,
        RecordError,
        EngineError,
        ClusterError,
        ValueError,
        OSError,
    ) as error:
        raise click.ClickException(str(error)) from error
    if counts is None:
        raise InterruptError
    if not counts.positions:
        raise click.ClickException(nothing_usable(counts.skipped))
    for line in counts.lines():
        say(line)
