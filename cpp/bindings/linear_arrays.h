// Arrays of positions, and the functions for learners common to all linear evaluations.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <span>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "komadori/linear/leaves.h"

namespace komadori::linear {

using Hcps = nb::ndarray<const std::uint8_t, nb::shape<-1, 32>, nb::c_contig, nb::device::cpu>;
using Move16s = nb::ndarray<const std::uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static_assert(sizeof(Hcp) == 32);
inline std::span<const Hcp> span_of(const Hcps& hcps) {
    return {reinterpret_cast<const Hcp*>(hcps.data()), hcps.shape(0)};
}

inline std::vector<Choice> choices_of(const Hcps& hcps, const Move16s& moves) {
    if (moves.shape(0) != hcps.shape(0)) throw nb::value_error("hcps and moves differ in length");
    std::vector<Choice> choices(hcps.shape(0));
    for (std::size_t i = 0; i < choices.size(); ++i) {
        choices[i] = {span_of(hcps)[i], moves.data()[i]};
    }
    return choices;
}

// Moves the vector into an array; `Shown` is the array's type if it differs.
template <class T, class Shown = T>
nb::ndarray<nb::numpy, Shown> array_of(std::vector<T>&& values,
                                       std::initializer_list<std::size_t> shape) {
    return owning_array<nb::ndarray<nb::numpy, Shown>>(std::move(values), shape);
}

// `find_leaves` and `ranks` for the weights of evaluator E.
template <alphabeta::Evaluator E>
void def_learning(nb::module_& m) {
    using namespace nb::literals;
    m.def(
        "find_leaves",
        [](const typename E::Weights& weights, const Hcps& hcps, int threads) {
            const std::size_t n = hcps.shape(0);
            Leaves leaves(0);
            {
                ReleaseGil release;
                leaves = find_leaves<E>(weights, span_of(hcps), threads);
            }
            return std::make_tuple(array_of<Hcp, std::uint8_t>(std::move(leaves.hcp), {n, 32}),
                                   array_of(std::move(leaves.value), {n}),
                                   array_of<std::uint8_t, bool>(std::move(leaves.same_turn), {n}),
                                   array_of<std::uint8_t, bool>(std::move(leaves.is_settled), {n}),
                                   leaves.nodes);
        },
        "weights"_a, "hcps"_a, "threads"_a,
        "The leaves of quiescence searches: (hcp uint8 [N, 32], value int32 [N] in centipawns from "
        "the view of the root's side to move, same_turn bool [N]: whether that side is to move at "
        "the leaf, is_settled bool [N]: whether the line doesn't end in mate, nodes searched).");
    m.def(
        "ranks",
        [](const typename E::Weights& weights, const Hcps& hcps, const Move16s& moves, int depth,
           int threads) {
            if (depth != 1 && depth != 2) throw nb::value_error("depth must be 1 or 2");
            const std::vector<Choice> choices = choices_of(hcps, moves);
            std::vector<std::int32_t> found;
            {
                ReleaseGil release;
                found = find_ranks<E>(weights, choices, depth, threads);
            }
            const std::size_t n = found.size();
            return array_of(std::move(found), {n});
        },
        "weights"_a, "hcps"_a, "moves"_a, "depth"_a, "threads"_a,
        "The number of moves with a higher value than the record's; -1 if that is illegal.");
}

}  // namespace komadori::linear
