"""The loop of playing and learning: its stages, and that each is gone on with."""

from __future__ import annotations

import threading

import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cli.linear import command
from komadori.generate import SearchBounds, TeacherSettings, segment_files
from komadori.generate.linear_loop import LEARNERS, LinearLoop, LoopSettings, Stage
from komadori.linear import KppWeights, NnueWeights, TwoPieceWeights, kpp, nnue, two_piece
from komadori.rules import Board

TEACHER = TeacherSettings(
    searches=(SearchBounds(nodes=60),), hash_mb=1, max_plies=80, resign_cp=300, play_on_share=0.0
)
LEARNER = two_piece.Settings(iterations=2, positions=40, updates=2, threads=1)
SETTINGS = LoopSettings(rounds=2, games=30, test_share=0.2)


def loop(folder, settings=SETTINGS, learner=LEARNER, **options) -> LinearLoop:
    return LinearLoop(settings, TEACHER, learner, folder, **options)


class Watch:
    """Notes when a stage has been reached."""

    def __init__(self, at: tuple[int, str, int]) -> None:
        self.at, self.reached = at, threading.Event()

    def __call__(self, stage: Stage) -> None:
        round_, what, done = self.at
        if (stage.round, stage.what) == (round_, what) and stage.done >= done:
            self.reached.set()


def test_every_stage_is_gone_on_with(tmp_path) -> None:
    whole = loop(tmp_path / "whole").run()
    assert whole == tmp_path / "whole/round-2/weights.npz"

    folder = tmp_path / "parts"
    for number, (round_, what, done) in enumerate(
        [(1, "games", 2), (1, "learning", 1), (2, "games", 4)]
    ):
        watch = Watch((round_, f"round {round_}: {what}", done))
        part = loop(folder, resume=number > 0)
        assert part.run(progress=watch, stop=watch.reached.is_set) is None
        assert watch.reached.is_set()
    stages: list[Stage] = []
    made = loop(folder, resume=True).run(progress=stages.append)
    assert made is not None
    assert stages[0].round == 2
    assert 4 <= stages[0].done < 30
    assert made.read_bytes() == whole.read_bytes()
    first, second = (
        records.load_samples(segment_files(folder / f"round-{n}/games")) for n in (1, 2)
    )
    assert len(first) != len(second) or (first.hcp != second.hcp).any()
    assert TwoPieceWeights.load(made).pairs.any()

    with pytest.raises(ValueError, match="holds a loop already"):
        loop(folder)
    with pytest.raises(ValueError, match="nothing to resume"):
        loop(tmp_path / "none", resume=True)
    other = two_piece.Settings(iterations=2, positions=41, updates=2, threads=1)
    with pytest.raises(ValueError, match=r"learner\.positions was 40, is 41"):
        loop(folder, learner=other, resume=True)
    more = loop(folder, LoopSettings(rounds=3, games=30, test_share=0.2), resume=True)
    assert more.run(stop=lambda: True) is None


def test_kpp_goes_through_the_same_loop(tmp_path) -> None:
    learner = kpp.Settings(epochs=1, batch=200, threads=1, draws="half")
    settings = LoopSettings(evaluation="kpp", rounds=1, games=6, test_share=0.2)
    shown: list[str] = []
    made = loop(tmp_path, settings, learner).run(shown.append)
    assert made is not None
    assert KppWeights.load(made).evaluate(Board()) == 0  # games by material alone are all drawn
    assert any("held out" in line for line in shown)


def test_nnue_is_stopped_while_it_learns_and_goes_on(tmp_path) -> None:
    learner = nnue.Settings(epochs=2, batch=100, threads=1)
    settings = LoopSettings(evaluation="nnue", rounds=1, games=6, test_share=0.2)
    watch = Watch((1, "round 1: learning", 1))
    part = loop(tmp_path, settings, learner)
    assert part.run(progress=watch, stop=watch.reached.is_set) is None
    assert watch.reached.is_set()
    assert not (tmp_path / "round-1/weights.bin").exists()
    stages: list[Stage] = []
    made = loop(tmp_path, settings, learner, resume=True).run(progress=stages.append)
    assert made == tmp_path / "round-1/weights.bin"
    assert [s.done for s in stages if s.what.endswith("learning")] == [2]
    assert NnueWeights.load(made).core().architecture == "k-p"


def test_settings_are_checked() -> None:
    assert set(LEARNERS) == {"two-piece", "kpp", "nnue"}
    with pytest.raises(ValueError, match="evaluation is 'material'"):
        LoopSettings(evaluation="material")
    with pytest.raises(ValueError, match="rounds is 0"):
        LoopSettings(rounds=0)


def test_the_command(tmp_path) -> None:
    folder = str(tmp_path / "loop")
    arguments = ["loop", "--rounds", "1", "--games", "3", "--nodes", "60", "-o", folder]
    arguments += ["--threads", "1", "--set", "iterations=1", "--set", "updates=1"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert "round 1: 3 games" in result.output
    assert TwoPieceWeights.load(tmp_path / "loop/round-1/weights.npz").pairs.any()
    again = CliRunner().invoke(command, [*arguments, "--nodes", "70", "--resume"])
    assert again.exit_code == 1
    assert "teacher.searches was" in again.output
