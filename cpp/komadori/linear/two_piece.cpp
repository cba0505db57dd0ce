#include "komadori/linear/two_piece.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace komadori::linear {
namespace {

// Offset of each type within a hand's features.
constexpr int FIRST_IN_HAND[8] = {0, 0, 18, 22, 26, 34, 36, 30};

constexpr PieceType IN_HAND[HAND_FEATURES] = {
    PAWN,  PAWN,  PAWN,   PAWN,   PAWN,   PAWN,   PAWN,   PAWN,   PAWN,   PAWN,
    PAWN,  PAWN,  PAWN,   PAWN,   PAWN,   PAWN,   PAWN,   PAWN,   LANCE,  LANCE,
    LANCE, LANCE, KNIGHT, KNIGHT, KNIGHT, KNIGHT, SILVER, SILVER, SILVER, SILVER,
    GOLD,  GOLD,  GOLD,   GOLD,   BISHOP, BISHOP, ROOK,   ROOK};
static_assert([] {
    for (PieceType t : {PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK}) {
        if (IN_HAND[FIRST_IN_HAND[t]] != t) return false;
    }
    return true;
}());

// The sum of a feature's pairs with all pieces, including itself (0 on the board).
std::int32_t row_sum(const std::int16_t* row, const FeatureList& list) {
    std::int32_t sum = 0;
    for (Feature a : list) sum += row[a];
    return sum;
}

}  // namespace

Feature hand_feature(Color c, PieceType t, int number) {
    return Feature(HAND_FEATURES * c + FIRST_IN_HAND[t] + number - 1);
}

Feature mirrored(Feature a) {
    if (is_in_hand(a)) return a;
    const Square s = square_of(a);
    return Feature(a - s + make_square(8 - file_of(s), rank_of(s)));
}

Feature swapped(Feature a) {
    if (is_in_hand(a)) return Feature(a < HAND_FEATURES ? a + HAND_FEATURES : a - HAND_FEATURES);
    const int kind = kind_on_board(a);
    return board_feature(Color(kind < KINDS), Kind(kind % KINDS), rotate(square_of(a)));
}

FeatureList features_of(const Position& position) {
    FeatureList list;
    list.fill(NO_FEATURE);
    std::size_t n = 0;
    position.occupied().each([&](Square s) { list[n++] = board_feature(position.piece_on(s), s); });
    for (Color c : {BLACK, WHITE}) {
        for (PieceType t : HAND_TYPES) {
            for (int i = 1; i <= position.hand(c, t); ++i) list[n++] = hand_feature(c, t, i);
        }
    }
    return list;
}

TwoPieceWeights::TwoPieceWeights(std::span<const std::int16_t> pairs,
                                 const std::array<Score, 16>& piece_values)
    : table_((FEATURES + 1) * ROW), piece_values_(piece_values) {
    if (pairs.size() != std::size_t(FEATURES) * FEATURES) {
        throw std::invalid_argument("two-piece weights are " + std::to_string(FEATURES) + " x " +
                                    std::to_string(FEATURES));
    }
    for (std::size_t a = 0; a < FEATURES; ++a) {
        std::copy_n(&pairs[a * FEATURES], FEATURES, &table_[a * ROW]);
        for (std::size_t b = 0; b < a; ++b) {
            if (pairs[a * FEATURES + b] != pairs[b * FEATURES + a]) {
                throw std::invalid_argument("two-piece weights [" + std::to_string(a) + "][" +
                                            std::to_string(b) + "] and its mirror image differ");
            }
        }
        if (!is_in_hand(Feature(a)) && pairs[a * FEATURES + a] != 0) {
            throw std::invalid_argument("two-piece weight [" + std::to_string(a) + "][" +
                                        std::to_string(a) + "] of a piece on the board is not 0");
        }
    }
}

std::int32_t pair_sum(const TwoPieceWeights& weights, const FeatureList& list) {
    // `twice` counts every pair twice and every piece in hand with itself once.
    std::int32_t twice = 0, own = 0;
    for (Feature a : list) {
        twice += row_sum(weights.row(a), list);
        own += weights.row(a)[a];
    }
    return (twice + own) / 2;
}

Score material(const TwoPieceWeights& weights, const Position& position) {
    Score sum = 0;
    position.occupied().each([&](Square s) {
        const Piece p = position.piece_on(s);
        const Score value = weights.piece_value(type_of(p));
        sum += color_of(p) == BLACK ? value : -value;
    });
    for (PieceType t : HAND_TYPES) {
        sum += weights.piece_value(t) * (position.hand(BLACK, t) - position.hand(WHITE, t));
    }
    return sum;
}

Score evaluate(const TwoPieceWeights& weights, const Position& position) {
    return material(weights, position) + pair_sum(weights, features_of(position)) / WEIGHT_UNITS;
}

void TwoPieceEvaluator::reset(const Position& position) {
    list_ = features_of(position);
    for (std::size_t i = 0; i < PIECES; ++i) numbers_[list_[i]] = std::uint8_t(i);
    top_ = 0;
    frames_[0] = {.sum = pair_sum(*weights_, list_), .material = material(*weights_, position)};
}

void TwoPieceEvaluator::record_change(Frame& frame, int piece, Feature after) {
    Feature& feature = list_[std::size_t(piece)];
    frame.change[frame.changes++] = {std::uint8_t(piece), feature, after};
    feature = after;
    numbers_[after] = std::uint8_t(piece);
}

void TwoPieceEvaluator::push(const Position& position, Move m) {
    const Color us = position.turn();
    Frame& frame = frames_[std::size_t(top_ + 1)];
    frame.sum = UNKNOWN;
    frame.changes = 0;
    Score gain = 0;
    if (m.is_drop()) {
        const PieceType t = m.dropped();
        record_change(frame, numbers_[hand_feature(us, t, position.hand(us, t))],
                      board_feature(make_piece(us, t), m.to()));
    } else {
        if (const PieceType taken = m.captured(); taken != NO_PIECE_TYPE) {
            const PieceType held = base_type(taken);
            record_change(frame, numbers_[board_feature(make_piece(opponent(us), taken), m.to())],
                          hand_feature(us, held, position.hand(us, held) + 1));
            gain += weights_->piece_value(taken) + weights_->piece_value(held);
        }
        const PieceType before = m.moved();
        const PieceType after = m.is_promotion() ? promoted_type(before) : before;
        record_change(frame, numbers_[board_feature(make_piece(us, before), m.from())],
                      board_feature(make_piece(us, after), m.to()));
        gain += weights_->piece_value(after) - weights_->piece_value(before);
    }
    frame.material = frames_[std::size_t(top_)].material + (us == BLACK ? gain : -gain);
    ++top_;
}

void TwoPieceEvaluator::push_null(const Position&) {
    frames_[std::size_t(top_ + 1)] = {.sum = UNKNOWN,
                                      .material = frames_[std::size_t(top_)].material};
    ++top_;
}

void TwoPieceEvaluator::pop() {
    const Frame& frame = frames_[std::size_t(top_--)];
    for (int i = frame.changes; i-- > 0;) {
        const Change& change = frame.change[i];
        list_[change.piece] = change.before;
        numbers_[change.before] = change.piece;
    }
}

Score TwoPieceEvaluator::value(const Position& position) {
    int known = top_;
    while (frames_[std::size_t(known)].sum == UNKNOWN) --known;
    if (known < top_) {
        // Rewinds the list to frame `known`, then updates forward.
        FeatureList list = list_;
        for (int f = top_; f > known; --f) {
            const Frame& frame = frames_[std::size_t(f)];
            for (int i = frame.changes; i-- > 0;)
                list[frame.change[i].piece] = frame.change[i].before;
        }
        for (int f = known + 1; f <= top_; ++f) {
            Frame& frame = frames_[std::size_t(f)];
            std::int32_t sum = frames_[std::size_t(f - 1)].sum;
            for (int i = 0; i < frame.changes; ++i) {
                const Change& change = frame.change[i];
                sum -= row_sum(weights_->row(change.before), list);
                list[change.piece] = change.after;
                sum += row_sum(weights_->row(change.after), list);
            }
            frame.sum = sum;
        }
    }
    const Frame& frame = frames_[std::size_t(top_)];
    const Score black = frame.material + frame.sum / WEIGHT_UNITS;
    return position.turn() == BLACK ? black : -black;
}

}  // namespace komadori::linear
