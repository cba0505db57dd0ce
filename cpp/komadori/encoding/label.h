// Move labels: the output indices of a policy network.
//
// Labels are from the side to move's view: for White the board is rotated by 180 degrees.
// A scheme is data (LabelScheme). dlshogi's 2187 also has an inline function, for the search.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "komadori/encoding/direction.h"
#include "komadori/rules/types.h"

namespace komadori {

// dlshogi's label: 81*plane + to. Planes 0-9: directions; 10-19: directions with promotion; 20-26:
// drops of P L N S B R G (dlshogi's cppshogi; the order of every published dlshogi model).
// m must be a drop or have a direction, as every legal move of `turn` does.
inline int label_2187(Move m, Color turn) {
    const Square to = turn == BLACK ? m.to() : rotate(m.to());
    if (m.is_drop()) return (19 + m.dropped()) * SQUARES + to;
    const Square from = turn == BLACK ? m.from() : rotate(m.from());
    return (direction_between(from, to) + (m.is_promotion() ? 10 : 0)) * SQUARES + to;
}

// One output head. Its labels are 81*plane + to or, if `rank` isn't empty, the rank of that number
// among those that a legal move can have.
struct LabelHead {
    std::string name;
    int size = 0;                     // number of labels
    std::vector<std::string> planes;  // names; plane p has 81*p .. 81*p + 80
    std::vector<std::int16_t> rank;   // by 81*plane + to; -1 if no legal move has that label
    std::int16_t board[16][MOVE_DIRECTIONS][2];  // plane by [type][direction][promotes]; -1: none
    std::int16_t drop[8];                        // plane by type; -1: none
    bool is_origin = false;  // labels are the origin: its square, or 81 + drop index
};

// If needs_piece, label() needs moves with moved() filled in.
struct LabelScheme {
    std::string name;
    std::string summary;
    std::string source;
    std::vector<LabelHead> heads;  // a label is one number per head
    bool needs_piece = false;      // the label depends on the type of the moved piece
    bool is_invertible = true;     // no two legal moves of a position share a label

    int size() const;  // sum over the heads
    // The label in head h, -1 if the scheme has none for the move.
    int label(Move m, Color turn, std::size_t h = 0) const;
};

const std::vector<LabelScheme>& label_schemes();
const LabelScheme* find_label_scheme(std::string_view name);  // null if unknown

}  // namespace komadori
