// One thread of the search, over one kind of evaluator.
//
//   think ------- iterative deepening, aspiration windows          (iteration.h)
//     search ---- principal variation search with all its pruning  (node_search.h)
//       quiesce - captures, checks, evasions                       (quiescence.h)
//
// The techniques are those of the field (chessprogramming.org; Stockfish and YaneuraOu are where
// most were first written down); each can be left out by Options::parts.
#pragma once

#include <array>
#include <memory>

#include "komadori/alphabeta/engine.h"
#include "komadori/alphabeta/exchange.h"
#include "komadori/alphabeta/history.h"
#include "komadori/alphabeta/material.h"
#include "komadori/alphabeta/picker.h"

namespace komadori::alphabeta {

// How many moves to the search's side lead here: the root, a node whose window is open, any other.
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

// What a node leaves behind for the nodes near it in the line.
struct Frame {
    int ply = 0;
    Move current;   // being searched; Move() for a null move
    Move excluded;  // left out while its singularity is tested
    std::uint16_t killers[2] = {};
    Score static_eval = NO_SCORE;  // NO_SCORE in check
    int history = 0;               // of the current move
    int move_count = 0;
    int cutoffs = 0;  // of the children
    bool in_check = false;
    bool table_hit = false;
    bool was_pv = false;
    ContinuationRow* row = nullptr;  // of the current move
    Line* line = nullptr;
};

struct RootMove {
    Move move;
    Score score = -INFINITE, previous = -INFINITE;
    int selective_depth = 0;
    std::vector<Move> pv;
    std::uint64_t effort = 0;  // nodes below it
};

template <Evaluator E>
class Worker final : public AnyWorker {
  public:
    Worker(Shared& shared, int index, const typename E::Weights& weights)
        : shared_(shared),
          index_(index),
          evaluator_(weights),
          histories_(std::make_unique<Histories>()) {
        new_game();
    }

    void new_game() override { histories_->clear(); }
    Score evaluate(const Position& position) override {
        evaluator_.reset(position);
        return evaluator_.value(position);
    }
    void think(const Position& root, const std::vector<Move>& root_moves) override;

  private:
    static constexpr int BEFORE = 7;  // frames in front of the root's, so that it may look back

    // iteration.h
    void iterate();
    Score search_root(int depth, std::size_t rank);
    void report(int depth, std::size_t lines);
    bool is_time_up(int depth);
    void check_limits();

    // node_search.h
    template <Node KIND>
    Score search(Frame* f, Score alpha, Score beta, int depth, bool cut_node);
    bool has_null_move_cutoff(Frame* f, Score beta, int depth, Score eval, bool cut_node,
                              bool improving, Score& score);
    bool has_probe_cutoff(Frame* f, Score beta, int depth, Move table_move, bool cut_node,
                          Score& score);
    bool is_pruned(const Frame* f, Move m, bool gives_check, Score alpha, int depth,
                   int reduced_depth);
    void update_root_move(Frame* f, Move m, Score score, Score alpha, std::uint64_t nodes_before);
    void reward(Frame* f, Move best, int depth, bool strong);
    void reward_quiet(Frame* f, Move m, int bonus);
    void reward_continuation(Frame* f, Piece p, Square to, int bonus);
    int quiet_history(const Frame* f, Move m) const;

    // quiescence.h
    template <Node KIND>
    Score quiesce(Frame* f, Score alpha, Score beta, int depth);

    // The first iteration is always finished, so that there is a move to play.
    bool is_stopped() const {
        return shared_.stop.load(std::memory_order_relaxed) && completed_depth_ > 0;
    }
    // Ends by the rules other than mate: repetition, the limit of moves, declaration.
    bool is_settled(const Frame* f, Score& score);
    Score draw_score() const { return shared_.options.draw_score[position_.turn()]; }
    Score evaluate_here() {
        return std::clamp(Score(evaluator_.value(position_)), -EVAL_LIMIT, EVAL_LIMIT);
    }
    static bool is_capture(Move m) {  // as MoveKind::CAPTURES has it
        return m.captured() || (m.moved() == PAWN && m.is_promotion());
    }

    void make(Frame* f, Move m);
    void unmake();
    void make_null(Frame* f);
    void unmake_null();
    OrderingHints hints(const Frame* f, Move table_move) const;
    Bitboard pinned() const { return position_.blockers(position_.turn(), position_.turn()); }

    Shared& shared_;
    const int index_;
    E evaluator_;
    std::unique_ptr<Histories> histories_;
    Position position_;
    Parts parts_;
    std::vector<RootMove> root_moves_;
    std::size_t rank_ = 0;         // of the line being searched
    bool has_new_result_ = false;  // this iteration has finished a root move that may be best
    int root_depth_ = 0;
    int selective_depth_ = 0;
    int null_move_from_ply_ = 0;  // no null move before, while one is verified
    Score root_window_ = 1;
    int calls_left_ = 0;  // until the limits are looked at again
    bool use_table_ = true;
    std::array<Frame, MAX_PLIES + BEFORE + 4> frames_;
    std::array<Line, MAX_PLIES + 4> lines_by_ply_;

    // How often a board (with the side to move) stands in the path, by the low bits of its key:
    // most positions are seen not to repeat without a look at the path.
    static constexpr std::size_t SEEN = 1 << 13;
    std::array<std::uint8_t, SEEN> seen_;
    std::uint8_t& seen() { return seen_[position_.board_key() & (SEEN - 1)]; }

    // steadiness of the root, for the clock
    Move last_best_;
    int unchanged_ = 0;
};

// ---- making moves

template <Evaluator E>
void Worker<E>::make(Frame* f, Move m) {
    f->current = m;
    f->row = &histories_->continuation(piece_after(position_.turn(), m), m.to());
    evaluator_.push(position_, m);
    position_.do_move(m);
    shared_.table.prefetch(position_.key());
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
    f->row = &histories_->nothing;
    evaluator_.push_null(position_);
    position_.do_null_move();
    shared_.table.prefetch(position_.key());
    count_node();
}

template <Evaluator E>
void Worker<E>::unmake_null() {
    position_.undo_null_move();
    evaluator_.pop();
}

template <Evaluator E>
OrderingHints Worker<E>::hints(const Frame* f, Move table_move) const {
    OrderingHints h{.table_move = table_move,
                    .killers = {f->killers[0], f->killers[1]},
                    .rows = {(f - 1)->row, (f - 2)->row, (f - 4)->row}};
    if (Move last = (f - 1)->current; !last.is_none()) {
        h.counter = histories_->counter(piece_after(opponent(position_.turn()), last), last.to());
    }
    return h;
}

template <Evaluator E>
bool Worker<E>::is_settled(const Frame* f, Score& score) {
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
    if (parts_.declaration && options.declare_points[BLACK] > 0 &&
        position_.can_declare_win(options.declare_points[BLACK], options.declare_points[WHITE])) {
        score = mate_in(f->ply + 1);
        return true;
    }
    return false;
}

}  // namespace komadori::alphabeta

#include "komadori/alphabeta/iteration.h"
#include "komadori/alphabeta/node_search.h"
#include "komadori/alphabeta/quiescence.h"
