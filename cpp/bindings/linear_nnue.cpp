// komadori._core.linear: NNUE.
#include "linear_nnue.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "gil.h"
#include "komadori/linear/engines.h"
#include "linear_arrays.h"

using namespace komadori;
using namespace komadori::linear;
using namespace nb::literals;

namespace {

std::vector<std::string> supported_kernels() {
    std::vector<std::string> names;
    for (const NnueKernels& k : nnue_kernels()) {
        if (k.is_supported()) names.emplace_back(k.name);
    }
    return names;
}

const NnueKernels& kernels_named(const std::string& name) {
    for (const NnueKernels& k : nnue_kernels()) {
        if (name == k.name && k.is_supported()) return k;
    }
    throw nb::value_error(("no kernels called " + name + " on this CPU").c_str());
}

}  // namespace

NnueInputs komadori::linear::nnue_inputs_named(const std::string& name) {
    for (int i = 0; i < 2; ++i) {
        if (name == NNUE_NAMES[i]) return NnueInputs(i);
    }
    throw nb::value_error(("unknown architecture " + name + ", not k-p or halfkp").c_str());
}

void bind_linear_nnue(nb::module_& m) {
    m.attr("BONA_PIECES") = BONA_PIECES;
    m.def(
        "nnue_architectures", [] { return std::vector<std::string>{NNUE_NAMES[0], NNUE_NAMES[1]}; },
        "The names of the architectures.");
    m.attr("NNUE_FV_SCALE") = NNUE_FV_SCALE;
    m.def(
        "bona_list",
        [](const Position& position, int view) {
            std::vector<int> list;
            for (BonaPiece p : bona_list(position, Color(view))) {
                if (p != NO_BONA_PIECE) list.push_back(p);
            }
            return list;
        },
        "position"_a, "view"_a, "Piece indices without kings, in no particular order.");
    m.def("nnue_kernels", &supported_kernels,
          "The names of the NNUE kernels that this CPU supports, fastest first.");
    m.def(
        "nnue_architecture",
        [](const std::string& name) { return nnue_architecture(nnue_inputs_named(name)); },
        "architecture"_a, "The description in nn.bin.");
    m.def(
        "nnue_hash", [](const std::string& name) { return nnue_hash(nnue_inputs_named(name)); },
        "architecture"_a, "The hash in nn.bin.");
    m.def(
        "nnue_inputs",
        [](const std::string& name, const Position& position, int view) {
            return nnue_inputs(nnue_inputs_named(name), position, Color(view));
        },
        "architecture"_a, "position"_a, "view"_a, "The active inputs, in no particular order.");

    nb::class_<NnueWeights>(m, "NnueWeights", "A network of YaneuraOu-family engines.")
        .def(
            "__init__",
            [](NnueWeights* self, nb::bytes file, int fv_scale) {
                const auto* data = static_cast<const std::uint8_t*>(file.data());
                new (self) NnueWeights(read_nnue({data, file.size()}), fv_scale);
            },
            "file"_a, "fv_scale"_a = NNUE_FV_SCALE, "file: the contents of nn.bin.")
        .def_prop_ro("architecture",
                     [](const NnueWeights& w) { return std::string(NNUE_NAMES[int(w.inputs())]); })
        .def_prop_ro("fv_scale", &NnueWeights::fv_scale)
        .def(
            "to_bytes",
            [](const NnueWeights& w) {
                const std::vector<std::uint8_t> file = write_nnue(w.parameters());
                return nb::bytes(file.data(), file.size());
            },
            "The contents of nn.bin.")
        .def(
            "evaluate",
            [](const NnueWeights& w, const Position& position, const std::string& kernels) {
                return evaluate(w, position,
                                kernels.empty() ? best_nnue_kernels() : kernels_named(kernels));
            },
            "position"_a, "kernels"_a = "",
            "Centipawns, side to move's view. kernels: a name from nnue_kernels(); \"\": fastest.")
        .def(
            "evaluate_all",
            [](const NnueWeights& w, const Hcps& hcps, int threads) {
                std::vector<Score> scores(hcps.shape(0));
                const std::size_t n = scores.size();
                {
                    ReleaseGil release;
                    parallel_for(n, threads, [&](std::size_t, std::size_t begin, std::size_t end) {
                        Position position;
                        for (std::size_t i = begin; i < end; ++i) {
                            position.set_hcp(span_of(hcps)[i]);
                            scores[i] = evaluate(w, position);
                        }
                    });
                }
                return array_of(std::move(scores), {n});
            },
            "hcps"_a, "threads"_a, "int32 [N], centipawns, side to move's view.");
    m.def(
        "nnue_engine",
        [](std::shared_ptr<const NnueWeights> weights, const alphabeta::Options& options) {
            return alphabeta::make_engine(nnue_workers(std::move(weights)), options);
        },
        "weights"_a, "options"_a, nb::call_guard<ReleaseGil>());
    def_learning<NnueEvaluator>(m);
}
