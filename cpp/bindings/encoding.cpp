#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>

#include "arrays.h"
#include "gil.h"
#include "komadori/base/hash.h"
#include "komadori/base/win_rate.h"
#include "komadori/encoding/batch.h"
#include "komadori/encoding/errors.h"
#include "komadori/encoding/features.h"
#include "komadori/encoding/label.h"
#include "komadori/encoding/policy.h"
#include "komadori/rules/notation.h"
#include "module.h"
#include "named_tables.h"

using namespace komadori;
using namespace nb::literals;

namespace {

template <class T, class... Shape>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu, Shape...>;
template <class T, class... Shape>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu, Shape...>;
using HcpArray = In<std::uint8_t, nb::shape<-1, 32>>;
using Bytes = Out<std::uint8_t, nb::ndim<1>>;  // the bytes of any array

HcpRows rows(const HcpArray& hcps) { return {hcps.data(), hcps.shape(0)}; }

void require(bool holds, const char* what) {
    if (!holds) throw EncodingError(what);
}

// The output buffers of the inputs, after checking their sizes.
std::vector<void*> output_rows(const FeatureTable& table, PlaneType type,
                               const std::vector<Bytes>& outs, std::size_t rows) {
    require(outs.size() == table.inputs.size(), "one array per input is needed");
    require(type == PlaneType::FLOAT32 || table.is_binary(),
            "this feature table has values other than 0 and 1: float32 only");
    std::vector<void*> at;
    for (std::size_t i = 0; i < outs.size(); ++i) {
        require(outs[i].size() == rows * table.inputs[i].row_bytes(type),
                "an array has the wrong size");
        at.push_back(outs[i].data());
    }
    return at;
}

void encode_planes_into(const std::string& name, const HcpArray& hcps,
                        std::optional<In<std::int32_t, nb::ndim<1>>> plies, PlaneType type,
                        const std::vector<Bytes>& outs, int threads) {
    const FeatureTable& table = table_named(name);
    require(plies || !table.needs_plies(), "this feature table needs plies");
    require(!plies || plies->shape(0) == hcps.shape(0), "plies and hcps differ in length");
    const std::vector<void*> at = output_rows(table, type, outs, hcps.shape(0));
    ReleaseGil release;
    encode_planes(table, rows(hcps), plies ? plies->data() : nullptr, type, at, threads);
}

void encode_positions_into(const std::string& name, const std::vector<const Position*>& positions,
                           PlaneType type, const std::vector<Bytes>& outs) {
    const FeatureTable& table = table_named(name);
    encode_planes(table, without_none(positions), type,
                  output_rows(table, type, outs, positions.size()));
}

template <class T>
void unpack_planes_into(const std::string& name, std::size_t input,
                        const In<std::uint8_t, nb::ndim<2>>& packed, const Out<T>& out,
                        int threads) {
    const FeatureTable& table = table_named(name);
    require(input < table.inputs.size() && table.is_binary(), "no such packed input");
    const FeatureInput& one = table.inputs[input];
    require(packed.shape(1) == std::size_t(one.packed_bytes()), "packed rows have the wrong size");
    require(out.size() == packed.shape(0) * std::size_t(one.planes() * one.cells()),
            "the array has the wrong size");
    ReleaseGil release;
    unpack_planes(one, packed.data(), packed.shape(0), out.data(), threads);
}

void encode_labels_into(const std::string& name, const HcpArray& hcps,
                        const In<std::uint16_t, nb::ndim<1>>& moves, bool check_legal,
                        std::optional<std::int64_t> missing, const Out<std::int64_t>& out,
                        int threads) {
    const LabelScheme& scheme = scheme_named(name);
    require(moves.shape(0) == hcps.shape(0), "moves and hcps differ in length");
    require(out.size() == hcps.shape(0) * scheme.heads.size(), "the array has the wrong size");
    ReleaseGil release;
    encode_labels(scheme, rows(hcps), moves.data(), {check_legal, missing, threads}, out.data());
}

void legal_mask_into(const std::string& name, const HcpArray& hcps, const Out<bool>& out,
                     int threads) {
    const LabelScheme& scheme = scheme_named(name);
    require(out.size() == hcps.shape(0) * std::size_t(scheme.size()),
            "the array has the wrong size");
    ReleaseGil release;
    legal_mask(scheme, rows(hcps), reinterpret_cast<std::uint8_t*>(out.data()), threads);
}

using Column = nb::ndarray<nb::numpy, std::uint16_t, nb::ndim<1>>;

Column column_of(std::vector<std::uint16_t>&& values) {
    const std::size_t n = values.size();
    return owning_array<Column>(std::move(values), {n});
}

std::tuple<Column, Column, Column> candidates_of(const std::string& name, const HcpArray& hcps,
                                                 const In<float, nb::ndim<2>>& logits,
                                                 const In<std::uint16_t, nb::ndim<1>>& keep,
                                                 float temperature, float least, int total) {
    const LabelScheme& scheme = scheme_named(name);
    require(logits.shape(0) == hcps.shape(0) && keep.size() == hcps.shape(0) &&
                logits.shape(1) == std::size_t(scheme.size()),
            "arrays differ in length");
    require(temperature > 0, "the temperature must be greater than 0");
    require(total > 0 && total <= 0xffff, "total must be 1 to 65535");
    PolicyCandidates found;
    {
        ReleaseGil release;
        policy_candidates(scheme, rows(hcps), logits.data(), keep.data(),
                          {temperature, least, total}, found);
    }
    return {column_of(std::move(found.count)), column_of(std::move(found.move16)),
            column_of(std::move(found.visits))};
}

void mirror_into(const HcpArray& hcps, std::optional<In<std::uint16_t, nb::ndim<1>>> moves,
                 const Out<std::uint8_t>& mirrored_hcps,
                 std::optional<Out<std::uint16_t, nb::ndim<1>>> mirrored_moves, int threads) {
    require(
        mirrored_hcps.size() == hcps.size() && moves.has_value() == mirrored_moves.has_value() &&
            (!moves || (moves->size() == hcps.shape(0) && mirrored_moves->size() == hcps.shape(0))),
        "arrays differ in length");
    ReleaseGil release;
    mirror_rows(rows(hcps), moves ? moves->data() : nullptr, mirrored_hcps.data(),
                moves ? mirrored_moves->data() : nullptr, threads);
}

int label_of(int move16, int turn) {
    require(move16 > 0 && move16 < 0x8000 && is_well_formed(std::uint16_t(move16)) &&
                (turn == BLACK || turn == WHITE),
            "not a move16 and a colour");
    return label_2187(Move(std::uint32_t(move16)), Color(turn));
}

int decode_to_move16(const std::string& name, const Position& position,
                     const std::vector<std::int64_t>& label) {
    const LabelScheme& scheme = scheme_named(name);
    require(label.size() == scheme.heads.size(), "a label has one number per head");
    return decode_label(scheme, position, label).move16();
}

using Probabilities = nb::ndarray<nb::numpy, float, nb::ndim<1>>;

Probabilities probabilities_of_moves(const std::string& name, const Position& position,
                                     const In<float, nb::ndim<1>>& logits, float temperature) {
    const LabelScheme& scheme = scheme_named(name);
    require(logits.size() == std::size_t(scheme.size()),
            "the number of logits is not the number of the scheme's labels");
    require(temperature > 0, "the temperature must be greater than 0");
    std::vector<float> values = move_probabilities(scheme, position, logits.data(), temperature);
    const std::size_t n = values.size();
    return owning_array<Probabilities>(std::move(values), {n});
}

Probabilities softmax_of(const In<float, nb::ndim<1>>& logits, float temperature) {
    require(logits.size() > 0, "softmax needs logits");
    require(temperature > 0, "the temperature must be greater than 0");
    std::vector<float> values(logits.data(), logits.data() + logits.size());
    softmax(values, temperature);
    const std::size_t n = values.size();
    return owning_array<Probabilities>(std::move(values), {n});
}

void bind_tables(nb::module_& m) {
    nb::enum_<BlockKind>(m, "BlockKind")
        .value("PLACEMENT", BlockKind::PLACEMENT)
        .value("ATTACKS", BlockKind::ATTACKS)
        .value("ATTACK_COUNTS", BlockKind::ATTACK_COUNTS)
        .value("SQUARE_TOKENS", BlockKind::SQUARE_TOKENS)
        .value("THERMOMETER", BlockKind::THERMOMETER)
        .value("ONE_HOT", BlockKind::ONE_HOT)
        .value("FRACTION", BlockKind::FRACTION);
    nb::enum_<PlaneType>(m, "PlaneType")
        .value("FLOAT32", PlaneType::FLOAT32)
        .value("UINT8", PlaneType::UINT8)
        .value("PACKED", PlaneType::PACKED);
    nb::class_<FeatureBlock>(m, "FeatureBlock")
        .def_ro("name", &FeatureBlock::name)
        .def_ro("kind", &FeatureBlock::kind)
        .def_ro("planes", &FeatureBlock::planes)
        .def_prop_ro("is_constant", &FeatureBlock::is_constant)
        .def_prop_ro("bits", &FeatureBlock::bits)
        .def("plane_names", &FeatureBlock::plane_names);
    nb::class_<FeatureInput>(m, "FeatureInput")
        .def_ro("name", &FeatureInput::name)
        .def_ro("blocks", &FeatureInput::blocks)
        .def_ro("is_tokens", &FeatureInput::is_tokens)
        .def_prop_ro("planes", &FeatureInput::planes)
        .def_prop_ro("bits", &FeatureInput::bits)
        .def_prop_ro("is_constant", &FeatureInput::is_constant);
    nb::class_<FeatureTable>(m, "FeatureTable")
        .def_ro("name", &FeatureTable::name)
        .def_ro("summary", &FeatureTable::summary)
        .def_ro("source", &FeatureTable::source)
        .def_ro("inputs", &FeatureTable::inputs)
        .def_prop_ro("is_binary", &FeatureTable::is_binary)
        .def_prop_ro("needs_plies", &FeatureTable::needs_plies);
    nb::class_<LabelHead>(m, "LabelHead")
        .def_ro("name", &LabelHead::name)
        .def_ro("size", &LabelHead::size)
        .def_ro("planes", &LabelHead::planes)
        .def_ro("rank", &LabelHead::rank)
        .def_ro("is_origin", &LabelHead::is_origin);
    nb::class_<LabelScheme>(m, "LabelScheme")
        .def_ro("name", &LabelScheme::name)
        .def_ro("summary", &LabelScheme::summary)
        .def_ro("source", &LabelScheme::source)
        .def_ro("heads", &LabelScheme::heads)
        .def_ro("needs_piece", &LabelScheme::needs_piece)
        .def_ro("is_invertible", &LabelScheme::is_invertible);
    m.attr("TOKEN_SIZE") = TOKEN_SIZE;
    m.attr("GOLDEN_64") = GOLDEN_64;
    m.attr("ELMO_COEF") = ELMO_COEF;
    m.attr("DLSHOGI_COEF") = DLSHOGI_COEF;
    m.def(
        "mix64",
        [](const Out<std::uint64_t, nb::ndim<1>>& numbers) {
            std::ranges::transform(std::span(numbers.data(), numbers.size()), numbers.data(),
                                   mix64);
        },
        "numbers"_a.noconvert(),
        nb::sig("def mix64(numbers: numpy.typing.NDArray[numpy.uint64]) -> None"),
        "Applies splitmix64's finalizer to each number in place.");
    m.def("feature_tables", [] { return feature_tables(); }, "Every feature table.");
    m.def("label_schemes", [] { return label_schemes(); }, "Every label scheme.");
}

// EncodingError, a ValueError, and its subclasses; `row` of a row error is the row's index.
PyObject* encoding_error;
PyObject* row_position_error;
PyObject* row_move_error;
PyObject* label_error;

void raise_row(PyObject* type, const RowError& e) {
    nb::object error = nb::borrow(type)(e.what());
    error.attr("row") = e.row;
    PyErr_SetObject(type, error.ptr());
}

void bind_errors(nb::module_& m) {
    const auto add = [&](const char* name, PyObject* base) {
        PyObject* type = nb::exception<EncodingError>(m, name, base).ptr();
        return type;
    };
    encoding_error = add("EncodingError", PyExc_ValueError);
    row_position_error = add("RowPositionError", encoding_error);
    row_move_error = add("RowMoveError", encoding_error);
    label_error = add("LabelError", encoding_error);
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const RowPositionError& e) {
            raise_row(row_position_error, e);
        } catch (const RowMoveError& e) {
            raise_row(row_move_error, e);
        } catch (const LabelError& e) {
            PyErr_SetString(label_error, e.what());
        } catch (const EncodingError& e) {
            PyErr_SetString(encoding_error, e.what());
        }
    });
}

}  // namespace

void bind_encoding(nb::module_& m) {
    bind_errors(m);
    bind_tables(m);
    m.def("encode_planes", &encode_planes_into, "table"_a, "hcps"_a, "plies"_a.none(), "type"_a,
          "outs"_a.noconvert(), "threads"_a);
    m.def("unpack_planes", &unpack_planes_into<float>, "table"_a, "input"_a, "packed"_a,
          "out"_a.noconvert(), "threads"_a);
    m.def("unpack_planes", &unpack_planes_into<std::uint8_t>, "table"_a, "input"_a, "packed"_a,
          "out"_a.noconvert(), "threads"_a);
    m.def("encode_labels", &encode_labels_into, "scheme"_a, "hcps"_a, "moves"_a, "check_legal"_a,
          "missing"_a.none(), "out"_a.noconvert(), "threads"_a);
    m.def("decode_label", &decode_to_move16, "scheme"_a, "position"_a, "label"_a,
          "The move16 of the legal move with this label.");
    m.def(
        "legal_labels",
        [](const std::string& scheme, const Position& position) {
            return legal_labels(scheme_named(scheme), position);
        },
        "scheme"_a, "position"_a, "The labels of the legal moves, in order, one per head.");
    m.def("move_probabilities", &probabilities_of_moves, "scheme"_a, "position"_a, "logits"_a,
          "temperature"_a, "Probabilities of the legal moves, in order, from a row of logits.");
    m.def("softmax", &softmax_of, "logits"_a, "temperature"_a,
          "Probabilities; -inf gives 0; uniform if one is NaN or inf, or all are -inf.");
    m.def("encode_positions", &encode_positions_into, "table"_a, "positions"_a, "type"_a,
          "outs"_a.noconvert());
    m.def("mirror", &mirror_into, "hcps"_a, "moves"_a.none(), "mirrored_hcps"_a.noconvert(),
          "mirrored_moves"_a.none().noconvert(), "threads"_a);
    m.def("label_2187", &label_of, "move16"_a, "turn"_a,
          "dlshogi's label of a board move or drop, as the search computes it.");
    m.def("policy_candidates", &candidates_of, "scheme"_a, "hcps"_a, "logits"_a, "keep"_a,
          "temperature"_a, "least"_a, "total"_a,
          "(count, move16, visits) of the likely moves of each row, concatenated.");
    m.def("legal_mask", &legal_mask_into, "scheme"_a, "hcps"_a, "out"_a.noconvert(), "threads"_a);
}
