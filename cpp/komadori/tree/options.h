// Options of the PUCT search. Their defaults are defined only here: Python's PuctOptions, the USI
// options and the documentation are derived from them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "komadori/rules/declaration.h"

namespace komadori {

struct TreeOptions {
    // PUCT: Q + C P sqrt(N) / (1 + n), C = growth ln((N + base + 1) / base) + init. Defaults from
    // dlshogi; KataGo uses growth 0.45 and base 500.
    float c_init = 1.44f;
    float c_base = 28288.0f;
    float fpu_reduction = 0.27f;  // an unvisited move's Q: max(0, W/N - this * sqrt(visited P))
    float c_init_root = 1.16f;
    float c_base_root = 25617.0f;
    float fpu_reduction_root = 0.0f;
    float c_growth = 1.0f;

    // Multiplies C by 1 + scale (sd / prior - 1), where sd is the standard deviation of the node's
    // values on the scale -1 to 1, with stdev_prior^2 averaged into the variance as
    // stdev_prior_weight visits (KataGo's dynamic cPUCT: scale 0.85, prior 0.40, weight 2).
    float stdev_scale = 0.0f;  // 0: off
    float stdev_prior = 0.40f;
    float stdev_prior_weight = 2.0f;

    // Chooses the move with the greatest lower confidence bound Q - stdevs sd / sqrt(n) among those
    // with at least this fraction of the most visits (leela-zero #2282: 5 and 0.15).
    float lcb_stdevs = 0.0f;  // 0: off, the most visited move
    float lcb_min_visits = 0.15f;

    // Adds to the value of a new leaf this fraction of the mean error of the values of nodes after
    // the same two moves: see value_bias.h (KataGo's subtree value bias: 0.45).
    float value_bias = 0.0f;  // 0: off

    // Weights playouts by how certain the values of their leaves are: see uncertainty.h (after
    // KataGo's uncertainty-weighted playouts). Only with a LeafSearch.
    float uncertainty_weight = 0.0f;  // 0: off, all weigh the same; 1: in full

    float temperature = 1.74f;  // of the policy's softmax, > 0; from dlshogi
    // The temperature at depth d is temperature + (root - temperature) decay^d.
    float temperature_root = 0.0f;  // 0: off
    float temperature_decay = 0.5f;

    // Limits playouts in flight below a node to max(1, finished visits / this).
    int visits_per_flight = 0;  // 0: off

    // The value of a draw for the side that made the last move, by its colour.
    std::array<float, 2> draw_value{0.5f, 0.5f};
    int draw_ply = 0;        // a game is drawn after this many plies; 0: never
    bool repetition = true;  // false only for ablations
    bool mate_in_one = true;
    DeclarationPoints declaration_points = POINTS_27;

    // The factor of P / (1 + n) in the PUCT score of a move at a node with N visits below it,
    // without the factor of stdev_scale.
    float exploration(float n, bool at_root) const {
        const float init = at_root ? c_init_root : c_init;
        const float base = at_root ? c_base_root : c_base;
        return (c_growth * std::log((n + base + 1.0f) / base) + init) *
               std::sqrt(std::max(1.0f, n));
    }

    bool operator==(const TreeOptions&) const = default;
};

}  // namespace komadori
