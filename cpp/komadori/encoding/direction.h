// The direction of a move, seen by the side that makes it.
#pragma once

#include <array>
#include <cstdint>

#include "komadori/rules/types.h"

namespace komadori {

// Numbered as in dlshogi and pydlshogi. UP is toward the opponent; LEFT, for Black, is toward
// file 9. The last two are the knight's.
enum Direction : std::uint8_t {
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
};
constexpr int DIRECTIONS = 10;
constexpr std::uint8_t NO_DIRECTION = 255;

namespace detail {

constexpr std::uint8_t direction_from_steps(int left, int up) {
    if (up == 2 && left == 1) return UP2_LEFT;
    if (up == 2 && left == -1) return UP2_RIGHT;
    if (left == 0 && up == 0) return NO_DIRECTION;
    if (left == 0) return up > 0 ? UP : DOWN;
    if (up == 0) return left > 0 ? LEFT : RIGHT;
    if (left != up && left != -up) return NO_DIRECTION;
    if (up > 0) return left > 0 ? UP_LEFT : UP_RIGHT;
    return left > 0 ? DOWN_LEFT : DOWN_RIGHT;
}

constexpr auto make_directions() {
    std::array<std::array<std::uint8_t, SQUARES>, SQUARES> table{};
    for (int from = 0; from < SQUARES; ++from) {
        for (int to = 0; to < SQUARES; ++to) {
            table[from][to] =
                direction_from_steps(file_of(Square(to)) - file_of(Square(from)),
                                     rank_of(Square(from)) - rank_of(Square(to)));
        }
    }
    return table;
}

inline constexpr auto DIRECTION_TABLE = make_directions();

}  // namespace detail

// Direction from `from` to `to` as Black sees them (a White move has both squares rotated
// first); NO_DIRECTION where no piece moves so.
inline std::uint8_t direction_between(Square from, Square to) {
    return detail::DIRECTION_TABLE[from][to];
}

}  // namespace komadori
