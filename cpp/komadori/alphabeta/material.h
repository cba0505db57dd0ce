// Material, and the evaluator that knows nothing else.
//
// What an evaluator is. The search is compiled once for each (Worker<Evaluator>); a new one needs
//   struct Weights                          shared by all threads, constant while searching
//   explicit Evaluator(const Weights&)
//   void reset(const Position&)             forget, start from here
//   void push(const Position&, Move)        called before the position makes the move
//   void push_null(const Position&)         likewise for a null move
//   void pop()                              after the position took it back
//   Score value(const Position&)            side to move's view, within +-EVAL_LIMIT
// push and pop keep incremental sums on a stack of MAX_PUSHES; value may work out lazily what
// push only noted. value must equal what a fresh evaluator gives after reset.
#pragma once

#include <concepts>

#include "komadori/alphabeta/score.h"
#include "komadori/rules/position.h"

namespace komadori::alphabeta {

constexpr int MAX_PUSHES = MAX_PLIES + 8;

template <class E>
concept Evaluator = requires(E e, const typename E::Weights& w, const Position& p, Move m) {
    E(w);
    e.reset(p);
    e.push(p, m);
    e.push_null(p);
    e.pop();
    { e.value(p) } -> std::convertible_to<Score>;
};

// Centipawns by piece type: the values of Apery and elmo, which their evaluations keep fixed.
constexpr Score PIECE_VALUE[16] = {0, 90,  315, 405, 495, 855, 990, 540,
                                   0, 540, 540, 540, 540, 945, 1395};

// What the balance gains by capturing: the piece leaves the board and enters a hand, unpromoted.
constexpr Score capture_value(PieceType t) {
    return t == NO_PIECE_TYPE ? 0 : PIECE_VALUE[t] + PIECE_VALUE[base_type(t)];
}
constexpr Score promotion_value(PieceType t) {
    return PIECE_VALUE[promoted_type(t)] - PIECE_VALUE[t];
}
// What the balance gains by the move.
constexpr Score gain(Move m) {
    return m.is_drop()
               ? 0
               : capture_value(m.captured()) + (m.is_promotion() ? promotion_value(m.moved()) : 0);
}

Score material(const Position& position);  // Black's view, board and hands

class MaterialEvaluator {
  public:
    struct Weights {};

    explicit MaterialEvaluator(const Weights&) {}
    void reset(const Position& position) {
        top_ = 0;
        balance_[0] = material(position);
    }
    void push(const Position& position, Move m) {
        Score change = gain(m);
        balance_[top_ + 1] = balance_[top_] + (position.turn() == BLACK ? change : -change);
        ++top_;
    }
    void push_null(const Position&) {
        balance_[top_ + 1] = balance_[top_];
        ++top_;
    }
    void pop() { --top_; }
    Score value(const Position& position) const {
        return position.turn() == BLACK ? balance_[top_] : -balance_[top_];
    }

  private:
    Score balance_[MAX_PUSHES + 1];  // Black's view
    int top_ = 0;
};

static_assert(Evaluator<MaterialEvaluator>);

}  // namespace komadori::alphabeta
