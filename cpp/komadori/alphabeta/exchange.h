// Static exchange evaluation.
#pragma once

#include "komadori/alphabeta/score.h"
#include "komadori/rules/position.h"

namespace komadori::alphabeta {

// Whether the exchange on the move's destination gains the mover at least `threshold` centipawns of
// material. Each side captures with its least valuable piece or stops. Includes x-ray attackers;
// ignores pins, checks and promotions of recapturing pieces.
bool exchange_gains(const Position& position, Move m, Score threshold);

}  // namespace komadori::alphabeta
