// shogi686's evaluation: a weight for every pair of pieces by their squares (docs/sources.md,
// shogi686).
//
//   E = material + (1/32) * (sum over i < j of w[a_i][a_j] + sum over hand pieces of w[a_i][a_i])
//
// in centipawns, Black's view. a_0..a_39 are the features of the 40 pieces:
//
//   0 .. 37      Black's hand: pawn 1..18, lance 1..4, knight, silver, gold 1..4, bishop 1..2,
//                rook 1..2; three pawns in hand are the features pawn 1, pawn 2 and pawn 3
//   38 .. 75     White's hand
//   76 .. 1695   the board: 76 + 81 * kind + square, ten kinds per colour: pawn, lance, knight,
//                silver, gold and pieces that move like it, bishop, rook, horse, dragon, king
//
// The full matrix of pairs is stored, w[a][b] = w[b][a], so that a moved piece reads one row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "komadori/alphabeta/material.h"
#include "komadori/rules/position.h"

namespace komadori::linear {

using alphabeta::Score;

constexpr int HAND_FEATURES = 38;  // per colour
constexpr int FIRST_ON_BOARD = 2 * HAND_FEATURES;
constexpr int KINDS = 10;  // per colour
constexpr int FEATURES = FIRST_ON_BOARD + 2 * KINDS * SQUARES;
constexpr int PIECES = 40;
constexpr int WEIGHT_UNITS = 32;  // units per centipawn

using Feature = std::uint16_t;
constexpr Feature NO_FEATURE = FEATURES;  // padding of a list

// Kinds of pieces on the board.
enum Kind : std::uint8_t {
    PAWN_KIND,
    LANCE_KIND,
    KNIGHT_KIND,
    SILVER_KIND,
    GOLD_KIND,
    BISHOP_KIND,
    ROOK_KIND,
    HORSE_KIND,
    DRAGON_KIND,
    KING_KIND,
};
constexpr Kind KIND_OF[16] = {PAWN_KIND,   PAWN_KIND, LANCE_KIND, KNIGHT_KIND, SILVER_KIND,
                              BISHOP_KIND, ROOK_KIND, GOLD_KIND,  KING_KIND,   GOLD_KIND,
                              GOLD_KIND,   GOLD_KIND, GOLD_KIND,  HORSE_KIND,  DRAGON_KIND};

// number: 1 for the first piece of its type in that hand.
Feature hand_feature(Color c, PieceType t, int number);
constexpr Feature board_feature(Color c, Kind kind, Square s) {
    return Feature(FIRST_ON_BOARD + SQUARES * (KINDS * c + kind) + s);
}
constexpr Feature board_feature(Piece p, Square s) {
    return board_feature(color_of(p), KIND_OF[type_of(p)], s);
}
constexpr bool is_in_hand(Feature a) { return a < FIRST_ON_BOARD; }
constexpr int kind_on_board(Feature a) {  // 0..19: Black's kinds, then White's
    return (a - FIRST_ON_BOARD) / SQUARES;
}
constexpr Square square_of(Feature a) { return Square((a - FIRST_ON_BOARD) % SQUARES); }

// Mirrored left to right; a piece in hand is unchanged.
Feature mirrored(Feature a);
// Rotated by 180 degrees with colours swapped.
Feature swapped(Feature a);

// The features of a position's pieces, padded with NO_FEATURE if there are fewer than 40.
using FeatureList = std::array<Feature, PIECES>;
FeatureList features_of(const Position& position);

class TwoPieceWeights {
  public:
    // pairs: [FEATURES][FEATURES], symmetric, with 0 on the diagonal of board features.
    // piece_values: centipawns by piece type. Throws std::invalid_argument.
    TwoPieceWeights(std::span<const std::int16_t> pairs, const std::array<Score, 16>& piece_values);

    const std::int16_t* row(Feature a) const { return &table_[std::size_t(a) * ROW]; }
    Score piece_value(PieceType t) const { return piece_values_[t]; }

  private:
    static constexpr std::size_t ROW = 1704;  // FEATURES, a zero for NO_FEATURE, padding
    std::vector<std::int16_t> table_;
    std::array<Score, 16> piece_values_;
};

// The full sum over a list, in units of 1/32 centipawn, Black's view, without material.
std::int32_t pair_sum(const TwoPieceWeights& weights, const FeatureList& list);
Score material(const TwoPieceWeights& weights, const Position& position);
// Black's view.
Score evaluate(const TwoPieceWeights& weights, const Position& position);

// An alphabeta::Evaluator. push only records which features change; value updates the sum from the
// nearest earlier frame with a known sum.
class TwoPieceEvaluator {
  public:
    using Weights = TwoPieceWeights;

    explicit TwoPieceEvaluator(const Weights& weights) : weights_(&weights) {}
    void reset(const Position& position);
    void push(const Position& position, Move m);
    void push_null(const Position& position);
    void pop();
    Score value(const Position& position);
    const FeatureList& list() const { return list_; }

  private:
    static constexpr std::int32_t UNKNOWN = INT32_MIN;
    struct Change {
        std::uint8_t piece;  // index in the list
        Feature before, after;
    };
    struct Frame {
        std::int32_t sum = 0;  // pair_sum(), or UNKNOWN
        Score material = 0;
        int changes = 0;
        Change change[2] = {};  // since the previous frame: the captured piece, then the moved one
    };

    void record_change(Frame& frame, int piece, Feature after);

    const TwoPieceWeights* weights_;
    FeatureList list_;
    std::array<std::uint8_t, FEATURES + 1> numbers_;  // index in the list by feature
    std::array<Frame, alphabeta::MAX_PUSHES + 1> frames_;
    int top_ = 0;
};

static_assert(alphabeta::Evaluator<TwoPieceEvaluator>);

}  // namespace komadori::linear
