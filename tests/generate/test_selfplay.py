"""Self-play games: determinism, endings, training targets."""

from __future__ import annotations

import gc
import math
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from komadori._core.tree import Tree
from komadori.arena.openings import Opening
from komadori.cli.generate_selfplay import command
from komadori.generate.folder import StoredGame
from komadori.generate.openings import Lines
from komadori.generate.selfplay import SelfPlayGames, selfplay_card
from komadori.generate.selfplay_root import GumbelRoot, NoisyRoot
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.inference import Evaluator, InferenceError, evaluate, load
from komadori.inference.fakes import FixedEvaluator, UniformEvaluator
from komadori.records import End, Game, Winner, load_samples, read_games
from komadori.rules import Board, Move
from komadori.search.pipeline import slot_batches
from komadori.search.puct import tree_options

FAST: dict[str, Any] = {"playouts": 12, "fast_playouts": 4, "max_plies": 30, "full_fraction": 0.5}
MATE_IN_7 = "7k1/5g2g/4G2G1/8L/9/9/9/9/K8 b 2r2b4s4n3l18p 1"


def play(
    settings: SelfPlaySettings,
    numbers: range = range(6),
    openings: tuple[Opening, ...] = (),
    evaluator: Evaluator | None = None,
    at_once: int | None = None,
) -> list[StoredGame]:
    games = SelfPlayGames(
        evaluator or load("random:1", max_batch=4, slots=2), settings, openings, at_once
    )
    games.add(numbers)
    found: list[Any] = []
    while games.waiting:
        found += games.take(1000)
    return sorted(found, key=lambda game: game.facts.number)


def as_game(stored: StoredGame, folder: Path) -> Game:
    path = folder / "one.hcpe3"
    path.write_bytes(stored.hcpe3)
    (game,) = read_games(path)
    return game


@pytest.mark.parametrize("root", ["gumbel", "noise"])
def test_a_game_depends_on_its_number_and_not_on_its_neighbours(root: str) -> None:
    settings = SelfPlaySettings(root=root, **FAST)
    together = play(settings)
    alone = [play(settings, range(n, n + 1), at_once=1)[0] for n in (0, 3)]
    assert [together[0], together[3]] == alone
    assert len({game.hcpe3 for game in together}) == len(together)
    other = play(SelfPlaySettings(root=root, seed=2, **FAST), range(1))
    assert other[0].hcpe3 != together[0].hcpe3


@pytest.mark.parametrize("root", ["gumbel", "noise"])
def test_games_are_legal_and_fast_searches_are_not_learnt(root: str, tmp_path: Path) -> None:
    for stored in play(SelfPlaySettings(root=root, **FAST)):
        game = as_game(stored, tmp_path)  # raises where a move isn't legal
        assert len(game) == stored.facts.plies <= 30
        assert game.candidates is not None
        learnt = np.count_nonzero(game.candidates.count)
        assert learnt == stored.facts.scored
        assert 0 < learnt < len(game)
        for ply in np.flatnonzero(game.candidates.count):
            candidates = game.candidates.of_ply(int(ply))
            visits = [n for _, n in candidates]
            assert visits == sorted(visits, reverse=True)
            board = game.board()
            for usi in game.usi_moves()[:ply]:
                board.push_usi(usi)
            assert {usi for usi, _ in candidates} <= {m.usi() for m in board.legal_moves}
        (tmp_path / "all.hcpe3").write_bytes(stored.hcpe3)
        assert len(load_samples([tmp_path / "all.hcpe3"])) == learnt


def test_closed_games_are_freed_without_a_garbage_collection() -> None:
    games = SelfPlayGames(load("random:1", max_batch=4, slots=2), SelfPlaySettings(**FAST))
    games.add(range(3))
    while games.waiting:
        games.take(1000)
    gc.collect()
    gc.disable()
    try:
        games.close()
        freed = weakref.ref(games)
        del games
        assert freed() is None
    finally:
        gc.enable()


def test_a_mate_found_by_df_pn_ends_the_game(tmp_path: Path) -> None:
    opening = (Opening(MATE_IN_7),)
    settings = SelfPlaySettings(**{**FAST, "opening_plies": (0, 0)})
    (game,) = play(settings, range(1), opening)
    assert (game.facts.winner, game.facts.end) == (Winner.BLACK, End.ADJUDICATION)
    assert (game.facts.plies, game.hcpe3) == (0, b"")
    without = SelfPlaySettings(**{**FAST, "opening_plies": (0, 0), "mate_nodes": 0})
    assert play(without, range(1), opening)[0].facts.plies > 0


LEAVES: dict[str, Any] = {**FAST, "leaf_weight": 0.7, "leaf_nodes": 30, "max_plies": 12}


def test_leaf_searches_change_the_games_which_still_depend_on_their_number_alone() -> None:
    settings = SelfPlaySettings(**LEAVES)
    together = play(settings)
    assert [together[0], together[3]] == [
        play(settings, range(n, n + 1), at_once=1)[0] for n in (0, 3)
    ]
    without = SelfPlaySettings(**{**LEAVES, "leaf_weight": 0.0})
    assert [g.hcpe3 for g in together] != [g.hcpe3 for g in play(without)]


def test_a_search_of_the_leaves_alone_sees_who_has_the_rook(tmp_path: Path) -> None:
    settings = {**LEAVES, "leaf_weight": 1.0, "opening_plies": (0, 0), "full_fraction": 1.0}
    (stored,) = play(SelfPlaySettings(**settings), range(1), (ROOK_UP,), load("uniform"))
    scores = as_game(stored, tmp_path).scores_cp
    assert scores is not None
    assert scores[0] < -300 < 300 < scores[1]  # White, to move, has no rook


def test_the_card_names_the_leaf_searches_only_where_there_are_any(tmp_path: Path) -> None:
    def card(**changes: Any) -> dict[str, Any]:
        return selfplay_card(SelfPlaySettings(**changes), Lines(()), "model")

    assert not [name for name in card() if name.startswith("leaf")]
    assert card(leaf_weight=0.5)["leaf_nodes"] == 100
    other = tmp_path / "nn.bin"
    other.write_bytes(b"other")
    assert card(leaf_weight=0.5) != card(leaf_weight=0.5, leaf_file=str(other))


def test_a_missing_nnue_for_the_leaves_is_one_message(tmp_path: Path) -> None:
    options = ["--model", "uniform", "--leaf-weight", "0.5", "--leaf-file", "missing.bin"]
    result = CliRunner().invoke(command, ["-o", str(tmp_path / "games"), *options])
    assert result.exit_code == 1
    assert "missing.bin" in result.output
    assert result.output.startswith("Error: ")
    assert len(result.output.splitlines()) == 1


class OneSided(UniformEvaluator):
    """Black, who owns the rook, has won."""

    def _evaluate(self, inputs: Any, policy: Any, value: Any) -> None:
        value[:] = np.where(inputs[0][:, [5, 13]].any(axis=(1, 2, 3)), 0.999, 0.001)


ROOK_UP = Opening("lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w R 1")


def test_the_loser_resigns_but_in_games_played_on() -> None:
    base = {**FAST, "opening_plies": (0, 0), "resign_moves": 3, "playouts": 4, "mate_nodes": 0}
    evaluator = OneSided(max_batch=4)
    (game,) = play(SelfPlaySettings(**base, play_on_fraction=0.0), range(1), (ROOK_UP,), evaluator)
    assert (game.facts.winner, game.facts.end) == (Winner.BLACK, End.RESIGN)
    assert game.facts.plies == 4  # White's third move isn't made
    assert game.facts.foreseen == Winner.UNKNOWN
    (game,) = play(SelfPlaySettings(**base, play_on_fraction=1.0), range(1), (ROOK_UP,), evaluator)
    assert game.facts.plies > 4
    assert game.facts.foreseen == Winner.BLACK
    (game,) = play(
        SelfPlaySettings(**{**base, "resign_moves": 0}, play_on_fraction=0.0),
        range(1),
        (ROOK_UP,),
        evaluator,
    )
    assert game.facts.end != End.RESIGN


def test_openings_are_played_and_not_learnt(tmp_path: Path) -> None:
    moves = ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e")
    settings = SelfPlaySettings(**{**FAST, "opening_plies": (6, 6)})
    game = as_game(play(settings, range(1), (Opening(moves=moves),))[0], tmp_path)
    assert tuple(game.usi_moves()[:6]) == moves
    assert game.candidates is not None
    assert not game.candidates.count[:6].any()


def test_invalid_network_outputs_are_an_error() -> None:
    class Nonsense(UniformEvaluator):
        def _evaluate(self, inputs: Any, policy: Any, value: Any) -> None:
            value[:] = np.nan

    with pytest.raises(InferenceError, match="aren't numbers"):
        play(SelfPlaySettings(**FAST), evaluator=Nonsense(max_batch=4))


# -- the root


def searched(evaluator: Evaluator, make: Any, playouts: int) -> tuple[Tree, Any]:
    settings = SelfPlaySettings(playouts=playouts, full_fraction=1.0)
    tree = Tree(4 << 20, tree_options(settings.search_options()))
    tree.add_root()
    tree.set_root(0, Board())
    batch = slot_batches(evaluator)[0]
    root = make(tree, settings)
    while (first := root.next_move()) is not None:
        if tree.collect(0, batch, 1, 1, first):
            evaluator.start(0, 1)
            tree.expand(batch, *evaluator.wait(0))
    return tree, root


def test_sequential_halving_spends_its_playouts_on_the_best() -> None:
    """16 moves, then 8, 4, 2: each round gets a quarter of the playouts."""
    tree, root = searched(
        load("random:5", max_batch=4),
        lambda tree, settings: GumbelRoot(tree, settings, np.random.default_rng(1), 0, True),
        128,
    )
    visits = sorted((m.visits for m in tree.root_moves(0) if m.visits), reverse=True)
    assert visits == [30, 30, 14, 14, 6, 6, 6, 6, 2, 2, 2, 2, 2, 2, 2, 2]
    choice = root.choose()
    most = {m.move16 for m in tree.root_moves(0)[:2]}
    assert choice.move16 in most
    assert sum(n for _, n in choice.candidates) == pytest.approx(1000, abs=20)
    assert choice.candidates[0][0] == choice.best16 or choice.best16 in most


def test_sequential_halving_needs_no_memory_for_its_playouts() -> None:
    """The plan of a round was a list of its playouts: 10 GB for a thousand million of them."""
    settings = SelfPlaySettings(playouts=10**20, full_fraction=1.0)
    evaluator = load("uniform", max_batch=1)
    tree = Tree(4 << 20, tree_options(settings.search_options()))
    tree.add_root()
    tree.set_root(0, Board())
    batch = slot_batches(evaluator)[0]
    root = GumbelRoot(tree, settings, np.random.default_rng(1), 0, True)
    assert root.next_move() == 0
    assert tree.collect(0, batch, 1, 1, 0)
    evaluator.start(0, 1)
    tree.expand(batch, *evaluator.wait(0))
    planned = [root.next_move() for _ in range(64)]
    assert len(set(planned)) == settings.gumbel_moves
    assert planned[:16] == planned[16:32]


def test_a_search_without_leaves_can_be_interrupted() -> None:
    """One ply before the limit every playout is a draw: 4,294,967,295 of them ignored SIGTERM."""
    settings = SelfPlaySettings(playouts=10**9, full_fraction=1.0, max_plies=1)
    games = SelfPlayGames(load("uniform", max_batch=4), settings, (), 2)
    games.add(range(2))
    begin = time.monotonic()
    assert not games.take(200)
    assert time.monotonic() - begin < 5
    assert games.waiting == 2
    games.close()


def test_a_pause_between_leaves_changes_no_game(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SelfPlaySettings(**FAST)
    expected = play(settings)
    monkeypatch.setattr("komadori.generate.selfplay_game.MAX_STEPS", 1)
    assert play(settings) == expected


def test_the_improved_policy_is_the_paper_s() -> None:
    """pi' = softmax(logits + sigma(completed q)) with the mixed value for what wasn't visited."""
    tree, root = searched(
        load("random:5", max_batch=4),
        lambda tree, settings: GumbelRoot(tree, settings, np.random.default_rng(1), 0, True),
        32,
    )
    moves = {m.move16: m for m in tree.root_moves(0)}
    prior = {k: m.prior for k, m in moves.items()}
    seen = {k: m for k, m in moves.items() if m.visits}
    total = sum(m.visits for m in seen.values())
    mean = sum(prior[k] * m.value for k, m in seen.items()) / sum(prior[k] for k in seen)
    mixed = (tree.root_value(0) + total * mean) / (1 + total)
    scale = 50 + max(m.visits for m in seen.values())
    weight = {
        k: prior[k] * math.exp(scale * (m.value if m.visits else mixed)) for k, m in moves.items()
    }
    norm = sum(weight.values())
    expected = {k: round(1000 * w / norm) for k, w in weight.items()}
    got = dict(root.choose().candidates)
    for move16, visits in got.items():
        assert abs(visits - max(expected[move16], 1)) <= 1


def test_noise_changes_the_root_alone_and_its_visits_are_pruned() -> None:
    evaluator = FixedEvaluator(max_batch=4)
    evaluator.add(Board(), {"2g2f": 0.6, "7g7f": 0.3}, 0.5)
    tree, root = searched(
        evaluator,
        lambda tree, settings: NoisyRoot(tree, settings, np.random.default_rng(3), 0, True),
        400,
    )
    assert tree.root_visits(0) == 400
    noisy = {m.move16: m.prior for m in tree.root_moves(0)}
    clean = root._priors
    assert sum(noisy.values()) == pytest.approx(1, abs=1e-2)
    assert max(abs(noisy[k] - clean[k]) for k in clean) > 0.05
    visits = {m.move16: m.visits for m in tree.root_moves(0)}
    learnt = dict(root.choose().candidates)
    best = max(visits, key=lambda k: visits[k])
    assert learnt[best] == visits[best]
    assert all(learnt[k] <= visits[k] for k in learnt)
    assert sum(learnt.values()) < sum(visits.values())
    likely = {Move.from_usi(usi).move16 for usi in ("2g2f", "7g7f")}
    assert likely <= learnt.keys()
    assert evaluate  # the evaluator protocol is shared with every other search


# -- settings and the command


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"root": "puct"}, "root is 'puct', one of noise, gumbel is needed"),
        ({"playouts": 1}, "playouts is 1, at least 2"),
        ({"gumbel_scale": 1e7}, "gumbel_scale is 10000000.0, at most 1000000"),
        ({"full_fraction": 0.0}, "full_fraction is 0"),
        ({"noise_fraction": 1.5}, "noise_fraction is 1.5, 0 to 1"),
        ({"noise_alpha": float("nan")}, "noise_alpha must be finite"),
        ({"opening_plies": [5, 2]}, "opening_plies is 5 to 2"),
        ({"max_plies": 600}, "hcpe3 holds at most 513"),
        ({"playouts": "many"}, "playouts must be int, not 'many'"),
        ({"visits": 3}, "unknown key 'visits'"),
        ({"memory_mb": 10**14}, "memory_mb is 100000000000000, at most 1048576"),
    ],
)
def test_bad_settings_are_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        SelfPlaySettings.from_mapping(values)


def run(folder: Path, *arguments: str) -> Any:
    options = ["--playouts", "8", "--fast-playouts", "2", "--max-plies", "16", "--batch", "4"]
    return CliRunner().invoke(
        command, ["-o", str(folder), "--model", "random:1", *options, *arguments]
    )


def test_the_command_fills_a_folder_and_resumes(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    done = run(folder, "--games", "5", "--segment-games", "4")
    assert done.exit_code == 0, done.output
    assert "games      5 with" in done.output
    more = run(folder, "--games", "8", "--segment-games", "4")
    assert more.exit_code == 0, more.output
    whole = tmp_path / "whole"
    run(whole, "--games", "8", "--segment-games", "4")
    for name in ("000000.hcpe3.xz", "000001.hcpe3.xz"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
    other = run(folder, "--games", "9", "--playouts", "9")
    assert other.exit_code == 1
    assert "playouts was 8, is 9" in other.output
    (tmp_path / "junk.onnx").write_bytes(b"junk")
    for name in ("missing.onnx", "junk.onnx"):
        bad = run(tmp_path / "bad", "--model", str(tmp_path / name))
        assert bad.exit_code == 1
        assert name in bad.output
        assert not (tmp_path / "bad").exists()
