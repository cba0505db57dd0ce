#pragma once

#include <string>

#include "komadori/linear/nnue.h"

namespace komadori::linear {

// Throws ValueError.
NnueInputs nnue_inputs_named(const std::string& name);

}  // namespace komadori::linear
