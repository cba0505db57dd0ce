"""Game folders: crash safety, locking, errors."""

from __future__ import annotations

import errno
import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori.cli.generate import command
from komadori.generate import FolderError, GameFolder, segment_files
from komadori.generate.folder import StoredFacts, read_journal, read_settings
from komadori.generate.relabel import LabelFolder
from komadori.generate.settings import TeacherSettings
from komadori.generate.statistics import DistinctPositions, folder_statistics
from komadori.records import End, Winner
from komadori.run_lock import InUseError

ARGUMENTS = ["teacher", "--eval", "two-piece", "--nodes", "60", "--hash", "1", "--resign", "800"]


@dataclass(frozen=True)
class Game:
    facts: StoredFacts
    hcpe3: bytes
    inner: bytes = b""


def game(number: int, digest: int | None = None, scored: int = 2) -> Game:
    digest = number + 1000 if digest is None else digest
    facts = StoredFacts(number, digest, Winner.BLACK, End.MATE, 3, 2, scored, 0, 0, 100)
    first = ["7g7f", "2g2f", "9g9f", "1g1f"][number % 4]
    moves = records.Game.from_usi([first, "3c3d"], winner=Winner.BLACK, scores_cp=[10, -10])
    from komadori.records.table import table_of

    return Game(facts, bytes(table_of([moves]).hcpe3(0)) if scored else b"")


@pytest.mark.parametrize("makes_another", [False, True])
def test_a_folder_that_was_moved_gets_no_further_games(tmp_path, makes_another) -> None:
    """A new folder without settings took them."""
    path, moved = tmp_path / "games", tmp_path / "moved"
    with GameFolder(path, {"a": 1}, 2) as folder:
        folder.add([game(0), game(1), game(2)])
        path.rename(moved)
        if makes_another:
            path.mkdir()
        for more in (game(3), game(4)):
            with pytest.raises(OSError, match="moved, removed or replaced"):
                folder.add([more])
    assert path.exists() == makes_another
    assert not makes_another or list(path.iterdir()) == []
    with GameFolder(moved, {"a": 1}, 2) as folder:
        assert folder.games >= 3


def test_segments_are_in_order_whatever_the_order_of_the_games(tmp_path) -> None:
    with GameFolder(tmp_path, {"a": 1}, 3) as folder:
        folder.add([game(4), game(1), game(5), game(3)])
        assert segment_files(tmp_path) == []
        assert folder.games == 4
        assert list(folder.missing(8)) == [0, 2, 6, 7]
        folder.add([game(0), game(2)])
        assert [path.name for path in segment_files(tmp_path)] == [
            "000000.hcpe3.xz",
            "000001.hcpe3.xz",
        ]
        assert not list(tmp_path.glob("*.journal"))
    first = [g.usi_moves()[0] for g in records.read_games(tmp_path / "000000.hcpe3.xz")]
    assert first == ["7g7f", "2g2f", "9g9f"]


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_damaged_game_of_a_journal_loses_no_other(tmp_path, damaged: int) -> None:
    with GameFolder(tmp_path, {"a": 1}, 4) as folder:
        folder.add([game(0), game(1), game(2)])
    (path,) = tmp_path.glob("*.journal")
    content = bytearray(path.read_bytes())
    content[damaged * len(content) // 3 + 20] ^= 1
    path.write_bytes(content)
    with GameFolder(tmp_path, {"a": 1}, 4) as folder:
        assert list(folder.missing(4)) == [damaged, 3]
        folder.add([game(damaged)])
        assert sorted(g.facts.number for g in read_journal(path)[0]) == [0, 1, 2]
        folder.add([game(3)])
    assert len(records.read_games(segment_files(tmp_path)[0])) == 4


def test_a_journal_whose_frame_is_too_short_for_a_game_resumes(tmp_path) -> None:
    with GameFolder(tmp_path, {"a": 1}, 4) as folder:
        folder.add([game(0)])
    (path,) = tmp_path.glob("*.journal")
    path.write_bytes(path.read_bytes() + struct.pack("<4sII", b"KGJ1", 0, zlib.crc32(b"")))
    with GameFolder(tmp_path, {"a": 1}, 4) as folder:
        assert folder.games == 1


def test_a_torn_journal_loses_its_last_game_alone(tmp_path) -> None:
    with GameFolder(tmp_path, {}, 10) as folder:
        folder.add([game(0), game(1), game(2)])
    (path,) = tmp_path.glob("*.journal")
    whole = path.read_bytes()
    for cut in (1, 40, 60):
        path.write_bytes(whole[:-cut])
        assert [g.facts.number for g in read_journal(path)[0]] == [0, 1]
    damaged = bytearray(whole)
    damaged[-5] ^= 1
    path.write_bytes(damaged)
    with GameFolder(tmp_path, {}, 10) as folder:
        assert list(folder.missing(4)) == [2, 3]
        folder.add([game(2)])
    assert path.read_bytes() == whole


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    write = os.pwrite

    def fails(file: int, data: bytes, at: int) -> int:
        if len(data) > 20:
            return write(file, data[:20], at)
        raise OSError(errno.ENOSPC, "No space left on device")

    with GameFolder(tmp_path, {}, 10) as folder:
        folder.add([game(0)])
        monkeypatch.setattr(os, "pwrite", fails)
        with pytest.raises(OSError, match=r"No space left.*000000\.journal"):
            folder.add([game(1)])
        monkeypatch.undo()
    with GameFolder(tmp_path, {}, 10) as folder:
        assert list(folder.missing(2)) == [1]


def test_unfinished_segments_can_be_read_and_are_completed_later(tmp_path) -> None:
    with GameFolder(tmp_path, {}, 4) as folder:
        folder.add([game(0), game(2), game(3, digest=1000)])
        folder.write_partial()
        assert folder.counts().games == 2
        assert folder.counts().duplicates == 1
    (path,) = segment_files(tmp_path)
    assert len(records.read_games(path)) == 2
    with GameFolder(tmp_path, {}, 4) as folder:
        assert list(folder.missing(4)) == [1]
        folder.add([game(1)])
    assert len(records.read_games(path)) == 3
    assert not list(tmp_path.glob("*.journal"))
    with GameFolder(tmp_path, {}, 4) as folder:
        folder.add([game(n, digest=1001) for n in range(4, 8)])
        assert folder.counts().duplicates == 5
    assert [p.name for p in segment_files(tmp_path)] == ["000000.hcpe3.xz"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def replace(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


CHANGES = [
    (cut, "000001.hcpe3.xz", "was cut or replaced: it has [0-9,]+ bytes, its segment was finished"),
    (replace, "000000.hcpe3.xz", "was cut or replaced"),
    (Path.unlink, "000000.hcpe3.xz", "is missing or empty, its segment was finished with [0-9]+"),
    (cut, "inner-000000.hcpe3.xz", "was cut or replaced"),
    (Path.touch, "inner-000001.hcpe3.xz", ""),
    (lambda path: path.write_bytes(b"x"), "inner-000001.hcpe3.xz", "isn't of this folder"),
]


@pytest.mark.parametrize(("change", "name", "message"), CHANGES)
def test_a_finished_file_that_changed_is_noticed_before_it_is_read(
    change: Any, name: str, message: str, tmp_path: Path
) -> None:
    with GameFolder(tmp_path, {}, 2) as folder:
        inner = Game(game(0).facts, game(0).hcpe3, game(1).hcpe3)
        folder.add([inner, game(1), game(2), game(3), game(4)])
        folder.write_partial()
    cut(tmp_path / "000002.hcpe3.xz")  # not finished: written again by the next run
    change(tmp_path / name)
    if not message:
        GameFolder(tmp_path, {}, 2).close()
        return
    with pytest.raises(FolderError, match=rf"{name}: {message}"):
        GameFolder(tmp_path, {}, 2)
    done = CliRunner().invoke(command, ["stats", str(tmp_path)])
    assert done.exit_code == 1
    assert f"{name}: " in done.output


def test_folders_without_file_sizes_are_resumed_and_damaged_sizes_named(tmp_path) -> None:
    with GameFolder(tmp_path, {}, 2) as folder:
        folder.add([game(0), game(1)])
    path = tmp_path / "000000.json"
    counts = json.loads(path.read_text())
    del counts["files"]
    path.write_text(json.dumps(counts))
    with GameFolder(tmp_path, {}, 2) as folder:
        assert folder.games == 2
    assert folder_statistics(tmp_path).counts.games == 2
    for files in ([], {"000000.hcpe3.xz": "9"}, 3):
        path.write_text(json.dumps(counts | {"files": files}))
        with pytest.raises(FolderError, match=r"000000\.json: damaged: files: expected the size"):
            GameFolder(tmp_path, {}, 2)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("results", [None], "results: expected a count of each kind"),
        ("ends", {"max_moves": "2"}, "ends: max_moves: expected a count"),
        ("lengths", 3, "lengths: expected a count of each kind"),
        ("lengths", {"999999999999": 1}, "lengths: expected lengths of at most"),
        ("lengths", {"-20": 1}, "lengths: expected lengths of at most"),
        ("nodes", float("inf"), "nodes: expected a count"),
        ("plies", -1, "plies: expected a count"),
    ],
)
def test_damaged_counts_are_one_error_that_names_them(tmp_path, name, value, message) -> None:
    with GameFolder(tmp_path, {}, 2) as folder:
        folder.add([game(0), game(1)])
    path = tmp_path / "000000.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(FolderError, match=rf"000000\.json: damaged: {message}"):
        GameFolder(tmp_path, {}, 2)
    with pytest.raises(FolderError, match=rf"000000\.json: damaged: {message}"):
        folder_statistics(tmp_path)


def test_games_without_a_ply_to_learn_from_are_counted(tmp_path) -> None:
    with GameFolder(tmp_path, {}, 2) as folder:
        folder.add([game(0, scored=0), game(1)])
        assert (folder.counts().empty, folder.counts().games) == (1, 1)


def test_other_settings_are_refused_by_name(tmp_path) -> None:
    with GameFolder(tmp_path, {"seed": 1, "players": {"eval": "nnue"}}) as folder:
        folder.add([game(0)])
    with pytest.raises(FolderError, match=r"players\.eval was 'nnue', is 'kpp'; seed was 1, is 2"):
        GameFolder(tmp_path, {"seed": 2, "players": {"eval": "kpp"}})
    GameFolder(tmp_path, {"seed": 1, "players": {"eval": "nnue"}}).close()
    GameFolder(tmp_path / "older", {"play": {"full_share": 0.5}}).close()
    GameFolder(tmp_path / "older", {"play": {"full_fraction": 0.5}}).close()  # its present name
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(FolderError, match=r"settings\.json: damaged"):
        GameFolder(tmp_path, {})
    (tmp_path / "settings.json").write_bytes(b'{"text": "' + b"x" * 10_000 + b'\xff"}')
    with pytest.raises(FolderError, match=r"damaged: 'utf-8' codec can't decode") as caught:
        GameFolder(tmp_path, {})
    assert len(str(caught.value)) < len(str(tmp_path)) + 200  # without the file's contents
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(FolderError, match=r"damaged: 'format' is missing"):
        GameFolder(tmp_path, {})


def test_settings_without_any_game_are_replaced(tmp_path) -> None:
    """A run that ended on a mistake in its settings leaves a folder for the mended ones."""
    GameFolder(tmp_path, {"seed": 1}).close()
    with GameFolder(tmp_path, {"seed": 2}, segment_games=7) as folder:
        assert folder.segment_games == 7
        assert read_settings(tmp_path)["settings"] == {"seed": 2}
        folder.add([game(0)])
    with pytest.raises(FolderError, match="seed was 2, is 1"):
        GameFolder(tmp_path, {"seed": 1})
    labels = tmp_path / "labels"
    for kind in ("one", "two"):
        with LabelFolder(labels, {"kind": kind}):
            pass
    (labels / "000000.hcpe3.xz").write_bytes(b"")
    with pytest.raises(FolderError, match="kind was 'two', is 'one'"):
        LabelFolder(labels, {"kind": "one"})


def test_the_folder_of_another_command_is_named_as_one(tmp_path) -> None:
    """And is kept, even if it holds nothing yet."""
    games, labels, foreign = tmp_path / "games", tmp_path / "labels", tmp_path / "foreign"
    GameFolder(games, {"seed": 1}).close()
    with LabelFolder(labels, {"kind": "one"}):
        pass
    foreign.mkdir()
    (foreign / "settings.json").write_text('{"mine": 1}')
    for make in (lambda: LabelFolder(games, {}), lambda: GameFolder(labels, {})):
        with pytest.raises(FolderError, match=r"of another kind: komadori-\w+ 1, not") as caught:
            make()
        assert "damaged" not in str(caught.value)
    for kind in (LabelFolder, GameFolder):
        with pytest.raises(FolderError, match="'format' is missing"):
            kind(foreign, {})
    assert (foreign / "settings.json").read_text() == '{"mine": 1}'


def test_a_folder_begun_before_a_setting_existed_is_resumed(tmp_path) -> None:
    with GameFolder(tmp_path, {"seed": 1, "candidate_share": 0.3}) as folder:
        folder.add([game(0)])
    present = {"seed": 1, "candidate_fraction": 0.3, "candidate_minimum": 0.0, "score_step_cp": 0}
    with pytest.raises(FolderError, match="candidate_steps was 0, is 2; resume with those"):
        GameFolder(tmp_path, present | {"candidate_steps": 2})
    with GameFolder(tmp_path, present | {"candidate_steps": 0}) as folder:
        assert folder.games == 1


def test_settings_of_candidates_do_not_matter_without_any(tmp_path) -> None:
    with GameFolder(tmp_path, {"seed": 1, "candidate_fraction": 0.0}) as folder:
        folder.add([game(0)])
    GameFolder(tmp_path, {"seed": 1, "candidate_fraction": 0.0, "candidate_steps": 2}).close()
    with pytest.raises(FolderError, match="score_step_cp was 0, is 20"):
        GameFolder(tmp_path, {"seed": 1, "candidate_fraction": 0.0, "score_step_cp": 20})


def test_two_runs_in_one_folder_are_refused(tmp_path) -> None:
    with GameFolder(tmp_path, {}), pytest.raises(InUseError, match="in use by process"):
        GameFolder(tmp_path, {})


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "komadori", "generate", *ARGUMENTS, "-o", str(folder)),
            *("--threads", "2", "--segment-games", "10", *arguments),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_games(folder: Path, games: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if sum(len(read_journal(p)[0]) for p in folder.glob("*.journal")) >= games:
            return
        if segment_files(folder):
            return
        time.sleep(0.01)
    pytest.fail(f"no games in time: {process.communicate()}")


def test_a_killed_run_loses_only_unfinished_games_and_resumes(tmp_path) -> None:
    process = start(tmp_path / "killed", "--games", "0")
    wait_for_games(tmp_path / "killed", 3, process)
    process.kill()
    process.communicate()
    with GameFolder(tmp_path / "killed", _card(tmp_path / "killed")) as folder:
        kept = folder.games
        total = max(30, kept // 10 * 10 + 10)
        missing = list(folder.missing(kept))
        assert len(missing) <= 2, "two threads had a game each in play"
    arguments = ["--games", str(total), "--segment-games", "10", "--threads", "2"]
    for name in ("killed", "whole"):
        result = CliRunner().invoke(command, [*ARGUMENTS, "-o", str(tmp_path / name), *arguments])
        assert result.exit_code == 0, result.output
    killed, whole = (segment_files(tmp_path / name) for name in ("killed", "whole"))
    assert [p.read_bytes() for p in killed] == [p.read_bytes() for p in whole]


def _card(folder: Path) -> dict:
    return json.loads((folder / "settings.json").read_text())["settings"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_within_a_second(tmp_path, number) -> None:
    process = start(tmp_path, "--games", "0", "--search", "depth=30", "--nodes", "1")
    process.communicate()
    assert process.returncode == 2, "nodes and searches exclude each other"
    process = start(tmp_path, "--games", "0")
    wait_for_games(tmp_path, 1, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "the same command resumes" in errors
    games = sum(len(records.read_games(path)) for path in segment_files(tmp_path))
    with GameFolder(tmp_path, _card(tmp_path)) as folder:
        kept = folder.games  # with those that have nothing to learn from, which no file holds
    assert f"{kept:,} game{'' if kept == 1 else 's'} kept" in errors
    assert kept >= max(games, 1)


def test_the_command_its_statistics_and_its_refusals(tmp_path) -> None:
    folder = str(tmp_path / "games")
    run = [*ARGUMENTS, "-o", folder, "--games", "6", "--threads", "1"]
    result = CliRunner().invoke(command, run)
    assert result.exit_code == 0, result.output
    assert "games      6 with" in result.output
    again = CliRunner().invoke(command, ["stats", folder])
    assert again.output.splitlines()[-1] in result.output
    as_json = json.loads(CliRunner().invoke(command, ["stats", folder, "--json"]).stdout)
    assert as_json["games"] == 6
    assert as_json["positions"] == len(records.load_samples(segment_files(tmp_path / "games")))

    for change, message in (
        (
            ["--nodes", "61"],
            "searches was nodes=60,depth=0,weight=1.0, is nodes=61,depth=0,weight=1.0;",
        ),
        (["--eval", "material"], "players.player.evaluation was 'two-piece', is 'material'"),
        (["--candidates", "0.5"], "--candidates needs --multipv 2 or more"),
        (["--opponent-fraction", "0.5"], "name the opponent"),
        (["--weights", __file__, "-o", str(tmp_path / "new")], "test_game_folder.py"),
    ):
        refused = CliRunner().invoke(command, [*run, *change])
        assert refused.exit_code != 0
        assert message in refused.output
        assert len(refused.output.strip().splitlines()[-1]) < 500
    assert not (tmp_path / "new").exists()
    assert CliRunner().invoke(command, ["stats", str(tmp_path)]).exit_code == 1


def test_distinct_positions_are_estimated_beyond_the_limit() -> None:
    rows = np.random.default_rng(1).integers(0, 256, (40_000, 32), np.uint8)
    exact, sampled = DistinctPositions(), DistinctPositions(limit=5000)
    for begin in range(0, 40_000, 8000):
        for counted in (exact, sampled):
            counted.add(rows[begin : begin + 8000])
            counted.add(rows[:1000])
    assert len(exact) == 40_000
    assert exact.is_exact
    assert not sampled.is_exact
    assert abs(len(sampled) - 40_000) < 3000


def test_statistics_include_games_in_journals(tmp_path) -> None:
    with GameFolder(tmp_path, {}, 4) as folder:
        folder.add([game(0), game(1), game(2), game(3), game(4)])
    found = folder_statistics(tmp_path)
    assert (found.counts.games, found.journal_games) == (4, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"searches": 3}, "searches must be a list"),
        ({"searches": "nodes=60"}, "searches must be a list"),
        ({"searches": [3]}, "searches must be a table"),
        ({"searches": ["nodes=1.5"]}, "nodes=N, depth=N or weight=X"),
        ({"searches": ["nodes=5,weight=1.2.3"]}, "nodes=N, depth=N or weight=X"),
        ({"searches": [f"nodes={10**20}"]}, "below 2"),
        ({"searches": [f"depth={10**11}"]}, "below 2"),
        ({"searches": [f"nodes=5,weight={10**400}"]}, "finite"),
        ({"opening_plies": [1, 10**11]}, "within 0 to"),
        ({"opening_plies": [5, 3]}, "within 0 to"),
    ],
)
def test_settings_that_no_game_can_have_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TeacherSettings.from_mapping(settings)


def test_no_games_are_kept_of_a_folder_that_is_gone(tmp_path) -> None:
    process = start(tmp_path / "games", "--games", "0", "--segment-games", "1000")
    wait_for_games(tmp_path / "games", 3, process)
    (tmp_path / "games").rename(tmp_path / "moved")
    _, errors = process.communicate(timeout=30)
    journal = tmp_path / "games" / "000000.journal"
    assert errors.splitlines()[-1] == f"Error: {journal}: No such file or directory"
