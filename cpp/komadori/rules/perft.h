// Leaf counts of the legal move tree (perft).
#pragma once

#include <cstdint>

#include "komadori/rules/position.h"

namespace komadori {

// Counts the leaves `depth` plies below the position, which is unchanged on return. Bulk counting:
// moves of the last ply are counted, not made. 1 at depth 0.
std::uint64_t perft(Position& position, int depth);

}  // namespace komadori
