// Piece values, the Evaluator concept and the material-only evaluator.
//
// The search is compiled once per evaluator (Worker<Evaluator>). An evaluator has
//   struct Weights                          shared by all threads, constant during a search
//   explicit Evaluator(const Weights&)
//   void reset(const Position&)             start from this position
//   void push(const Position&, Move)        called before the position makes the move
//   void push_null(const Position&)         called before a null move
//   void pop()                              called after the move is undone
//   Score value(const Position&)            side to move's view, within +-EVAL_LIMIT
// push and pop maintain incremental sums on a stack of MAX_PUSHES; push may only record the change
// and leave the update to value. value must equal that of a fresh evaluator after reset.
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

// Centipawns by piece type: the fixed piece values of Apery and elmo.
constexpr Score PIECE_VALUE[16] = {0, 90,  315, 405, 495, 855, 990, 540,
                                   0, 540, 540, 540, 540, 945, 1395};

// Change of the material balance by a capture: the piece leaves the board and enters the hand,
// unpromoted.
constexpr Score capture_value(PieceType t) {
    return t == NO_PIECE_TYPE ? 0 : PIECE_VALUE[t] + PIECE_VALUE[base_type(t)];
}
constexpr Score promotion_value(PieceType t) {
    return PIECE_VALUE[promoted_type(t)] - PIECE_VALUE[t];
}
// Change of the material balance by the move, from the mover's view.
constexpr Score gain(Move m) {
    return m.is_drop()
               ? 0
               : capture_value(m.captured()) + (m.is_promotion() ? promotion_value(m.moved()) : 0);
}

// The same, counting a captured piece once.
constexpr Score single_gain(Move m) {
    return m.is_drop()
               ? 0
               : PIECE_VALUE[m.captured()] + (m.is_promotion() ? promotion_value(m.moved()) : 0);
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
