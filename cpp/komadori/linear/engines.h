// The alpha-beta engine over the evaluations of this folder.
#pragma once

#include <memory>

#include "komadori/alphabeta/engine.h"
#include "komadori/linear/kpp.h"
#include "komadori/linear/nnue.h"
#include "komadori/linear/two_piece.h"

namespace komadori::linear {

alphabeta::WorkerFactory two_piece_workers(std::shared_ptr<const TwoPieceWeights> weights);
alphabeta::WorkerFactory nnue_workers(std::shared_ptr<const NnueWeights> weights);
alphabeta::WorkerFactory kpp_workers(std::shared_ptr<const KppWeights> weights);

}  // namespace komadori::linear
