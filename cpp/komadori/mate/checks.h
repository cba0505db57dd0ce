// The attacker's moves in a mate search.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

// Every legal move that gives check, non-promotions included; none where the other side has no
// king. `moves` must have room for MAX_LEGAL_MOVES; returns how many.
int checking_moves(const Position& position, Move* moves);

}  // namespace komadori
