// The attacker's moves in a mate search.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

// Writes every legal move that gives check, non-promotions included, and returns the number; 0 if
// the opponent has no king. `moves` must have room for MAX_LEGAL_MOVES.
int checking_moves(const Position& position, Move* moves);

}  // namespace komadori
