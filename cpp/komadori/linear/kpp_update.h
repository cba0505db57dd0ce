// One KPP training step: gradient of a batch of leaves, AdaGrad, running average.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "komadori/linear/kpp_parameters.h"
#include "komadori/linear/leaves.h"

namespace komadori::linear {

struct KppStep {
    std::array<double, KPP_TABLES> rate{};  // learning rate of each table; 0: frozen
    double epsilon = 1e-6;
    double decay = 0.8;  // of the running average
};

// Each [KPP_PARAMETERS]: weights, sums of squared gradients, running averages of the weights.
struct KppState {
    std::span<float> weights, squares, average;
};

// Per leaf, `slope` is d loss / d (value / scale) from the root side's view and `same_turn` is
// whether the root's side is to move at the leaf. With g the negative gradient summed over the
// leaves (elmo's dsig times +-1/32),
//   squares += g^2,  weights += rate * g / sqrt(squares + epsilon)
// where g isn't 0; then the averages of all weights ever updated move toward the weights. The
// number of threads affects only the last bits of the lower-dimensional terms; with the same number
// the result is the same. Throws RulesError for an invalid leaf.
void update(const KppState& state, std::span<const Hcp> leaves, std::span<const double> slope,
            std::span<const bool> same_turn, const KppStep& step, int threads);

}  // namespace komadori::linear
