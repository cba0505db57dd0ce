#include "komadori/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "komadori/base/hash.h"
#include "komadori/threads/parallel.h"

namespace komadori::attention {
namespace {

// Vectors of one SIMD register, compiled to the target's instructions. Vectors longer than a
// register were six times slower.
#if defined(__AVX__)
constexpr std::size_t LANES = 8;
#else
constexpr std::size_t LANES = 4;
#endif
using Lanes = float __attribute__((vector_size(4 * LANES)));
using Bits = int __attribute__((vector_size(4 * LANES)));
using UnalignedLanes = float __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
constexpr Lanes ZERO = {};

// Keys per block: independent sums, to hide latency.
constexpr std::size_t KEYS = 8;

constexpr std::size_t ceil_div(std::size_t n, std::size_t d) { return (n + d - 1) / d; }

// exp with a relative error of about 2e-7; clamped below at 2^-126.
inline Lanes exp(Lanes x) {
    constexpr float LOG2_E = 1.44269504f, ROUND = 12582912.0f;  // 1.5 * 2^23: rounds to integers
    Lanes power = x * LOG2_E;
    power = power < -126.0f ? ZERO - 126.0f : power;
    const Lanes rounded = power + ROUND;
    const Lanes f = power - (rounded - ROUND);  // -1/2 to 1/2
    // Taylor series of 2^f: coefficients ln(2)^k / k!.
    Lanes y = f * 1.54035304e-4f + 1.33335581e-3f;
    y = y * f + 9.61812911e-3f;
    y = y * f + 5.55041087e-2f;
    y = y * f + 0.240226507f;
    y = y * f + 0.693147181f;
    y = y * f + 1.0f;
    return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(y) +
                                   (reinterpret_cast<Bits>(rounded) << 23));
}

// The dropout mask of one head of one position, as factors of the attention weights.
class Mask {
  public:
    Mask() = default;
    Mask(const Dropout& dropout, std::uint64_t place)
        : least_(std::uint32_t(std::lround(dropout.rate * 0x1p24f))),
          kept_(1 / (1 - dropout.rate)) {
        const std::uint64_t bits = splitmix64(dropout.seed ^ splitmix64(place));
        of_query_ = std::uint32_t(bits);
        of_key_ = std::uint32_t(bits >> 32);
    }

    // The factors of a block's queries for one key: 0 or 1 / (1 - rate).
    Lanes at(std::size_t block, std::size_t key) const {
        Unsigned x;
        for (std::size_t l = 0; l < LANES; ++l) x[l] = std::uint32_t(block * LANES + l);
        x = (x * 0x9E3779B1u + of_query_) ^ (std::uint32_t(key) * 0x85EBCA77u + of_key_);
        x = (x ^ x >> 16) * 0x85EBCA6Bu;  // the finaliser of MurmurHash3
        x = (x ^ x >> 13) * 0xC2B2AE35u;
        x = (x ^ x >> 16) >> 8;
        return reinterpret_cast<Bits>(x) >= int(least_) ? ZERO + kept_ : ZERO;
    }

  private:
    using Unsigned = std::uint32_t __attribute__((vector_size(4 * LANES)));
    std::uint32_t least_ = 0, of_query_ = 0, of_key_ = 0;
    float kept_ = 1;
};

// The working memory of a thread for one head of one position. Vectors are padded to SIZE, queries
// to a multiple of LANES, keys to a multiple of KEYS. by_x is the gradient with respect to x.
template <std::size_t SIZE>
class Head {
  public:
    explicit Head(const Shape& shape)
        : tokens_(shape.tokens),
          size_(shape.size),
          blocks_(ceil_div(shape.tokens, LANES)),
          keys_up_(ceil_div(shape.tokens, KEYS) * KEYS),
          scale_(1 / std::sqrt(float(shape.size))),
          query_(blocks_ * LANES * SIZE),
          by_out_(blocks_ * LANES * SIZE),
          key_(keys_up_ * SIZE),
          value_(keys_up_ * SIZE),
          by_key_(keys_up_ * SIZE),
          by_value_(keys_up_ * SIZE),
          weight_(keys_up_, ZERO),
          by_score_(keys_up_, ZERO) {}

    // Loads the bias of one head, [tokens, tokens], and clears its gradient.
    void load_bias(const float* bias, bool with_gradient) {
        bias_.assign(blocks_ * tokens_, ZERO);
        if (with_gradient) by_bias_.assign(blocks_ * tokens_, ZERO);
        for (std::size_t i = 0; i < tokens_; ++i) {
            for (std::size_t j = 0; j < tokens_; ++j) {
                bias_[i / LANES * tokens_ + j][i % LANES] = bias[i * tokens_ + j];
            }
        }
    }

    void store_bias_gradient(float* to) const {
        for (std::size_t i = 0; i < tokens_; ++i) {
            for (std::size_t j = 0; j < tokens_; ++j) {
                to[i * tokens_ + j] = by_bias_[i / LANES * tokens_ + j][i % LANES];
            }
        }
    }

    void load(const Inputs& in, const Shape& shape, std::size_t p, std::size_t h) {
        has_mask_ = in.dropout.rate > 0;
        if (has_mask_) mask_ = Mask(in.dropout, p * shape.heads + h);
        fill(query_, in.query, p, h, scale_);
        fill(key_, in.key, p, h, 1);
        fill(value_, in.value, p, h, 1);
    }

    // out: this head's output at the first token; `stride` floats between tokens.
    void forward(float* out, std::size_t stride, float* log_sum) {
        for (std::size_t b = 0; b < blocks_; ++b) {
            Lanes query[SIZE], most = ZERO - INFINITY, sum = ZERO;
            transpose(query_, b, query);
            for (std::size_t j = 0; j < tokens_; ++j) {
                weight_[j] = score(query, b, j);
                most = weight_[j] > most ? weight_[j] : most;
            }
            for (std::size_t j = 0; j < tokens_; ++j) sum += weight_[j] = exp(weight_[j] - most);
            if (has_mask_) {
                for (std::size_t j = 0; j < tokens_; ++j) weight_[j] *= mask_.at(b, j);
            }
            Lanes mixed[SIZE];
            mix(weight_, value_, mixed);
            for (std::size_t l = 0, i = b * LANES; l < LANES && i < tokens_; ++l, ++i) {
                for (std::size_t d = 0; d < size_; ++d) out[i * stride + d] = mixed[d][l] / sum[l];
                log_sum[i] = most[l] + std::log(sum[l]);
            }
        }
    }

    // by_query, by_key, by_value: laid out like `out`.
    void backward(const float* out, std::size_t stride, const float* log_sum, const Vectors& by_out,
                  std::size_t p, std::size_t h, float* by_query, float* by_key, float* by_value) {
        fill(by_out_, by_out, p, h, 1);
        std::fill(by_key_.begin(), by_key_.end(), 0.0f);
        std::fill(by_value_.begin(), by_value_.end(), 0.0f);
        for (std::size_t b = 0; b < blocks_; ++b) {
            Lanes query[SIZE], by_mixed[SIZE], logs = ZERO, mean = ZERO;
            transpose(query_, b, query);
            transpose(by_out_, b, by_mixed);
            for (std::size_t l = 0, i = b * LANES; l < LANES && i < tokens_; ++l, ++i) {
                logs[l] = log_sum[i];
                for (std::size_t d = 0; d < size_; ++d)
                    mean[l] += out[i * stride + d] * by_mixed[d][l];
            }
            for (std::size_t j = 0; j < tokens_; ++j) {
                Lanes by_weight = ZERO;
                for (std::size_t d = 0; d < SIZE; ++d)
                    by_weight += by_mixed[d] * value_[j * SIZE + d];
                const Lanes kept = has_mask_ ? mask_.at(b, j) : ZERO + 1.0f;
                const Lanes weight = exp(score(query, b, j) - logs);
                weight_[j] = weight * kept;
                by_score_[j] = weight_[j] * by_weight - weight * mean;
            }
            if (!by_bias_.empty()) {
                for (std::size_t j = 0; j < tokens_; ++j) by_bias_[b * tokens_ + j] += by_score_[j];
            }
            Lanes by_scaled_query[SIZE];
            mix(by_score_, key_, by_scaled_query);
            for (std::size_t l = 0, i = b * LANES; l < LANES && i < tokens_; ++l, ++i) {
                for (std::size_t d = 0; d < size_; ++d) {
                    by_query[i * stride + d] = by_scaled_query[d][l] * scale_;
                }
            }
            // Padding lanes have zero queries and zero gradients.
            add_rows(weight_, by_out_, b, by_value_);
            add_rows(by_score_, query_, b, by_key_);
        }
        store(by_key_, by_key, stride);
        store(by_value_, by_value, stride);
    }

  private:
    using Numbers = std::vector<float>;

    void fill(Numbers& to, const Vectors& from, std::size_t p, std::size_t h, float scale) const {
        const float* row = from.at(p, h);
        for (std::size_t i = 0; i < tokens_; ++i, row += from.token) {
            for (std::size_t d = 0; d < size_; ++d) to[i * SIZE + d] = row[d] * scale;
        }
    }

    void store(const Numbers& from, float* to, std::size_t stride) const {
        for (std::size_t i = 0; i < tokens_; ++i) {
            std::copy_n(&from[i * SIZE], size_, to + i * stride);
        }
    }

    static void transpose(const Numbers& from, std::size_t block, Lanes (&to)[SIZE]) {
        const float* row = &from[block * LANES * SIZE];
        for (std::size_t d = 0; d < SIZE; ++d) {
            Lanes column = ZERO;
            for (std::size_t l = 0; l < LANES; ++l) column[l] = row[l * SIZE + d];
            to[d] = column;
        }
    }

    Lanes score(const Lanes (&query)[SIZE], std::size_t block, std::size_t j) const {
        Lanes sum = bias_.empty() ? ZERO : bias_[block * tokens_ + j];
        for (std::size_t d = 0; d < SIZE; ++d) sum += query[d] * key_[j * SIZE + d];
        return sum;
    }

    // to[d] = sum over keys j of weight[j] * rows[j][d], one query per lane.
    void mix(const std::vector<Lanes>& weight, const Numbers& rows, Lanes (&to)[SIZE]) const {
        for (std::size_t first = 0; first < SIZE; first += LANES) {
            Lanes sum[LANES] = {};
            for (std::size_t j = 0; j < tokens_; ++j) {
                for (std::size_t d = 0; d < LANES; ++d)
                    sum[d] += weight[j] * rows[j * SIZE + first + d];
            }
            std::copy_n(sum, LANES, to + first);
        }
    }

    // to[j] += sum over the block's queries of weight[j] * rows[query].
    void add_rows(const std::vector<Lanes>& weight, const Numbers& rows, std::size_t block,
                  Numbers& to) const {
        for (std::size_t j = 0; j < tokens_; j += KEYS) {
            const auto* weights = reinterpret_cast<const float*>(&weight[j]);
            for (std::size_t first = 0; first < SIZE; first += LANES) {
                UnalignedLanes sum[KEYS] = {};
                for (std::size_t l = 0; l < LANES; ++l) {
                    const auto row = *reinterpret_cast<const UnalignedLanes*>(
                        &rows[(block * LANES + l) * SIZE + first]);
                    for (std::size_t k = 0; k < KEYS; ++k) sum[k] += row * weights[k * LANES + l];
                }
                for (std::size_t k = 0; k < KEYS; ++k) {
                    *reinterpret_cast<UnalignedLanes*>(&to[(j + k) * SIZE + first]) += sum[k];
                }
            }
        }
    }

    std::size_t tokens_, size_, blocks_, keys_up_;
    float scale_;
    bool has_mask_ = false;
    Mask mask_;
    Numbers query_, by_out_, key_, value_, by_key_, by_value_;
    std::vector<Lanes> weight_, by_score_;  // [keys]
    std::vector<Lanes> bias_, by_bias_;     // [blocks, tokens], empty without a bias
};

// Calls work(Head, position, head) for all positions and heads, with one Head per thread; with
// `in_order` one thread processes all positions of a head in order. begin(Head, head) is called
// when a thread changes to a head, end(Head, head) after the last position if `in_order`.
template <std::size_t SIZE, class Begin, class Work, class End>
void each_head(const Shape& shape, int threads, bool in_order, const Begin& begin, const Work& work,
               const End& end) {
    const std::size_t parts = in_order ? 1 : shape.positions;
    const std::size_t each = in_order ? shape.positions : 1;
    parallel_queue(shape.heads * parts, threads, [&](std::size_t, const auto& next) {
        Head<SIZE> own(shape);
        std::size_t last = shape.heads;
        for (std::size_t n = next(); n < shape.heads * parts; n = next()) {
            const std::size_t h = n / parts;
            if (h != last) begin(own, h);
            last = h;
            for (std::size_t k = 0; k < each; ++k) work(own, n % parts * each + k, h);
            if (in_order) end(own, h);
        }
    });
}

template <std::size_t SIZE>
void attend_sized(const Shape& shape, const Inputs& in, float* out, float* log_sum, int threads) {
    const auto [positions, heads, tokens, size] = shape;
    const std::size_t stride = heads * size;
    each_head<SIZE>(
        shape, threads, false,
        [&](Head<SIZE>& own, std::size_t h) {
            if (in.bias) own.load_bias(in.bias + h * tokens * tokens, false);
        },
        [&](Head<SIZE>& own, std::size_t p, std::size_t h) {
            own.load(in, shape, p, h);
            own.forward(out + p * tokens * stride + h * size, stride,
                        log_sum + (p * heads + h) * tokens);
        },
        [](const Head<SIZE>&, std::size_t) {});
}

template <std::size_t SIZE>
void gradient_sized(const Shape& shape, const Inputs& in, const float* out, const float* log_sum,
                    const Vectors& by_out, const Gradients& to, int threads) {
    const auto [positions, heads, tokens, size] = shape;
    const std::size_t stride = heads * size;
    each_head<SIZE>(
        shape, threads, in.bias != nullptr,
        [&](Head<SIZE>& own, std::size_t h) {
            if (in.bias) own.load_bias(in.bias + h * tokens * tokens, true);
        },
        [&](Head<SIZE>& own, std::size_t p, std::size_t h) {
            const std::size_t at = p * tokens * stride + h * size;
            own.load(in, shape, p, h);
            own.backward(out + at, stride, log_sum + (p * heads + h) * tokens, by_out, p, h,
                         to.query + at, to.key + at, to.value + at);
        },
        [&](const Head<SIZE>& own, std::size_t h) {
            own.store_bias_gradient(to.bias + h * tokens * tokens);
        });
}

// Calls work(SIZE) with the smallest kernel size that fits.
template <class Work>
void sized(std::size_t size, const Work& work) {
    if (size <= 8) return work(std::integral_constant<std::size_t, 8>());
    if (size <= 16) return work(std::integral_constant<std::size_t, 16>());
    if (size <= 32) return work(std::integral_constant<std::size_t, 32>());
    if (size <= MAX_SIZE) return work(std::integral_constant<std::size_t, MAX_SIZE>());
    throw std::invalid_argument("head size " + std::to_string(size) + " is larger than " +
                                std::to_string(MAX_SIZE));
}

}  // namespace

void attend(const Shape& shape, const Inputs& in, float* out, float* log_sum, int threads) {
    sized(shape.size, [&](auto n) { attend_sized<n()>(shape, in, out, log_sum, threads); });
}

void attend_gradient(const Shape& shape, const Inputs& in, const float* out, const float* log_sum,
                     const Vectors& by_out, const Gradients& to, int threads) {
    sized(shape.size,
          [&](auto n) { gradient_sized<n()>(shape, in, out, log_sum, by_out, to, threads); });
}

}  // namespace komadori::attention
