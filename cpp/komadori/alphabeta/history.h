// History tables for move ordering and pruning, one set per thread.
#pragma once

#include <algorithm>
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
        bonus = std::clamp(bonus, -LIMIT, LIMIT);
        value_ = std::int16_t(value_ + bonus - value_ * std::abs(bonus) / LIMIT);
    }
    void set(int value) { value_ = std::int16_t(value); }

  private:
    std::int16_t value_;
};

// Pieces are 1 to 14 and 17 to 30.
constexpr std::size_t PIECE_ROWS = 30;

// Indexed by the moved piece (promoted if it promotes) and its destination.
template <class T>
struct ByPieceTo {
    T values[PIECE_ROWS][SQUARES];
    T& operator()(Piece p, Square to) { return values[p - 1][to]; }
    const T& operator()(Piece p, Square to) const { return values[p - 1][to]; }
};

inline Piece piece_after(Color c, Move m) {
    return make_piece(c, m.is_promotion() ? promoted_type(m.moved()) : m.moved());
}

constexpr int HISTORY_LIMIT = 7183, CAPTURE_LIMIT = 10692, CONTINUATION_LIMIT = 30000;
constexpr int PAWN_LIMIT = 8192, TABLE_MOVE_LIMIT = 8192;

// [colour][move16 without the promotion bit]
using ButterflyHistory = HistoryScore<HISTORY_LIMIT>[2][1 << 14];
using CaptureHistory = ByPieceTo<HistoryScore<CAPTURE_LIMIT>[16]>;  // [..][captured base type]
// Continuation history of one earlier move: scores of the moves 1 to 6 plies after it.
using ContinuationRow = ByPieceTo<HistoryScore<CONTINUATION_LIMIT>>;
using PawnRow = ByPieceTo<HistoryScore<PAWN_LIMIT>>;

// Evaluation errors of the positions that share a feature, by side to move (Stockfish's correction
// history).
constexpr int CORRECTION_LIMIT = 1024;
constexpr std::size_t CORRECTIONS = 1 << 16;
using Correction = HistoryScore<CORRECTION_LIMIT>;
using CorrectionHistory = Correction[2][CORRECTIONS];
using CorrectionRow = ByPieceTo<Correction>;

constexpr std::size_t PAWN_ROWS = 4096;
constexpr int LOW_PLIES = 5;

// Sets every score of a table.
template <class T>
void fill_scores(T& table, int value) {
    constexpr std::size_t BYTES = sizeof(T);
    using Value = std::int16_t;
    static_assert(sizeof(HistoryScore<1>) == sizeof(Value) && BYTES % sizeof(Value) == 0);
    std::fill_n(reinterpret_cast<Value*>(&table), BYTES / sizeof(Value), Value(value));
}

// Rows of scores that are set to INITIAL when they are first used, since most never are.
template <class Row, std::size_t COUNT, int INITIAL>
class LazyRows {
  public:
    Row& operator[](std::size_t i) {
        if (!is_used_[i]) [[unlikely]] {
            fill_scores(rows_[i], INITIAL);
            is_used_[i] = true;
        }
        return rows_[i];
    }
    void clear() { std::memset(is_used_, 0, sizeof is_used_); }

  private:
    bool is_used_[COUNT];
    Row rows_[COUNT];
};

struct Histories {
    static constexpr std::size_t ROWS = PIECE_ROWS * SQUARES;  // by piece and destination

    ButterflyHistory butterfly;
    CaptureHistory capture;
    // By the move before: (in check, capture, row_of).
    LazyRows<ContinuationRow, 4 * ROWS, -523> continuation;
    LazyRows<PawnRow, PAWN_ROWS, -1238> pawns;                // by the pawns on the board
    HistoryScore<HISTORY_LIMIT> low_ply[LOW_PLIES][1 << 14];  // near the root of this search
    HistoryScore<TABLE_MOVE_LIMIT> table_move;                // how often the table's move is best
    // By the pawns, each side's other pieces, the minor ones, and the last move after an earlier
    // one.
    CorrectionHistory pawn_corrections, piece_corrections[2], minor_corrections;
    LazyRows<CorrectionRow, ROWS, 6> move_corrections;
    ContinuationRow nothing;  // sentinel: the row of a null move and before the root
    CorrectionRow no_correction;

    static int butterfly_index(Move m) { return int(m.raw() & 0x3fff); }
    static std::size_t row_of(Piece p, Square to) { return std::size_t(p - 1) * SQUARES + to; }

    void clear() {
        fill_scores(butterfly, 0);
        fill_scores(capture, -678);
        continuation.clear();
        pawns.clear();
        table_move.set(0);
        fill_scores(pawn_corrections, 0);
        fill_scores(piece_corrections, 0);
        fill_scores(minor_corrections, 0);
        move_corrections.clear();
        fill_scores(nothing, -523);
        fill_scores(no_correction, 6);
    }
};

}  // namespace komadori::alphabeta
