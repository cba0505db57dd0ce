// Settings of the search graph. This is the one place of their defaults: Python's PuctOptions, the
// USI options and the documentation read them from here.
#pragma once

#include <array>

#include "komadori/rules/declaration.h"

namespace komadori {

struct TreeOptions {
    // PUCT: Q + C P sqrt(N) / (1 + n), C = growth ln((N + base + 1) / base) + init. The values are
    // dlshogi's; KataGo has growth 0.45 and base 500.
    float c_init = 1.44f;
    float c_base = 28288.0f;
    float fpu_reduction = 0.27f;  // an unvisited move's Q: max(0, W/N - this * sqrt(visited P))
    float c_init_root = 1.16f;
    float c_base_root = 25617.0f;
    float fpu_reduction_root = 0.0f;
    float c_growth = 1.0f;

    // C times 1 + scale (sd / prior - 1), sd the standard deviation of the node's values on the
    // scale -1 to 1, its variance averaged with stdev_prior^2 of that many visits (KataGo's
    // dynamic cPUCT: scale 0.85, prior 0.40, weight 2).
    float stdev_scale = 0.0f;  // 0: off
    float stdev_prior = 0.40f;
    float stdev_prior_weight = 2.0f;

    // The best move is the one with the greatest lower bound Q - stdevs sd / sqrt(n) of those with
    // at least this fraction of the most visits (leela-zero #2282: 5 and 0.15).
    float lcb_stdevs = 0.0f;  // 0: off, the most visited move
    float lcb_min_visits = 0.15f;

    float temperature = 1.74f;  // of the policy's softmax, > 0
    // At depth d of the playout that evaluates a node: temperature + (root - temperature) decay^d.
    float temperature_root = 0.0f;  // 0: off
    float temperature_decay = 0.5f;

    // At most finished visits / this many playouts in flight below a node, at least one.
    int visits_per_flight = 0;  // 0: off

    // What a draw is worth to the side that made the last move, by its colour.
    std::array<float, 2> draw_value{0.5f, 0.5f};
    int draw_ply = 0;        // a game is drawn after this many plies; 0: never
    bool repetition = true;  // false only to measure what the check is worth
    bool mate_in_one = true;
    DeclarationPoints declaration_points = POINTS_27;

    bool operator==(const TreeOptions&) const = default;
};

}  // namespace komadori
