// What earlier nodes have taught about moves, for ordering and pruning. One set a thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "komadori/rules/types.h"

namespace komadori::alphabeta {

// A value within +-LIMIT that moves toward a bonus the less, the nearer it is to the limit.
template <int LIMIT>
class Gauge {
  public:
    operator int() const { return value_; }
    void operator<<(int bonus) {
        value_ = std::int16_t(value_ + bonus - value_ * std::abs(bonus) / LIMIT);
    }
    void set(int value) { value_ = std::int16_t(value); }

  private:
    std::int16_t value_;
};

// A piece after its move, and where it went: what most tables are asked by. [piece][square]
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

using ButterflyHistory = Gauge<HISTORY_LIMIT>[2][1 << 14];   // [colour][move16 less promotion]
using CaptureHistory = ByPieceTo<Gauge<CAPTURE_LIMIT>[16]>;  // [..][base type captured]
// After a move (piece and square), the moves one, two or four plies later.
using ContinuationRow = ByPieceTo<Gauge<CONTINUATION_LIMIT>>;

struct Histories {
    ButterflyHistory butterfly;
    CaptureHistory capture;
    ByPieceTo<std::uint16_t> counter;  // move16 that refuted the move
    ByPieceTo<ContinuationRow> continuation;
    ContinuationRow nothing;  // stands for the row before the first move

    static int butterfly_index(Move m) { return int(m.raw() & 0x3fff); }

    void clear() {
        std::memset(static_cast<void*>(this), 0, sizeof *this);
        // A move not seen yet is worse than one that was seen to be neutral.
        constexpr int UNSEEN = -50;
        for (auto& squares : continuation.values) {
            for (auto& row : squares) {
                for (auto& to : row.values) {
                    for (auto& gauge : to) gauge.set(UNSEEN);
                }
            }
        }
    }
};

}  // namespace komadori::alphabeta
