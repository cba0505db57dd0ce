// What can be set in the search graph; the values are dlshogi's.
#pragma once

#include <array>

namespace komadori {

struct TreeOptions {
    // PUCT: Q + C P sqrt(N) / (1 + n), C = ln((N + base + 1) / base) + init.
    float c_init = 1.44f;
    float c_base = 28288.0f;
    float fpu_reduction = 0.27f;  // an unvisited move's Q: max(0, W/N - this * sqrt(visited P))
    float c_init_root = 1.16f;
    float c_base_root = 25617.0f;
    float fpu_reduction_root = 0.0f;
    float temperature = 1.74f;  // of the policy's softmax, > 0

    // What a draw is worth to the side that made the last move, by its colour.
    std::array<float, 2> draw_value{0.5f, 0.5f};
    int draw_ply = 0;        // a game is drawn after this many plies; 0: never
    bool repetition = true;  // false only to measure what the check is worth
    bool mate_in_one = true;
    // Points to declare with; {28, 27} is the 27-point rule, {31, 31} the 24-point rule, and
    // {0, 0} means that nobody may declare.
    std::array<int, 2> declaration_points{28, 27};

    bool operator==(const TreeOptions&) const = default;
};

}  // namespace komadori
