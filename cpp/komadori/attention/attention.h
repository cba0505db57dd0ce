// Scaled dot product attention over few tokens, and its gradient, on a CPU.
//
//     out = dropout(softmax(query keyᵀ / sqrt(size) + bias)) value
//
// Scores live only while a few queries of a head are in the first cache; the gradient makes them
// again from their logarithmic sums. Sums over positions go in the positions' order, so the
// results don't depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace komadori::attention {

// The largest size of a head's vectors.
constexpr std::size_t MAX_SIZE = 64;

struct Shape {
    std::size_t positions, heads, tokens, size;  // size: of a head's vectors
};

// One of query, key, value: a vector's numbers are neighbours, strides are in numbers.
struct Vectors {
    const float* data;
    std::ptrdiff_t position, head, token;

    const float* at(std::size_t p, std::size_t h) const {
        return data + std::ptrdiff_t(p) * position + std::ptrdiff_t(h) * head;
    }
};

// Which weights are dropped follows from the seed and their place alone, so the gradient knows it
// again; what is kept is scaled up by what is lost.
struct Dropout {
    float rate;  // in [0, 1), 0 for none
    std::uint64_t seed;
};

struct Inputs {
    Vectors query, key, value;
    const float* bias;  // [heads, tokens, tokens], or null
    Dropout dropout;
};

// out: [positions, tokens, heads, size]. log_sum: [positions, heads, tokens], the logarithm of
// the sum of a query's exponentials.
void attend(const Shape& shape, const Inputs& in, float* out, float* log_sum, int threads);

// Of a loss whose gradient by out is `by_out`; query, key and value: [positions, tokens, heads,
// size] each; bias: as in Inputs, null where that is.
struct Gradients {
    float *query, *key, *value, *bias;
};

// `out` and `log_sum` are what `attend` gave for these inputs.
void attend_gradient(const Shape& shape, const Inputs& in, const float* out, const float* log_sum,
                     const Vectors& by_out, const Gradients& to, int threads);

}  // namespace komadori::attention
