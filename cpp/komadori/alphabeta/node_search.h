// The principal variation search of one node. Included by worker.h.
//
//   correction           Correction History (Stockfish)
//   reward*              History Heuristic (Schaeffer 1983), continuation, pawn and low-ply history
//   null_move            Null Move Pruning, verified deep in the tree (Stockfish)
//   probe                ProbCut (Buro 1995)
//   prune_early          Razoring; Reverse Futility Pruning; Internal Iterative Reductions
//   is_pruned            Futility Pruning, Late Move Pruning, history pruning (Stockfish), Static
//                        Exchange Evaluation
//   extension            Singular Extensions (Anantharaman, Campbell and Hsu 1988), double, triple
//                        and negative ones, and multi-cut (Stockfish)
//   late_move_reduction  Late Move Reductions
//
// Capitalised names are pages of chessprogramming.org. The conditions and formulas are those of
// YaneuraOu 33ccf1f (August 2026), which follows Stockfish; most numbers are in constants.h.
// Options::parts disables single parts.
#pragma once

#include <algorithm>

#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

// ---- histories

// Sets f->corrections, by the frame's features and the moves before it. Early, when the move is
// made: most entries aren't cached.
template <Evaluator E>
void Worker<E>::find_corrections(Frame* f, Color us) {
    constexpr int SHIFT = 48;
    static_assert(CORRECTIONS == std::size_t(1) << (64 - SHIFT));
    Correction** slot = f->corrections;
    slot[0] = &histories_->pawn_corrections[us][f->keys.pawns >> SHIFT];
    slot[1] = &histories_->minor_corrections[us][f->keys.minor >> SHIFT];
    for (Color side : {BLACK, WHITE})
        slot[2 + side] = &histories_->piece_corrections[side][us][f->keys.pieces[side] >> SHIFT];
    slot[4] = slot[5] = nullptr;
    if (const Move last = (f - 1)->current; !last.is_none()) {
        const Piece p = piece_after(opponent(us), last);
        slot[4] = &(*(f - 2)->correction_row)(p, last.to());
        slot[5] = &(*(f - 4)->correction_row)(p, last.to());
    }
    for (const Correction* c : f->corrections) __builtin_prefetch(c);
}

// The correction of a static evaluation in 1/CORRECTION_UNIT centipawns.
template <Evaluator E>
int Worker<E>::correction(const Frame* f) const {
    constexpr int UNSEEN = 8;
    Correction* const* slot = f->corrections;
    const int moves = slot[4] ? *slot[4] + *slot[5] : UNSEEN;
    return c_.correction_pawns * *slot[0] + c_.correction_minor * *slot[1] +
           c_.correction_pieces * (*slot[2] + *slot[3]) + c_.correction_moves * moves;
}

template <Evaluator E>
void Worker<E>::learn_correction(Frame* f, Score score, int depth, bool has_best) {
    constexpr int WEIGHTS[] = {128, 153, 187, 187, 126, 63};
    constexpr std::int64_t LARGEST = CORRECTION_LIMIT / 4;
    const int rate = has_best ? c_.correction_rate : c_.correction_fail_low;
    const auto error = std::int64_t(score - f->static_eval) * depth * rate / 1024;
    const int bonus = int(std::clamp(error, -LARGEST, LARGEST));
    for (int i = 0; i < 6; ++i) {
        if (f->corrections[i]) *f->corrections[i] << bonus * WEIGHTS[i] / 128;
    }
}

template <Evaluator E>
void Worker<E>::reward_continuation(Frame* f, Piece p, Square to, int bonus) {
    const int weights[] = {c_.continuation_one,  c_.continuation_two,  c_.continuation_three,
                           c_.continuation_four, c_.continuation_five, c_.continuation_six};
    bonus = std::clamp(bonus, -CONTINUATION_LIMIT, CONTINUATION_LIMIT);
    for (int back = 1; back <= 6; ++back) {
        if (f->in_check && back > 2) break;
        if ((f - back)->current.is_none()) continue;
        (*(f - back)->row)(p, to) << bonus * weights[back - 1] / 1024 +
                                         c_.continuation_extra * (back == 1);
    }
}

template <Evaluator E>
void Worker<E>::reward_quiet(Frame* f, Move m, int bonus) {
    const Piece p = piece_after(position_.turn(), m);
    butterfly(position_.turn(), m) << bonus;
    if (f->ply < LOW_PLIES) {
        histories_->low_ply[f->ply][Histories::butterfly_index(m)]
            << bonus * c_.low_ply_bonus / 1024;
    }
    reward_continuation(f, p, m.to(), bonus * c_.continuation_bonus / 1024);
    (*f->pawns)(p, m.to()) << bonus * (bonus > 0 ? c_.pawns_bonus : c_.pawns_malus) / 1024;
}

// After `best` raised alpha or failed high at `depth`.
template <Evaluator E>
void Worker<E>::reward(Frame* f, Move best, Move table_move, int depth, const Tried& tried) {
    const Color us = position_.turn();
    const int bonus = std::min(c_.bonus_slope * depth - c_.bonus_offset, c_.bonus_limit) +
                      c_.bonus_table_move * (best == table_move) +
                      (f - 1)->history * c_.bonus_above / 1024;
    const int malus = std::min(c_.malus_slope * depth - c_.malus_offset, c_.malus_limit);
    if (!best.captured()) {
        reward_quiet(f, best, bonus * c_.quiet_bonus / 1024);
        int quiet_malus = malus * c_.quiet_malus / 1024;
        for (int i = 0; i < tried.quiets; ++i) {
            quiet_malus = quiet_malus * c_.quiet_decay / 1024;
            if (const Move m(tried.quiet[i]); m != best) reward_quiet(f, m, -quiet_malus);
        }
    } else {
        captures(us, best) << bonus * c_.capture_bonus / 1024;
    }
    const Frame* above = f - 1;
    if (const Move last = above->current;
        !last.is_none() && !last.captured() && above->move_count == 1 + above->is_known) {
        reward_continuation(f - 1, piece_after(opponent(us), last), last.to(),
                            -malus * c_.malus_before / 1024);
    }
    for (int i = 0; i < tried.captures; ++i) {
        if (const Move m(tried.capture[i]); m != best)
            captures(us, m) << -malus * c_.capture_malus / 1024;
    }
}

// After all moves failed low: rewards the opponent's move before.
template <Evaluator E>
void Worker<E>::reward_before(Frame* f, Score best, int depth) {
    constexpr Score BELOW_EVAL = 110, BELOW_ABOVE = 73;
    const Frame* above = f - 1;
    const Move last = above->current;
    if (last.is_none()) return;
    const Color them = opponent(position_.turn());
    if (last.captured()) {
        captures(them, last) << c_.fail_capture;
        return;
    }
    const int weight = std::max(
        c_.fail_base - above->history / c_.fail_history +
            std::min(c_.fail_slope * depth, c_.fail_limit) +
            c_.fail_late * (above->move_count > 8) +
            c_.fail_eval * (!f->in_check && best <= f->static_eval - BELOW_EVAL) +
            c_.fail_above * (!above->in_check && best <= -above->static_eval - BELOW_ABOVE),
        0);
    const std::int64_t bonus =
        std::int64_t(weight) *
        std::min(c_.fail_bonus_slope * depth - c_.fail_bonus_offset, c_.fail_bonus_limit) / 16;
    const Piece p = piece_after(them, last);
    reward_continuation(f - 1, p, last.to(), int(bonus * c_.fail_continuation / 1024));
    butterfly(them, last) << int(bonus * c_.fail_butterfly / 1024);
    if (last.moved() != PAWN && !last.is_promotion())
        (*f->pawns)(p, last.to()) << int(bonus * c_.fail_pawns / 1024);
}

// ---- whole nodes

// Null move pruning: if passing the turn still fails high, so should a move. Deep results are
// verified by a search without null moves, because of zugzwang (rare in shogi).
template <Evaluator E>
std::optional<Score> Worker<E>::null_move(Frame* f, Score beta, int depth) {
    constexpr int VERIFY_DEPTH = 16;
    const int reduction = (c_.null_reduction + c_.null_depth_reduction * depth) / 1024;
    make_null(f);
    const Score score = -search<Node::NON_PV>(f + 1, -beta, -beta + 1, depth - reduction, false);
    unmake_null();
    if (is_stopped() || score < beta || score > EVAL_LIMIT) return std::nullopt;
    if (null_move_from_ply_ > 0 || depth < VERIFY_DEPTH) return score;
    null_move_from_ply_ = f->ply + 3 * (depth - reduction) / 4;
    const Score verified = search<Node::NON_PV>(f, beta - 1, beta, depth - reduction, false);
    null_move_from_ply_ = 0;
    return verified >= beta ? std::optional(score) : std::nullopt;
}

// Whether a root move mates within this depth.
template <Evaluator E>
bool Worker<E>::mates(Frame* f, Move m, int depth) {
    f->reduction = 0;
    make(f, m);
    const Score score = -search<Node::NON_PV>(f + 1, -MATE_BOUND, -MATE_BOUND + 1, depth, true);
    unmake();
    return score >= MATE_BOUND;
}

// ProbCut: whether a capture beats `target`, beta and a margin, at reduced depth.
template <Evaluator E>
std::optional<Score> Worker<E>::probe(Frame* f, Score beta, Score target, int depth,
                                      Move table_move, bool cut_node) {
    constexpr int REDUCTION = 4;
    MovePicker picker(position_, *histories_, c_, table_move, 2 * (target - f->static_eval));
    const Bitboard pins = pinned();
    while (true) {
        const Move m = picker.next();
        if (m.is_none()) return std::nullopt;
        if (m == f->excluded || !is_legal_pseudo(position_, pins, m)) continue;
        prefetch(m);
        make(f, m);
        Score score = -quiesce<Node::NON_PV>(f + 1, -target, -target + 1);
        if (score >= target && depth > REDUCTION) {
            score =
                -search<Node::NON_PV>(f + 1, -target, -target + 1, depth - REDUCTION, !cut_node);
        }
        unmake();
        if (is_stopped()) return std::nullopt;
        if (score < target) continue;
        if (parts_.table) {
            shared_.table.store(position_.key(), {.move16 = m.move16(),
                                                  .score = to_table(score, f->ply),
                                                  .eval = f->raw_eval,
                                                  .depth = depth - REDUCTION + 1,
                                                  .bound = Bound::LOWER,
                                                  .was_pv = f->was_pv});
        }
        if (!is_decisive(score)) return score - (target - beta);
    }
}

// Evaluates a node that is not in check and tries the prunings that need no move loop; returns the
// score if one applies. May change the depth.
template <Evaluator E>
template <Node KIND>
std::optional<Score> Worker<E>::prune_early(Frame* f, Score alpha, Score beta, int& depth,
                                            bool cut_node, int prior_reduction,
                                            const TableHit& known, bool& improving) {
    constexpr bool IS_PV = KIND != Node::NON_PV, IS_ROOT = KIND == Node::ROOT;
    const bool excluding = !f->excluded.is_none();
    if (!IS_ROOT && !excluding && has_mate_in_one<KIND>(f, known, depth + PROVEN)) {
        return mate_in(f->ply + 1);
    }
    Score eval = f->static_eval;
    if (!excluding) {
        eval = evaluate_node(f, known);
        if (parts_.table && !known.hit) {
            shared_.table.store(
                position_.key(),
                {.eval = f->raw_eval, .depth = TranspositionTable::DEPTH_MIN, .was_pv = f->was_pv});
        }
    }
    const Frame* above = f - 1;
    const Move last = above->current;
    const Color them = opponent(position_.turn());
    if (!last.is_none() && !above->in_check && !last.captured()) {
        const int fall =
            std::clamp(-(above->static_eval + f->static_eval), -c_.fall_floor, c_.fall_limit) +
            c_.fall_offset;
        butterfly(them, last) << fall * c_.fall_butterfly;
        if (!known.hit && last.moved() != PAWN && !last.is_promotion())
            (*f->pawns)(piece_after(them, last), last.to()) << fall * c_.fall_pawns;
    }
    improving = f->static_eval > (f - 2)->static_eval;
    const bool worsening = f->static_eval > -above->static_eval;  // the opponent's evaluation
    if (prior_reduction >= c_.hindsight_more && !worsening) ++depth;
    if (prior_reduction >= 2 && depth >= 2 &&
        f->static_eval + above->static_eval > c_.hindsight_less) {
        --depth;
    }

    // Razoring: far below alpha, only captures can raise the score enough.
    if (!IS_PV && parts_.razoring && !is_decisive(alpha) &&
        eval < alpha - c_.razor_base - c_.razor_square * depth * depth) {
        return quiesce<Node::NON_PV>(f, alpha, beta);
    }
    // Reverse futility: far above beta near the leaves, the opponent can't recover enough.
    if (parts_.futility && !f->was_pv && depth < c_.reverse_depth && eval >= beta &&
        !is_decisive(beta) && !is_decisive(eval) &&
        (known.move.is_none() || known.move.captured())) {
        const int per_ply = c_.reverse_margin - c_.reverse_unknown * !known.hit;
        const Score margin =
            per_ply * depth -
            (c_.reverse_improving * improving + c_.reverse_worsening * worsening) * per_ply / 1024 +
            std::abs(f->correction) / (100 * c_.reverse_correction);
        if (eval - margin >= beta) return (2 * beta + eval) / 3;
    }
    if (parts_.null_move && cut_node && !excluding && !last.is_none() &&
        f->ply >= null_move_from_ply_ && beta >= -EVAL_LIMIT &&
        f->static_eval >=
            beta - c_.null_per_ply * depth - c_.null_improving * improving + c_.null_base) {
        if (auto score = null_move(f, beta, depth)) return score;
        if (is_stopped()) return 0;
    }
    improving |= f->static_eval >= beta;
    // Internal iterative reduction: without a table move, search less deep.
    if (parts_.table && parts_.reductions && !f->is_last_pv && (IS_PV || cut_node) &&
        depth >= c_.iterative_depth && known.move.is_none() && prior_reduction <= 3) {
        --depth;
    }
    const Score target = beta + c_.probe_margin - c_.probe_improving * improving;
    if (!IS_ROOT && parts_.probing && depth >= 3 && !is_decisive(beta) &&
        !(known.score != NO_SCORE && known.score < target)) {
        return probe(f, beta, target, depth, known.move, cut_node);
    }
    return std::nullopt;
}

// ---- moves

// Whether the move is unlikely to raise the score to alpha. `r` is the reduction, 1/1024 plies.
template <Evaluator E>
template <Node KIND>
bool Worker<E>::is_pruned(Frame* f, Move m, bool gives_check, Score alpha, int depth, int r,
                          Score& best, bool has_best) {
    const Color us = position_.turn();
    int reduced_depth = depth - 1 - r / 1024;
    if (m.captured() || gives_check) {
        const int history = captures(us, m);
        if (!gives_check && reduced_depth < 7 &&
            f->static_eval + c_.capture_base + c_.capture_per_ply * reduced_depth + single_gain(m) +
                    c_.capture_history * history / 1024 <=
                alpha) {
            return true;
        }
        const Score margin =
            std::max(c_.exchange_capture * depth + history * c_.exchange_history / 1024, 0);
        return alpha >= 0 && !exchange_gains(position_, m, -margin);
    }
    if (f->is_last_pv && KIND != Node::NON_PV) return false;
    int history = continuation(f, us, m) + (*f->pawns)(piece_after(us, m), m.to());
    if (history < -c_.history_pruning * depth) return true;
    history += c_.history_main * butterfly(us, m) / 32;
    reduced_depth += history / c_.history_depth;
    const Score hope = f->static_eval + c_.quiet_base + c_.quiet_first * !has_best +
                       c_.quiet_per_ply * reduced_depth + c_.quiet_above * (f->static_eval > alpha);
    if (!f->in_check && reduced_depth < 13 && hope <= alpha) {
        if (best <= hope && !is_decisive(best) && hope <= EVAL_LIMIT) best = hope;
        return true;
    }
    reduced_depth = std::max(reduced_depth, 0);
    return !exchange_gains(position_, m, -c_.exchange_quiet * reduced_depth * reduced_depth);
}

// Whether a piece goes back and forth.
template <Evaluator E>
bool Worker<E>::is_shuffling(const Frame* f, Move m) const {
    if (m.captured() || m.is_drop() || f->ply < 18) return false;
    const Move two = (f - 2)->current, four = (f - 4)->current;
    if (two.is_none() || four.is_none() || two.is_drop() || four.is_drop()) return false;
    return m.from() == two.to() && two.from() == four.to();
}

// Plies to extend the table's move by, if all others fail well below its score; less than none if
// they don't. nullopt with the node's score in `cut` if other moves fail high, too (multi-cut), or
// if the search was stopped.
template <Evaluator E>
std::optional<int> Worker<E>::extension(Frame* f, Move m, Score beta, int depth, bool is_pv,
                                        bool cut_node, const TableHit& known, Score& cut) {
    if (!parts_.singular_extension || m != known.move || !f->excluded.is_none() ||
        depth < c_.singular_depth + f->was_pv || known.score == NO_SCORE ||
        is_decisive(known.score) || !known.bounds(Bound::LOWER) || known.entry.depth < depth - 3 ||
        f->ply >= 2 * iteration_ + 20 || is_shuffling(f, m)) {
        return 0;
    }
    const Score below =
        known.score -
        (c_.singular_margin + c_.singular_was_pv * (f->was_pv && !is_pv)) * depth / 55;
    const int count = f->move_count;  // the search changes it
    f->excluded = m;
    const Score others = search<Node::NON_PV>(f, below - 1, below, (depth - 1) / 2, cut_node);
    f->excluded = Move();
    f->move_count = count;
    if (is_stopped()) {
        cut = 0;
        return std::nullopt;
    }
    if (others < below) {
        const Score error = std::abs(f->correction) / (100 * c_.singular_correction);
        const bool is_quiet = !m.captured(), is_deep = f->ply > iteration_;
        const Score two = c_.double_base + c_.double_pv * is_pv - c_.double_quiet * is_quiet -
                          error - c_.double_history * histories_->table_move / 1024 -
                          c_.double_deep * is_deep;
        const Score three = c_.triple_base + c_.triple_pv * is_pv - c_.triple_quiet * is_quiet +
                            c_.triple_was_pv * f->was_pv - error - c_.triple_deep * is_deep;
        return 1 + (others < below - two) + (others < below - three);
    }
    if (others >= beta && !is_decisive(others)) {
        histories_->table_move << std::max(-424 - 107 * depth, -3375);
        cut = others;
        return std::nullopt;
    }
    return known.score >= beta ? -c_.singular_negative : cut_node ? -c_.singular_cut : 0;
}

// The reduction of a move before pruning, 1/1024 plies.
template <Evaluator E>
int Worker<E>::base_reduction(const Frame* f, int depth, int count, Score window,
                              bool improving) const {
    const int scaled = reductions_(depth, count);
    return scaled + c_.reduction_base - window * c_.reduction_window / std::max(root_window_, 1) +
           !improving * scaled * c_.reduction_worse / 1024 + c_.reduction_pruning * f->was_pv;
}

// Of the current move, which has been made; `r` is its base reduction.
template <Evaluator E>
template <Node KIND>
int Worker<E>::late_move_reduction(const Frame* f, int r, Score alpha, int depth, bool cut_node,
                                   const TableHit& known) const {
    constexpr bool IS_PV = KIND != Node::NON_PV;
    const bool all_node = !IS_PV && !cut_node;
    if (f->was_pv) {
        r -= c_.reduction_was_pv + IS_PV * c_.reduction_pv +
             (known.score != NO_SCORE && known.score > alpha) * c_.reduction_table_above +
             (known.hit && known.entry.depth >= depth) *
                 (c_.reduction_table_deep + cut_node * c_.reduction_table_deep_cut);
    }
    r += c_.reduction_offset - f->move_count * c_.reduction_count -
         std::abs(f->correction) / (100 * c_.reduction_correction);
    if (cut_node) r += c_.reduction_cut + c_.reduction_cut_blind * known.move.is_none();
    if (!known.move.is_none() && known.move.captured()) r += c_.reduction_table_capture;
    if (const int cuts = (f + 1)->cutoffs; cuts > 1) {
        r += c_.reduction_cutoffs + c_.reduction_cutoffs_more * (cuts > 2) +
             c_.reduction_cutoffs_all * all_node;
    }
    if (f->current == known.move) r -= c_.reduction_table_move;
    r -= f->history * c_.reduction_history / 1024;
    if (all_node) r += r * c_.reduction_all / (256 * depth + c_.reduction_all_offset);
    return r;
}

template <Evaluator E>
void Worker<E>::update_root_move(Frame* f, Move m, Score score, Score alpha, Score beta,
                                 std::uint64_t nodes_before) {
    RootMove& r = *std::find_if(root_moves_.begin(), root_moves_.end(),
                                [m](const RootMove& root) { return root.move == m; });
    r.effort += nodes() - nodes_before;
    const std::int64_t square = std::int64_t(score) * std::abs(score);
    const bool is_first = r.average == -INFINITE;
    r.mean_square = is_first ? square : (r.mean_square + square) / 2;
    r.average = is_first ? score : (r.average + score) / 2;
    if (f->move_count > 1 && score <= alpha) {
        r.score = -INFINITE;  // the stable sort keeps the previous order of such moves
        return;
    }
    r.score = score;
    r.bound = score >= beta ? Bound::LOWER : score <= alpha ? Bound::UPPER : Bound::EXACT;
    r.depth = iteration_;
    r.selective_depth = selective_depth_;
    // Of a bound, only a refutation is known, or nothing: that may be the start of the line before.
    const Line& rest = *(f + 1)->line;
    const bool is_known = r.bound != Bound::EXACT && r.pv.size() > std::size_t(rest.length) &&
                          std::equal(rest.moves, rest.moves + rest.length, r.pv.begin() + 1);
    if (is_known) return;
    r.pv.assign(1, m);
    r.pv.insert(r.pv.end(), rest.moves, rest.moves + rest.length);
}

template <Evaluator E>
template <Node KIND>
Score Worker<E>::search(Frame* f, Score alpha, Score beta, int depth, bool cut_node) {
    constexpr bool IS_PV = KIND != Node::NON_PV, IS_ROOT = KIND == Node::ROOT;
    constexpr Node CHILD = IS_PV ? Node::PV : Node::NON_PV;
    if (depth <= 0) {
        if (parts_.quiescence) return quiesce<CHILD>(f, alpha, beta);
        depth = 0;
    }
    depth = std::min(depth, MAX_PLIES - 1);
    if (IS_PV) f->line->length = 0;
    if (--calls_left_ <= 0) check_limits();
    f->in_check = position_.in_check();
    f->move_count = 0;
    f->history = 0;
    selective_depth_ = std::max(selective_depth_, f->ply + 1);
    const Color us = position_.turn();
    const bool excluding = !f->excluded.is_none();

    if (is_stopped()) return 0;
    if (!IS_ROOT) {
        if (Score terminal; is_terminal(f, terminal)) return terminal;
        if (f->ply >= MAX_PLIES) return f->in_check ? draw_score() : evaluate_here();
        if (parts_.mate_distance) {
            alpha = std::max(alpha, mated_in(f->ply));
            beta = std::min(beta, mate_in(f->ply + 1));
            if (alpha >= beta) return alpha;
        }
        if (depth == 0) {  // quiescence is disabled
            return position_.count_legal_moves() == 0 ? mated_in(f->ply) : evaluate_here();
        }
    }
    f->is_last_pv = IS_ROOT || ((f - 1)->is_last_pv && std::size_t(f->ply) <= last_pv_.size() &&
                                (f - 1)->current == last_pv_[std::size_t(f->ply - 1)]);
    const int prior_reduction = (f - 1)->reduction;
    (f - 1)->reduction = 0;
    (f + 1)->excluded = Move();
    (f + 2)->cutoffs = 0;

    const std::uint64_t key = position_.key();
    TableHit known = look_up(f, key);
    if (IS_ROOT) known.move = root_moves_[rank_].move;
    f->is_known = known.hit;
    if (!excluding) f->was_pv = IS_PV || (known.hit && known.entry.was_pv);
    if (!IS_PV && !excluding && known.allows_cutoff(beta, depth + (known.score > beta)) &&
        (cut_node == (known.score >= beta) || depth > 5)) {
        if (!known.move.is_none() && known.score >= beta) {
            if (!known.move.captured()) {
                reward_quiet(f, known.move,
                             std::min(c_.table_bonus_slope * depth - c_.table_bonus_offset,
                                      c_.table_bonus_limit));
            }
            if (const Move last = (f - 1)->current;
                !last.is_none() && !last.captured() && (f - 1)->move_count <= 4) {
                reward_continuation(f - 1, piece_after(opponent(us), last), last.to(),
                                    -c_.table_cut_malus);
            }
        }
        return known.score;
    }
    f->correction = has_corrections_ ? correction(f) : 0;
    bool improving = false;  // not in the frame: other searches of this node have their own
    if (f->in_check) {
        f->static_eval = (f - 2)->static_eval;
        f->raw_eval = NO_SCORE;
    } else if (auto score = prune_early<KIND>(f, alpha, beta, depth, cut_node, prior_reduction,
                                              known, improving)) {
        return *score;
    }
    if (is_stopped()) return 0;  // the searches above may have been interrupted
    depth = std::max(depth, 1);  // whatever it was reduced by
    if (!IS_ROOT && parts_.probing && known.bounds(Bound::LOWER) &&
        known.entry.depth >= depth - 4 && known.score >= beta + c_.probe_table_margin &&
        !is_decisive(beta) && !is_decisive(known.score)) {
        return beta + c_.probe_table_margin;
    }

    OrderingHints order = hints(f, known.move);
    if (!excluding) order.priors = priors(IS_ROOT, depth);
    MovePicker picker(position_, *histories_, c_, order, MovePicker::Aim::SEARCH,
                      IS_ROOT || parts_.all_moves);
    const Bitboard pins = pinned();
    Score best = -INFINITE;
    Move best_move;
    bool skip_quiets = false;
    int count = 0;
    Tried tried;

    while (true) {
        Move m = picker.next(skip_quiets);
        if (m.is_none()) break;
        if (m == f->excluded) continue;
        if (IS_ROOT) {
            const auto r = std::find_if(root_moves_.begin() + long(rank_), root_moves_.end(),
                                        [m](const RootMove& root) { return root.move == m; });
            if (r == root_moves_.end()) continue;
            if (r->is_idle()) {
                const bool is_needed = mates(f, m, depth - 1) && !mates(f, r->twin, depth + 1);
                if (is_stopped()) return 0;
                if (!is_needed) {
                    r->score = -INFINITE;
                    continue;
                }
            }
        } else if (!is_legal_pseudo(position_, pins, m)) {
            continue;
        }
        const std::uint64_t nodes_before = nodes();
        f->move_count = ++count;
        const bool capture = m.captured() != 0, gives_check = position_.gives_check(m);
        if (IS_PV) (f + 1)->line->length = 0;
        int r = parts_.reductions ? base_reduction(f, depth, count, beta - alpha, improving) : 0;
        if (!IS_ROOT && best >= -EVAL_LIMIT && parts_.futility) {
            skip_quiets |=
                10 * count >= (c_.late_base + c_.late_square * depth * depth) / (2 - improving);
            if (is_pruned<KIND>(f, m, gives_check, alpha, depth, r, best, !best_move.is_none()))
                continue;
        }
        prefetch(m);
        int new_depth = depth - 1, extended = 0;
        if (!IS_ROOT) {
            Score cut;
            const auto plies = extension(f, m, beta, depth, IS_PV, cut_node, known, cut);
            if (!plies) return cut;
            extended = *plies;
            new_depth += extended;
            depth += extended > 0;
        }
        f->history = capture ? c_.reduction_gain * single_gain(m) / 128 + captures(us, m)
                             : 2 * butterfly(us, m) + continuation(f, us, m);
        if (count > 1) {
            if (const Move next = picker.expected(); !next.is_none()) prefetch(next);
        }
        make(f, m);
        if (parts_.reductions) r = late_move_reduction<KIND>(f, r, alpha, depth, cut_node, known);
        Score score = -INFINITE;
        if (parts_.reductions && depth >= 2 && count > 1) {
            const int reduced =
                std::clamp(new_depth - r / 1024, 1, std::max(new_depth + 2, 1)) + IS_PV;
            f->reduction = new_depth - reduced;
            score = -search<Node::NON_PV>(f + 1, -alpha - 1, -alpha, reduced, true);
            f->reduction = 0;
            if (score > alpha) {
                new_depth += reduced < new_depth && score > best + c_.deeper;
                new_depth -= score < best + c_.shallower;
                if (reduced < new_depth) {
                    score = -search<Node::NON_PV>(f + 1, -alpha - 1, -alpha, new_depth, !cut_node);
                }
                reward_continuation(f, piece_after(us, m), m.to(), c_.research_bonus);
            }
        } else if (!IS_PV || count > 1) {
            r += c_.unreduced_blind * known.move.is_none();
            const int less = parts_.reductions *
                             ((r > c_.unreduced_one) + (r > c_.unreduced_two && new_depth > 2));
            score = -search<Node::NON_PV>(f + 1, -alpha - 1, -alpha, new_depth - less, !cut_node);
        }
        if (IS_PV && (count == 1 || score > alpha)) {
            if (m == known.move && known.hit && known.entry.depth > 1) {
                new_depth = std::max(new_depth, 1);
            }
            score = -search<Node::PV>(f + 1, -beta, -alpha, new_depth, false);
        }
        unmake();
        if (is_stopped()) return 0;

        if (IS_ROOT) update_root_move(f, m, score, alpha, beta, nodes_before);
        // Near the leaves, one in eight moves that equal the best one replaces it.
        const int more = !IS_PV && score == best && f->ply + 2 >= iteration_ &&
                         (nodes() & 14) == 0 && !is_decisive(std::abs(score) + 1);
        if (score + more > best) {
            best = score;
            if (score + more > alpha) {
                best_move = m;
                if (IS_PV && !IS_ROOT) f->line->set(m, *(f + 1)->line);
                if (score >= beta) {
                    f->cutoffs += extended < 2 || IS_PV;
                    cutoffs_.count(depth, count == 1);
                    break;
                }
                alpha = score;
                if (parts_.reductions && depth > 2 && depth < 14 && !is_decisive(score)) {
                    depth = std::max(depth - c_.raised_reduction, 1);
                }
            }
        }
        if (m != best_move && count <= Tried::CAPACITY) tried.add(m, capture);
    }

    if (count == 0) {
        if (excluding) return alpha;
        best = mated_in(f->ply);
        depth = std::min(depth + PROVEN, MAX_PLIES - 1);
    }
    if (best >= beta && !is_decisive(best) && !is_decisive(alpha))
        best = (best * depth + beta) / (depth + 1);
    if (!best_move.is_none()) {
        reward(f, best_move, known.move, depth, tried);
        if (!IS_PV) histories_->table_move << (best_move == known.move ? 805 : -787);
    } else if (count > 0) {
        reward_before(f, best, depth);
    }
    if (best <= alpha) f->was_pv = f->was_pv || (f - 1)->was_pv;

    if (parts_.table && !excluding && !(IS_ROOT && rank_ > 0)) {
        Bound bound = best >= beta                    ? Bound::LOWER
                      : IS_PV && !best_move.is_none() ? Bound::EXACT
                                                      : Bound::UPPER;
        shared_.table.store(key, {.move16 = best_move.move16(),
                                  .score = to_table(best, f->ply),
                                  .eval = f->raw_eval,
                                  .depth = depth,
                                  .bound = bound,
                                  .was_pv = f->was_pv});
    }
    if (has_corrections_ && !f->in_check && (best_move.is_none() || !best_move.captured()) &&
        (best > f->static_eval) == !best_move.is_none()) {
        learn_correction(f, best, depth, !best_move.is_none());
    }
    return best;
}

}  // namespace komadori::alphabeta
