// Zobrist keys, from splitmix64 (Steele, Lea, Flood 2014) with a fixed seed: the same in every
// build and run.
#pragma once

#include <cstdint>

#include "komadori/rules/types.h"

namespace komadori {

struct ZobristTables {
    std::uint64_t piece[32][SQUARES];
    std::uint64_t hand[2][8];  // added once per piece in hand
    std::uint64_t white_to_move;
};
extern const ZobristTables ZOBRIST;

}  // namespace komadori
