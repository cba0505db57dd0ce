// komadori._core.attention: the attention behind komadori.nets.
#include "komadori/attention/attention.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "gil.h"
#include "module.h"

using komadori::ReleaseGil;
using namespace komadori::attention;
using namespace nb::literals;

namespace {

using Strided = nb::ndarray<const float, nb::ndim<4>, nb::device::cpu>;
using Four = nb::ndarray<float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using ConstFour = nb::ndarray<const float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Three = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ConstThree = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

Shape shape_of(const Strided& query) {
    return {query.shape(0), query.shape(1), query.shape(2), query.shape(3)};
}

Vectors vectors_of(const Strided& array, const Shape& shape, const char* name) {
    const Shape own = shape_of(array);
    if (own.positions != shape.positions || own.heads != shape.heads ||
        own.tokens != shape.tokens || own.size != shape.size) {
        throw nb::value_error((std::string(name) + " and query differ in shape").c_str());
    }
    if (own.size > 1 && array.stride(3) != 1) {
        throw nb::value_error(
            (std::string(name) + " is not contiguous in the last dimension").c_str());
    }
    return {array.data(), array.stride(0), array.stride(1), array.stride(2)};
}

template <class Array>
void check(const Array& array, std::initializer_list<std::size_t> shape, const char* name) {
    if (!std::equal(shape.begin(), shape.end(), array.shape_ptr(),
                    [](std::size_t a, auto b) { return a == std::size_t(b); })) {
        throw nb::value_error((std::string(name) + " has the wrong shape").c_str());
    }
}

Inputs inputs_of(const Shape& shape, const Strided& query, const Strided& key, const Strided& value,
                 const std::optional<ConstThree>& bias, const Dropout& dropout) {
    if (!(dropout.rate >= 0 && dropout.rate < 1))
        throw nb::value_error("dropout must be in [0, 1)");
    if (shape.size == 0 || shape.size > MAX_SIZE) {
        throw nb::value_error("the head size must be 1 to 64");
    }
    if (bias) check(*bias, {shape.heads, shape.tokens, shape.tokens}, "bias");
    return {vectors_of(query, shape, "query"), vectors_of(key, shape, "key"),
            vectors_of(value, shape, "value"), bias ? bias->data() : nullptr, dropout};
}

}  // namespace

void bind_attention(nb::module_& m) {
    m.attr("MAX_SIZE") = MAX_SIZE;
    m.def(
        "attend",
        [](const Strided& query, const Strided& key, const Strided& value,
           const std::optional<ConstThree>& bias, const Four& out, const Three& log_sum,
           float dropout, std::uint64_t seed, int threads) {
            const Shape shape = shape_of(query);
            const Inputs in = inputs_of(shape, query, key, value, bias, {dropout, seed});
            check(out, {shape.positions, shape.tokens, shape.heads, shape.size}, "out");
            check(log_sum, {shape.positions, shape.heads, shape.tokens}, "log_sum");
            ReleaseGil release;
            attend(shape, in, out.data(), log_sum.data(), threads);
        },
        "query"_a, "key"_a, "value"_a, "bias"_a.none(), "out"_a.noconvert(),
        "log_sum"_a.noconvert(), "dropout"_a = 0.0f, "seed"_a = 0, "threads"_a = 1,
        "softmax(query key^T / sqrt(size) + bias) value.\n\n"
        "query, key, value: float32 [positions, heads, tokens, size], size at most MAX_SIZE,\n"
        "contiguous in the last dimension. bias: [heads, tokens, tokens] or None. Writes out,\n"
        "float32 [positions, tokens, heads, size], and log_sum [positions, heads, tokens], the\n"
        "log-sum-exp of each query's scores. dropout: probability in [0, 1) of dropping an\n"
        "attention weight; the mask is a function of the 64-bit seed. ValueError for other "
        "shapes.");
    m.def(
        "attend_gradient",
        [](const Strided& query, const Strided& key, const Strided& value,
           const std::optional<ConstThree>& bias, const ConstFour& out, const ConstThree& log_sum,
           const Strided& by_out, const Four& by_query, const Four& by_key, const Four& by_value,
           const std::optional<Three>& by_bias, float dropout, std::uint64_t seed, int threads) {
            const Shape shape = shape_of(query);
            const Inputs in = inputs_of(shape, query, key, value, bias, {dropout, seed});
            check(out, {shape.positions, shape.tokens, shape.heads, shape.size}, "out");
            check(log_sum, {shape.positions, shape.heads, shape.tokens}, "log_sum");
            const Vectors from = vectors_of(by_out, shape, "by_out");
            for (const Four& to : {by_query, by_key, by_value}) {
                check(to, {shape.positions, shape.tokens, shape.heads, shape.size}, "a gradient");
            }
            if (bool(bias) != bool(by_bias))
                throw nb::value_error("bias and by_bias must be given together");
            if (by_bias) check(*by_bias, {shape.heads, shape.tokens, shape.tokens}, "by_bias");
            ReleaseGil release;
            attend_gradient(shape, in, out.data(), log_sum.data(), from,
                            {by_query.data(), by_key.data(), by_value.data(),
                             by_bias ? by_bias->data() : nullptr},
                            threads);
        },
        "query"_a, "key"_a, "value"_a, "bias"_a.none(), "out"_a, "log_sum"_a, "by_out"_a,
        "by_query"_a.noconvert(), "by_key"_a.noconvert(), "by_value"_a.noconvert(),
        "by_bias"_a.none().noconvert(), "dropout"_a = 0.0f, "seed"_a = 0, "threads"_a = 1,
        "The gradients of a loss with respect to the inputs of `attend`.\n\n"
        "by_out: the gradient with respect to out, [positions, heads, tokens, size], contiguous\n"
        "in the last dimension. Writes by_query, by_key, by_value [positions, tokens, heads,\n"
        "size] and by_bias (shape of bias). Independent of the number of threads. dropout and\n"
        "seed: those of the call of `attend`.");
}
