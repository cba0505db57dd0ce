// Comparison of principal variations: the record's move against the others (Bonanza's method,
// Hoki and Kaneko, "Large-scale optimization for evaluation functions with minimax search").
//
// The record's move and every other legal move are searched a ply or two and to quiet; where the
// other's value is within WINDOW of the record's, the two leaves are kept. With s = +1 where Black
// moves at the root, -1 where White does, and x = s * (E(leaf of the other) - E(leaf of the
// record)) the loss is the sum of T(x) = 1 / (1 + exp(-7 x / 256)), x clipped to +-WINDOW.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "komadori/linear/leaves.h"
#include "komadori/linear/two_piece.h"

namespace komadori::linear {

constexpr Score WINDOW = 256;  // centipawns

// The end of a line. Features keep their place in the list from the root on, so that leaves of one
// root differ in few places.
struct Leaf {
    FeatureList list;
    std::array<std::int8_t, 16> pieces;  // Black's less White's by type, hands included
};

struct Comparison {
    float sign;            // s
    std::uint32_t record;  // number of the record's leaf
    std::uint32_t other;   // number of the other's
};

struct Lines {
    std::vector<Leaf> leaves;
    std::vector<Comparison> comparisons;
    std::int64_t searched = 0;  // positions whose record's move was searched
    std::int64_t left_out = 0;  // the rest: an illegal move, a mate in the line
    std::uint64_t nodes = 0;

    void append(Lines&& more);
};

// Depth (1 or 2 plies before quiescence) is drawn for each choice by `seed` and its number.
// Shared out among threads; the result doesn't depend on their number.
Lines find_lines(const TwoPieceWeights& weights, std::span<const Choice> choices,
                 std::uint64_t seed, int threads);

// The loss of the lines and its descent direction: `pairs` [FEATURES][FEATURES] and `pieces` get
// - d loss / d w added, in weight units, each unordered pair at one of its two places.
// Each thread sums its own range, so results depend on the number of threads in the last bits only.
struct Gradient {
    double loss = 0;
    std::array<double, 16> pieces{};
    std::vector<float> pairs;
};
Gradient gradient(const TwoPieceWeights& weights, const Lines& lines, int threads);

// How many comparisons each pair of features takes part in, [FEATURES][FEATURES], each unordered
// pair at one of its two places.
std::vector<float> occurrences(const Lines& lines);

// d T(x) / dx, 0 outside the window.
double slope(double x);
double sigmoid(double x);

}  // namespace komadori::linear
