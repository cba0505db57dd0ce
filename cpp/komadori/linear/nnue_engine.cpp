#include "komadori/alphabeta/worker.h"
#include "komadori/linear/engines.h"

namespace komadori::linear {

alphabeta::WorkerFactory nnue_workers(std::shared_ptr<const NnueWeights> weights) {
    return [weights = std::move(weights)](alphabeta::Shared& shared, int index) {
        return std::make_unique<alphabeta::Worker<NnueEvaluator>>(shared, index, *weights);
    };
}

}  // namespace komadori::linear
