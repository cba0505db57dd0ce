// Worker factories: the search compiled for each evaluator.
#pragma once

#include "komadori/alphabeta/engine.h"

namespace komadori::alphabeta {

WorkerFactory material_workers();

}  // namespace komadori::alphabeta
