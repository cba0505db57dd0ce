// The numbers of the alpha-beta search that games can tune, with their ranges.
//
// Each is an option of the player `alphabeta` (Search.NAME), which `komadori tune` can set and GUIs
// aren't shown. Scores are in centipawns of a pawn of 90, depths and reductions in plies unless a
// comment says otherwise. Most values were found by SPSA, 5,680 pairs of games; some that act deep
// in the tree were set by games of 300,000 nodes. How, and what they won against those before:
// docs/results/alphabeta.md, "Tuned by games". Parts that lost are off.
#pragma once

#include <span>

namespace komadori::alphabeta {

// X(name, value, minimum, maximum)
#define KOMADORI_SEARCH_CONSTANTS(X)                                                               \
    /* Aspiration windows */                                                                       \
    X(aspiration, 46, 5, 200)                                                                      \
    /* Razoring: margin = base + square * depth^2 */                                               \
    X(razor_base, 199, 0, 800)                                                                     \
    X(razor_square, 91, 20, 500)                                                                   \
    /* Reverse futility: margin per ply; what improving takes off it; weight of history, 1/1024 */ \
    X(reverse_depth, 15, 1, 20)                                                                    \
    X(reverse_margin, 101, 20, 400)                                                                \
    X(reverse_improving, 91, 0, 400)                                                               \
    X(reverse_history, 1, 0, 32)                                                                   \
    /* Null move: needs eval >= beta - per_ply * depth + base - improving */                       \
    X(null_base, 96, -200, 500)                                                                    \
    X(null_per_ply, 13, 0, 100)                                                                    \
    X(null_improving, 54, 0, 200)                                                                  \
    X(null_reduction, 6144, 1024, 8192)  /* 1/1024 */                                              \
    X(null_depth_reduction, 334, 0, 512) /* per ply, 1/1024 */                                     \
    X(null_eval_divisor, 187, 50, 800)                                                             \
    X(null_cut_only, 1, 0, 1)                                                                      \
    /* Cutoffs by the table up to depth 5 only as the node is expected to fail */                  \
    X(table_expected, 0, 0, 1)                                                                     \
    /* ProbCut */                                                                                  \
    X(probe_margin, 198, 50, 800)                                                                  \
    X(probe_improving, 34, 0, 300)                                                                 \
    X(probe_table_margin, 0, 0, 1200) /* ProbCut by the table alone; 0: off */                     \
    /* Internal iterative reductions without a table move */                                       \
    X(iterative_pv, 2, 0, 4)                                                                       \
    X(iterative_cut, 1, 0, 4)                                                                      \
    /* Hindsight: depth by the reduction that led here; 0: off */                                  \
    X(hindsight_more, 4430, 0, 8192) /* one ply more after so large a reduction, 1/1024 */         \
    X(hindsight_less, 122, 0, 600)   /* one ply less if both evaluations exceed this */            \
    /* Futility of moves */                                                                        \
    X(capture_base, 226, 0, 800)                                                                   \
    X(capture_per_ply, 204, 20, 800)                                                               \
    X(quiet_base, 106, 0, 600)                                                                     \
    X(quiet_per_ply, 97, 20, 400)                                                                  \
    X(history_pruning, 3803, 500, 30000)                                                           \
    X(history_depth, 11749, 3000, 60000) /* history worth a ply */                                 \
    X(exchange_capture, 241, 20, 600)                                                              \
    X(exchange_history, 7, 0, 64) /* of captures, per 1,024 of history */                          \
    X(exchange_quiet, 24, 5, 120)                                                                  \
    X(late_base, 43, 10, 160) /* late move pruning, tenths of a move */                            \
    X(late_square, 10, 2, 40) /* tenths of a move per depth^2 */                                   \
    X(keep_last_pv, 0, 0, 1)  /* no pruning along the last iteration's line */                     \
    /* Extensions */                                                                               \
    X(singular_depth, 5, 4, 12)                                                                    \
    X(singular_margin, 25, 4, 160)  /* per ply, 1/16 */                                            \
    X(singular_double, 73, 0, 9999) /* margin of a second ply; 9999: never */                      \
    X(singular_triple, 9999, 0, 9999)                                                              \
    X(singular_negative, 3, 0, 4) /* if the table's score fails high, too */                       \
    X(singular_cut, 2, 0, 4)      /* other cut nodes */                                            \
    X(check_depth, 12, 0, 99)     /* checks are extended from this depth */                        \
    /* Reductions in 1/1024 plies */                                                               \
    X(reduction_log, 238, 100, 500) /* tenths */                                                   \
    X(reduction_base, 994, -1024, 3072)                                                            \
    X(reduction_window, 1107, 0, 2048)                                                             \
    X(reduction_worse, 1219, 0, 3072) /* not improving */                                          \
    X(reduction_was_pv, 900, -1024, 4096)                                                          \
    X(reduction_cut, 2600, 0, 5120)                                                                \
    X(reduction_table_capture, 941, -1024, 3072)                                                   \
    X(reduction_pv, 1117, -1024, 4096)                                                             \
    X(reduction_check, 1064, -1024, 4096)                                                          \
    X(reduction_cutoffs, 789, -1024, 3072)                                                         \
    X(reduction_table_move, 1024, -1024, 4096)                                                     \
    X(reduction_history, 52, 0, 300)           /* per 1,024 of history */                          \
    X(reduction_evasion, 142, -1024, 4096)     /* in check */                                      \
    X(reduction_table_above, 213, -1024, 4096) /* the table's score above alpha */                 \
    X(reduction_cut_blind, 257, -1024, 4096)   /* cut nodes without a table move */                \
    X(capture_history, 9, 0, 128) /* weight of a capture's history as a quiet move's, 1/16 */      \
    X(reduction_history_base, 2412, -20000, 20000)                                                 \
    X(deeper, 39, 0, 9999)  /* re-search a ply deeper if so far above the best; 9999: never */     \
    X(shallower, 3, 0, 100) /* a ply less if not so far above it */                                \
    X(raised_reduction, 0, 0, 3) /* plies less for the moves after one that raised alpha */        \
    /* Histories */                                                                                \
    X(bonus_slope, 312, 50, 1000)                                                                  \
    X(bonus_offset, 175, -500, 1000)                                                               \
    X(bonus_limit, 2724, 500, 8000)                                                                \
    X(malus_slope, 316, 50, 1000)                                                                  \
    X(malus_offset, 217, -500, 1000)                                                               \
    X(malus_limit, 2300, 500, 8000)                                                                \
    X(bonus_beyond, 114, 0, 400)   /* a ply more of bonus if so far above beta */                  \
    X(order_refutations, 1, 0, 1)  /* killers and counter move before other quiet moves */         \
    X(order_butterfly, 24, 0, 128) /* weights of the move order, 1/16 */                           \
    X(order_one, 21, 0, 128)                                                                       \
    X(order_two, 11, 0, 128)                                                                       \
    X(order_four, 18, 0, 128)                                                                      \
    X(order_pawns, 17, 0, 128)                                                                     \
    X(order_low_ply, 31, 0, 256)                                                                   \
    X(evaluation_bonus, 4, 0, 64)   /* history of the move before by the evaluation's rise */      \
    X(table_cut_malus, 39, 0, 4096) /* of an early quiet move refuted by the table, 1/1024 */      \
    /* Correction history: weights in centipawns at the limit */                                   \
    X(correction_pawns, 35, 0, 400)                                                                \
    X(correction_pieces, 71, 0, 400)                                                               \
    X(correction_moves, 65, 0, 400)                                                                \
    X(correction_rate, 280, 16, 1024) /* of the error times the depth, 1/1024 */                   \
    /* Scores of nodes that fail high, towards beta: 1/1024 at depth 1 */                          \
    X(soft_fail, 742, 0, 1024)                                                                     \
    X(soft_reverse, 279, 0, 1024)                                                                  \
    X(soft_quiescence, 383, 0, 1024)                                                               \
    /* Quiescence: gain expected beyond material */                                                \
    X(quiescence_margin, 118, 0, 600)

struct Constants {
#define KOMADORI_MEMBER(name, value, least, most) int name = value;
    KOMADORI_SEARCH_CONSTANTS(KOMADORI_MEMBER)
#undef KOMADORI_MEMBER
};

// A constant by name.
struct ConstantField {
    const char* name;
    int Constants::* member;
    int least, most;
};

inline constexpr ConstantField CONSTANT_FIELDS[] = {
#define KOMADORI_FIELD(name, value, least, most) {#name, &Constants::name, least, most},
    KOMADORI_SEARCH_CONSTANTS(KOMADORI_FIELD)
#undef KOMADORI_FIELD
};

}  // namespace komadori::alphabeta
