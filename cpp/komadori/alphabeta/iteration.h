// Iterative deepening at the root. Included by worker.h.
#pragma once

#include <algorithm>

#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

// From this time of a search on, bounds are reported as well as completed iterations.
constexpr std::int64_t BOUNDS_REPORTED_MS = 1000;
// In a long iteration, the lines are reported again with the nodes so far.
constexpr std::int64_t REPORT_INTERVAL_MS = 2000;

template <Evaluator E>
void Worker<E>::think(const Position& root, const std::vector<Move>& root_moves) {
    position_ = root;
    parts_ = shared_.options.parts;
    set_constants(shared_.options.constants);
    root_turn_ = root.turn();
    root_draw_ = shared_.options.draw_score[root_turn_];
    evaluator_.reset(position_);
    completed_depth_ = 0;
    calls_left_ = 0;
    is_claiming_ = false;
    is_stopped_ = is_out_of_nodes_ = has_reported_ = false;
    next_request_ = 0;
    reported_ms_ = 0;
    null_move_from_ply_ = 0;
    last_best_ = Move();
    unchanged_ = 0;
    for (int i = 0; i < int(frames_.size()); ++i) {
        frames_[std::size_t(i)] = Frame{};
        frames_[std::size_t(i)].ply = i - BEFORE;
        frames_[std::size_t(i)].row = &histories_->nothing;
        frames_[std::size_t(i)].correction_row = &histories_->no_correction;
        if (i >= BEFORE) {
            frames_[std::size_t(i)].line = &lines_by_ply_[std::size_t(i - BEFORE)];
        }
    }
    for (Color side : {BLACK, WHITE}) {
        for (Bitboard b = position_.pieces(side); b.any();) {
            const Square square = b.pop();
            frames_[BEFORE].keys.toggle(position_.piece_on(square), square);
        }
    }
    find_pawn_row(&frames_[BEFORE]);
    find_corrections(&frames_[BEFORE], root_turn_);
    seen_.fill(0);
    Position past = root;
    while (true) {
        ++seen_[past.board_key() & (SEEN - 1)];
        if (past.path_length() == 0) break;
        past.undo_move();
    }
    root_moves_.clear();
    for (Move m : root_moves) {
        RootMove r;
        r.move = m;
        r.pv = {m};
        root_moves_.push_back(std::move(r));
    }
    if (!parts_.all_moves) mark_idle_moves();
    // A move to play if the first iteration is interrupted.
    lines_.assign(1, Info{});
    lines_[0].pv = root_moves_[0].pv;
    lines_[0].score = evaluate_here();
    if (Turns* turns = shared_.options.turns.get()) {
        turns->begin(shared_.stop);
        turn_began_ms_ = now_ms();
        iterate();
        turns->end();
    } else {
        iterate();
    }
    if (is_claiming_ && !is_out_of_nodes_) {  // returns its unused claim
        shared_.node_budget.renew(claimed_ - std::int64_t(nodes()), 0, 1);
    }
}

// Marks the non-promotions that the tree omits, if the same move with promotion may be played, and
// moves them to the end.
template <Evaluator E>
void Worker<E>::mark_idle_moves() {
    ListedMove kept[MAX_LEGAL_MOVES + 47];  // as in MovePicker
    ListedMove* end = kept;
    if (position_.in_check()) {
        end = generate_moves<MoveKind::EVASIONS>(position_, end, false);
    } else {
        end = generate_moves<MoveKind::CAPTURES>(position_, end, false);
        end = generate_moves<MoveKind::QUIETS>(position_, end, false);
    }
    for (RootMove& r : root_moves_) {
        const Move m = r.move;
        if (std::any_of(kept, end, [m](ListedMove l) { return l.move() == m; })) continue;
        const Move twin = Move::board(m.from(), m.to(), true, m.moved(), m.captured());
        const bool is_allowed =
            std::ranges::any_of(root_moves_, [twin](const RootMove& o) { return o.move == twin; });
        if (is_allowed) r.twin = twin;
    }
    std::ranges::stable_partition(root_moves_, [](const RootMove& r) { return !r.is_idle(); });
}

template <Evaluator E>
void Worker<E>::set_constants(const Constants& constants) {
    c_ = constants;
    reductions_.set(c_.reduction_log);
    fill_scores(histories_->low_ply, 98);
    has_corrections_ = parts_.corrections;
}

template <Evaluator E>
void Worker<E>::iterate() {
    const Limits& limits = shared_.limits;
    const auto choices = std::size_t(
        std::ranges::count_if(root_moves_, [](const RootMove& r) { return !r.is_idle(); }));
    const std::size_t lines = std::min(std::size_t(std::max(shared_.options.multi_pv, 1)), choices);
    int last_depth = limits.depth > 0 ? std::min(limits.depth, MAX_PLIES - 1) : MAX_PLIES - 1;
    for (int depth = 1; depth <= last_depth; ++depth) {
        // Lazy SMP: helper threads skip different depths.
        if (index_ > 0 && depth > 1 && (depth + index_) % 3 == 0) continue;
        for (RootMove& r : root_moves_) r.previous = r.score;
        iteration_ = depth;
        std::size_t searched = 0;
        for (rank_ = 0; rank_ < lines; ++rank_) {
            selective_depth_ = 0;
            search_root(depth, rank_);
            if (is_stopped()) break;
            ++searched;
            std::stable_sort(
                root_moves_.begin(), root_moves_.begin() + long(rank_) + 1,
                [](const RootMove& a, const RootMove& b) { return a.score > b.score; });
        }
        // Keeps the result of an interrupted iteration; the engine reports it at the end.
        collect_lines(lines);
        if (searched < lines) break;
        completed_depth_ = depth;
        report();
        if (is_stopped() || shared_.stop) break;
        unchanged_ = root_moves_[0].move == last_best_ ? unchanged_ + 1 : 0;
        last_best_ = root_moves_[0].move;
        if (index_ == 0 && is_time_up(depth)) break;
    }
}

// Searches root moves from index `rank` on, in an aspiration window around the previous score.
template <Evaluator E>
Score Worker<E>::search_root(int depth, std::size_t rank) {
    Score alpha = -INFINITE, beta = INFINITE;
    const RootMove& expected = root_moves_[rank];
    Score margin =
        c_.aspiration + index_ % 8 + Score(std::abs(expected.mean_square) / c_.aspiration_divisor);
    last_pv_ = root_moves_[0].pv;
    if (parts_.aspiration) {
        alpha = std::max(expected.average - margin, -INFINITE);
        beta = std::min(expected.average + margin, INFINITE);
    }
    int failed_high = 0;
    while (true) {
        root_window_ = beta - alpha;
        const Score score = search<Node::ROOT>(&frames_[BEFORE], alpha, beta,
                                               std::max(1, depth - failed_high), false);
        std::stable_sort(root_moves_.begin() + long(rank), root_moves_.end(),
                         [](const RootMove& a, const RootMove& b) {
                             return a.score != b.score ? a.score > b.score
                                                       : a.previous > b.previous;
                         });
        if (is_stopped()) return score;
        // The window's failure says early what the iteration is going to find.
        if ((score <= alpha || score >= beta) && shared_.options.multi_pv <= 1 &&
            shared_.elapsed_ms() >= BOUNDS_REPORTED_MS) {
            collect_lines(1);
            report();
        }
        if (score <= alpha) {
            beta = alpha;
            alpha = std::max(score - margin, -INFINITE);
            failed_high = 0;
        } else if (score >= beta) {
            alpha = std::max(beta - margin, alpha);
            beta = std::min(score + margin, INFINITE);
            ++failed_high;
        } else {
            return score;
        }
        margin += margin / 3;
    }
}

// Copies the root moves' lines to lines_, without node counts. After an interruption, lines that
// weren't reached keep the depth of the previous iteration.
template <Evaluator E>
void Worker<E>::collect_lines(std::size_t lines) {
    std::vector<Info> infos;
    for (std::size_t i = 0; i < lines; ++i) {
        const RootMove& r = root_moves_[i];
        const bool is_new = r.score > -INFINITE;
        Score score = is_new ? r.score : r.previous;
        if (score == -INFINITE) break;  // the rest wasn't searched yet
        // Keeps scores in descending order: an older score may exceed the new one of a better move.
        // It is then a bound, since the older search found more.
        const bool is_capped = i > 0 && score > infos.back().score;
        if (is_capped) score = infos.back().score;
        Info info;
        info.depth = r.depth;
        info.selective_depth = r.selective_depth;
        info.multi_pv = int(i) + 1;
        info.score = score;
        info.bound = is_capped ? Bound::LOWER : is_new ? r.bound : Bound::EXACT;
        info.pv = r.pv;
        if (info.bound != Bound::EXACT) extend_line(info.pv);
        if (is_mate(score)) complete_mate(info.pv, std::size_t(MATE - std::abs(score)));
        infos.push_back(std::move(info));
    }
    if (infos.empty()) return;
    lines_ = std::move(infos);
    has_reported_ = false;
}

// Appends the table's moves, which know more of a bound's line than the search that failed.
template <Evaluator E>
void Worker<E>::extend_line(std::vector<Move>& pv) const {
    constexpr std::size_t LENGTH = 8;
    Position position = position_;
    for (Move m : pv) position.do_move(m);
    while (pv.size() < LENGTH && position.repetition() == Repetition::NONE) {
        TableEntry entry;
        if (!parts_.table || !shared_.table.probe(position.key(), entry)) break;
        const Move m = position.from_move16(entry.move16);
        if (m.is_none()) break;
        pv.push_back(m);
        position.do_move(m);
    }
}

// Appends the rest of a mate of `plies`, of which null-window searches and the table leave no line;
// nothing if it isn't found.
template <Evaluator E>
void Worker<E>::complete_mate(std::vector<Move>& pv, std::size_t plies) const {
    if (pv.size() >= plies) return;
    std::vector<Move> line = pv;
    Position position = position_;
    for (Move m : line) position.do_move(m);
    while (line.size() < plies) {
        const bool is_last = line.size() + 1 == plies;
        Move m = is_last ? position.mate_in_one() : Move();
        TableEntry entry;
        if (m.is_none() && parts_.table && shared_.table.probe(position.key(), entry)) {
            m = position.from_move16(entry.move16);
        }
        if (m.is_none()) return;
        line.push_back(m);
        position.do_move(m);
    }
    Move replies[MAX_LEGAL_MOVES];
    if (position.in_check() && position.legal_moves(replies) == 0) pv = std::move(line);
}

template <Evaluator E>
void Worker<E>::report() {
    if (index_ > 0) return;
    std::uint64_t nodes = shared_.nodes();
    std::int64_t time = shared_.elapsed_ms();
    int full = shared_.table.hashfull();
    reported_ms_ = time;
    for (Info& info : lines_) {
        info.nodes = nodes;
        info.time_ms = time;
        info.hashfull = full;
    }
    has_reported_ = true;
    shared_.report(std::vector<Info>(lines_));
}

// Between iterations: whether to stop instead of starting another.
template <Evaluator E>
bool Worker<E>::is_time_up(int depth) {
    if (shared_.infinite) return false;
    Score score = root_moves_[0].score;
    // No shorter mate is left to find at this depth.
    if (is_mate(score) && depth >= 2 * (MATE - std::abs(score)) && shared_.limits.depth == 0) {
        return true;
    }
    std::int64_t optimum = shared_.optimum_ms;
    if (optimum == Shared::NEVER) return false;
    std::int64_t elapsed = shared_.elapsed_ms();
    if (optimum >= shared_.maximum_ms) return elapsed >= optimum;
    if (elapsed < shared_.minimum_ms) return false;
    if (root_moves_.size() == 1) return true;
    // Uses less time if the best move is stable or took most of the nodes, more if the score drops.
    double factor = std::max(0.5, 1.3 - 0.1 * unchanged_);
    if (score < root_moves_[0].previous - 60) factor *= 1.4;
    double effort = double(root_moves_[0].effort) / double(std::max<std::uint64_t>(nodes(), 1));
    if (effort > 0.9) factor *= 0.7;
    return double(elapsed) >= double(optimum) * factor;
}

template <Evaluator E>
void Worker<E>::check_limits() {
    constexpr int INTERVAL = 512;
    calls_left_ = INTERVAL;
    if (is_stopped_) return;  // unwinding: it must not claim nodes that it won't use
    if (!shared_.infinite && shared_.has_node_limit) {
        // Every node takes at least one call, so the claim can't be exceeded.
        const auto used = std::int64_t(nodes());
        if (!is_claiming_) claimed_ = std::int64_t(nodes_at_hit());
        is_claiming_ = true;
        calls_left_ =
            int(shared_.node_budget.renew(claimed_ - used, INTERVAL, shared_.options.threads));
        claimed_ = used + calls_left_;
        if (calls_left_ == 0) is_stopped_ = is_out_of_nodes_ = true;
    }
    if (index_ == 0) {
        const std::int64_t elapsed = shared_.elapsed_ms();
        reported_ms_ = std::min(reported_ms_, elapsed);  // a ponderhit restarts the time
        if (!shared_.infinite && elapsed >= shared_.maximum_ms) shared_.stop = true;
        if (completed_depth_ > 0 && elapsed - reported_ms_ >= REPORT_INTERVAL_MS) report();
    }
    if (Turns* turns = shared_.options.turns.get();
        turns && turns->has_waiting() && now_ms() - turn_began_ms_ >= Turns::TURN_MS) {
        turns->end();
        turns->begin(shared_.stop);
        turn_began_ms_ = now_ms();
    }
    // `stop` doesn't interrupt the first iteration, so that there is a move to play.
    if (shared_.stop.load(std::memory_order_relaxed) && completed_depth_ > 0) is_stopped_ = true;
}

}  // namespace komadori::alphabeta
