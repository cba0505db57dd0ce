// One step of the KPP learner: the gradient of a batch of leaves, AdaGrad, the running average.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "komadori/linear/kpp_parameters.h"
#include "komadori/linear/leaves.h"

namespace komadori::linear {

struct KppStep {
    std::array<double, KPP_TABLES> rate{};  // eta of each table; 0: it isn't learned
    double epsilon = 1e-6;
    double decay = 0.8;  // what the average keeps of itself
};

// KPP_PARAMETERS of each: weights, sums of squared gradients, averages of the weights.
struct KppState {
    std::span<float> weights, squares, average;
};

// For each leaf `slope` is that of the loss by value / scale, the root's side's view, and
// `same_turn` tells whether the root's side is to move there. With g the sum over the leaves of
// what lowers the loss (elmo's dsig times +-1/32),
//   squares += g^2,  weights += rate * g / sqrt(squares + epsilon)
// where g isn't 0, then the average of all that were ever touched moves toward the weights. The
// result doesn't depend on the number of threads but in the last bits of the terms of fewer
// dimensions. Throws RulesError for a leaf that can't be read.
void update(const KppState& state, std::span<const Hcp> leaves, std::span<const double> slope,
            std::span<const bool> same_turn, const KppStep& step, int threads);

}  // namespace komadori::linear
