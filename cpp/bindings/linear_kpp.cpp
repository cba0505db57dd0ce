// komadori._core.linear: KPP and its learner.
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "gil.h"
#include "komadori/linear/engines.h"
#include "komadori/linear/kpp.h"
#include "komadori/linear/kpp_update.h"
#include "linear_arrays.h"

using namespace komadori;
using namespace komadori::linear;
using namespace nb::literals;

namespace {

template <class T>
using Flat = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Flat<T>& array) {
    return {array.data(), array.shape(0)};
}

template <class T>
std::span<T> parameters_of(const Flat<T>& array) {
    if (array.shape(0) != KPP_PARAMETERS) {
        throw nb::value_error(("KPP has " + std::to_string(KPP_PARAMETERS) + " parameters, not " +
                               std::to_string(array.shape(0)))
                                  .c_str());
    }
    return span_of(array);
}

// Indices of the board weights of KKP that represent their orbits.
std::vector<std::uint32_t> kkp_places() {
    std::vector<std::uint32_t> places;
    for (std::uint32_t pair = 0; pair < SQUARES * SQUARES; ++pair) {
        const KingPair kings = king_pair(Square(pair / SQUARES), Square(pair % SQUARES));
        if (kings.pair() != pair) continue;
        for (int p = 1; p < BONA_PIECES; ++p) {
            if (bona_turned(BonaPiece(p)) == NO_BONA_PIECE) continue;
            if (kkp_place(kings, BonaPiece(p)).piece != std::uint32_t(p)) continue;
            places.push_back((pair * BONA_PIECES + std::uint32_t(p)) * 2);
        }
    }
    return places;
}

// For every king pair and piece, the index of its orbit's representative and the sign of board; 0
// and 0 for unused piece indices.
struct KkpImages {
    std::vector<std::uint32_t> places;
    std::vector<std::int8_t> signs;
};
KkpImages kkp_images() {
    constexpr std::size_t COUNT = KppWeights::KKP / 2;
    KkpImages images{std::vector<std::uint32_t>(COUNT), std::vector<std::int8_t>(COUNT)};
    for (std::uint32_t pair = 0; pair < SQUARES * SQUARES; ++pair) {
        const KingPair kings = king_pair(Square(pair / SQUARES), Square(pair % SQUARES));
        for (int p = 1; p < BONA_PIECES; ++p) {
            if (bona_turned(BonaPiece(p)) == NO_BONA_PIECE) continue;
            const SignedPlace place = kkp_place(kings, BonaPiece(p));
            const std::size_t i = std::size_t(pair) * BONA_PIECES + std::size_t(p);
            images.places[i] =
                (std::uint32_t(kings.pair()) * std::uint32_t(BONA_PIECES) + place.piece) * 2;
            images.signs[i] = place.sign > 0 ? 1 : -1;
        }
    }
    return images;
}

}  // namespace

void bind_linear_kpp(nb::module_& m) {
    m.attr("FOLDED_KINGS") = FOLDED_KINGS;
    m.attr("BONA_PAIRS") = BONA_PAIRS;
    m.attr("KPP_UNITS") = KPP_UNITS;
    m.attr("KPP_PARAMETERS") = KPP_PARAMETERS;
    m.attr("KPP_BYTES") = KppWeights::BYTES;
    m.def(
        "kpp_tables",
        [] {
            std::vector<std::tuple<std::string, std::size_t, std::size_t>> tables;
            for (int t = 0; t < KPP_TABLES; ++t) {
                tables.emplace_back(KPP_TABLE_NAMES[t], table_start(t), KPP_TABLE_SIZES[t]);
            }
            return tables;
        },
        "The parameter tables in order: name, start, size.");
    m.def(
        "kkp_places",
        [] {
            std::vector<std::uint32_t> places = kkp_places();
            const std::size_t n = places.size();
            return array_of(std::move(places), {n});
        },
        "Indices of the board weights of KKP that represent their orbits; turn follows each.");
    m.def(
        "kkp_images",
        [] {
            KkpImages images = kkp_images();
            const std::size_t n = images.places.size();
            return std::make_tuple(array_of(std::move(images.places), {n}),
                                   array_of(std::move(images.signs), {n}));
        },
        "For every king pair and piece, [81 * 81 * BONA_PIECES], the index of its orbit's "
        "representative and the sign of board; 0 and 0 for unused piece indices.");
    m.def(
        "pp_places",
        [] {
            const std::span<const std::uint32_t> places = pp_places();
            return array_of(std::vector<std::uint32_t>(places.begin(), places.end()),
                            {places.size()});
        },
        "For each pair, the representative of it and its mirror image.");

    nb::class_<KppWeights>(m, "KppWeights", "KPP weights for the search.")
        .def(nb::init<>())
        .def(
            "assign",
            [](KppWeights& weights, const Flat<const std::int16_t>& kpp,
               const Flat<const std::int16_t>& kkp, const Flat<const std::int32_t>& kk,
               int threads) {
                ReleaseGil release;
                weights.assign(span_of(kpp), span_of(kkp), span_of(kk), threads);
            },
            "kpp"_a, "kkp"_a, "kk"_a, "threads"_a)
        .def_static(
            "check",
            [](const Flat<const std::int16_t>& kpp, const Flat<const std::int16_t>& kkp,
               const Flat<const std::int32_t>& kk, int threads) {
                ReleaseGil release;
                KppWeights::check(span_of(kpp), span_of(kkp), span_of(kk), threads);
            },
            "kpp"_a, "kkp"_a, "kk"_a, "threads"_a, "Raises ValueError where assign() would.")
        .def(
            "evaluate",
            [](const KppWeights& weights, const Position& position) {
                KppEvaluator evaluator(weights);
                evaluator.reset(position);
                return evaluator.value(position);
            },
            "position"_a, "Centipawns, the side to move's view.");
    m.def(
        "kpp_engine",
        [](std::shared_ptr<const KppWeights> weights, const alphabeta::Options& options) {
            return alphabeta::make_engine(kpp_workers(std::move(weights)), options);
        },
        "weights"_a, "options"_a, nb::call_guard<ReleaseGil>());
    def_learning<KppEvaluator>(m);

    m.def(
        "kpp_quantise",
        [](const Flat<const float>& parameters, const Flat<std::int16_t>& kpp,
           const Flat<std::int16_t>& kkp, const Flat<std::int32_t>& kk, int threads) {
            if (kpp.shape(0) != KppWeights::PAIRS || kkp.shape(0) != KppWeights::KKP ||
                kk.shape(0) != KppWeights::KK) {
                throw nb::value_error("kpp, kkp or kk has the wrong size");
            }
            const auto from = parameters_of(parameters);
            ReleaseGil release;
            quantise(from, {span_of(kpp), span_of(kkp), span_of(kk)}, threads);
        },
        "parameters"_a, "kpp"_a.noconvert(), "kkp"_a.noconvert(), "kk"_a.noconvert(), "threads"_a,
        "Writes the evaluation's rounded tables, for KppWeights.assign.");
    m.def(
        "kpp_evaluate",
        [](const Flat<const float>& parameters, const Position& position) {
            return evaluate(parameters_of(parameters), position);
        },
        "parameters"_a, "position"_a, "Unrounded, in centipawns, the side to move's view.");
    m.def(
        "kpp_update",
        [](const Flat<float>& weights, const Flat<float>& squares, const Flat<float>& average,
           const Hcps& leaves, const Flat<const double>& slope, const Flat<const bool>& same_turn,
           const std::array<double, KPP_TABLES>& rates, double epsilon, double decay, int threads) {
            const std::size_t n = leaves.shape(0);
            if (slope.shape(0) != n || same_turn.shape(0) != n) {
                throw nb::value_error("leaves, slopes and turns differ in length");
            }
            const KppState state{parameters_of(weights), parameters_of(squares),
                                 parameters_of(average)};
            ReleaseGil release;
            update(state, linear::span_of(leaves), span_of(slope), span_of(same_turn),
                   {rates, epsilon, decay}, threads);
        },
        "weights"_a.noconvert(), "squares"_a.noconvert(), "average"_a.noconvert(), "leaves"_a,
        "slope"_a, "same_turn"_a, nb::kw_only(), "rates"_a, "epsilon"_a, "decay"_a, "threads"_a,
        "One AdaGrad step. slope: d loss / d (value / scale), from the root side's view.");
}
