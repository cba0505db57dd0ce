// The direction of a move from the mover's view.
#pragma once

#include <array>
#include <cstdint>

#include "komadori/rules/attacks.h"
#include "komadori/rules/types.h"

namespace komadori {

// Numbered as in dlshogi and pydlshogi. UP is toward the opponent; LEFT, for Black, is toward
// file 9. The last two are the knight's.
enum MoveDirection : std::uint8_t {
    UP,
    UP_LEFT,
    UP_RIGHT,
    LEFT,
    RIGHT,
    DOWN,
    DOWN_LEFT,
    DOWN_RIGHT,
    UP2_LEFT,
    UP2_RIGHT,
    NO_DIRECTION = 255,
};
constexpr int MOVE_DIRECTIONS = 10;

// By Relation (attacks.h): none, adjacent N NW W SW S SE E NE, distant in the same order, Black's
// knight to the right and to the left, White's knight.
constexpr std::array<MoveDirection, 21> DIRECTION_OF_RELATION = {
    NO_DIRECTION,  //
    UP,           UP_LEFT,      LEFT,  DOWN_LEFT, DOWN,      DOWN_RIGHT,
    RIGHT,        UP_RIGHT,     UP,    UP_LEFT,   LEFT,      DOWN_LEFT,
    DOWN,         DOWN_RIGHT,   RIGHT, UP_RIGHT,  UP2_RIGHT, UP2_LEFT,  //
    NO_DIRECTION, NO_DIRECTION,
};

// The direction from `from` to `to` from Black's view (for a White move rotate both first);
// NO_DIRECTION if no black piece moves that way.
inline MoveDirection direction_between(Square from, Square to) {
    return DIRECTION_OF_RELATION[relation(from, to)];
}

}  // namespace komadori
