// Quiescence search. Included by worker.h.
#pragma once

#include <algorithm>

#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

// For depths of 0 and below. Not in check: stand pat, captures and pawn promotions, at depth 0 also
// quiet checks, from RECAPTURE_DEPTH down recaptures only. In check: every evasion.
template <Evaluator E>
template <Node KIND>
Score Worker<E>::quiesce(Frame* f, Score alpha, Score beta, int depth) {
    constexpr bool IS_PV = KIND != Node::NON_PV;
    // Below TABLE_DEPTH the table and mate in one don't pay: most nodes are there, and few of their
    // positions recur. How it was chosen: docs/results/alphabeta.md. The others are untuned.
    constexpr int TABLE_DEPTH = -2, RECAPTURE_DEPTH = -5;

    if (IS_PV) f->line->length = 0;
    if (--calls_left_ <= 0) check_limits();
    f->in_check = position_.in_check();
    selective_depth_ = std::max(selective_depth_, f->ply + 1);
    if (is_stopped()) return 0;
    if (Score terminal; is_terminal(f, terminal)) return terminal;
    if (f->ply >= MAX_PLIES) return f->in_check ? draw_score() : evaluate_here();

    const int table_depth = f->in_check || depth >= 0 ? 0 : -1;
    const std::uint64_t key = position_.key();
    const bool uses_table = parts_.table && depth >= TABLE_DEPTH;
    TableHit known;
    if (uses_table) known = look_up(f, key);
    if (!IS_PV && known.allows_cutoff(beta, table_depth)) return known.score;
    if (!f->in_check && depth < 0 && !known.move.is_none() && !is_capture(known.move)) {
        known.move = Move();
    }

    Score best = -INFINITE, margin_base = -INFINITE;
    const Score old_alpha = alpha;
    f->static_eval = f->raw_eval = NO_SCORE;
    if (!f->in_check) {
        best = evaluate_node(f, known);
        if (best >= beta) {
            if (!is_decisive(best)) best -= (best - beta) * c_.soft_quiescence / 1024;
            if (uses_table && !known.hit) {
                shared_.table.store(key, {.score = to_table(best, f->ply),
                                          .eval = f->raw_eval,
                                          .depth = TranspositionTable::DEPTH_MIN,
                                          .bound = Bound::LOWER});
            }
            return best;
        }
        if (depth >= TABLE_DEPTH && !known.has_no_mate_in_one() && has_mate_in_one<KIND>(f)) {
            return mate_in(f->ply + 1);
        }
        alpha = std::max(alpha, best);
        margin_base = f->static_eval + c_.quiescence_margin;
    }

    bool has_last = !(f - 1)->current.is_none();
    Square last_to = has_last ? (f - 1)->current.to() : NO_SQUARE;
    using Aim = MovePicker::Aim;
    Aim aim = depth >= 0                             ? Aim::CAPTURES_AND_CHECKS
              : depth > RECAPTURE_DEPTH || !has_last ? Aim::CAPTURES
                                                     : Aim::RECAPTURES;
    MovePicker picker(position_, *histories_,
                      f->in_check ? hints(f, known.move) : OrderingHints{.table_move = known.move},
                      aim, parts_.all_moves, last_to);
    std::optional<Bitboard> pins;  // computed at the first move that isn't pruned
    Move best_move;
    int tried = 0;
    while (true) {
        Move m = picker.next();
        if (m.is_none()) break;
        if (!f->in_check && parts_.futility && best > -MATE_BOUND) {
            Score threshold = 0;  // of the static exchange
            if (margin_base <= alpha && m.to() != last_to && !position_.gives_check(m)) {
                Score futility_value = margin_base + gain(m);
                if (futility_value <= alpha) {
                    best = std::max(best, futility_value);
                    continue;
                }
                threshold = 1;
            }
            if (depth > TABLE_DEPTH) prefetch(m);
            if (!exchange_gains(position_, m, threshold)) {
                if (threshold > 0) best = std::max(best, margin_base);
                continue;
            }
        } else {
            if (depth > TABLE_DEPTH) prefetch(m);
        }
        if (!pins) pins = pinned();
        if (!is_legal_pseudo(position_, *pins, m)) continue;
        if (++tried > 1 && depth > TABLE_DEPTH) {
            if (const Move next = picker.expected(); !next.is_none()) prefetch(next);
        }
        make(f, m);
        Score score = -quiesce<KIND>(f + 1, -beta, -alpha, depth - 1);
        unmake();
        if (is_stopped()) return 0;
        if (score <= best) continue;
        best = score;
        if (score <= alpha) continue;
        best_move = m;
        if (IS_PV) f->line->set(m, *(f + 1)->line);
        if (score >= beta) break;
        alpha = score;
    }
    if (f->in_check && tried == 0) return mated_in(f->ply);
    if (best >= beta && !is_decisive(best)) best -= (best - beta) * c_.soft_quiescence / 1024;

    if (uses_table) {
        Bound bound = best >= beta                ? Bound::LOWER
                      : IS_PV && best > old_alpha ? Bound::EXACT
                                                  : Bound::UPPER;
        shared_.table.store(key, {.move16 = best_move.move16(),
                                  .score = to_table(best, f->ply),
                                  .eval = f->raw_eval,
                                  .depth = table_depth,
                                  .bound = bound,
                                  .was_pv = known.hit && known.entry.was_pv});
    }
    return best;
}

}  // namespace komadori::alphabeta
