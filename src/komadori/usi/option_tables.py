"""The engine's options as tables: name, default, range, scope and help text.

Names, units and defaults follow dlshogi and YaneuraOu, whose options GUIs translate. The tables
of docs/concepts/usi.md are generated from these (tools/docs_tables.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from komadori._core.alphabeta import constants
from komadori._core.encoding import DLSHOGI_COEF
from komadori._core.tree import TreeOptions
from komadori.usi.options import EngineOption, Scope, check, combo, filename, spin, string
from komadori.usi.protocol import DAY_MS

#: Upper bounds of options without a natural maximum.
MANY = 2**31 - 1
MAX_MB = 1 << 20


_TREE = TreeOptions()


def _hundredths(name: str) -> int:
    """Return the default of a tree setting in the unit of its option, hundredths."""
    value: float = getattr(_TREE, name)
    return round(100 * value)


#: Options of the USI server, for every searcher: fields of `ServerOptions`.
SERVER_OPTIONS = (
    check("USI_Ponder", False, "whether the GUI sends `go ponder`; ignored by the engine"),
    spin("NodesLimit", 0, 0, MANY, "nodes per move if `go` doesn't set them; 0: no limit",
         field="nodes_limit"),
    spin("DepthLimit", 0, 0, 1000, "depth if `go` doesn't set it; 0: no limit",
         field="depth_limit"),
    spin("NetworkDelay", 0, 0, 10_000, "ms subtracted from every clock, and from the increment if "
         "there is no other time", field="network_delay_ms"),
    check("Stochastic_Ponder", False, "ponder on the position before the opponent's reply",
          field="stochastic_ponder"),
    spin("DfPn_Hash", 64, 1, MAX_MB, "size of the mate search's table, MiB",
         field="mate_memory_mb"),
    check("OwnBook", False, "play from the opening book; alias `USI_OwnBook`", field="own_book"),
    filename("Book_File", "opening book in YaneuraOu's text format; looked up like models; "
             "`no_book`: none", field="book_file"),
    check("Best_Book_Move", False, "play the book's most played move; otherwise draw by counts",
          field="best_book_move"),
    spin("Book_Moves", 0, 0, 10_000, "plies played from the book; 0: all", field="book_moves"),
)  # fmt: skip

#: Options of every searcher with a network.
MODEL_OPTIONS = (
    filename("DNN_Model", "ONNX file of the network; empty: `$KOMADORI_MODEL`, else "
             "`default.onnx` in the folders above, else the bundled network, also called "
             "`default`; `uniform` and `random:SEED` are fakes for testing", Scope.BUILD, "model"),
    spin("DNN_Batch_Size", 0, 0, 4096, "maximum batch size; 0: by the network's size, 8 to 64 on "
         "a CPU", Scope.BUILD, "max_batch"),
    combo("DNN_Backend", "auto", ("auto", "openvino", "onnxruntime", "torch"), "inference "
          "backend", Scope.BUILD, "backend"),
    combo("DNN_Precision", "auto", ("auto", "float32", "bfloat16", "float16", "int8"),
          "auto: int8 if the model has an int8 version, else the fastest on this machine",
          Scope.BUILD, "precision"),
    string("DNN_Device", "auto", "device of the network, `cpu` or `cuda:1`, or several: "
           "`cuda:0,cuda:1` work on one tree, `cpu,cpu` divide the CPUs (GPUs are untested)",
           Scope.BUILD, "device"),
    spin("UCT_Threads", 0, 0, 512, "threads of the network; 0: all CPUs; alias `Threads`",
         Scope.BUILD, "threads"),
)  # fmt: skip

EVAL_COEF_OPTION = spin(
    "Eval_Coef", round(DLSHOGI_COEF), 1, 10_000,
    "centipawns per unit of log odds; a model's card may set it", Scope.SEARCHER, "eval_coef",
)  # fmt: skip

RESIGN_OPTIONS = (
    spin("Resign_Moves", 3, 1, 1000, "consecutive own moves below the threshold before resigning; "
         "a proven mate needs one", Scope.SEARCHER, "resign_moves"),
    spin("Resign_Ply", 20, 1, 10_000, "never resign before this move; the side that gave a "
         "handicap resigns only to a proven mate", Scope.SEARCHER, "resign_ply"),
)  # fmt: skip

#: Settings of the PUCT search (`komadori.search.PuctOptions`).
SEARCH_OPTIONS = (
    spin("USI_Hash", 512, 1, MAX_MB, "size of the tree, MiB", Scope.SEARCHER, "memory_mb"),
    spin("DfPn_Hash", 64, 1, MAX_MB, "size of the mate search's table, MiB, also for `go mate`",
         Scope.SEARCHER, "mate_memory_mb"),
    spin("Mate_Root_Search", 1000, 0, 1000, "maximum length in plies of mates that df-pn searches "
         "for beside the search; 1000: any length, 0: off", Scope.SEARCHER, "root_mate_plies"),
    spin("MultiPV", 1, 1, 593, "number of analysis lines, one if there is a mate in one; alias "
         "`USI_MultiPV`", Scope.SEARCHER, "multipv"),
    spin("UCT_NodeLimit", 0, 0, MANY, "maximum visits of the root, including those kept from "
         "earlier searches, also for `go infinite`; 0: no limit", field="visit_limit"),
    spin("Const_Playout", 0, 0, MANY, "new playouts per move, regardless of the clock; 0: off",
         field="constant_playouts"),
    spin("Random_Ply", 0, 0, 10_000, "draw moves by their visits up to this move number",
         Scope.SEARCHER, "random_plies"),
    spin("Random_Temperature", 1000, 0, 100_000, "temperature of the draw, thousandths",
         Scope.SEARCHER, "random_temperature", 1000),
    spin("Random_Temperature_Drop", 0, 0, 100_000, "decrease of that temperature per move, "
         "thousandths", Scope.SEARCHER, "random_temperature_drop", 1000),
    spin("Random_Cutoff", 15, 0, 1000, "draw only moves at most this far below the best win rate, "
         "per mille", Scope.SEARCHER, "random_cutoff", 1000),
    spin("Softmax_Temperature", _hundredths("temperature"), 1, 10_000,
         "temperature of the policy, hundredths", Scope.SEARCHER, "temperature", 100),
    spin("C_init", _hundredths("c_init"), 0, 10_000, "PUCT's exploration constant, hundredths",
         Scope.SEARCHER, "c_init", 100),
    spin("C_base", round(_TREE.c_base), 1, MANY, "visits at which exploration starts to grow",
         Scope.SEARCHER, "c_base"),
    spin("C_fpu_reduction", _hundredths("fpu_reduction"), 0, 100,
         "first-play urgency reduction, hundredths", Scope.SEARCHER, "fpu_reduction", 100),
    spin("C_init_root", _hundredths("c_init_root"), 0, 10_000, "`C_init` at the root",
         Scope.SEARCHER, "c_init_root", 100),
    spin("C_base_root", round(_TREE.c_base_root), 1, MANY, "`C_base` at the root",
         Scope.SEARCHER, "c_base_root"),
    spin("C_fpu_reduction_root", _hundredths("fpu_reduction_root"), 0, 100,
         "`C_fpu_reduction` at the root", Scope.SEARCHER, "fpu_reduction_root", 100),
    spin("C_growth", _hundredths("c_growth"), 0, 10_000, "growth of exploration with the visits, "
         "hundredths", Scope.SEARCHER, "c_growth", 100),
    spin("Stdev_Scale", _hundredths("stdev_scale"), 0, 1000, "increase exploration where values "
         "vary, hundredths (KataGo: 85); 0: off", Scope.SEARCHER, "stdev_scale", 100),
    spin("Value_Bias", _hundredths("value_bias"), 0, 100, "correct the network's values by this "
         "fraction of its mean error after the same two moves, hundredths (KataGo: 45); 0: off",
         Scope.SEARCHER, "value_bias", 100),
    spin("Uncertainty_Weight", _hundredths("uncertainty_weight"), 0, 100, "weight playouts by how "
         "well the network and the search of the leaf (`Leaf_Weight`) agree, per cent; 0: all "
         "weigh the same", Scope.SEARCHER, "uncertainty_weight", 100),
    spin("LCB_Stdevs", _hundredths("lcb_stdevs"), 0, 10_000, "play the move with the highest "
         "lower confidence bound: value minus this many standard errors, hundredths (leela-zero: "
         "500); 0: the most visited move", Scope.SEARCHER, "lcb_stdevs", 100),
    spin("LCB_Min_Visits", _hundredths("lcb_min_visits"), 0, 100, "minimum visits of such a move, "
         "per cent of the most visited move's", Scope.SEARCHER, "lcb_min_visits", 100),
    spin("Root_Temperature", _hundredths("temperature_root"), 0, 10_000,
         "`Softmax_Temperature` at the root, hundredths; 0: the same", Scope.SEARCHER,
         "temperature_root", 100),
    spin("Temperature_Decay", _hundredths("temperature_decay"), 0, 100,
         "factor per ply of its difference from `Softmax_Temperature`, hundredths", Scope.SEARCHER,
         "temperature_decay", 100),
    spin("Visits_Per_Flight", _TREE.visits_per_flight, 0, MANY,
         "finished visits required per playout in flight below a node; 0: no limit",
         Scope.SEARCHER, "visits_per_flight"),
    spin("Leaf_Weight", -1, -1, 100, "weight of an alpha-beta search's value at each leaf beside "
         "the network's, per cent; 0: off; -1: what the network's `.ini` says, else off",
         Scope.SEARCHER, "leaf_weight", 100),
    spin("Leaf_Nodes", 100, 1, MANY, "nodes of that search", Scope.SEARCHER, "leaf_nodes"),
    spin("Verify_Margin", -1, -1, 100_000, "[verify](search.md#verified-moves) the most visited "
         "moves by an alpha-beta search on another CPU: a move that scores this many centipawns "
         "less than the best one is refuted; -1: off", Scope.SEARCHER, "verify_margin"),
    EVAL_COEF_OPTION,
    spin("Resign_Threshold", 10, 0, 1000, "resign below this win rate, per mille; 0: never",
         Scope.SEARCHER, "resign_threshold", 1000),
    *RESIGN_OPTIONS,
    spin("Draw_Value_Black", 500, 0, 1000, "value of a draw to Black, per mille", Scope.SEARCHER,
         "draw_value_black", 1000),
    spin("Draw_Value_White", 500, 0, 1000, "value of a draw to White, per mille", Scope.SEARCHER,
         "draw_value_white", 1000),
    check("Repetition_Check", True, "detect repetitions; disable only for experiments",
          Scope.SEARCHER, "repetition"),
    spin("PV_Interval", 500, 0, DAY_MS, "ms between info lines; 0: only at the end",
         Scope.SEARCHER, "pv_interval_ms"),
    check("ReuseSubtree", True, "reuse the tree of the last search", Scope.SEARCHER,
          "reuse_subtree"),
    spin("Time_Margin", -1, -1, DAY_MS, "safety margin of main time, ms; -1: a tenth of the time, "
         "35 to 500 ms", Scope.SEARCHER, "time_margin_ms"),
    spin("Byoyomi_Margin", -1, -1, DAY_MS, "safety margin of byoyomi, ms; -1: as above",
         Scope.SEARCHER, "byoyomi_margin_ms"),
    spin("MinimumThinkingTime", 0, 0, DAY_MS, "minimum time per move, ms, if the clock allows",
         Scope.SEARCHER, "minimum_time_ms"),
)  # fmt: skip

#: Settings of the alpha-beta search (`komadori.search.alphabeta.AlphaBetaOptions`).
ALPHABETA_OPTIONS = (
    combo("Eval", "nnue", ("material", "two-piece", "kpp", "nnue"), "evaluation function",
          Scope.BUILD, "evaluation"),
    filename("EvalFile", "weights of the evaluation, looked up like models; empty: the bundled "
             "ones", Scope.BUILD, "weights"),
    filename("PolicyModel", "network that [orders the moves]"
             "(alphabeta.md#ordered-by-a-policy-network)", Scope.BUILD, "policy_model"),
    spin("Policy_Depth", 8, 1, 200, "minimum remaining depth for evaluating the policy network",
         Scope.SEARCHER, "policy_depth"),
    spin("Policy_Nodes", 20_000, 0, MANY, "minimum number of nodes between policy evaluations",
         Scope.SEARCHER, "policy_nodes"),
    spin("FV_SCALE", 16, 1, 128, "divisor of an NNUE network's output", Scope.BUILD,
         "fv_scale"),
    spin("Threads", 1, 1, 512, "search threads; `komadori usi` declares all CPUs as the default",
         Scope.SEARCHER, "threads"),
    spin("USI_Hash", 256, 1, MAX_MB, "size of the transposition table, MiB", Scope.SEARCHER,
         "hash_mb"),
    spin("MultiPV", 1, 1, 593, "number of analysis lines; alias `USI_MultiPV`", Scope.SEARCHER,
         "multipv"),
    spin("Draw_Value_Black", 500, 0, 1000, "value of a draw to the engine as Black, per mille",
         Scope.SEARCHER, "draw_value_black", 1000),
    spin("Draw_Value_White", 500, 0, 1000, "value of a draw to the engine as White, per mille",
         Scope.SEARCHER, "draw_value_white", 1000),
    spin("ResignValue", 99999, 0, 99999, "resign if the score falls to minus this, centipawns",
         Scope.SEARCHER, "resign_value"),
    *RESIGN_OPTIONS,
    spin("Time_Margin", -1, -1, DAY_MS, "safety margin per move, ms; -1: a tenth of the time, 35 "
         "to 500 ms", Scope.SEARCHER, "time_margin_ms"),
    spin("MinimumThinkingTime", 0, 0, DAY_MS, "minimum time per move, ms, if the clock allows",
         Scope.SEARCHER, "minimum_thinking_ms"),
    spin("SlowMover", 100, 1, 1000, "scales the time per move, per cent", Scope.SEARCHER,
         "slow_mover"),
    combo("EnteringKingRule", "CSARule27", ("NoEnteringKing", "CSARule24", "CSARule27"),
          "declaration rule", Scope.SEARCHER, "declaration", ("none", "24", "27")),
    check("GenerateAllLegalMoves", False, "search non-promotions of pawns, bishops, rooks and "
          "lances at every node", Scope.SEARCHER, "all_moves"),
)  # fmt: skip

#: The search's constants, for `komadori tune`; GUIs aren't shown them.
ALPHABETA_CONSTANTS = tuple(
    replace(
        spin(
            f"Search.{name}",
            value,
            low,
            high,
            "a constant of the search",
            Scope.SEARCHER,
            f"constants.{name}",
        ),
        is_listed=False,
    )
    for name, value, low, high in constants()
)

#: ShogiArena requires this option or its alias.
DRAW_OPTIONS = (
    spin("Draw_Ply", 0, 0, 10_000, "the game is drawn after this many plies; 0: never; alias "
         "`MaxMovesToDraw`", Scope.SEARCHER, "draw_ply"),
)  # fmt: skip

#: Options of each kind of searcher, besides SERVER_OPTIONS.
OPTIONS_BY_KIND: Mapping[str, tuple[EngineOption, ...]] = {
    "model": (*MODEL_OPTIONS, *SEARCH_OPTIONS, *DRAW_OPTIONS),
    "policy": (*MODEL_OPTIONS, EVAL_COEF_OPTION, *DRAW_OPTIONS),
    "one-ply": (*MODEL_OPTIONS, EVAL_COEF_OPTION, *DRAW_OPTIONS),
    "alphabeta": (*ALPHABETA_OPTIONS, *DRAW_OPTIONS, *ALPHABETA_CONSTANTS),
    "material": DRAW_OPTIONS,
    "random": DRAW_OPTIONS,
}


def markdown() -> str:
    """Return the tables of docs/concepts/usi.md."""
    sections = (
        ("Every player", SERVER_OPTIONS),
        ("Players with a network", MODEL_OPTIONS),
        ("The tree search (`model`)", (*SEARCH_OPTIONS, *DRAW_OPTIONS)),
        ("`alphabeta`", (*ALPHABETA_OPTIONS, *DRAW_OPTIONS)),
    )
    lines = []
    for title, options in sections:
        lines += [
            f"### {title}",
            "",
            "| name | default | range | description |",
            "|---|---|---|---|",
        ]
        lines += [_row(option) for option in options]
        lines.append("")
    return "\n".join(lines).rstrip()


def _row(option: EngineOption) -> str:
    line = option.line
    if line.kind == "spin":
        span = f"{line.min} to {line.max}"
    else:
        span = ", ".join(line.choices) if line.choices else line.kind
    return f"| `{line.name}` | {line.default} | {span} | {option.help} |"
