// komadori._core.linear: the linear evaluations behind komadori.linear.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "gil.h"
#include "komadori/linear/comparison.h"
#include "komadori/linear/engines.h"
#include "komadori/linear/two_piece.h"
#include "linear_arrays.h"

using namespace komadori;
using namespace komadori::linear;
using namespace nb::literals;

namespace {

using Pairs =
    nb::ndarray<const std::int16_t, nb::shape<FEATURES, FEATURES>, nb::c_contig, nb::device::cpu>;

std::vector<int> images(Feature (*image)(Feature)) {
    std::vector<int> all;
    for (int a = 0; a < FEATURES; ++a) all.push_back(image(Feature(a)));
    return all;
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.attr("FEATURES") = FEATURES;
    m.attr("FIRST_ON_BOARD") = FIRST_ON_BOARD;
    m.attr("HAND_FEATURES") = HAND_FEATURES;
    m.attr("KINDS") = KINDS;
    m.attr("WEIGHT_UNITS") = WEIGHT_UNITS;
    m.def(
        "mirrored_features", [] { return images(mirrored); },
        "Each feature's image on the board mirrored left to right.");
    m.def(
        "swapped_features", [] { return images(swapped); },
        "Each feature's image on the board rotated by 180 degrees with colours swapped.");
    m.def(
        "features_of",
        [](const Position& position) {
            const FeatureList list = features_of(position);
            std::vector<int> features;
            for (Feature a : list) {
                if (a != NO_FEATURE) features.push_back(a);
            }
            return features;
        },
        "position"_a, "The features of the pieces, in no particular order.");
    m.def(
        "piece_values",
        [] {
            std::array<Score, 16> values;
            std::copy_n(alphabeta::PIECE_VALUE, 16, values.begin());
            return values;
        },
        "Centipawns by piece type, before training.");

    nb::class_<TwoPieceWeights>(m, "TwoPieceWeights", "shogi686's weights of pairs of pieces.")
        .def(
            "__init__",
            [](TwoPieceWeights* self, const Pairs& pairs, const std::array<Score, 16>& values) {
                new (self) TwoPieceWeights({pairs.data(), pairs.size()}, values);
            },
            "pairs"_a, "piece_values"_a)
        .def(
            "evaluate",
            [](const TwoPieceWeights& weights, const Position& position) {
                return evaluate(weights, position);
            },
            "position"_a, "Centipawns, Black's view.");
    m.def(
        "two_piece_engine",
        [](std::shared_ptr<const TwoPieceWeights> weights, const alphabeta::Options& options) {
            return alphabeta::make_engine(two_piece_workers(std::move(weights)), options);
        },
        "weights"_a, "options"_a, nb::call_guard<ReleaseGil>());

    nb::class_<Lines>(m, "Lines", "Leaves of the record's moves and of moves with a close value.")
        .def_prop_ro("comparisons", [](const Lines& l) { return l.comparisons.size(); })
        .def_prop_ro("leaves", [](const Lines& l) { return l.leaves.size(); })
        .def_ro("searched", &Lines::searched)
        .def_ro("left_out", &Lines::left_out)
        .def_ro("nodes", &Lines::nodes);
    m.def(
        "find_lines",
        [](const TwoPieceWeights& weights, const Hcps& hcps, const Move16s& moves,
           std::uint64_t seed, int threads) {
            const std::vector<Choice> choices = choices_of(hcps, moves);
            ReleaseGil release;
            return find_lines(weights, choices, seed, threads);
        },
        "weights"_a, "hcps"_a, "moves"_a, "seed"_a, "threads"_a);
    m.def(
        "gradient",
        [](const TwoPieceWeights& weights, const Lines& lines, int threads) {
            Gradient g;
            {
                ReleaseGil release;
                g = gradient(weights, lines, threads);
            }
            return std::make_tuple(
                g.loss, g.pieces,
                array_of(std::move(g.pairs), {std::size_t(FEATURES), std::size_t(FEATURES)}));
        },
        "weights"_a, "lines"_a, "threads"_a,
        "(loss, descent direction by piece type, the same by pair of features).");
    m.def(
        "occurrences",
        [](const Lines& lines) {
            return array_of(occurrences(lines), {std::size_t(FEATURES), std::size_t(FEATURES)});
        },
        "lines"_a, "The number of comparisons that each pair of features occurs in.");
    def_learning<TwoPieceEvaluator>(m);
}
