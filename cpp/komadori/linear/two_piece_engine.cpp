#include "komadori/alphabeta/worker.h"
#include "komadori/linear/engines.h"

namespace komadori::linear {

alphabeta::WorkerFactory two_piece_workers(std::shared_ptr<const TwoPieceWeights> weights) {
    return [weights = std::move(weights)](alphabeta::Shared& shared, int index) {
        return std::make_unique<alphabeta::Worker<TwoPieceEvaluator>>(shared, index, *weights);
    };
}

}  // namespace komadori::linear
