// A mate in 1, 3 or 5 plies by plain depth-first search, for the leaves of another search.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

// The first move of a mate by checks within `plies` plies (odd; an even number counts as the odd
// one below), Move() if there is none: the answer is exact. The position is as before on return;
// nothing is allocated once its path has room. Does not look at repetitions.
Move mate_within(Position& position, int plies);

}  // namespace komadori
