// Quiescence search: until nothing hangs, so that the evaluation can be trusted.
// Included by worker.h.
#pragma once

#include <algorithm>

#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

// depth 0 and below. Out of check: the side may stand pat; captures and promotions of pawns, at
// depth 0 also quiet checks, from RECAPTURE_DEPTH down only taking back. In check: every evasion.
template <Evaluator E>
template <Node KIND>
Score Worker<E>::quiesce(Frame* f, Score alpha, Score beta, int depth) {
    constexpr bool IS_PV = KIND != Node::NON_PV;
    constexpr int RECAPTURE_DEPTH = -5;
    constexpr Score MARGIN = 150;  // what a capture may bring beyond material

    if (IS_PV) f->line->length = 0;
    if (--calls_left_ <= 0) check_limits();
    f->in_check = position_.in_check();
    selective_depth_ = std::max(selective_depth_, f->ply + 1);
    if (is_stopped()) return 0;
    if (Score settled; is_settled(f, settled)) return settled;
    if (f->ply >= MAX_PLIES) return f->in_check ? draw_score() : evaluate_here();

    int table_depth = f->in_check || depth >= 0 ? 0 : -1;
    std::uint64_t key = position_.key();
    TableEntry entry;
    f->table_hit = use_table_ && shared_.table.probe(key, entry);
    Score table_score = f->table_hit ? from_table(entry.score, f->ply) : NO_SCORE;
    bool was_pv = f->table_hit && entry.was_pv;
    if (!IS_PV && f->table_hit && entry.depth >= table_depth && table_score != NO_SCORE &&
        allows(entry.bound, table_score >= beta ? Bound::LOWER : Bound::UPPER)) {
        return table_score;
    }
    Move table_move = f->table_hit ? position_.from_move16(entry.move16) : Move();
    if (!f->in_check && !table_move.is_none() && !is_capture(table_move) && depth < 0) {
        table_move = Move();
    }

    Score best = -INFINITE, margin_base = -INFINITE;
    Score old_alpha = alpha;
    f->static_eval = NO_SCORE;
    if (!f->in_check) {
        if (parts_.mate_in_one && !f->table_hit && !position_.mate_in_one().is_none()) {
            return mate_in(f->ply + 1);
        }
        f->static_eval = f->table_hit && entry.eval != NO_SCORE ? entry.eval : evaluate_here();
        best = f->static_eval;
        if (f->table_hit && table_score != NO_SCORE &&
            allows(entry.bound, table_score > best ? Bound::LOWER : Bound::UPPER)) {
            best = table_score;
        }
        if (best >= beta) {
            if (use_table_ && !f->table_hit) {
                shared_.table.store(key, {.score = to_table(best, f->ply),
                                          .eval = f->static_eval,
                                          .depth = TranspositionTable::DEPTH_MIN,
                                          .bound = Bound::LOWER});
            }
            return best;
        }
        alpha = std::max(alpha, best);
        margin_base = f->static_eval + MARGIN;
    }

    bool has_last = !(f - 1)->current.is_none();
    Square last_to = has_last ? (f - 1)->current.to() : NO_SQUARE;
    using Aim = MovePicker::Aim;
    Aim aim = depth >= 0                             ? Aim::CAPTURES_AND_CHECKS
              : depth > RECAPTURE_DEPTH || !has_last ? Aim::CAPTURES
                                                     : Aim::RECAPTURES;
    MovePicker picker(position_, *histories_, hints(f, table_move), aim, depth, parts_.all_moves,
                      last_to);
    Bitboard held = pinned();
    Move best_move;
    int tried = 0;
    while (true) {
        Move m = picker.next();
        if (m.is_none()) break;
        if (!is_legal_pseudo(position_, held, m)) continue;
        ++tried;
        if (!f->in_check && parts_.futility && best > -MATE_BOUND) {
            bool gives_check = position_.gives_check(m);
            if (!gives_check && m.to() != last_to) {
                Score hoped = margin_base + gain(m);
                if (hoped <= alpha) {
                    best = std::max(best, hoped);
                    continue;
                }
                if (margin_base <= alpha && !exchange_gains(position_, m, 1)) {
                    best = std::max(best, margin_base);
                    continue;
                }
            }
            if (!exchange_gains(position_, m, 0)) continue;
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

    if (use_table_) {
        Bound bound = best >= beta                ? Bound::LOWER
                      : IS_PV && best > old_alpha ? Bound::EXACT
                                                  : Bound::UPPER;
        shared_.table.store(key, {.move16 = best_move.move16(),
                                  .score = to_table(best, f->ply),
                                  .eval = f->static_eval,
                                  .depth = table_depth,
                                  .bound = bound,
                                  .was_pv = was_pv});
    }
    return best;
}

}  // namespace komadori::alphabeta
