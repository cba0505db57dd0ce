#include "komadori/alphabeta/worker.h"
#include "komadori/linear/engines.h"

namespace komadori::linear {

alphabeta::WorkerFactory kpp_workers(std::shared_ptr<const KppWeights> weights) {
    return [weights = std::move(weights)](alphabeta::Shared& shared, int index) {
        return std::make_unique<alphabeta::Worker<KppEvaluator>>(shared, index, *weights);
    };
}

}  // namespace komadori::linear
