// Move labels: the numbers of a policy network's outputs.
//
// Every label is seen by the side to move: for White the board is turned by 180 degrees.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "komadori/encoding/direction.h"
#include "komadori/rules/types.h"

namespace komadori {

constexpr int LABELS_2187 = 27 * SQUARES;

// dlshogi's label: 81*plane + to. Planes 0-9 the directions, 10-19 the same with promotion,
// 20-26 drops of P L N S B R G (dlshogi's cppshogi; the order of every published dlshogi model).
// m is a legal move of `turn`, or at least has a direction.
inline int label_2187(Move m, Color turn) {
    const Square to = turn == BLACK ? m.to() : rotate(m.to());
    if (m.is_drop()) return (20 + m.dropped() - 1) * SQUARES + to;
    const Square from = turn == BLACK ? m.from() : rotate(m.from());
    return (direction_between(from, to) + (m.is_promotion() ? 10 : 0)) * SQUARES + to;
}

}  // namespace komadori
