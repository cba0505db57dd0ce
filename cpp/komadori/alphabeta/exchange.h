// Static exchange evaluation.
#pragma once

#include "komadori/alphabeta/score.h"
#include "komadori/rules/position.h"

namespace komadori::alphabeta {

// Whether the captures on the move's destination, each side taking with its cheapest piece or
// standing pat, leave the mover with a gain of at least `threshold` centipawns of material. Pieces
// behind others join in; pins, promotions of those who take back and checks are ignored.
bool exchange_gains(const Position& position, Move m, Score threshold);

}  // namespace komadori::alphabeta
