// Random numbers of the position keys. The generator is splitmix64 (Steele, Lea, Flood 2014) from
// a fixed seed, so keys are the same in every build and run.
#pragma once

#include <cstdint>

#include "komadori/rules/types.h"

namespace komadori {

struct ZobristTables {
    std::uint64_t piece[32][SQUARES];
    std::uint64_t hand[2][8];  // added once for each piece held
    std::uint64_t white_to_move;
};
extern const ZobristTables ZOBRIST;

}  // namespace komadori
