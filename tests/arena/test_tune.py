"""SPSA: its arithmetic on a known objective, and tuning of engine processes."""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

import komadori
from komadori.arena import Conditions, MatchStoreError, Opening, WorkerError
from komadori.arena.spsa import Parameter, Spsa
from komadori.arena.tune import (
    TuneConfig,
    TuneConfigError,
    Tuning,
    check_ranges,
    read_config,
    tune,
)
from komadori.arena.workers import GameRunner, Job
from komadori.cli import tune as tune_command
from komadori.cli._group import group
from komadori.cli.game_options import as_options, parse_clock, with_conditions
from komadori.cli.tune import EXAMPLE
from komadori.players import PlayerSpec
from komadori.search.alphabeta import CONSTANTS
from komadori.usi.client import EngineError

BUNDLED = Path(komadori.__file__).parent / "data" / "models" / "default.onnx"

#: Resigns at once in (100 - Skill) per cent of its games, otherwise shuffles its rook.
ENGINE = """
import random, sys
skill, chance, moves, resigns = 50, random.Random(1), 0, False
if len(sys.argv) > 1: sys.exit("no weights")
for line in sys.stdin:
    words = line.split()
    if words == ["usi"]:
        print("option name Skill type spin default 50 min 0 max 100")
        print("option name Idle type spin default 5 min 0 max 10\\nusiok", flush=True)
    elif words[:2] == ["setoption", "name"] and words[2] == "Skill": skill = int(words[4])
    elif words == ["isready"]: print("readyok", flush=True)
    elif words == ["usinewgame"]: resigns = chance.random() * 100 >= skill
    elif words[:1] == ["position"]: moves = len(words) - 3 if "moves" in words else 0
    elif words[:1] == ["go"]:
        rook = ["2h3h", "8b7b", "3h2h", "7b8b"][moves % 4]
        print("bestmove", "resign" if resigns and moves < 2 else rook, flush=True)
    elif words == ["quit"]: break
"""


@pytest.fixture
def engine(tmp_path: Path) -> str:
    path = tmp_path / "engine.py"
    path.write_text(ENGINE)
    return f"usi:{sys.executable} {path}"


def skill(pairs: int, **changes: float) -> TuneConfig:
    values = {"start": 50, "min": 0, "max": 100, "step": 20, "rate": 0.05, **changes}
    return TuneConfig(
        (Parameter("Skill", **values), Parameter("Idle", 5, 0, 10, 1)),
        pairs=pairs,
        opening_plies=0,
    )


def test_a_known_slope_is_climbed() -> None:
    """Elo falls with the square of the distance from (30, 0.7)."""
    parameters = (Parameter("a", 80, 0, 100, 5, 0.02), Parameter("b", 0.2, 0, 1, 0.05, 0.02, False))
    spsa = Spsa(parameters, 4000, seed=3)
    chance = random.Random(5)

    def loss(values: dict[str, str]) -> float:
        return 400 * ((float(values["a"]) - 30) / 50) ** 2 + 400 * (float(values["b"]) - 0.7) ** 2

    for k in range(spsa.iterations):
        trial = spsa.trial(k)
        won = 1 / (1 + 10 ** ((loss(trial.plus) - loss(trial.minus)) / 400))
        result = sum(1 if chance.random() < won else -1 for _ in range(2))
        spsa.update(k, trial.coins, result)
    assert spsa.theta["a"] == pytest.approx(30, abs=10)
    assert spsa.theta["b"] == pytest.approx(0.7, abs=0.15)


def test_step_and_rate_hold_at_the_last_iteration() -> None:
    """One won game then moves a parameter by rate * step."""
    spsa = Spsa((Parameter("a", 50, 0, 100, 4, 0.01, False),), 500)
    trial = spsa.trial(499)
    gap = abs(float(trial.plus["a"]) - float(trial.minus["a"]))
    assert gap == pytest.approx(8)
    spsa.update(499, {"a": 1}, 1)
    assert spsa.theta["a"] - 50 == pytest.approx(4 * 0.01, rel=1e-9)
    first = Spsa((Parameter("a", 50, 0, 100, 4, 0.01, False),), 500).trial(0)
    wider = abs(float(first.plus["a"]) - float(first.minus["a"]))
    assert wider == pytest.approx(8 * math.pow(500, 0.101), rel=1e-4)


def test_whole_numbers_are_rounded_by_their_fraction_and_ranges_hold() -> None:
    chance = random.Random(0)
    p = Parameter("a", 0, 0, 3, 1)
    drawn = [p.text(1.25, chance) for _ in range(4000)]
    assert set(drawn) == {"1", "2"}
    assert 0.22 < drawn.count("2") / 4000 < 0.28
    assert {p.text(9.0, chance), p.text(-4.0, chance)} == {"3", "0"}


def test_an_engine_that_died_between_games_is_restarted(engine: str) -> None:
    opening = Opening()
    with GameRunner((engine, engine)) as runner:
        for index in range(4):
            options = {"Skill": "100"}
            job = Job(index, 0, opening, index % 2 == 0, index, (options, options))
            record = runner.play(job, Conditions(nodes=1, max_plies=6))
            assert record.reason == "max_plies"
            player = runner._player(index % 2)
            player._engine._process._process.kill()
            player._engine._process._process.wait()


def test_an_engine_that_fails_in_every_game_is_an_error(tmp_path: Path) -> None:
    """Its failures count as results for neither side."""
    program = tmp_path / "engine.py"
    program.write_text(ENGINE.replace("rook = [", "sys.exit(); rook = ["))
    engine = f"usi:{shlex.quote(sys.executable)} {program}"
    with pytest.raises(WorkerError, match="failed in every pair of games: "):
        tune(engine, skill(3), tmp_path / "out")
    rows = (tmp_path / "out/tune.jsonl").read_text().splitlines()[1:]
    counts = [json.loads(row) for row in rows]
    assert [(row["wins"], row["losses"], row["failures"]) for row in counts] == 3 * [(0, 0, 2)]
    assert all(row["theta"]["Skill"] == 50 for row in counts)


def test_an_engine_is_tuned_by_games_and_resumes(engine: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    seen: list[int] = []

    def cut(tuning: Tuning) -> None:
        seen.append(tuning.finished)
        if len(seen) == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(engine, skill(60), out, on_pair=cut)
    with (out / "tune.jsonl").open("a") as file:
        file.write('{"iteration": 20, "wi')  # as after a power failure
    tuning = tune(engine, skill(60), out, concurrency=2, on_pair=lambda t: seen.append(t.finished))
    assert seen[19:22] == [20, 21, 22]
    assert tuning.finished == 60
    assert tuning.spsa.theta["Skill"] > 65
    rows = [json.loads(line) for line in (out / "tune.jsonl").read_text().splitlines()[1:]]
    assert sorted(row["iteration"] for row in rows) == list(range(60))
    assert rows[-1]["theta"] == tuning.spsa.theta
    assert tuning.specification() == f"{engine}?Skill={round(rows[-1]['theta']['Skill'])}&Idle=5"
    assert tune(engine, skill(60), out).spsa.theta == tuning.spsa.theta
    page = (out / "index.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["parameters"][0]["path"]) == 61
    with pytest.raises(MatchStoreError, match=r"another tuning: parameters \(Skill\), start: 50 "):
        tune(engine, skill(60, start=40), out)


@pytest.mark.parametrize(
    ("player", "expected"),
    [
        ("usi:a", "usi:a?Skill=50&Idle=5"),
        ("usi:a?", "usi:a?Skill=50&Idle=5"),
        ("usi:a?Skill=70&Tag=b%26c d", "usi:a?Tag=b%26c d&Skill=50&Idle=5"),
        ("usi:a what? -b", "usi:a what? -b?Skill=50&Idle=5"),
    ],
)
def test_the_tuned_values_replace_those_of_the_specification(player: str, expected: str) -> None:
    config = skill(2)
    tuned = Tuning(player, config, Spsa(config.parameters, 2)).specification()
    assert tuned == expected
    assert PlayerSpec.parse(tuned).own_options.items() >= {"Skill": "50", "Idle": "5"}.items()


def test_both_sides_play_against_an_opponent(engine: str, tmp_path: Path) -> None:
    """The opponent resigns in half of its games; options are only set on the tuned player."""
    opponent = f"{engine}?Skill=50"
    config = replace(skill(80), opponent=opponent)
    cut: list[int] = []

    def stop(tuning: Tuning) -> None:
        cut.append(tuning.finished)
        if len(cut) == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(engine, config, tmp_path, on_pair=stop)
    tuning = tune(engine, config, tmp_path, concurrency=2)
    assert tuning.finished == 80
    assert tuning.wins + tuning.losses + tuning.draws == 320
    assert tuning.spsa.theta["Skill"] > 75
    assert tuning.score.endswith(f"drawn against {opponent}")
    assert tuning.progress == "80 pairs of games of each side"
    page = (tmp_path / "index.html").read_text()
    assert "80 of 80 pairs of games of each side: " in page
    with pytest.raises(MatchStoreError, match="another tuning: "):
        tune(engine, skill(80), tmp_path)


def test_the_page_names_the_limits_of_an_opponent(engine: str, tmp_path: Path) -> None:
    opponent = f"{engine}?nodes=7"
    tune(engine, replace(skill(1), opponent=opponent, conditions=Conditions(nodes=5)), tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "1 of 1 pair of games" in page
    assert json.loads(page.split('id="data">')[1].split("</script>")[0])["played"] == "1 pair"
    assert f"Conditions: {engine}: 5 nodes per move, {opponent}: 7 nodes per move" in page


def test_a_result_against_an_opponent_is_the_difference_of_the_sides(
    engine: str, tmp_path: Path
) -> None:
    """A plus side that always resigns and a minus side that never does move by -2 games, whatever
    the opponent does."""
    config = TuneConfig(
        (Parameter("Skill", 50, 0, 100, 50, 0.05),),
        pairs=1,
        opponent=f"{engine}?Skill=100",
        opening_plies=0,
        gamma=0.0,
        conditions=Conditions(max_plies=30),
    )
    tuning = tune(engine, config, tmp_path)
    spsa = Spsa(config.parameters, 1, gamma=0.0)
    trial = spsa.trial(0)
    assert {trial.plus["Skill"], trial.minus["Skill"]} == {"0", "100"}
    # The side that never resigns draws both games.
    result = -1.0 if trial.plus["Skill"] == "0" else 1.0
    spsa.update(0, trial.coins, result)
    assert tuning.spsa.theta == spsa.theta
    assert (tuning.wins, tuning.losses, tuning.draws) == (0, 2, 2)


def test_an_opponent_that_fails_is_the_one_named(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "dies.py"
    path.write_text(ENGINE.replace('print("bestmove"', 'sys.exit("no memory"); print("bestmove"'))
    opponent = f"usi:{sys.executable} {path}"
    config = replace(skill(2), opponent=opponent)
    message = re.escape(f"{opponent}: the engine failed in every pair of games: ")
    with pytest.raises(WorkerError, match=f"^{message}.*no memory"):
        tune(engine, config, tmp_path / "out")


def test_a_tuning_goes_on_with_the_opponents_files_elsewhere(tmp_path: Path) -> None:
    parameter = Parameter("C_init", 144, 50, 400, 10)
    config = TuneConfig((parameter,), pairs=2, conditions=Conditions(nodes=2, max_plies=10))
    out, model = tmp_path / "out", tmp_path / "a.onnx"
    for suffix in (".onnx", ".json"):
        shutil.copy(BUNDLED.with_suffix(suffix), model.with_suffix(suffix))

    def stop(_: Tuning) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune("model:uniform", replace(config, opponent=f"policy:{model}"), out, on_pair=stop)
    (tmp_path / "moved").mkdir()
    for suffix in (".onnx", ".json"):
        model.with_suffix(suffix).rename((tmp_path / "moved" / "a").with_suffix(suffix))
    moved = replace(config, opponent=f"policy:{tmp_path / 'moved' / 'a.onnx'}")
    assert tune("model:uniform", moved, out).finished == 2
    with pytest.raises(MatchStoreError, match=r"another tuning: opponent: 'policy:.*there, none"):
        tune("model:uniform", config, out)
    with pytest.raises(MatchStoreError, match="another tuning: opponent: "):
        tune("model:uniform", replace(config, opponent="material"), out)


@pytest.mark.parametrize("opponent", ["usi:/no/such/engine", "model:/no/such.onnx"])
def test_an_opponent_that_is_missing_leaves_no_folder(
    opponent: str, engine: str, tmp_path: Path
) -> None:
    with pytest.raises((EngineError, OSError), match="/no/such"):
        tune(engine, replace(skill(2), opponent=opponent), tmp_path / "out")
    assert not (tmp_path / "out").exists()


DAMAGED_PAIRS: list[dict[str, object]] = [
    {"theta": 3},
    {"theta": {"Skill": 50}},
    {"theta": {"Skill": math.nan, "Idle": 5}},
    {"theta": {"Skill": 1e9, "Idle": 5}},
    {"theta": {"Skill": "50", "Idle": 5}},
    {"wins": None},
    {"wins": -1},
    {"iteration": math.inf},
    {"iteration": 99},
    {"iteration": 1},
    {"failures": True},
]


@pytest.mark.parametrize("change", DAMAGED_PAIRS, ids=str)
def test_a_damaged_pair_is_named_and_kept(
    change: dict[str, object], engine: str, tmp_path: Path
) -> None:
    tune(engine, skill(2), tmp_path)
    path = tmp_path / "tune.jsonl"
    terms, first, second = path.read_text().splitlines()
    damaged = json.dumps({**json.loads(first), **change})
    path.write_text("\n".join((terms, damaged, second, "")))
    before = path.read_bytes()
    # The second pair notices that the first has its number.
    line = 3 if change == {"iteration": 1} else 2
    with pytest.raises(MatchStoreError, match=rf"tune\.jsonl, line {line}: {next(iter(change))}"):
        tune(engine, skill(2), tmp_path)
    assert path.read_bytes() == before


def test_terms_of_another_form_are_another_tuning(engine: str, tmp_path: Path) -> None:
    tune(engine, skill(1), tmp_path)
    path = tmp_path / "tune.jsonl"
    terms, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(terms), "files": [3]}) + "\n" + rest)
    with pytest.raises(MatchStoreError, match="another tuning: files: "):
        tune(engine, skill(1), tmp_path)


def test_komadori_searchers_take_options_between_games(tmp_path: Path) -> None:
    config = TuneConfig((Parameter("C_init", 144, 10, 400, 60),), pairs=3, opening_plies=2)
    tuning = tune("model:random:1?nodes=8", config, tmp_path / "a")
    assert tuning.wins + tuning.losses + tuning.draws == 6
    other = TuneConfig((Parameter("ResignValue", 3000, 100, 9000, 60),), pairs=2, opening_plies=2)
    assert tune("alphabeta?Eval=material&depth=1", other, tmp_path / "b").finished == 2
    for name, message in (("C_int", "no option"), ("UCT_Threads", "only options of the search")):
        wrong = TuneConfig((Parameter(name, 2, 1, 9, 1),), pairs=2)
        with pytest.raises(ValueError, match=message):
            tune("model:random:1?nodes=8", wrong, tmp_path / name)
    with pytest.raises(ValueError, match="no options that can change"):
        tune("random", config, tmp_path / "c")


RANGES = [
    (Parameter("Skill", 50, 0, 101, 5), "parameters.Skill is from 0 to 101, but .* takes 0 to 100"),
    (Parameter("Skill", 50, -1, 100, 5), "parameters.Skill is from -1 to 100, but .* 0 to 100"),
    (Parameter("Skill", 50, 0, 100, 5, is_integer=False), "parameters.Skill is of type float"),
    (Parameter("Skil", 50, 0, 100, 5), "has no option Skil; it has: Book, Idle, Skill, Style"),
    (Parameter("Book", 1, 0, 2, 1), "option Book is of type check and takes no numbers"),
]


@pytest.mark.parametrize(("parameter", "message"), RANGES, ids=lambda case: str(case)[:40])
@pytest.mark.parametrize("concurrency", [1, 2])
def test_parameters_that_the_engine_does_not_take_are_refused_before_the_first_game(
    parameter: Parameter, message: str, concurrency: int, tmp_path: Path
) -> None:
    path = tmp_path / "engine.py"
    more = "option name Book type check default true\\noption name Style type string default 1.5"
    path.write_text(ENGINE.replace("option name Idle", more + "\\noption name Idle"))
    engine, out = f"usi:{sys.executable} {path}", tmp_path / "out"
    good = Parameter("Style", 1.5, 0.5, 2.5, 0.1, is_integer=False)
    with pytest.raises((ValueError, EngineError), match=message):
        tune(engine, TuneConfig((good, parameter), pairs=2), out, concurrency=concurrency)
    assert not out.exists()
    assert tune(engine, TuneConfig((good,), pairs=1, opening_plies=0), out).finished == 1


@pytest.mark.parametrize(
    ("player", "parameter", "message"),
    [
        (
            "model:random:1",
            Parameter("C_init", 144, 10, 1e6, 1),
            "from 10 to 1000000, but .* takes",
        ),
        ("alphabeta?Eval=material", Parameter("MultiPV", 1, 0, 3, 1), "MultiPV is from 0 to 3"),
        ("alphabeta?Eval=material", Parameter("NodesLimit", 1, 0, 3, 1), "only options of the se"),
        ("alphabeta?Eval=material", Parameter("C_init", 1, 0, 3, 1), "no option 'C_init'"),
    ],
)
def test_ranges_of_komadori_searchers_are_checked(
    player: str, parameter: Parameter, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        tune(player, TuneConfig((parameter,), pairs=2), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("player", ["model:uniform?", "alphabeta?Eval=material&"])
def test_an_option_set_under_its_other_name_is_refused(player: str, tmp_path: Path) -> None:
    config = replace(skill(2), parameters=(Parameter("MultiPV", 1, 1, 4, 1, is_integer=True),))
    with pytest.raises(ValueError, match="MultiPV is given twice, by the player and by the param"):
        tune(f"{player}USI_MultiPV=2", config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_engine_that_cannot_start_ends_the_tuning(engine: str, tmp_path: Path) -> None:
    with pytest.raises((WorkerError, RuntimeError), match="no weights"):
        tune(f"{engine} x", skill(4), tmp_path / "out")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_is_named_by_its_signal_and_game_on_a_line_of_its_own(tmp_path: Path) -> None:
    """The worker process itself crashes, as a fault in compiled code would make it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\n"
        "from komadori.arena import workers\n"
        "workers.play_game = lambda *a, **k: os.kill(os.getpid(), signal.SIGFPE)\n"
    )
    parameters = tmp_path / "p.toml"
    parameters.write_text(
        'pairs = 4\n[parameters."Search.aspiration"]\nstart = 30\nmin = 5\nmax = 99\n'
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "komadori",
            "tune",
            "alphabeta",
            str(parameters),
            "-o",
            tmp_path / "out",
            "-j",
            "2",
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.fullmatch(r"Error: a worker process was ended by SIGFPE in game [12]\n", done.stderr)
    assert not done.stdout or done.stdout.endswith("\n")


def test_the_example_is_a_file_of_parameters(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(CliRunner().invoke(group, ["tune", "--example"]).output)
    assert path.read_text() == EXAMPLE
    config = read_config(path, parse_clock)
    assert [p.name for p in config.parameters] == ["C_init", "C_fpu_reduction"]
    assert config.conditions.nodes == 800
    assert config.parameters[1].step == 5
    path.write_text(EXAMPLE.replace("nodes = 800", 'clock = "10+0.1"'))
    assert read_config(path, parse_clock).conditions.increment_ms == 100


def test_the_example_of_the_alphabeta_search_has_all_its_constants(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(CliRunner().invoke(group, ["tune", "--example", "alphabeta"]).output)
    config = read_config(path, parse_clock)
    switches = {name for name, (_, low, high) in CONSTANTS.items() if high - low < 2}
    names = {p.name.removeprefix("Search.") for p in config.parameters}
    assert names == CONSTANTS.keys() - switches
    assert all(p.is_integer for p in config.parameters)
    check_ranges("alphabeta?Eval=material", config.parameters)


def test_a_tuning_without_a_terminal_says_how_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.cli.tune.LINE_SECONDS", 0.0)
    path = tmp_path / "p.toml"
    path.write_text(
        'pairs = 3\n[conditions]\nnodes = 50\nmax_plies = 20\n[parameters."Search.aspiration"]\n'
        "start = 30\nmin = 10\nmax = 90\n"
    )
    arguments = ["tune", "alphabeta?Eval=material", str(path), "--out", str(tmp_path / "out")]
    output = CliRunner().invoke(group, arguments).output
    assert re.search(r"^2 of 3 pairs, [\d.]+ (µs|ms|s) left$", output, re.MULTILINE), output


@pytest.mark.parametrize("height", [6, 10, 24, 200])
@pytest.mark.parametrize("width", [40, 80])
def test_the_live_table_fits_the_terminal(height: int, width: int) -> None:
    count = 80
    parameters = tuple(Parameter(f"p{n:02}", 50, 0, 100, 10, 0.1) for n in range(count))
    tuning = Tuning("alphabeta", TuneConfig(parameters), Spsa(parameters, 1000))
    for n in range(count):
        tuning.spsa.theta[f"p{n:02}"] = 50 + (-1) ** n * n / 10
    terminal = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    lines = terminal.render_lines(
        tune_command._table(tuning, tune_command._rows_that_fit(terminal))
    )
    text = "\n".join("".join(segment.text for segment in row) for row in lines)
    shown = re.findall(r"p\d\d", text)
    assert len(lines) + 1 <= max(height, 8)  # with the progress bar; at least one parameter
    if height == 200:
        assert shown == [p.name for p in parameters]
        assert "moved less" not in text
    else:
        assert shown == [f"p{n:02}" for n in range(count - 1, count - 1 - len(shown), -1)]
        assert f"and {count - len(shown)} that" in text
    terminal = Console(file=io.StringIO(), height=height)
    assert tune_command._rows_that_fit(terminal) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "parameters.NAME"),
        ("pairs = 0\n[parameters.a]\nstart=1\nmin=0\nmax=2", "pairs is 0, expected 1 to 500000"),
        ("pairs = true\n[parameters.a]\nstart=1\nmin=0\nmax=2", "pairs is True, expected an int"),
        ("pairs = 500001\n[parameters.a]\nstart=1\nmin=0\nmax=2", "pairs is 500001"),
        ("pears = 1\n[parameters.a]\nstart=1\nmin=0\nmax=2", "pears is unknown"),
        ("[parameters.a]\nstart=1\nmin=0", "max is missing"),
        ("[parameters.a]\nstart=9\nmin=0\nmax=2", r"start 9 isn't in \[0, 2\]"),
        ("[parameters.a]\nstart='9'\nmin=0\nmax=2", "no number"),
        ("[parameters.a]\nstart=nan\nmin=0\nmax=2", "not finite"),
        ("[parameters.a]\nstart=1\nmin=0\nmax=2\nstep=0", "above 0"),
        (f"[parameters.a]\nstart=1\nmin=0\nmax={'9' * 400}", "parameters.a.max is beyond 1e"),
        ("[parameters.a]\nstart=1\nmin=0\nmax=2\nstep=1e300", "parameters.a.step is beyond 1e"),
        ("[conditions]\nclock='0+0'\n[parameters.a]\nstart=1\nmin=0\nmax=2", "clock without time"),
        ("[conditions]\nnodes=0\n[parameters.a]\nstart=1\nmin=0\nmax=2", "nodes is 0, at least 1"),
        ("[conditions]\nclock='x'\n[parameters.a]\nstart=1\nmin=0\nmax=2", "MAIN"),
        ("[conditions]\nnodez=1\n[parameters.a]\nstart=1\nmin=0\nmax=2", "conditions.nodez"),
        *(
            (f"[conditions]\n{key}={value}\n[parameters.a]\nstart=1\nmin=0\nmax=2", message)
            for key, value, message in (
                ("nodes", "'5'", "conditions.nodes is '5', expected an integer"),
                ("nodes", "4294967296", "expected an integer from 0 to 2147483647"),
                ("nodes", "9" * 3000, r"conditions.nodes is 9{57}\.\.\., expected"),
                ("max_plies", "1e300", "conditions.max_plies is 1e"),
                ("depth", "1970-01-01", "conditions.depth"),
                ("movetime_ms", "99999999999999999999", "conditions.movetime_ms"),
                ("auto_declare", "0", "neither true nor false"),
            )
        ),
        ("conditions=3\n[parameters.a]\nstart=1\nmin=0\nmax=2", "conditions isn't a table"),
        ("opponent=3\n[parameters.a]\nstart=1\nmin=0\nmax=2", "opponent is 3, expected a player"),
        ("opponent='nosuch'\n[parameters.a]\nstart=1\nmin=0\nmax=2", "'nosuch' is no player"),
        (
            'openings="\\u0000"\n[parameters.a]\nstart=1\nmin=0\nmax=2',
            r"openings is '\\x00', expected the name of a file",
        ),
        ("openings=3\n[parameters.a]\nstart=1\nmin=0\nmax=2", "openings is 3"),
        ("[spsa]\nalpha='x'\n[parameters.a]\nstart=1\nmin=0\nmax=2", "spsa.alpha"),
        ("x = [", "p.toml"),
    ],
)
def test_bad_files_of_parameters_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(TuneConfigError, match=message):
        read_config(path, parse_clock)
    result = CliRunner().invoke(group, ["tune", "random", str(path), "--out", str(tmp_path / "o")])
    assert result.exit_code == 1
    assert "Traceback" not in result.output


def test_an_error_before_the_first_pair_is_all_the_output(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("pairs=1\n[parameters.C_init]\nstart=144\nmin=50\nmax=400\n")
    for player in ("model:none", "random"):
        done = CliRunner().invoke(group, ["tune", player, str(path), "-o", str(tmp_path / "o")])
        assert done.exit_code == 2
        assert done.stdout == ""
        *usage, error = done.stderr.splitlines()
        assert error.startswith("Error: ")
        assert all(line == "" or line.startswith(("Usage: ", "Try ")) for line in usage)


def test_the_command_printed_compares_under_the_same_conditions(tmp_path: Path) -> None:
    """Games are counted as games, and the printed command is a match."""
    parameters = tmp_path / "parameters.toml"
    parameters.write_text(
        'pairs = 2\nopenings = "sample"\nopening_plies = 4\nseed = 5\n'
        "[conditions]\nnodes = 2\nmax_plies = 20\nadjudicate_cp = 900\n"
        "[parameters.C_init]\nstart = 144\nmin = 10\nmax = 400\n"
    )
    done = CliRunner().invoke(
        group, ["tune", "model:random:1", str(parameters), "-o", str(tmp_path / "tune")]
    )
    assert done.exit_code == 0, done.output
    won = re.search(
        r"2 pairs of games: (\d) games? won by the plus side, (\d) by the minus side, (\d) drawn",
        done.output,
    )
    assert won is not None
    assert sum(map(int, won.groups())) == 4
    command = re.search(r"now compare: (.*)", done.output)
    assert command is not None
    words = shlex.split(command[1])
    assert words[:2] == ["komadori", "match"]
    assert words[2].startswith("model:random:1?C_init=")
    assert words[3:] == [
        "model:random:1", "--nodes", "2", "--max-plies", "20", "--adjudicate", "900/5",
        "--openings", "sample", "--opening-plies", "4", "--seed", "6",
    ]  # fmt: skip
    match = CliRunner().invoke(group, [*words[1:], "--games", "2"])
    assert match.exit_code == 0, match.output


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(),
        Conditions(nodes=5, depth=3, movetime_ms=1500, margin_ms=20, max_plies=9),
        Conditions(main_ms=300_000, increment_ms=500),
        Conditions(main_ms=60_500, byoyomi_ms=1000),
        Conditions(main_ms=60_000, adjudicate_draw_cp=50, adjudicate_draw_ply=80),
    ],
)
def test_conditions_as_options_are_the_conditions(conditions: Conditions) -> None:
    found = []

    @click.command()
    @with_conditions
    def command(conditions: Conditions) -> None:
        found.append(conditions)

    done = CliRunner().invoke(command, as_options(conditions))
    assert done.exit_code == 0, done.output
    assert found == [conditions]
