// komadori._core.linear: NNUE training, used by komadori.linear.nnue.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "gil.h"
#include "komadori/linear/nnue_model.h"
#include "linear_arrays.h"
#include "linear_nnue.h"

using namespace komadori;
using namespace komadori::linear;
using namespace nb::literals;

namespace {

using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

NnueBatch batch_of(const NnueData& data, const Numbers& numbers) {
    const NnueBatch batch{numbers.data(), numbers.shape(0)};
    for (std::uint32_t number : batch) {
        if ((number & ~NNUE_MIRRORED) >= data.size()) {
            throw nb::index_error("a batch has an index beyond the data");
        }
    }
    return batch;
}

LossSettings loss_settings(double result_weight, double teacher_weight, bool squared) {
    return {.result_weight = result_weight, .lambda = teacher_weight, .is_squared = squared};
}

using Sums = std::tuple<double, double, double, double>;
Sums sums_of(const NnueLoss& l) { return {l.result, l.teacher, l.result_floor, l.teacher_floor}; }

nb::ndarray<nb::numpy, float> view(std::vector<float>& values, nb::handle owner) {
    return nb::ndarray<nb::numpy, float>(values.data(), {values.size()}, owner);
}

}  // namespace

void bind_linear_nnue_model(nb::module_& m) {
    m.attr("NNUE_MIRRORED") = NNUE_MIRRORED;

    nb::class_<NnueData>(m, "NnueData",
                         "Positions with the teacher's score and the game's result, both from the "
                         "side to move's view.")
        .def(
            "__init__",
            [](NnueData* self, const Hcps& hcps, const Floats& teacher_cp, const Floats& result,
               int threads) {
                ReleaseGil release;
                new (self) NnueData(span_of(hcps), {teacher_cp.data(), teacher_cp.shape(0)},
                                    {result.data(), result.shape(0)}, threads);
            },
            "hcps"_a, "teacher_cp"_a, "result"_a, "threads"_a)
        .def("__len__", &NnueData::size)
        .def_prop_ro_static(
            "bytes_each", [](nb::handle) { return sizeof(NnueData::Sample); },
            "Memory per position.");

    nb::class_<NnueModel>(m, "NnueModel", "A float network with Adam's moments.")
        .def(
            "__init__",
            [](NnueModel* self, const std::string& architecture, std::uint64_t seed, int threads) {
                new (self) NnueModel(nnue_inputs_named(architecture), seed, threads);
            },
            "architecture"_a, "seed"_a, "threads"_a)
        .def_static(
            "bytes_of",
            [](const std::string& architecture, int threads) {
                return NnueModel::bytes(nnue_inputs_named(architecture), threads);
            },
            "architecture"_a, "threads"_a, "Memory of a model during training.")
        .def_rw("steps", &NnueModel::steps)
        .def_rw("rounds", &NnueModel::rounds,
                "Whether to train with weights and activations rounded as in the engine.")
        .def_rw("leak", &NnueModel::leak,
                "Fraction of the gradient that clipped hidden units get towards their open range.")
        .def_prop_ro(
            "parameters",
            [](nb::handle_t<NnueModel> self) {
                return view(nb::cast<NnueModel&>(self).parameters(), self);
            },
            "float32 [n], writable: all parameters, in the order of nnue_model.h.")
        .def_prop_ro("first_moments",
                     [](nb::handle_t<NnueModel> self) {
                         return view(nb::cast<NnueModel&>(self).first_moments(), self);
                     })
        .def_prop_ro("second_moments",
                     [](nb::handle_t<NnueModel> self) {
                         return view(nb::cast<NnueModel&>(self).second_moments(), self);
                     })
        .def(
            "logits",
            [](NnueModel& model, const NnueData& data, const Numbers& numbers) {
                const NnueBatch batch = batch_of(data, numbers);
                std::vector<float> found;
                {
                    ReleaseGil release;
                    found = model.logits(data, batch);
                }
                return array_of(std::move(found), {batch.size()});
            },
            "data"_a, "numbers"_a, "float32 [n], side to move's view; times 600: centipawns.")
        .def(
            "loss",
            [](NnueModel& model, const NnueData& data, const Numbers& numbers, double result_weight,
               double teacher_weight, bool squared) {
                const NnueBatch batch = batch_of(data, numbers);
                ReleaseGil release;
                return sums_of(
                    model.loss(data, batch, loss_settings(result_weight, teacher_weight, squared)));
            },
            "data"_a, "numbers"_a, nb::kw_only(), "result_weight"_a, "teacher_weight"_a,
            "squared"_a,
            "Sums over the batch: loss against the result and the teacher, and their floors.")
        .def(
            "gradient",
            [](NnueModel& model, const NnueData& data, const Numbers& numbers, double result_weight,
               double teacher_weight, bool squared) {
                const NnueBatch batch = batch_of(data, numbers);
                NnueLoss loss;
                std::vector<float> g;
                {
                    ReleaseGil release;
                    g = model.gradient(data, batch,
                                       loss_settings(result_weight, teacher_weight, squared), loss);
                }
                const std::size_t n = g.size();
                return std::make_tuple(array_of(std::move(g), {n}), sums_of(loss));
            },
            "data"_a, "numbers"_a, nb::kw_only(), "result_weight"_a, "teacher_weight"_a,
            "squared"_a, "(the gradient of the batch's mean loss, the sums of `loss`).")
        .def(
            "step",
            [](NnueModel& model, const NnueData& data, const Numbers& numbers, double result_weight,
               double teacher_weight, bool squared, double rate, double decay) {
                const NnueBatch batch = batch_of(data, numbers);
                ReleaseGil release;
                return sums_of(model.step(data, batch,
                                          loss_settings(result_weight, teacher_weight, squared),
                                          {.rate = rate, .decay = decay}));
            },
            "data"_a, "numbers"_a, nb::kw_only(), "result_weight"_a, "teacher_weight"_a,
            "squared"_a, "rate"_a, "decay"_a, "One step of Adam; returns the sums before it.")
        .def(
            "quantised",
            [](const NnueModel& model) { return std::make_shared<NnueWeights>(model.quantised()); },
            "The parameters rounded to the engine's integers. Raises ValueError on overflow.")
        .def(
            "set",
            [](NnueModel& model, const NnueWeights& weights) { model.set(weights.parameters()); },
            "weights"_a,
            "Set the parameters to an engine's. Raises ValueError for another architecture.");
}
