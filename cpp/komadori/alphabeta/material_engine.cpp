#include "komadori/alphabeta/engines.h"
#include "komadori/alphabeta/worker.h"

namespace komadori::alphabeta {

WorkerFactory material_workers() {
    static const MaterialEvaluator::Weights none;
    return [](Shared& shared, int index) {
        return std::make_unique<Worker<MaterialEvaluator>>(shared, index, none);
    };
}

}  // namespace komadori::alphabeta
