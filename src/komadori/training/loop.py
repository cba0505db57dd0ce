"""The training loop: from a config and samples to a run folder with checkpoints."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from komadori.run_lock import RunLock
from komadori.training.config import Config, LossConfig
from komadori.training.data import Part, Samples
from komadori.training.device import targets_on
from komadori.training.loader import Batch, Encoder
from komadori.training.loss import Losses, Size, losses
from komadori.training.run import Report, Run, RunResult, StepStart
from komadori.training.run_folder import RunFolder
from komadori.training.schedule import is_due, learning_rate
from komadori.training.setup import Setup, check_outputs
from komadori.training.streamed import Files
from komadori.training.world import World
from komadori.wording import names_arguments


@names_arguments
def train(
    config: Config,
    train_samples: Samples | Part | Files,
    test_samples: Samples | Part | None,
    run_dir: Path | str,
    *,
    resume: bool = False,
    progress: Callable[[Report], None] | None = None,
    stop: Callable[[], bool] | None = None,
    stop_test: Callable[[], bool] | None = None,
    encoder: Encoder | None = None,
) -> RunResult:
    """Train until the config's budget is spent; the samples are as in `records.Samples`, or files
    that are read in windows of `data.window` positions (`streamed.Files`).

    Without test samples a fraction of the games (`data.test_fraction`) is kept for the test. Test
    positions that also occur in training are removed; the log's data entry counts both.
    A new run needs a folder without checkpoints. `resume` continues from the newest one, of the
    same network, optimizer, seed and data; on a CPU its steps equal those of an uninterrupted
    run; its first train entry is the mean of the steps since the checkpoint. `stop` is called
    before each micro-step, `stop_test` before each batch of a test; true saves a checkpoint and
    ends the run, without a further test or the rest of a step. Under torchrun every process calls
    this with the same arguments (`training.world`).

    Raises InUseError, an OSError, while another process trains in the folder.
    """
    # Of torchrun's processes the first writes for all.
    lock = RunLock(run_dir) if World.is_first_process() else None
    with lock or contextlib.nullcontext():
        return _train(
            config,
            train_samples,
            test_samples,
            Path(run_dir),
            resume=resume,
            progress=progress,
            stop=stop,
            stop_test=stop_test,
            encoder=encoder,
            lock=lock,
        )


def _train(
    config: Config,
    train_samples: Samples | Part | Files,
    test_samples: Samples | Part | None,
    run_dir: Path,
    *,
    resume: bool,
    progress: Callable[[Report], None] | None,
    stop: Callable[[], bool] | None,
    stop_test: Callable[[], bool] | None,
    encoder: Encoder | None,
    lock: RunLock | None,
) -> RunResult:
    folder = RunFolder(run_dir, resume=resume)
    setup = Setup.of(config, train_samples, test_samples, encoder, is_new=not resume)
    run = Run(setup, folder)
    config, compute, world, optimizer = setup.config, setup.compute, setup.world, setup.optimizer
    loop, budget, trained, scaler = config.loop, run.budget, setup.trained, setup.scaler
    teacher = setup.teacher
    forwards = [compute.compiled(network) for network in run.replicas.networks]
    batches, workers = setup.loader.batches(run.at.cursor), compute.workers()

    def micro_step(loss_config: LossConfig, size: Size, replica: int, shard: Batch) -> Losses:
        """The gradient of a shard of a batch of this size into the replica's parameters."""
        inputs = compute.inputs(shard)
        with compute.autocast():
            outputs = forwards[replica](*inputs)
        distilled = None if teacher is None else teacher.outputs(inputs)
        targets = targets_on(shard, compute.device)
        check_outputs(config, outputs, setup.encoder.interface, len(shard))
        policy, value, *auxiliary = outputs
        loss = losses(policy, value, targets, loss_config, size, *auxiliary, distilled=distilled)
        scaler.scale(loss.total / loop.accumulate).backward()  # type: ignore[no-untyped-call]
        return loss

    batch: Batch | None = None
    asked = False
    with contextlib.closing(run.log), contextlib.closing(batches), contextlib.closing(workers):
        while True:
            step = run.at.step
            asked = asked or (stop is not None and stop())
            progress_made, is_stopped = world.agree(budget.progress(step, run.at.samples), asked)
            rate = learning_rate(config.schedule, step, progress_made)
            for group in optimizer.param_groups:
                group["lr"] = rate

            is_over = progress_made >= 1
            if not is_stopped and (is_over or (step and is_due(step, loop.evaluate_every))):
                run.guard.settle()
                _tell(progress, run, run.evaluate(stop_test))
                # The resumed run repeats a stopped test, which is due at its first step.
                _, is_stopped = world.agree(progress_made, run.is_test_stopped)
            is_over = is_over or is_stopped
            if is_over or (step and is_due(step, loop.checkpoint_every)):
                run.guard.settle()
                if lock:
                    lock.check_place()
                run.save(batch, is_stopped=is_stopped)
            if is_over:
                return run.finish(is_stopped=is_stopped)

            loss_config = config.loss.at(progress_made)
            optimizer.zero_grad(set_to_none=True)
            before = StepStart(trained) if loop.accumulate > 1 else None
            for done in range(loop.accumulate):
                if done and before:
                    asked = stop is not None and stop()
                    _, is_stopped = world.agree(progress_made, asked)
                    if is_stopped:
                        before.restore()
                        break
                batch = next(batches)
                shards = workers.map(partial(micro_step, loss_config, batch.size), batch)
                loss = world.total(Losses.sum(shards))
                run.guard.watch(loss, batch, step)
                run.count(loss, batch)
            if is_stopped:
                asked = True
                continue
            run.replicas.gather()
            world.add_gradients(trained)
            scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(trained.parameters(), loop.clip or math.inf)
            scaler.step(optimizer)
            scaler.update()

            assert batch is not None  # `accumulate` is at least 1
            run.advance(batch)
            if run.at.step % loop.log_every == 0:
                _tell(progress, run, run.log_step(rate, norm))


def _tell(
    progress: Callable[[Report], None] | None, run: Run, entry: dict[str, Any] | None
) -> None:
    if progress is not None and entry is not None:
        progress(run.report(entry))
