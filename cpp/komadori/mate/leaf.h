// Fixed-depth mate search, meant for 1, 3 or 5 plies at the leaves of another search.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

constexpr int MAX_LEAF_PLIES = 99;

// The first move of a mate by checks within `plies` plies, or Move(); exact. An even number of
// plies is rounded down to an odd one; at most MAX_LEAF_PLIES. The position is unchanged on return;
// allocates only if its path has to grow. Ignores repetitions.
Move mate_within(Position& position, int plies);

}  // namespace komadori
