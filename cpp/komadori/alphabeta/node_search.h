// The principal variation search of one node. Included by worker.h.
//
//   null_move            Null Move Pruning, verified deep in the tree (Stockfish)
//   probe                ProbCut (Buro 1995)
//   prune_early          Razoring; Reverse Futility Pruning; Internal Iterative Reductions
//   is_futile            Futility Pruning, Late Move Pruning, history pruning (Stockfish)
//   fails_exchange       Static Exchange Evaluation
//   extension            Singular Extensions (Anantharaman, Campbell and Hsu 1988), negative
//                        extensions and multi-cut (Stockfish); Check Extensions
//   late_move_reduction  Late Move Reductions
//   reward*              History Heuristic (Schaeffer 1983), Countermove, continuation history
//   correction           Correction History (Stockfish)
//
// Capitalised names are pages of chessprogramming.org. The numbers are in constants.h, tuned by
// games; those here, in history.h and picker.cpp are of the first versions of the search and were
// not. Options::parts disables single parts.
#pragma once

#include <algorithm>
#include <cmath>

#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

inline int bonus_of(const Constants& c, int depth) {
    return std::min(c.bonus_slope * depth - c.bonus_offset, c.bonus_limit);
}
inline int malus_of(const Constants& c, int depth) {
    return -std::min(c.malus_slope * depth - c.malus_offset, c.malus_limit);
}

template <Evaluator E>
Score Worker<E>::correction(Frame* f) {
    const Color us = position_.turn();
    std::uint64_t moves = 0;
    for (int back : {1, 2}) {
        const Move m = (f - back)->current;
        moves = (moves ^ m.raw()) * GOLDEN_64;
    }
    Correction** slot = f->corrections;
    slot[0] = &histories_->pawn_corrections[us][pawn_key() >> 40 & (CORRECTIONS - 1)];
    for (Color side : {BLACK, WHITE}) {
        std::uint64_t key = 0;
        for (PieceType t : {LANCE, KNIGHT, SILVER, BISHOP, ROOK, KING})
            key = mix(key, position_.pieces(side, t));
        key = mix(key, position_.golds() & position_.pieces(side));
        slot[1 + side] = &histories_->piece_corrections[side][us][key >> 40 & (CORRECTIONS - 1)];
    }
    slot[3] = &histories_->move_corrections[us][moves >> 40 & (CORRECTIONS - 1)];
    return (c_.correction_pawns * *slot[0] + c_.correction_pieces * (*slot[1] + *slot[2]) +
            c_.correction_moves * *slot[3]) /
           CORRECTION_LIMIT;
}

template <Evaluator E>
void Worker<E>::learn_correction(Frame* f, Score score, int depth) {
    constexpr std::int64_t LARGEST = CORRECTION_LIMIT / 4;
    const auto error = std::int64_t(score - f->static_eval) * depth;
    const int bonus = int(std::clamp(error * c_.correction_rate / 1024, -LARGEST, LARGEST));
    for (Correction* c : f->corrections) *c << bonus;
}

template <Evaluator E>
void Worker<E>::reward_continuation(Frame* f, Piece p, Square to, int bonus) {
    for (int back : {1, 2, 4, 6}) {
        if (f->in_check && back > 2) break;
        if (!(f - back)->current.is_none())
            (*(f - back)->row)(p, to) << bonus / (1 + 3 * (back == 6));
    }
}

template <Evaluator E>
void Worker<E>::reward_quiet(Frame* f, Move m, int bonus) {
    histories_->butterfly[position_.turn()][Histories::butterfly_index(m)] << bonus;
    if (c_.order_pawns) {
        histories_->pawns[pawn_row()](piece_after(position_.turn(), m), m.to()) << bonus;
    }
    if (c_.order_low_ply && f->ply < LOW_PLIES) {
        histories_->low_ply[f->ply][Histories::butterfly_index(m)] << bonus;
    }
    reward_continuation(f, piece_after(position_.turn(), m), m.to(), bonus);
}

// Null move pruning: if passing the turn still fails high, so should a move. Deep results are
// verified by a search without null moves, because of zugzwang (rare in shogi).
template <Evaluator E>
std::optional<Score> Worker<E>::null_move(Frame* f, Score beta, int depth, Score eval,
                                          bool cut_node) {
    constexpr int VERIFY_DEPTH = 12;
    if (!parts_.null_move || (f - 1)->current.is_none() || eval < beta ||
        f->static_eval <
            beta - c_.null_per_ply * depth - c_.null_improving * f->improving + c_.null_base ||
        !f->excluded.is_none() || (c_.null_cut_only && !cut_node) || f->ply < null_move_from_ply_ ||
        is_decisive(beta)) {
        return std::nullopt;
    }
    int reduction = (c_.null_reduction + c_.null_depth_reduction * depth) / 1024 +
                    std::min((eval - beta) / c_.null_eval_divisor, 4);
    f->reduction = 0;
    make_null(f);
    Score null_score = -search<Node::NON_PV>(f + 1, -beta, -beta + 1, depth - reduction, !cut_node);
    unmake_null();
    if (is_stopped() || null_score < beta) return std::nullopt;
    Score score = is_decisive(null_score) ? beta : null_score;
    if (null_move_from_ply_ > 0 || depth < VERIFY_DEPTH) return score;
    null_move_from_ply_ = f->ply + 3 * (depth - reduction) / 4;
    Score verified = search<Node::NON_PV>(f, beta - 1, beta, depth - reduction, false);
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

// ProbCut: whether a capture beats beta by a margin at reduced depth.
constexpr int PROBE_REDUCTION = 4;

template <Evaluator E>
std::optional<Score> Worker<E>::probe(Frame* f, Score beta, int depth, Move table_move,
                                      bool cut_node) {
    Score target = beta + c_.probe_margin - c_.probe_improving * f->improving;
    f->reduction = 0;
    MovePicker picker(position_, *histories_, table_move, target - f->static_eval);
    Bitboard pins = pinned();
    while (true) {
        Move m = picker.next();
        if (m.is_none()) return std::nullopt;
        if (m == f->excluded || !is_legal_pseudo(position_, pins, m)) continue;
        prefetch(m);
        make(f, m);
        Score score = -quiesce<Node::NON_PV>(f + 1, -target, -target + 1, 0);
        if (score >= target) {
            score = -search<Node::NON_PV>(f + 1, -target, -target + 1, depth - PROBE_REDUCTION,
                                          !cut_node);
        }
        unmake();
        if (is_stopped()) return std::nullopt;
        if (score < target) continue;
        if (parts_.table && f->excluded.is_none()) {
            shared_.table.store(position_.key(), {.move16 = m.move16(),
                                                  .score = to_table(score, f->ply),
                                                  .eval = f->raw_eval,
                                                  .depth = depth - PROBE_REDUCTION + 1,
                                                  .bound = Bound::LOWER,
                                                  .was_pv = f->was_pv});
        }
        return score;
    }
}

// Evaluates a node that is not in check and tries the prunings that need no move loop; returns the
// score if one applies. May reduce the depth.
template <Evaluator E>
template <Node KIND>
std::optional<Score> Worker<E>::prune_early(Frame* f, Score alpha, Score beta, int& depth,
                                            bool cut_node, const TableHit& known) {
    constexpr bool IS_PV = KIND != Node::NON_PV;
    const bool excluding = !f->excluded.is_none();
    if (KIND != Node::ROOT && !known.has_no_mate_in_one() && !excluding &&
        has_mate_in_one<KIND>(f)) {
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
    Score earlier = (f - 2)->static_eval != NO_SCORE ? (f - 2)->static_eval : (f - 4)->static_eval;
    f->improving = earlier == NO_SCORE || f->static_eval > earlier;
    const Frame* above = f - 1;
    if (KIND != Node::ROOT && !excluding && above->static_eval != NO_SCORE) {
        const Score rise = f->static_eval + above->static_eval;  // of the opponent's loss
        if (c_.evaluation_bonus && !above->current.is_none() && !is_capture(above->current)) {
            const int bonus = std::clamp(-c_.evaluation_bonus * rise, -2000, 2000);
            histories_->butterfly[opponent(position_.turn())]
                                 [Histories::butterfly_index(above->current)]
                << bonus;
        }
        // The nominal reduction, before the depth limits it. With the actual one, the search loses
        // (docs/results/alphabeta.md).
        if (c_.hindsight_more && above->reduction >= c_.hindsight_more && rise <= 0) ++depth;
        if (c_.hindsight_less && above->reduction >= 2048 && depth >= 2 &&
            rise > c_.hindsight_less) {
            --depth;
        }
    }

    if (!IS_PV) {
        // Razoring: far below alpha near the leaves, only captures can raise the score enough.
        if (parts_.razoring && depth <= 4 && !is_decisive(alpha) && !excluding &&
            eval < alpha - c_.razor_base - c_.razor_square * depth * depth) {
            Score score = quiesce<Node::NON_PV>(f, alpha - 1, alpha, 0);
            if (score < alpha) return score;
        }
        // Reverse futility: far above beta near the leaves, the opponent can't recover enough.
        if (parts_.futility && !f->was_pv && depth < c_.reverse_depth && !excluding &&
            !is_decisive(eval) && !is_decisive(beta) &&
            eval - c_.reverse_margin * depth + c_.reverse_improving * f->improving -
                    (f - 1)->history * c_.reverse_history / 1024 >=
                beta) {
            return eval - (eval - beta) * c_.soft_reverse / 1024;
        }
        if (auto score = null_move(f, beta, depth, eval, cut_node)) return score;
        if (is_stopped()) return 0;
    }
    // Internal iterative reduction: without a table move, search less deep.
    if (parts_.table && parts_.reductions && known.move.is_none()) {
        if (IS_PV && depth >= 4) depth -= c_.iterative_pv;
        if (cut_node && depth >= 8) depth -= c_.iterative_cut;
    }
    bool refuted = known.hit && known.entry.depth >= depth - PROBE_REDUCTION + 1 &&
                   known.score != NO_SCORE && known.score < beta + c_.probe_margin;
    if (!IS_PV && parts_.probing && c_.probe_table_margin && !excluding && !is_decisive(beta) &&
        known.bounds(Bound::LOWER) && known.entry.depth >= depth - 4 &&
        known.score >= beta + c_.probe_table_margin && !is_decisive(known.score)) {
        return beta + c_.probe_table_margin;
    }
    if (!IS_PV && parts_.probing && depth > PROBE_REDUCTION && !is_decisive(beta) && !refuted) {
        return probe(f, beta, depth, known.move, cut_node);
    }
    return std::nullopt;
}

// Whether to prune a move at this depth: because of its history, or because it is unlikely to raise
// the score to alpha. If a quiet move is futile, so are all quiet moves with a lower history.
template <Evaluator E>
bool Worker<E>::is_futile(const Frame* f, Move m, int history, bool gives_check, Score alpha,
                          int depth, int reduced_depth) const {
    if (gives_check) return false;
    if (is_capture(m)) {
        return reduced_depth < 7 && !f->in_check &&
               f->static_eval + c_.capture_base + c_.capture_per_ply * reduced_depth + gain(m) <=
                   alpha;
    }
    if (reduced_depth < 6 && history < -c_.history_pruning * depth) return true;
    reduced_depth = std::max(reduced_depth + history / c_.history_depth, 0);
    return !f->in_check && reduced_depth < 12 &&
           f->static_eval + c_.quiet_base + c_.quiet_per_ply * reduced_depth <= alpha;
}

// Whether to prune a move at this depth because its static exchange loses too much.
template <Evaluator E>
bool Worker<E>::fails_exchange(Move m, int history, bool gives_check, int depth,
                               int reduced_depth) const {
    if (is_capture(m) || gives_check) {
        const int history_margin = is_capture(m) ? capture_history(m) * c_.exchange_history : 0;
        return !exchange_gains(position_, m, -c_.exchange_capture * depth - history_margin / 1024);
    }
    reduced_depth = std::max(reduced_depth + history / c_.history_depth, 0);
    return !exchange_gains(position_, m, -c_.exchange_quiet * reduced_depth * reduced_depth);
}

// Plies to extend the move by. nullopt if the node returns at once: by multi-cut (other moves fail
// high too) or because the search was stopped.
template <Evaluator E>
std::optional<int> Worker<E>::extension(Frame* f, Move m, bool gives_check, Score beta, int depth,
                                        bool is_pv, bool cut_node, const TableHit& known) {
    // Singular extension: all other moves fail well below the table score.
    if (parts_.singular_extension && depth >= c_.singular_depth && m == known.move &&
        f->excluded.is_none() && known.hit && !is_decisive(known.score) &&
        known.bounds(Bound::LOWER) && known.entry.depth >= depth - 3) {
        Score below = known.score - c_.singular_margin * depth / 16;
        int count = f->move_count;
        f->excluded = m;
        Score others = search<Node::NON_PV>(f, below - 1, below, (depth - 1) / 2, cut_node);
        f->excluded = Move();
        f->move_count = count;
        if (is_stopped()) return std::nullopt;
        if (others < below) {
            const Score margin = below - others - 150 * is_pv;
            return 1 + (margin > c_.singular_double) + (margin > c_.singular_triple);
        }
        if (below >= beta) return std::nullopt;
        return known.score >= beta ? -c_.singular_negative : cut_node ? -c_.singular_cut : 0;
    }
    return parts_.check_extension && gives_check && depth >= c_.check_depth &&
                   exchange_gains(position_, m, 0)
               ? 1
               : 0;
}

// The reduction of a late move, 1/1024 plies.
template <Evaluator E>
template <Node KIND>
int Worker<E>::late_move_reduction(const Frame* f, Move m, int base, bool gives_check, Score alpha,
                                   bool cut_node, const TableHit& known) const {
    int r = base;
    if (f->was_pv) r -= c_.reduction_was_pv;
    if (f->was_pv && known.score != NO_SCORE && known.score > alpha) r -= c_.reduction_table_above;
    if (cut_node) r += c_.reduction_cut + known.move.is_none() * c_.reduction_cut_blind;
    if (f->in_check) r -= c_.reduction_evasion;
    if (!known.move.is_none() && is_capture(known.move)) r += c_.reduction_table_capture;
    if (KIND != Node::NON_PV) r -= c_.reduction_pv;
    if (gives_check) r -= c_.reduction_check;
    if ((f + 1)->cutoffs > 3) r += c_.reduction_cutoffs;
    if (m == known.move) r -= c_.reduction_table_move;
    return r - (f->history - c_.reduction_history_base) * c_.reduction_history / 1024;
}

template <Evaluator E>
void Worker<E>::update_root_move(Frame* f, Move m, Score score, Score alpha, Score beta,
                                 std::uint64_t nodes_before) {
    RootMove& r = *std::find_if(root_moves_.begin(), root_moves_.end(),
                                [m](const RootMove& root) { return root.move == m; });
    r.effort += nodes() - nodes_before;
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

// Updates histories, killers and the counter move after `best` raised alpha or failed high at
// `depth`.
template <Evaluator E>
void Worker<E>::reward(Frame* f, Move best, int depth) {
    int bonus = bonus_of(c_, depth);
    Color us = position_.turn();
    if (!is_capture(best)) {
        reward_quiet(f, best, bonus);
        if (f->killers[0] != best.move16()) {
            f->killers[1] = f->killers[0];
            f->killers[0] = best.move16();
        }
        if (Move last = (f - 1)->current; !last.is_none()) {
            histories_->counter(piece_after(opponent(us), last), last.to()) = best.move16();
        }
    } else {
        histories_->capture(piece_after(us, best), best.to())[base_type(best.captured())] << bonus;
    }
}

template <Evaluator E>
template <Node KIND>
Score Worker<E>::search(Frame* f, Score alpha, Score beta, int depth, bool cut_node) {
    constexpr bool IS_PV = KIND != Node::NON_PV, IS_ROOT = KIND == Node::ROOT;
    constexpr Node CHILD = IS_PV ? Node::PV : Node::NON_PV;
    if (depth <= 0) {
        if (parts_.quiescence) return quiesce<CHILD>(f, alpha, beta, 0);
        depth = 0;
    }
    if (IS_PV) f->line->length = 0;
    if (--calls_left_ <= 0) check_limits();
    f->in_check = position_.in_check();
    f->move_count = 0;
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
    (f + 1)->excluded = Move();
    (f + 2)->killers[0] = (f + 2)->killers[1] = 0;
    (f + 2)->cutoffs = 0;

    std::uint64_t key = position_.key();
    if (excluding) key ^= std::uint64_t(f->excluded.move16()) * GOLDEN_64;
    TableHit known = look_up(f, key);
    if (IS_ROOT) known.move = root_moves_[rank_].move;
    if (!excluding) f->was_pv = IS_PV || (known.hit && known.entry.was_pv);
    if (!IS_PV && !excluding && known.allows_cutoff(beta, depth) &&
        (!c_.table_expected || depth > 5 || cut_node == (known.score >= beta))) {
        if (!known.move.is_none() && known.score >= beta) reward(f, known.move, depth);
        if (const Move last = (f - 1)->current; c_.table_cut_malus && known.score >= beta &&
                                                !last.is_none() && !is_capture(last) &&
                                                (f - 1)->move_count <= 3) {
            reward_continuation(f - 1, piece_after(opponent(us), last), last.to(),
                                malus_of(c_, depth + 1) * c_.table_cut_malus / 1024);
        }
        return known.score;
    }
    if (f->in_check) {
        f->static_eval = f->raw_eval = NO_SCORE;
        f->improving = false;
    } else if (auto score = prune_early<KIND>(f, alpha, beta, depth, cut_node, known)) {
        return *score;
    }
    if (is_stopped()) return 0;  // the searches above may have been interrupted
    depth = std::max(depth, 1);  // whatever it was reduced by

    OrderingHints order = hints(f, known.move);
    if (!excluding) order.priors = priors(IS_ROOT, depth);
    MovePicker picker(position_, *histories_, order, MovePicker::Aim::SEARCH,
                      IS_ROOT || parts_.all_moves);
    const Bitboard pins = pinned();
    const Score old_alpha = alpha;
    Score best = -INFINITE;
    Move best_move;
    bool skip_quiets = false;
    std::uint32_t tried_quiets[64], tried_captures[32];  // Move::raw(), uninitialised
    int quiets = 0, captures = 0;

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
        const int count = ++f->move_count;
        const bool capture = is_capture(m), gives_check = position_.gives_check(m);
        if (IS_PV) (f + 1)->line->length = 0;
        const int history =
            capture ? capture_history(m) * c_.capture_history / 16 : picker.quiet_history();
        int new_depth = depth - 1, reduction = 0;
        if (parts_.reductions) {
            int scaled = reductions_(depth, count);
            Score window = std::max(beta - alpha, 1), root = std::max(root_window_, 1);
            reduction = scaled + c_.reduction_base - window * c_.reduction_window / root;
            if (!f->improving && scaled > 900) reduction += c_.reduction_worse;
        }
        if (!IS_ROOT && best > -MATE_BOUND && parts_.futility &&
            !(c_.keep_last_pv && f->is_last_pv)) {
            if (10 * count >= (c_.late_base + c_.late_square * depth * depth) * (1 + f->improving))
                skip_quiets = true;
            int reduced_depth = std::max(new_depth - reduction / 1024, 0);
            if (is_futile(f, m, history, gives_check, alpha, depth, reduced_depth)) {
                if (!capture) picker.skip_to_checks();
                continue;
            }
            prefetch(m);
            if (!picker.gave_good_capture() &&
                fails_exchange(m, history, gives_check, depth, reduced_depth)) {
                continue;
            }
        } else {
            prefetch(m);
        }
        if (!IS_ROOT && f->ply < 2 * root_depth_) {
            auto plies = extension(f, m, gives_check, beta, depth, IS_PV, cut_node, known);
            if (!plies)
                return known.score -
                       c_.singular_margin * depth / 16;  // the bound that extension() searched
            new_depth += *plies;
        }

        if (is_stopped()) return 0;  // the searches above may have been interrupted
        f->history = history;
        f->reduction = 0;
        if (count > 1) {
            if (const Move next = picker.expected(); !next.is_none()) prefetch(next);
        }
        make(f, m);
        Score score = -INFINITE;
        if (parts_.reductions && depth >= 2 && count > 1 + (IS_PV && f->ply <= 1) &&
            (!capture || !f->was_pv || (cut_node && (f - 1)->move_count > 1))) {
            int r = late_move_reduction<KIND>(f, m, reduction, gives_check, alpha, cut_node, known);
            int reduced = std::clamp(new_depth - (r >> 10), 1, std::max(new_depth + 1, 1));
            f->reduction = r;
            score = -search<Node::NON_PV>(f + 1, -alpha - 1, -alpha, reduced, true);
            f->reduction = 0;
            if (score > alpha && reduced < new_depth) {
                new_depth += (score > best + c_.deeper) - (score < best + c_.shallower);
                if (reduced < new_depth) {
                    score = -search<Node::NON_PV>(f + 1, -alpha - 1, -alpha, new_depth, !cut_node);
                }
                int bonus = score <= alpha  ? malus_of(c_, new_depth)
                            : score >= beta ? bonus_of(c_, new_depth)
                                            : 0;
                if (!capture) reward_continuation(f, piece_after(us, m), m.to(), bonus);
            }
        } else if (!IS_PV || count > 1) {
            score = -search<Node::NON_PV>(f + 1, -alpha - 1, -alpha, new_depth, !cut_node);
        }
        if (IS_PV && (count == 1 || (score > alpha && (IS_ROOT || score < beta)))) {
            score = -search<Node::PV>(f + 1, -beta, -alpha, new_depth, false);
        }
        unmake();
        if (is_stopped()) return 0;

        if (IS_ROOT) update_root_move(f, m, score, alpha, beta, nodes_before);
        if (score > best) {
            best = score;
            if (score > alpha) {
                best_move = m;
                if (IS_PV && !IS_ROOT) f->line->set(m, *(f + 1)->line);
                if (score >= beta) {
                    ++f->cutoffs;
                    cutoffs_.count(depth, count == 1);
                    break;
                }
                alpha = score;
                if (c_.raised_reduction && depth > 2 && depth < 14 && !is_decisive(score)) {
                    depth = std::max(depth - c_.raised_reduction, 1);
                }
            }
        }
        if (m != best_move) {
            if (capture && captures < 32) tried_captures[captures++] = m.raw();
            if (!capture && quiets < 64) tried_quiets[quiets++] = m.raw();
        }
    }

    if (f->move_count == 0) return excluding ? alpha : mated_in(f->ply);
    if (best >= beta && !is_decisive(best) && !is_decisive(beta)) {
        best -= (best - beta) * c_.soft_fail / (1024 * depth + c_.soft_fail);
    }
    if (has_corrections_ && !f->in_check && !excluding && !is_decisive(best) &&
        (best_move.is_none() || !is_capture(best_move)) &&
        !(best >= beta && best <= f->static_eval) &&
        !(best_move.is_none() && best >= f->static_eval)) {
        learn_correction(f, best, depth);
    }
    if (!best_move.is_none()) {
        reward(f, best_move, depth + (best > beta + c_.bonus_beyond));
        int malus = malus_of(c_, depth);
        if (!is_capture(best_move)) {
            for (int i = 0; i < quiets; ++i) {
                const Move m(tried_quiets[i]);
                if (m != best_move) reward_quiet(f, m, malus);
            }
        }
        for (int i = 0; i < captures; ++i) {
            const Move m(tried_captures[i]);
            if (m == best_move) continue;
            histories_->capture(piece_after(us, m), m.to())[base_type(m.captured())] << malus;
        }
    } else if (Move last = (f - 1)->current;
               (depth >= 5 || IS_PV) && !last.is_none() && !is_capture(last)) {
        // Fail low: rewards the opponent's quiet move.
        reward_continuation(f - 1, piece_after(opponent(us), last), last.to(), bonus_of(c_, depth));
    }
    if (best <= old_alpha) f->was_pv = f->was_pv || ((f - 1)->was_pv && depth > 3);

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
    return best;
}

}  // namespace komadori::alphabeta
