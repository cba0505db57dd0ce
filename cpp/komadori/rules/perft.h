// Leaf counts of the legal move tree.
#pragma once

#include <cstdint>

#include "komadori/rules/position.h"

namespace komadori {

// Leaves `depth` plies below the position, which is the same afterwards. The last ply is counted,
// not made (bulk counting). depth 0 is one leaf.
std::uint64_t perft(Position& position, int depth);

}  // namespace komadori
