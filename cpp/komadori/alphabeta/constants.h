// The numbers of the alpha-beta search that games can tune, with their ranges.
//
// Each is an option of the player `alphabeta` (Search.NAME), which `komadori tune` can set and GUIs
// aren't shown. Scores are in centipawns of a pawn of 90, depths and reductions in plies unless a
// comment says otherwise. Most values were found by SPSA, 6,955 pairs of games; how, and what they
// won against those before: docs/results/alphabeta.md, "Tuned by games". Parts that lost are off.
#pragma once

#include <span>

namespace komadori::alphabeta {

// X(name, value, minimum, maximum)
#define KOMADORI_SEARCH_CONSTANTS(X)                                                               \
    /* Aspiration windows */                                                                       \
    X(aspiration, 53, 5, 200)                                                                      \
    /* Razoring: margin = base + square * depth^2 */                                               \
    X(razor_base, 192, 0, 800)                                                                     \
    X(razor_square, 86, 20, 500)                                                                   \
    /* Reverse futility: margin per ply; what improving takes off it; weight of history, 1/1024 */ \
    X(reverse_depth, 10, 1, 20)                                                                    \
    X(reverse_margin, 117, 20, 400)                                                                \
    X(reverse_improving, 91, 0, 400)                                                               \
    X(reverse_history, 1, 0, 32)                                                                   \
    /* Null move: needs eval >= beta - per_ply * depth + base - improving */                       \
    X(null_base, 95, -200, 500)                                                                    \
    X(null_per_ply, 14, 0, 100)                                                                    \
    X(null_improving, 55, 0, 200)                                                                  \
    X(null_reduction, 3412, 1024, 8192)  /* 1/1024 */                                              \
    X(null_depth_reduction, 337, 0, 512) /* per ply, 1/1024 */                                     \
    X(null_eval_divisor, 194, 50, 800)                                                             \
    X(null_cut_only, 1, 0, 1)                                                                      \
    /* Cutoffs by the table up to depth 5 only as the node is expected to fail */                  \
    X(table_expected, 0, 0, 1)                                                                     \
    /* ProbCut */                                                                                  \
    X(probe_margin, 216, 50, 800)                                                                  \
    X(probe_improving, 34, 0, 300)                                                                 \
    X(probe_table_margin, 0, 0, 1200) /* ProbCut by the table alone; 0: off */                     \
    /* Internal iterative reductions without a table move */                                       \
    X(iterative_pv, 2, 0, 4)                                                                       \
    X(iterative_cut, 1, 0, 4)                                                                      \
    /* Hindsight: depth by the reduction that led here; 0: off */                                  \
    X(hindsight_more, 3642, 0, 8192) /* one ply more after so large a reduction, 1/1024 */         \
    X(hindsight_less, 121, 0, 600)   /* one ply less if both evaluations exceed this */            \
    /* Futility of moves */                                                                        \
    X(capture_base, 201, 0, 800)                                                                   \
    X(capture_per_ply, 216, 20, 800)                                                               \
    X(quiet_base, 121, 0, 600)                                                                     \
    X(quiet_per_ply, 103, 20, 400)                                                                 \
    X(history_pruning, 3825, 500, 30000)                                                           \
    X(history_depth, 12016, 3000, 60000) /* history worth a ply */                                 \
    X(exchange_capture, 269, 20, 600)                                                              \
    X(exchange_history, 7, 0, 64) /* of captures, per 1,024 of history */                          \
    X(exchange_quiet, 23, 5, 120)                                                                  \
    X(late_base, 40, 10, 160) /* late move pruning, tenths of a move */                            \
    X(late_square, 15, 2, 40) /* tenths of a move per depth^2 */                                   \
    X(keep_last_pv, 0, 0, 1)  /* no pruning along the last iteration's line */                     \
    /* Extensions */                                                                               \
    X(singular_depth, 5, 4, 12)                                                                    \
    X(singular_margin, 25, 4, 160)  /* per ply, 1/16 */                                            \
    X(singular_double, 73, 0, 9999) /* margin of a second ply; 9999: never */                      \
    X(singular_triple, 9999, 0, 9999)                                                              \
    X(singular_negative, 1, 0, 4) /* if the table's score fails high, too */                       \
    X(singular_cut, 0, 0, 4)      /* other cut nodes */                                            \
    X(check_depth, 6, 0, 99)      /* checks are extended from this depth */                        \
    /* Reductions in 1/1024 plies */                                                               \
    X(reduction_log, 198, 100, 500) /* tenths */                                                   \
    X(reduction_base, 1144, -1024, 3072)                                                           \
    X(reduction_window, 1084, 0, 2048)                                                             \
    X(reduction_worse, 1192, 0, 3072) /* not improving */                                          \
    X(reduction_was_pv, 813, -1024, 4096)                                                          \
    X(reduction_cut, 1817, 0, 5120)                                                                \
    X(reduction_table_capture, 902, -1024, 3072)                                                   \
    X(reduction_pv, 1129, -1024, 4096)                                                             \
    X(reduction_check, 1086, -1024, 4096)                                                          \
    X(reduction_cutoffs, 841, -1024, 3072)                                                         \
    X(reduction_table_move, 1024, -1024, 4096)                                                     \
    X(reduction_history, 46, 0, 300)           /* per 1,024 of history */                          \
    X(reduction_evasion, 122, -1024, 4096)     /* in check */                                      \
    X(reduction_table_above, 195, -1024, 4096) /* the table's score above alpha */                 \
    X(reduction_cut_blind, 263, -1024, 4096)   /* cut nodes without a table move */                \
    X(capture_history, 9, 0, 128) /* weight of a capture's history as a quiet move's, 1/16 */      \
    X(reduction_history_base, 2596, -20000, 20000)                                                 \
    X(deeper, 34, 0, 9999)  /* re-search a ply deeper if so far above the best; 9999: never */     \
    X(shallower, 3, 0, 100) /* a ply less if not so far above it */                                \
    X(raised_reduction, 0, 0, 3) /* plies less for the moves after one that raised alpha */        \
    /* Histories */                                                                                \
    X(bonus_slope, 288, 50, 1000)                                                                  \
    X(bonus_offset, 166, -500, 1000)                                                               \
    X(bonus_limit, 3612, 500, 8000)                                                                \
    X(malus_slope, 353, 50, 1000)                                                                  \
    X(malus_offset, 190, -500, 1000)                                                               \
    X(malus_limit, 2247, 500, 8000)                                                                \
    X(bonus_beyond, 107, 0, 400)   /* a ply more of bonus if so far above beta */                  \
    X(order_refutations, 1, 0, 1)  /* killers and counter move before other quiet moves */         \
    X(order_butterfly, 28, 0, 128) /* weights of the move order, 1/16 */                           \
    X(order_one, 24, 0, 128)                                                                       \
    X(order_two, 11, 0, 128)                                                                       \
    X(order_four, 20, 0, 128)                                                                      \
    X(order_pawns, 18, 0, 128)                                                                     \
    X(order_low_ply, 31, 0, 256)                                                                   \
    X(evaluation_bonus, 3, 0, 64)   /* history of the move before by the evaluation's rise */      \
    X(table_cut_malus, 39, 0, 4096) /* of an early quiet move refuted by the table, 1/1024 */      \
    /* Correction history: weights in centipawns at the limit */                                   \
    X(correction_pawns, 35, 0, 400)                                                                \
    X(correction_pieces, 77, 0, 400)                                                               \
    X(correction_moves, 71, 0, 400)                                                                \
    X(correction_rate, 258, 16, 1024) /* of the error times the depth, 1/1024 */                   \
    /* Scores of nodes that fail high, towards beta: 1/1024 at depth 1 */                          \
    X(soft_fail, 748, 0, 1024)                                                                     \
    X(soft_reverse, 268, 0, 1024)                                                                  \
    X(soft_quiescence, 403, 0, 1024)                                                               \
    /* Quiescence: gain expected beyond material */                                                \
    X(quiescence_margin, 138, 0, 600)

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
