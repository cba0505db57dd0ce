// Quiescence search. Included by worker.h.
#pragma once

#include <algorithm>

#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

// Not in check: stand pat and captures. In check: every evasion until one doesn't lose, then
// captures only.
template <Evaluator E>
template <Node KIND>
Score Worker<E>::quiesce(Frame* f, Score alpha, Score beta) {
    constexpr bool IS_PV = KIND != Node::NON_PV;
    if (IS_PV) f->line->length = 0;
    if (--calls_left_ <= 0) check_limits();
    f->in_check = position_.in_check();
    selective_depth_ = std::max(selective_depth_, f->ply + 1);
    if (is_stopped()) return 0;
    if (Score terminal; is_terminal(f, terminal)) return terminal;
    if (f->ply >= MAX_PLIES) return f->in_check ? draw_score() : evaluate_here();

    const std::uint64_t key = position_.key();
    const TableHit known = look_up(f, key);
    f->is_known = known.hit;
    if (!IS_PV && known.allows_cutoff(beta, 0)) return known.score;

    Score best = -INFINITE, margin_base = -INFINITE;
    if (!f->in_check) {
        if (has_mate_in_one<KIND>(f, known, 0)) return mate_in(f->ply + 1);
        f->correction = has_corrections_ ? correction(f) : 0;
        best = evaluate_node(f, known);
        if (is_decisive(best)) best = f->static_eval;
        if (best >= beta) {
            if (!is_decisive(best)) best = (best + beta) / 2;
            if (parts_.table && !known.hit) {
                shared_.table.store(key, {.score = to_table(best, f->ply),
                                          .eval = f->raw_eval,
                                          .depth = TranspositionTable::DEPTH_MIN,
                                          .bound = Bound::LOWER});
            }
            return best;
        }
        alpha = std::max(alpha, best);
        margin_base = f->static_eval + c_.quiescence_margin;
    } else {
        f->raw_eval = NO_SCORE;
    }

    const Square last_to = (f - 1)->current.is_none() ? NO_SQUARE : (f - 1)->current.to();
    MovePicker picker(position_, *histories_, c_, hints(f, known.move), MovePicker::Aim::CAPTURES,
                      parts_.all_moves);
    std::optional<Bitboard> pins;  // computed at the first move
    Move best_move;
    int count = 0;
    while (true) {
        const Move m = picker.next();
        if (m.is_none()) break;
        if (!pins) pins = pinned();
        if (!is_legal_pseudo(position_, *pins, m)) continue;
        ++count;
        const bool capture = m.captured() != 0;
        if (parts_.futility && best >= -EVAL_LIMIT) {
            if (margin_base >= -EVAL_LIMIT && m.to() != last_to && !position_.gives_check(m)) {
                if (count > c_.quiescence_moves) continue;
                const Score hope = margin_base + single_gain(m);
                if (hope <= alpha) {
                    best = std::max(best, hope);
                    continue;
                }
                if (!exchange_gains(position_, m, 2 * (alpha - margin_base))) {
                    best = std::max(best, std::min(alpha, margin_base));
                    continue;
                }
            }
            if (!capture) continue;
            if (!exchange_gains(position_, m, -c_.quiescence_exchange)) continue;
        }
        prefetch(m);
        make(f, m);
        const Score score = -quiesce<KIND>(f + 1, -beta, -alpha);
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
    if (f->in_check && count == 0) return mated_in(f->ply);
    if (best > beta && !is_decisive(best)) best = (best + beta) / 2;
    if (parts_.table) {
        shared_.table.store(key, {.move16 = best_move.move16(),
                                  .score = to_table(best, f->ply),
                                  .eval = f->raw_eval,
                                  .depth = 0,
                                  .bound = best >= beta ? Bound::LOWER : Bound::UPPER,
                                  .was_pv = known.hit && known.entry.was_pv});
    }
    return best;
}

}  // namespace komadori::alphabeta
