// Scaled dot product attention over few tokens, and its gradient, on a CPU.
//
//     out = dropout(softmax(query keyᵀ / sqrt(size) + bias)) value
//
// The score matrix is never stored: the forward pass keeps the scores of a few queries in the L1
// cache, and the backward pass recomputes them from the log-sum-exp (as in FlashAttention,
// arXiv:2205.14135). Sums over positions are taken in order, so results don't depend on the number
// of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace komadori::attention {

// The largest size of a head's vectors.
constexpr std::size_t MAX_SIZE = 64;

struct Shape {
    std::size_t positions, heads, tokens, size;  // size: numbers per head
};

// A query, key or value tensor: contiguous in the last dimension, strides in floats.
struct Vectors {
    const float* data;
    std::ptrdiff_t position, head, token;

    const float* at(std::size_t p, std::size_t h) const {
        return data + std::ptrdiff_t(p) * position + std::ptrdiff_t(h) * head;
    }
};

// The mask is a function of the seed and the index, so the backward pass recomputes it. Kept
// weights are scaled by 1 / (1 - rate).
struct Dropout {
    float rate;  // in [0, 1), 0 for none
    std::uint64_t seed;
};

struct Inputs {
    Vectors query, key, value;
    const float* bias;  // [heads, tokens, tokens], or null
    Dropout dropout;
};

// out: [positions, tokens, heads, size]. log_sum: [positions, heads, tokens], the log-sum-exp of
// each query's scores.
void attend(const Shape& shape, const Inputs& in, float* out, float* log_sum, int threads);

// Gradients of the loss; query, key and value: [positions, tokens, heads, size]; bias as in Inputs,
// null without one.
struct Gradients {
    float *query, *key, *value, *bias;
};

// `out` and `log_sum` are those of attend() for these inputs; `by_out` is the loss's gradient with
// respect to `out`.
void attend_gradient(const Shape& shape, const Inputs& in, const float* out, const float* log_sum,
                     const Vectors& by_out, const Gradients& to, int threads);

}  // namespace komadori::attention
