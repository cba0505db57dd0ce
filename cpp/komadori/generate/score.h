// Search scores in the units of records.
#pragma once

#include "komadori/alphabeta/score.h"
#include "komadori/records/game.h"

namespace komadori::generate {

constexpr int to_cp(alphabeta::Score score) {
    if (!alphabeta::is_mate(score)) return score;
    return score > 0 ? MATE_CP : -MATE_CP;
}

}  // namespace komadori::generate
