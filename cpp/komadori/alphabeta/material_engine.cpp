#include "komadori/alphabeta/engines.h"
#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

WorkerFactory material_workers() {
    return [weights = MaterialEvaluator::Weights{}](Shared& shared, int index) {
        return std::make_unique<Worker<MaterialEvaluator>>(shared, index, weights);
    };
}

}  // namespace komadori::alphabeta
