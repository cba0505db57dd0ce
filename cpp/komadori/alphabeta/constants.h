// The numbers of the alpha-beta search that games can tune, with their ranges.
//
// Each is an option of the player `alphabeta` (Search.NAME), which `komadori tune` can set and GUIs
// aren't shown. Scores are in centipawns of a pawn of 90; reductions in 1/1024 plies and weights of
// histories in 1/1024 unless a comment says otherwise; thresholds of static exchanges count a
// captured piece twice (exchange.h). The values are those of YaneuraOu 33ccf1f (August 2026);
// docs/results/alphabeta.md has what the search with them won.
#pragma once

#include <span>

namespace komadori::alphabeta {

// X(name, value, minimum, maximum)
#define KOMADORI_SEARCH_CONSTANTS(X)                                                            \
    /* Aspiration window: margin + mean squared score / divisor */                              \
    X(aspiration, 5, 1, 200)                                                                    \
    X(aspiration_divisor, 9000, 500, 100000)                                                    \
    /* Cutoffs by the table: bonus of its move, malus of the early quiet move before */         \
    X(table_bonus_slope, 130, 0, 1000)                                                          \
    X(table_bonus_offset, 71, -500, 1000)                                                       \
    X(table_bonus_limit, 1043, 100, 8000)                                                       \
    X(table_cut_malus, 2142, 0, 8000)                                                           \
    /* History of the move before, by how far the evaluation fell for this side */              \
    X(fall_floor, 214, 0, 1000)                                                                 \
    X(fall_limit, 171, 0, 1000)                                                                 \
    X(fall_offset, 60, -200, 300)                                                               \
    X(fall_butterfly, 10, 0, 64) /* bonus per centipawn */                                      \
    X(fall_pawns, 12, 0, 64)                                                                    \
    /* Hindsight: depth by the reduction that led here */                                       \
    X(hindsight_more, 3, 1, 99)    /* one ply more after so many, unless the evaluation rose */ \
    X(hindsight_less, 173, 0, 600) /* one less after two if both evaluations exceed this */     \
    /* Razoring: margin = base + square * depth^2 */                                            \
    X(razor_base, 502, 0, 2000)                                                                 \
    X(razor_square, 306, 20, 1000)                                                              \
    /* Reverse futility: margin per ply, less without a table entry; what improving and a       \
       worsening opponent take off it, 1/1024; divisor of the correction, hundreds */           \
    X(reverse_depth, 15, 1, 30)                                                                 \
    X(reverse_margin, 76, 10, 400)                                                              \
    X(reverse_unknown, 21, 0, 100)                                                              \
    X(reverse_improving, 2686, 0, 8192)                                                         \
    X(reverse_worsening, 362, 0, 4096)                                                          \
    X(reverse_correction, 1806, 100, 20000)                                                     \
    /* Null move: needs eval >= beta - per_ply * depth + base - improving */                    \
    X(null_base, 378, -200, 1000)                                                               \
    X(null_per_ply, 16, 0, 100)                                                                 \
    X(null_improving, 53, 0, 300)                                                               \
    X(null_reduction, 7168, 1024, 12288)                                                        \
    X(null_depth_reduction, 341, 0, 700) /* per ply */                                          \
    /* Internal iterative reductions from this depth on */                                      \
    X(iterative_depth, 6, 2, 99)                                                                \
    /* ProbCut; by the table alone */                                                           \
    X(probe_margin, 224, 20, 800)                                                               \
    X(probe_improving, 61, 0, 300)                                                              \
    X(probe_table_margin, 416, 50, 2000)                                                        \
    /* Late move pruning after base + square * depth^2 moves, half if not improving; tenths */  \
    X(late_base, 30, 0, 160)                                                                    \
    X(late_square, 10, 2, 40)                                                                   \
    /* Futility and exchanges of captures */                                                    \
    X(capture_base, 218, 0, 800)                                                                \
    X(capture_per_ply, 223, 20, 800)                                                            \
    X(capture_history, 131, 0, 600)                                                             \
    X(exchange_capture, 334, 20, 1000) /* per ply */                                            \
    X(exchange_history, 68, 0, 400)                                                             \
    /* History pruning, futility and exchanges of quiet moves */                                \
    X(history_pruning, 4097, 500, 30000) /* per ply */                                          \
    X(history_main, 71, 0, 300)          /* weight of the butterfly history, 1/32 */            \
    X(history_depth, 3220, 500, 60000)   /* history worth a ply */                              \
    X(quiet_base, 42, -200, 600)                                                                \
    X(quiet_first, 151, 0, 600) /* no move has raised alpha */                                  \
    X(quiet_per_ply, 120, 20, 400)                                                              \
    X(quiet_above, 86, 0, 400)    /* the evaluation exceeds alpha */                            \
    X(exchange_quiet, 50, 5, 200) /* per squared ply */                                         \
    /* Singular extensions: margin per ply, 1/55; of a second and third ply */                  \
    X(singular_depth, 6, 4, 16)                                                                 \
    X(singular_margin, 60, 5, 300)                                                              \
    X(singular_was_pv, 66, 0, 300)                                                              \
    X(singular_correction, 2106, 100, 20000) /* divisor, hundreds */                            \
    X(double_base, -4, -400, 400)                                                               \
    X(double_pv, 212, 0, 1000)                                                                  \
    X(double_quiet, 182, 0, 1000)                                                               \
    X(double_history, 8, 0, 64)                                                                 \
    X(double_deep, 44, 0, 400)                                                                  \
    X(triple_base, 73, -400, 600)                                                               \
    X(triple_pv, 320, 0, 1000)                                                                  \
    X(triple_quiet, 218, 0, 1000)                                                               \
    X(triple_was_pv, 92, 0, 600)                                                                \
    X(triple_deep, 45, 0, 400)                                                                  \
    X(singular_negative, 3, 0, 4) /* plies less if the table's score fails high, too */         \
    X(singular_cut, 2, 0, 4)      /* in other cut nodes */                                      \
    /* Reductions: base, by depth and move number */                                            \
    X(reduction_log, 216, 100, 500) /* tenths */                                                \
    X(reduction_base, 1133, -1024, 3072)                                                        \
    X(reduction_window, 585, 0, 2048)                                                           \
    X(reduction_worse, 412, 0, 2048)    /* not improving, of the logarithms' product */         \
    X(reduction_pruning, 1013, 0, 4096) /* on former lines, before pruning */                   \
    /* ... of the moves that aren't pruned */                                                   \
    X(reduction_was_pv, 2819, -1024, 8192)                                                      \
    X(reduction_pv, 973, -1024, 4096)                                                           \
    X(reduction_table_above, 905, -1024, 4096)                                                  \
    X(reduction_table_deep, 935, -1024, 4096)                                                   \
    X(reduction_table_deep_cut, 959, -1024, 4096)                                               \
    X(reduction_offset, 691, -1024, 4096)                                                       \
    X(reduction_count, 65, 0, 300)          /* less per move */                                 \
    X(reduction_correction, 256, 20, 10000) /* divisor, hundreds */                             \
    X(reduction_cut, 3611, 0, 8192)                                                             \
    X(reduction_cut_blind, 985, -1024, 4096) /* cut nodes without a table move */               \
    X(reduction_table_capture, 1054, -1024, 4096)                                               \
    X(reduction_cutoffs, 251, -1024, 4096)                                                      \
    X(reduction_cutoffs_more, 1124, -1024, 4096)                                                \
    X(reduction_cutoffs_all, 1042, -1024, 4096)                                                 \
    X(reduction_table_move, 2239, -1024, 8192)                                                  \
    X(reduction_history, 107, 0, 600)                                                           \
    X(reduction_gain, 863, 0, 4000) /* weight of a capture's gain as history, 1/128 */          \
    X(reduction_all, 273, 0, 2000)                                                              \
    X(reduction_all_offset, 260, 50, 4000)                                                      \
    X(deeper, 48, 0, 9999)  /* re-search a ply deeper if so far above the best */               \
    X(shallower, 9, 0, 100) /* a ply less if not so far above it */                             \
    X(unreduced_blind, 1057, 0, 4096)                                                           \
    X(unreduced_one, 4628, 0, 20000) /* a ply less beyond; moves that aren't late */            \
    X(unreduced_two, 5772, 0, 20000)                                                            \
    X(raised_reduction, 2, 0, 4) /* plies less for the moves after one that raised alpha */     \
    /* Histories: bonus of the best move, malus of the others */                                \
    X(bonus_slope, 128, 10, 1000)                                                               \
    X(bonus_offset, 77, -500, 1000)                                                             \
    X(bonus_limit, 1529, 100, 8000)                                                             \
    X(bonus_table_move, 353, 0, 4000)                                                           \
    X(bonus_above, 32, 0, 400) /* of the history of the move before */                          \
    X(malus_slope, 882, 10, 4000)                                                               \
    X(malus_offset, 204, -500, 1000)                                                            \
    X(malus_limit, 2122, 100, 8000)                                                             \
    X(malus_before, 616, 0, 4000) /* of the opponent's first move */                            \
    X(quiet_bonus, 806, 0, 4000)                                                                \
    X(quiet_malus, 1113, 0, 4000)                                                               \
    X(quiet_decay, 977, 500, 1024) /* per move tried */                                         \
    X(capture_bonus, 1286, 0, 4000)                                                             \
    X(capture_malus, 1559, 0, 4000)                                                             \
    X(low_ply_bonus, 761, 0, 4000)                                                              \
    X(pawns_bonus, 850, 0, 4000)                                                                \
    X(pawns_malus, 550, 0, 4000)                                                                \
    X(continuation_bonus, 955, 0, 4000)                                                         \
    X(continuation_one, 1157, 0, 4000) /* of the move so many plies before */                   \
    X(continuation_two, 648, 0, 4000)                                                           \
    X(continuation_three, 288, 0, 4000)                                                         \
    X(continuation_four, 576, 0, 4000)                                                          \
    X(continuation_five, 140, 0, 4000)                                                          \
    X(continuation_six, 441, 0, 4000)                                                           \
    X(continuation_extra, 88, 0, 1000)                                                          \
    X(research_bonus, 1426, 0, 8000) /* of a late move that beat alpha */                       \
    /* Bonus of the opponent's move before if all moves fail low: weights, percent */           \
    X(fail_base, -232, -1000, 500)                                                              \
    X(fail_history, 108, 20, 1000) /* divisor */                                                \
    X(fail_slope, 59, 0, 400)                                                                   \
    X(fail_limit, 454, 0, 2000)                                                                 \
    X(fail_late, 169, 0, 1000)                                                                  \
    X(fail_eval, 145, 0, 1000)                                                                  \
    X(fail_above, 154, 0, 1000)                                                                 \
    X(fail_bonus_slope, 135, 10, 1000)                                                          \
    X(fail_bonus_offset, 80, -500, 1000)                                                        \
    X(fail_bonus_limit, 1400, 100, 8000)                                                        \
    X(fail_continuation, 221, 0, 2000) /* 1/16,384 */                                           \
    X(fail_butterfly, 118, 0, 2000)                                                             \
    X(fail_pawns, 580, 0, 4000)                                                                 \
    X(fail_capture, 1018, 0, 8000)                                                              \
    /* Move order: weights of the histories */                                                  \
    X(order_butterfly, 2, 0, 16)                                                                \
    X(order_pawns, 2, 0, 16)                                                                    \
    X(order_low_ply, 8, 0, 64)                                                                  \
    X(order_check, 16384, 0, 100000) /* direct checks that lose at most order_check_loss */     \
    X(order_check_loss, 150, 0, 2000)                                                           \
    X(order_good_quiet, 14000, 0, 100000) /* lower ones follow losing captures */               \
    X(order_gain, 7, 1, 64)                                                                     \
    X(order_good_capture, 9, 1, 100) /* divisor: how much a good capture may lose */            \
    /* Correction history: weights, 1/131,072 centipawns */                                     \
    X(correction_pawns, 12153, 0, 60000)                                                        \
    X(correction_minor, 8620, 0, 60000)                                                         \
    X(correction_pieces, 12355, 0, 60000)                                                       \
    X(correction_moves, 7982, 0, 60000)                                                         \
    X(correction_rate, 100, 10, 1000)     /* of the error times the depth */                    \
    X(correction_fail_low, 142, 10, 1000) /* without a best move */                             \
    /* Quiescence: gain expected beyond material, exchanges, moves */                           \
    X(quiescence_margin, 328, 0, 1000)                                                          \
    X(quiescence_exchange, 146, 0, 600)                                                         \
    X(quiescence_moves, 2, 1, 32)

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
