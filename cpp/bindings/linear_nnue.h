#pragma once

#include <string>

#include "komadori/linear/nnue.h"

namespace komadori::linear {

constexpr const char* NNUE_NAMES[] = {"k-p", "halfkp"};

// Throws ValueError.
NnueInputs nnue_inputs_named(const std::string& name);

}  // namespace komadori::linear
