// Comparison training (Bonanza's method: Hoki and Kaneko, "Large-scale optimization for evaluation
// functions with minimax search").
//
// Searches the record's move and every other legal move 1 or 2 plies deep plus quiescence, and
// keeps the two leaves where the values differ by less than WINDOW. With s = +1 if Black moves at
// the root, else -1, and x = s * (E(leaf of the other move) - E(leaf of the record's move)), the
// loss is the sum of T(x) = 1 / (1 + exp(-7 x / 256)), x clipped to +-WINDOW.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "komadori/linear/leaves.h"
#include "komadori/linear/two_piece.h"

namespace komadori::linear {

constexpr Score WINDOW = 256;  // centipawns

// The end of a line. Features keep their index in the list from the root on, so that leaves of the
// same root differ in few entries.
struct Leaf {
    FeatureList list;
    std::array<std::int8_t, 16> pieces;  // Black's minus White's by type, including hands
};

struct Comparison {
    float sign;            // s
    std::uint32_t record;  // index of the record's leaf
    std::uint32_t other;   // index of the other's leaf
};

struct Lines {
    std::vector<Leaf> leaves;
    std::vector<Comparison> comparisons;
    std::int64_t searched = 0;  // positions used
    std::int64_t left_out = 0;  // positions skipped: illegal move, or a mate in the line
    std::uint64_t nodes = 0;

    void append(Lines&& more);
};

// The depth (1 or 2 plies before quiescence) of a choice is drawn from `seed` and its index. The
// result doesn't depend on the number of threads.
Lines find_lines(const TwoPieceWeights& weights, std::span<const Choice> choices,
                 std::uint64_t seed, int threads);

// The loss of the lines and its descent direction -d loss / d w, in weight units: `pairs`
// [FEATURES][FEATURES], where an unordered pair is stored at either of its two indices, and
// `pieces`. Each thread sums its own range, so results depend on the number of threads in the last
// bits only.
struct Gradient {
    double loss = 0;
    std::array<double, 16> pieces{};
    std::vector<float> pairs;
};
Gradient gradient(const TwoPieceWeights& weights, const Lines& lines, int threads);

// The number of comparisons that each pair of features occurs in, [FEATURES][FEATURES], stored as
// in Gradient::pairs.
std::vector<float> occurrences(const Lines& lines);

// d T(x) / dx; 0 outside the window.
double slope(double x);
double sigmoid(double x);

}  // namespace komadori::linear
