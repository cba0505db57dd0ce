// One search thread with one kind of evaluator.
//
//   think ------- iterative deepening, aspiration windows          (iteration.h)
//     search ---- principal variation search with pruning          (node_search.h)
//       quiesce - captures, evasions                               (quiescence.h)
//
// Options::parts disables techniques one by one. Their sources are in those files.
#pragma once

#include <array>
#include <cmath>
#include <optional>

#include "komadori/alphabeta/engine.h"
#include "komadori/alphabeta/exchange.h"
#include "komadori/alphabeta/history.h"
#include "komadori/alphabeta/material.h"
#include "komadori/alphabeta/picker.h"
#include "komadori/base/hash.h"

namespace komadori::alphabeta {

// The root, nodes with an open window, nodes with a null window.
enum class Node { ROOT, PV, NON_PV };

// The best line below a node.
struct Line {
    int length = 0;
    Move moves[MAX_PLIES + 1];

    void set(Move first, const Line& rest) {
        moves[0] = first;
        std::copy_n(rest.moves, rest.length, moves + 1);
        length = rest.length + 1;
    }
};

// The base reduction of the move with number `count` at a depth, in 1/1024 plies.
class ReductionTable {
  public:
    void set(int tenths) {
        if (tenths == tenths_) return;
        tenths_ = tenths;
        for (int i = 0; i < 256; ++i) log_[i] = int(tenths / 10.0 * std::log(std::max(i, 1)));
    }
    int operator()(int depth, int count) const {
        return log_[std::min(depth, 255)] * log_[std::min(count, 255)];
    }

  private:
    int tenths_ = 0;
    int log_[256] = {};
};

// Hashes of parts of the board, for histories. A piece in hand counts nowhere.
struct FeatureKeys {
    std::uint64_t pawns = 0;
    std::uint64_t minor = 0;       // lances, knights, silvers, golds and those that move so
    std::uint64_t pieces[2] = {};  // by side: all but pawns

    // Puts a piece on the board or takes it away.
    void toggle(Piece p, Square s) {
        const PieceType t = type_of(p);
        const std::uint64_t key = splitmix64(std::uint64_t(p) << 8 | std::uint64_t(s));
        if (t == PAWN) {
            pawns ^= key;
            return;
        }
        pieces[color_of(p)] ^= key;
        constexpr unsigned MAJOR =
            1U << BISHOP | 1U << ROOK | 1U << KING | 1U << HORSE | 1U << DRAGON;
        if (!(MAJOR >> t & 1)) minor ^= key;
    }
    void move(Color us, Move m) {
        if (m.captured()) toggle(make_piece(opponent(us), m.captured()), m.to());
        if (!m.is_drop()) toggle(make_piece(us, m.moved()), m.from());
        toggle(piece_after(us, m), m.to());
    }
};

// Moves that a node has tried, without its best one.
struct Tried {
    static constexpr int CAPACITY = 32;
    std::uint32_t quiet[CAPACITY], capture[CAPACITY];  // Move::raw(), uninitialised
    int quiets = 0, captures = 0;

    void add(Move m, bool is_capture) {
        if (is_capture) {
            capture[captures++] = m.raw();
        } else {
            quiet[quiets++] = m.raw();
        }
    }
};

// The search stack: what a node shares with the nodes above and below it.
struct Frame {
    int ply = 0;
    Move current;                  // being searched; Move() for a null move
    Move excluded;                 // skipped by a singular extension search
    Score static_eval = NO_SCORE;  // corrected; in check that of this side's last turn
    Score raw_eval = NO_SCORE;     // the evaluator's
    int correction = 0;            // of static_eval, 1/CORRECTION_UNIT
    Correction* corrections[6] = {};
    int history = 0;  // history score of the current move
    int move_count = 0;
    int cutoffs = 0;    // of the children
    int reduction = 0;  // of the current move, plies
    FeatureKeys keys;
    bool in_check = false;
    bool was_pv = false;
    bool is_known = false;           // in the table
    bool is_last_pv = false;         // on the best line of the last iteration
    ContinuationRow* row = nullptr;  // of the current move
    CorrectionRow* correction_row = nullptr;
    PawnRow* pawns = nullptr;
    Line* line = nullptr;
};

// A node's transposition table entry.
struct TableHit {
    bool hit = false;
    TableEntry entry;
    Score score = NO_SCORE;  // mates counted from the root
    Move move;               // legal here, or Move()

    bool bounds(Bound needed) const { return score != NO_SCORE && allows(entry.bound, needed); }
    bool allows_cutoff(Score beta, int depth) const {
        return hit && entry.depth >= depth && bounds(score >= beta ? Bound::LOWER : Bound::UPPER);
    }
};

struct RootMove {
    Move move;
    Score score = -INFINITE, previous = -INFINITE;
    int depth = 0, selective_depth = 0;  // of the iteration that found the score and pv
    Bound bound = Bound::EXACT;          // of the score: the window of the search that found it
    std::vector<Move> pv;
    std::uint64_t effort = 0;  // nodes below it
    // Running means of the score and of its square with the score's sign.
    Score average = -INFINITE;
    std::int64_t mean_square = -std::int64_t(INFINITE) * INFINITE;
    // Of a non-promotion that the tree omits, the same move with promotion; else none. It is played
    // only if it mates and its twin doesn't, since mate by a dropped pawn is illegal.
    Move twin;
    bool is_idle() const { return !twin.is_none(); }
};

template <Evaluator E>
class Worker final : public AnyWorker {
  public:
    Worker(Shared& shared, int index, const typename E::Weights& weights)
        : shared_(shared),
          index_(index),
          weights_(weights),
          evaluator_(weights),
          histories_(std::make_unique_for_overwrite<Histories>()) {
        new_game();
    }

    void new_game() override { histories_->clear(); }
    Score evaluate(const Position& position) override {
        evaluator_.reset(position);
        return evaluator_.value(position);
    }
    void think(const Position& root, const std::vector<Move>& root_moves) override;
    std::uint64_t evaluator_mismatches(const Position& start, std::uint64_t steps,
                                       std::uint64_t seed) override;

  private:
    static constexpr int BEFORE = 7;  // sentinel frames before the root's

    // iteration.h
    void mark_idle_moves();
    void set_constants(const Constants& constants);
    void iterate();
    Score search_root(int depth, std::size_t rank);
    void collect_lines(std::size_t lines);
    void extend_line(std::vector<Move>& pv) const;
    void complete_mate(std::vector<Move>& pv, std::size_t plies) const;
    void report();
    bool is_time_up(int depth);
    void check_limits();

    // node_search.h
    template <Node KIND>
    Score search(Frame* f, Score alpha, Score beta, int depth, bool cut_node);
    template <Node KIND>
    std::optional<Score> prune_early(Frame* f, Score alpha, Score beta, int& depth, bool cut_node,
                                     int prior_reduction, const TableHit& known, bool& improving);
    std::optional<Score> null_move(Frame* f, Score beta, int depth);
    bool mates(Frame* f, Move m, int depth);
    std::optional<Score> probe(Frame* f, Score beta, Score target, int depth, Move table_move,
                               bool cut_node);
    template <Node KIND>
    bool is_pruned(Frame* f, Move m, bool gives_check, Score alpha, int depth, int r, Score& best,
                   bool has_best);
    bool is_shuffling(const Frame* f, Move m) const;
    std::optional<int> extension(Frame* f, Move m, Score beta, int depth, bool is_pv, bool cut_node,
                                 const TableHit& known, Score& cut);
    int base_reduction(const Frame* f, int depth, int count, Score window, bool improving) const;
    template <Node KIND>
    int late_move_reduction(const Frame* f, int r, Score alpha, int depth, bool cut_node,
                            const TableHit& known) const;
    void update_root_move(Frame* f, Move m, Score score, Score alpha, Score beta,
                          std::uint64_t nodes_before);
    void reward(Frame* f, Move best, Move table_move, int depth, const Tried& tried);
    void reward_before(Frame* f, Score best, int depth);
    void reward_quiet(Frame* f, Move m, int bonus);
    void reward_continuation(Frame* f, Piece p, Square to, int bonus);

    // quiescence.h
    template <Node KIND>
    Score quiesce(Frame* f, Score alpha, Score beta);

    bool is_stopped() const { return is_stopped_; }
    TableHit look_up(const Frame* f, std::uint64_t key) const;
    static constexpr int CORRECTION_UNIT = 131072;  // a centipawn
    void find_corrections(Frame* f, Color us);
    int correction(const Frame* f) const;
    void learn_correction(Frame* f, Score score, int depth, bool has_best);
    HistoryScore<HISTORY_LIMIT>& butterfly(Color c, Move m) const {
        return histories_->butterfly[c][Histories::butterfly_index(m)];
    }
    HistoryScore<CAPTURE_LIMIT>& captures(Color c, Move m) const {
        return histories_->capture(piece_after(c, m), m.to())[base_type(m.captured())];
    }
    // The continuation histories of the last two moves.
    static int continuation(const Frame* f, Color c, Move m) {
        const Piece p = piece_after(c, m);
        return (*(f - 1)->row)(p, m.to()) + (*(f - 2)->row)(p, m.to());
    }
    void find_pawn_row(Frame* f) {
        constexpr int SHIFT = 52;
        static_assert(PAWN_ROWS == std::size_t(1) << (64 - SHIFT));
        f->pawns = &histories_->pawns[f->keys.pawns >> SHIFT];
    }
    // Sets static_eval, from the table if possible; returns it, improved by the table's score.
    Score evaluate_node(Frame* f, const TableHit& known);
    // Whether there is a mate in one, which is stored with this depth; not in check. Looks for it
    // at a position's first visit, and again if the table has one, which quiescence would miss.
    template <Node KIND>
    bool has_mate_in_one(Frame* f, const TableHit& known, int depth);
    static constexpr int PROVEN = 6;  // plies by which a mate's entry in the table is deeper
    // Terminal by a rule other than mate: repetition, move limit, declaration.
    bool is_terminal(const Frame* f, Score& score);
    Score draw_score() const { return position_.turn() == root_turn_ ? root_draw_ : -root_draw_; }
    Score evaluate_here() {
        const Score value = std::clamp(Score(evaluator_.value(position_)), -EVAL_LIMIT, EVAL_LIMIT);
        if (sampler_ != nullptr) [[unlikely]]
            sampler_->see(position_, value);
        return value;
    }
    // Called early, so that the entry is cached when the move is made.
    void prefetch(Move m) const { shared_.table.prefetch(position_.key_after(m)); }
    void make(Frame* f, Move m);
    void unmake();
    void make_null(Frame* f);
    void unmake_null();
    OrderingHints hints(const Frame* f, Move table_move) const;
    // The policy network's priors, or nullptr if it isn't used at this node.
    const Priors* priors(bool is_root, int depth);
    Bitboard pinned() const { return position_.blockers(position_.turn(), position_.turn()); }

    Shared& shared_;
    const int index_;
    const typename E::Weights& weights_;
    E evaluator_;
    // In normal pages: a short search uses few rows, and a huge page takes long to clear.
    std::unique_ptr<Histories> histories_;
    Position position_;
    Parts parts_;
    Constants c_;
    ReductionTable reductions_;
    bool has_corrections_ = false;
    std::vector<Move> last_pv_;  // of the root move being searched
    std::vector<RootMove> root_moves_;
    std::size_t rank_ = 0;  // MultiPV index of the line being searched
    int iteration_ = 0;     // depth of the iteration
    Color root_turn_ = BLACK;
    Score root_draw_ = 0;  // value of a draw for the root's side to move
    int selective_depth_ = 0;
    int null_move_from_ply_ = 0;  // no null moves above this ply, during a verification search
    Score root_window_ = 1;
    std::uint64_t next_request_ = 0;  // node count of the next policy request
    int calls_left_ = 0;              // until the limits are checked again
    bool is_claiming_ = false;        // whether it takes its nodes from the budget
    std::int64_t claimed_ = 0;        // count of nodes at which the last claim ends
    std::int64_t reported_ms_ = 0;    // time of the last report
    std::int64_t turn_began_ms_ = 0;  // with Options::turns
    bool is_stopped_ = false;         // as of the last check
    std::array<Frame, MAX_PLIES + BEFORE + 4> frames_;
    std::array<Line, MAX_PLIES + 4> lines_by_ply_;

    // Counts the boards of the path by the low bits of their keys: a quick test that rules out a
    // repetition in most positions.
    static constexpr std::size_t SEEN = 1 << 13;
    std::array<std::uint8_t, SEEN> seen_;
    std::uint8_t& seen() { return seen_[position_.board_key() & (SEEN - 1)]; }

    // stability of the best move, for time management
    Move last_best_;
    int unchanged_ = 0;
};

// ---- making moves

template <Evaluator E>
void Worker<E>::make(Frame* f, Move m) {
    f->current = m;
    (f + 1)->keys = f->keys;
    (f + 1)->keys.move(position_.turn(), m);
    const Piece p = piece_after(position_.turn(), m);
    if ((f + 1)->keys.pawns != f->keys.pawns) {
        find_pawn_row(f + 1);
    } else {
        (f + 1)->pawns = f->pawns;
    }
    const std::size_t row = Histories::row_of(p, m.to());
    f->row =
        &histories_->continuation[(2 * f->in_check + (m.captured() != 0)) * Histories::ROWS + row];
    f->correction_row = &histories_->move_corrections[row];
    find_corrections(f + 1, opponent(position_.turn()));
    evaluator_.push(position_, m);
    position_.do_move(m);
    ++seen();
    count_node();
}

template <Evaluator E>
void Worker<E>::unmake() {
    --seen();
    position_.undo_move();
    evaluator_.pop();
}

template <Evaluator E>
void Worker<E>::make_null(Frame* f) {
    f->current = Move();
    (f + 1)->keys = f->keys;
    (f + 1)->pawns = f->pawns;
    f->row = &histories_->nothing;
    f->correction_row = &histories_->no_correction;
    find_corrections(f + 1, opponent(position_.turn()));
    evaluator_.push_null(position_);
    position_.do_null_move();
    shared_.table.prefetch(position_.key());
}

template <Evaluator E>
void Worker<E>::unmake_null() {
    position_.undo_null_move();
    evaluator_.pop();
}

template <Evaluator E>
OrderingHints Worker<E>::hints(const Frame* f, Move table_move) const {
    OrderingHints h{.table_move = table_move,
                    .rows = {(f - 1)->row, (f - 2)->row, (f - 3)->row, (f - 4)->row, (f - 6)->row},
                    .pawns = f->pawns};
    if (f->ply < LOW_PLIES) {
        h.low_ply = histories_->low_ply[f->ply];
        h.low_ply_divisor = 1 + f->ply;
    }
    return h;
}

template <Evaluator E>
const Priors* Worker<E>::priors(bool is_root, int depth) {
    const Options& options = shared_.options;
    if (options.policy_depth == 0 || (!is_root && depth < options.policy_depth)) return nullptr;
    if (const Priors* known = shared_.policy.find(position_.key())) return known;
    if (!is_root && nodes() < next_request_) return nullptr;
    next_request_ = nodes() + options.policy_nodes;
    return shared_.policy.request(position_, shared_.stop);
}

template <Evaluator E>
bool Worker<E>::is_terminal(const Frame* f, Score& score) {
    const Options& options = shared_.options;
    if (parts_.repetition && seen() > 1) {
        switch (position_.repetition(2)) {
            case Repetition::NONE:
                break;
            case Repetition::DRAW:
                score = draw_score();
                return true;
            case Repetition::WIN:
                score = mate_in(f->ply);
                return true;
            case Repetition::LOSS:
                score = mated_in(f->ply);
                return true;
            case Repetition::SUPERIOR:
                score = DOMINATED;
                return true;
            case Repetition::INFERIOR:
                score = -DOMINATED;
                return true;
        }
    }
    if (options.max_ply > 0 && position_.ply() > options.max_ply) {
        bool mated = position_.in_check() && position_.count_legal_moves() == 0;
        score = mated ? mated_in(f->ply) : draw_score();
        return true;
    }
    if (parts_.declaration && position_.can_declare_win(options.declaration_points)) {
        score = mate_in(f->ply + 1);
        return true;
    }
    return false;
}

template <Evaluator E>
TableHit Worker<E>::look_up(const Frame* f, std::uint64_t key) const {
    TableHit known;
    known.hit = parts_.table && shared_.table.probe(key, known.entry);
    if (known.hit) {
        known.score = from_table(known.entry.score, f->ply);
        known.move = position_.from_move16(known.entry.move16);
    }
    return known;
}

template <Evaluator E>
Score Worker<E>::evaluate_node(Frame* f, const TableHit& known) {
    bool is_known = known.hit && known.entry.eval != NO_SCORE;
    f->raw_eval = f->static_eval = is_known ? known.entry.eval : evaluate_here();
    if (has_corrections_) {
        f->static_eval =
            std::clamp(f->raw_eval + f->correction / CORRECTION_UNIT, -EVAL_LIMIT, EVAL_LIMIT);
    }
    bool improves =
        known.hit && known.bounds(known.score > f->static_eval ? Bound::LOWER : Bound::UPPER);
    return improves ? known.score : f->static_eval;
}

template <Evaluator E>
template <Node KIND>
bool Worker<E>::has_mate_in_one(Frame* f, const TableHit& known, int depth) {
    if (!parts_.mate_in_one || (known.hit && known.score != mate_in(f->ply + 1))) return false;
    Move m = position_.mate_in_one();
    if (m.is_none()) return false;
    if (parts_.table) {
        shared_.table.store(position_.key(), {.move16 = m.move16(),
                                              .score = mate_in(1),
                                              .depth = std::min(depth, MAX_PLIES - 1),
                                              .bound = Bound::EXACT,
                                              .was_pv = depth > 0 && f->was_pv});
    }
    if (KIND != Node::NON_PV) {
        f->line->moves[0] = m;
        f->line->length = 1;
    }
    return true;
}

// Makes and unmakes random moves, including null moves, and compares with a fresh evaluator.
template <Evaluator E>
std::uint64_t Worker<E>::evaluator_mismatches(const Position& start, std::uint64_t steps,
                                              std::uint64_t seed) {
    constexpr int DEEPEST = MAX_PUSHES - 2;
    position_ = start;
    evaluator_.reset(position_);
    E fresh(weights_);
    std::uint64_t mismatches = 0;
    std::vector<bool> is_null;
    for (std::uint64_t i = 0; i < steps; ++i) {
        std::uint64_t chance = splitmix64(seed += GOLDEN_64) >> 33;
        Move moves[MAX_LEGAL_MOVES];
        int n = position_.legal_moves(moves);
        // The bias varies over time, to reach both shallow and deep stacks.
        bool back = int(is_null.size()) >= DEEPEST || n == 0 || chance % 16 < 7 + (i >> 12) % 3;
        if (back && is_null.empty() && n == 0) break;
        if (back && !is_null.empty()) {
            is_null.back() ? position_.undo_null_move() : position_.undo_move();
            evaluator_.pop();
            is_null.pop_back();
        } else if (chance % 64 == 63 && !position_.in_check()) {
            evaluator_.push_null(position_);
            position_.do_null_move();
            is_null.push_back(true);
        } else {
            Move m = moves[(chance >> 8) % std::uint64_t(n)];
            evaluator_.push(position_, m);
            position_.do_move(m);
            is_null.push_back(false);
        }
        // Not at every step, so that lazy updates span several moves.
        if (chance % 512 == 1) mismatches += !position_.is_consistent();
        if (chance >> 4 & 1) {
            fresh.reset(position_);
            mismatches += evaluator_.value(position_) != fresh.value(position_);
        }
    }
    return mismatches;
}

}  // namespace komadori::alphabeta

#include "komadori/alphabeta/iteration.h"
#include "komadori/alphabeta/node_search.h"
#include "komadori/alphabeta/quiescence.h"
