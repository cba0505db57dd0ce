"""Positions near others: reachable, seeded, resumable, with the right winner."""

from __future__ import annotations

import json
import lzma
from importlib import resources

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records
from komadori._core import generate as core
from komadori.cli.generate import command as group
from komadori.generate.folder import FolderError
from komadori.generate.nearby import Nearby, NearbyFolder, NearbySettings, generate_nearby
from komadori.generate.settings import SearchBounds
from komadori.generate.sources import Evaluation
from komadori.linear.nnue_weights import NnueWeights
from komadori.rules import Board, Move
from komadori.search.alphabeta import AlphaBetaSearcher


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "games.hcpe3"
    records.write_games(path, records.read_games(records.sample_path())[:12])
    return path


def run(*arguments):
    return CliRunner().invoke(group, ["nearby", *map(str, arguments)])


def segments(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.hcpe.xz"))}


def is_reachable(start: Board, end: bytes, plies: int) -> bool:
    if plies == 0:
        return start.hcp() == end
    for move in start.legal_moves:
        start.push(move)
        found = is_reachable(start, end, plies - 1)
        start.pop()
        if found:
            return True
    return False


def test_each_position_is_so_many_legal_moves_away_and_keeps_its_winner(source) -> None:
    samples = records.load_samples(source)
    samples = samples.take(slice(0, 60))
    nearby = Nearby(NearbySettings(plies=(1, 2), limit_cp=0), Evaluation("material"))
    found, counts = nearby.positions(samples, 0)
    assert counts.drawn == 60
    assert counts.positions == len(found) > 50
    columns = nearby.search.run(samples.hcp, samples.result, 0)
    lengths = set()
    for hcp, row, result, move16 in zip(
        found.hcp, columns["game"], found.result, found.move16, strict=True
    ):
        start = Board.from_hcp(samples.hcp[row].tobytes())
        plies = next(n for n in (1, 2) if is_reachable(start, hcp.tobytes(), n))
        lengths.add(plies)
        before = samples.result[row]
        assert result == (before if plies == 2 else 1 - before)
        board = Board.from_hcp(hcp.tobytes())
        assert int(move16) in {move.move16 for move in board.legal_moves}
    assert lengths == {1, 2}


def test_positions_that_the_searches_evaluate_have_their_static_evaluation(source) -> None:
    samples = records.load_samples(source).take(slice(0, 200))
    settings = NearbySettings(search=SearchBounds(nodes=500), evaluated_every=40)
    found, counts = Nearby(settings, Evaluation("nnue")).positions(samples, 0)
    assert counts.drawn == 200
    assert 500 < counts.positions == len(found) < 500 * 200 / 40
    assert not found.move16.any()
    assert np.abs(found.score_cp).max() <= 4000
    searcher = AlphaBetaSearcher("nnue")
    for hcp, score in zip(found.hcp, found.score_cp, strict=True):
        assert searcher.evaluate(Board.from_hcp(hcp.tobytes())) == score
    # The result is the source game's, of which each side's view occurs.
    turns = found.hcp[:, 0] & 1
    for game in np.unique(found.game):
        of_game = found.game == game
        source_rows = samples.game == game
        black = samples.result[source_rows] == (samples.hcp[source_rows, 0] & 1)
        wins = np.unique(found.result[of_game] == turns[of_game])
        assert len(wins) == 1
        assert (black == wins[0]).all()
    assert set(turns) == {0, 1}

    again, _ = Nearby(settings, Evaluation("nnue"), threads=2).positions(samples, 0)
    assert (again.hcp == found.hcp).all()


def test_a_sample_depends_only_on_seed_and_number() -> None:
    def drawn(number, **settings):
        core_settings = NearbySettings(**settings).to_core()
        found = core.nearby_position(Board(), core_settings, number)
        return None if found is None else found.sfen()

    assert len({drawn(n, plies=(3, 3)) for n in range(200)}) > 100
    assert drawn(5) == drawn(5)
    assert drawn(5, seed=2, plies=(3, 3)) != drawn(5, plies=(3, 3))
    assert drawn(5, plies=(0, 0)) == Board().sfen()
    mated = Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")
    assert core.nearby_position(mated, NearbySettings().to_core(), 1) is None


def test_captures_and_promotions_are_sampled_at_the_given_rates() -> None:
    board = Board("4k4/9/9/4p4/4P4/9/9/9/4K4 b - 1")  # one capture among few moves

    def fraction(tactical):
        settings = NearbySettings(plies=(1, 1), tactical_fraction=tactical).to_core()
        found = [core.nearby_position(board, settings, n) for n in range(300)]
        return np.mean([one.sfen().split()[2] == "P" for one in found])

    assert fraction(1.0) == 1.0
    assert 0.4 < fraction(0.5) < 0.8
    assert fraction(0.0) < 0.5


def test_the_command_resumes_to_the_same_files_on_any_number_of_threads(source, tmp_path) -> None:
    options = ["--search", "nodes=40", "--segment", 300, "--per-position", 2]
    result = run(source, "-o", tmp_path / "a", "--threads", 1, *options)
    assert result.exit_code == 0, result.output
    assert "nodes per draw" in result.output
    whole = segments(tmp_path / "a")
    assert len(whole) > 2
    assert run(source, "-o", tmp_path / "b", "--threads", 3, *options).exit_code == 0
    assert segments(tmp_path / "b") == whole
    for name in list(whole)[1:]:
        (tmp_path / "b" / name).unlink()
        (tmp_path / "b" / name.replace(".hcpe.xz", ".json")).unlink()
    assert run(source, "-o", tmp_path / "b", *options).exit_code == 0
    assert segments(tmp_path / "b") == whole
    samples = records.load_samples(sorted((tmp_path / "a").glob("*.hcpe.xz")))
    assert np.abs(samples.score_cp).max() <= 4000
    counts = [json.loads(p.read_text()) for p in (tmp_path / "a").glob("0*.json")]
    assert sum(one["positions"] for one in counts) == len(samples)
    other = run(source, "-o", tmp_path / "b", "--seed", 9, *options)
    assert other.exit_code == 1
    assert "other settings: seed was 1, is 9" in other.output


def test_a_stop_counts_between_small_segments(source, tmp_path) -> None:
    settings = NearbySettings(search=SearchBounds(nodes=1))

    def nearby(stop):
        with NearbyFolder(tmp_path, {}) as folder:
            player = Nearby(settings, Evaluation("material"))
            return generate_nearby([source], folder, player, segment_positions=50, stop=stop)

    def written() -> int:
        return len([*tmp_path.glob("0*.json")])

    assert nearby(lambda: written() >= 2) is None
    assert 2 <= written() <= 4
    assert nearby(lambda: False) is not None
    assert written() > 8
    assert nearby(lambda: True) is None  # among segments that are known


def test_labels_are_searches_of_the_evaluated_positions(source, tmp_path) -> None:
    options = ["--search", "nodes=60", "--evaluated-every", 16]
    for name, threads in (("static", 1), ("again", 2)):
        result = run(source, "-o", tmp_path / name, "--threads", threads, *options)
        assert result.exit_code == 0, result.output
    assert segments(tmp_path / "static") == segments(tmp_path / "again")
    options += ["--label-nodes", 80]
    for threads in (1, 2):
        result = run(source, "-o", tmp_path / f"{threads}", "--threads", threads, *options)
        assert result.exit_code == 0, result.output
    assert segments(tmp_path / "1") == segments(tmp_path / "2")
    static = records.load_samples(sorted((tmp_path / "static").glob("*.hcpe.xz")))
    found = records.load_samples(sorted((tmp_path / "1").glob("*.hcpe.xz")))
    assert 0.2 * len(static) < len(found) < 0.9 * len(static)  # those with a quiet best move
    for hcp, move16 in zip(found.hcp, found.move16, strict=True):
        board, move = Board.from_hcp(hcp.tobytes()), Move.from_move16(int(move16))
        assert move in list(board.legal_moves)
        assert not move.promotion
        assert board.piece_code(move.to_square) == 0
    bundled = resources.files("komadori") / "data" / "nnue-k-p.bin"
    with resources.as_file(bundled) as path:
        evaluate = NnueWeights.load(path).evaluate
    boards = [Board.from_hcp(hcp.tobytes()) for hcp in found.hcp[:200]]
    differences = [evaluate(b) - int(s) for b, s in zip(boards, found.score_cp, strict=False)]
    assert 10 < np.median(np.abs(differences)) < 500


def test_bad_input_is_one_line(source, tmp_path) -> None:
    text = tmp_path / "text.hcpe3"
    text.write_bytes(b"no game at all")
    for arguments, words in (
        ([source, "--plies", "3:1"], "'3:1': a range from 0 upwards"),
        ([source, "--weights", text], "text.hcpe3"),
        ([source, "--search", "nodes=x"], "nodes"),
        ([source, "--label-nodes", "5"], "--label-nodes needs --evaluated-every"),
        ([source, "--limit", 10**14], "--limit is 100000000000000, at most 2147483647"),
    ):
        result = run(*arguments, "-o", tmp_path / "out")
        status = 1 if "--weights" in arguments else 2
        assert result.exit_code == status
        assert words in result.output
        assert "Traceback" not in result.output


def test_a_file_without_a_usable_game_is_an_error(tmp_path) -> None:
    cut = tmp_path / "cut.hcpe3.xz"
    cut.write_bytes(records.sample_path().read_bytes()[:200])
    result = run(cut, "-o", tmp_path / "out", "--search", "nodes=10")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith("Error: no usable game in the files: each ")


def test_an_engine_that_is_none_is_a_type_error() -> None:
    """It was a null pointer in the core."""
    with pytest.raises(TypeError, match="None"):
        core.NearbySearch([None], core.NearbySettings())


@pytest.mark.parametrize("value", [None, "9", -1, 0.5, True])
def test_counts_of_a_wrong_type_are_damage(tmp_path, value) -> None:
    with NearbyFolder(tmp_path, {}) as folder:
        (tmp_path / "000000.json").write_text(json.dumps({"positions": 1, "drawn": value}))
        with pytest.raises(FolderError, match=r"000000\.json: damaged: drawn: expected a count"):
            folder.counts(0)


@pytest.mark.parametrize("value", [["a"], "a", 1, None])
def test_settings_of_a_wrong_type_are_damage(tmp_path, value) -> None:
    with NearbyFolder(tmp_path, {}):
        pass
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "settings": value}))
    with pytest.raises(FolderError, match=r"settings\.json: damaged: settings "):
        NearbyFolder(tmp_path, {})


@pytest.mark.parametrize("suffix", ["hcpe3", "hcpe"])
@pytest.mark.parametrize("command", ["nearby", "relabel"])
def test_damaged_sources_are_named_where_they_end(command, suffix, source, tmp_path) -> None:
    path = tmp_path / f"cut.{suffix}.xz"
    if suffix == "hcpe":
        with records.SampleWriter(tmp_path / "all.hcpe") as writer:
            writer.write(records.load_samples(source))
        whole = (tmp_path / "all.hcpe").read_bytes()
    else:
        whole = source.read_bytes()
    packed = lzma.compress(whole)
    path.write_bytes(packed[: len(packed) * 2 // 3])
    labeller = ["--by", "uniform"] if command == "relabel" else []
    arguments = [command, str(path), "-o", str(tmp_path / "out"), *labeller]
    for _ in range(2):  # and where a run resumes
        result = CliRunner().invoke(group, arguments)
        assert result.exit_code == 0, result.output
        damage = [line for line in result.stderr.splitlines() if "damaged compression" in line]
        assert len(damage) == 1
        assert damage[0].startswith(f"skipped: {path}: byte ")
        assert "games left out: " in result.output
