// History tables for move ordering and pruning, one set per thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "komadori/rules/types.h"

namespace komadori::alphabeta {

// A history score within +-LIMIT. A bonus has less effect the closer the score is to the limit
// ("gravity").
template <int LIMIT>
class HistoryScore {
  public:
    operator int() const { return value_; }
    void operator<<(int bonus) {
        value_ = std::int16_t(value_ + bonus - value_ * std::abs(bonus) / LIMIT);
    }
    void set(int value) { value_ = std::int16_t(value); }

  private:
    std::int16_t value_;
};

// Indexed by the moved piece (promoted if it promotes) and its destination: [piece][square].
template <class T>
struct ByPieceTo {
    T values[32][SQUARES];
    T& operator()(Piece p, Square to) { return values[p][to]; }
    const T& operator()(Piece p, Square to) const { return values[p][to]; }
};

inline Piece piece_after(Color c, Move m) {
    return make_piece(c, m.is_promotion() ? promoted_type(m.moved()) : m.moved());
}

constexpr int HISTORY_LIMIT = 7000, CAPTURE_LIMIT = 10000, CONTINUATION_LIMIT = 30000;

// [colour][move16 without the promotion bit]
using ButterflyHistory = HistoryScore<HISTORY_LIMIT>[2][1 << 14];
using CaptureHistory = ByPieceTo<HistoryScore<CAPTURE_LIMIT>[16]>;  // [..][captured base type]
// Continuation history of one earlier move: scores of the moves 1, 2, 4 or 6 plies after it.
using ContinuationRow = ByPieceTo<HistoryScore<CONTINUATION_LIMIT>>;

// Evaluation errors of the positions that share a feature, by side to move (Stockfish's correction
// history).
constexpr int CORRECTION_LIMIT = 1024;
constexpr std::size_t CORRECTIONS = 1 << 14;
using Correction = HistoryScore<CORRECTION_LIMIT>;
using CorrectionHistory = Correction[2][CORRECTIONS];

constexpr std::size_t PAWN_ROWS = 512;
constexpr int LOW_PLIES = 4;

// Weights of the histories in the order of quiet moves, 1/16.
struct OrderWeights {
    int butterfly = 32, one = 32, two = 16, four = 16, pawns = 0, low_ply = 0;
};

struct Histories {
    OrderWeights weights;
    ButterflyHistory butterfly;
    CaptureHistory capture;
    ByPieceTo<std::uint16_t> counter;  // move16 that refuted the move
    ByPieceTo<ContinuationRow> continuation;
    ContinuationRow pawns[PAWN_ROWS];                         // by the pawns on the board
    HistoryScore<HISTORY_LIMIT> low_ply[LOW_PLIES][1 << 14];  // near the root of this search
    // By the pawns, each side's other pieces, and the last two moves.
    CorrectionHistory pawn_corrections, piece_corrections[2], move_corrections;
    ContinuationRow nothing;  // sentinel: the row of a null move and before the root

    static int butterfly_index(Move m) { return int(m.raw() & 0x3fff); }

    void clear() {
        std::memset(static_cast<void*>(this), 0, sizeof *this);
        // Unseen moves rank below moves with a neutral history.
        constexpr int UNSEEN = -50;
        for (auto& squares : continuation.values) {
            for (auto& row : squares) {
                for (auto& to : row.values) {
                    for (auto& score : to) score.set(UNSEEN);
                }
            }
        }
    }
};

}  // namespace komadori::alphabeta
