// NNUE kernels: portable, AVX2 and AVX-512 VNNI. int16 sums wrap and int32 sums can't overflow, so
// every order of summation gives the same result.
#include <algorithm>

#include "komadori/linear/nnue.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define KOMADORI_X86_64 1
#endif

namespace komadori::linear {
namespace {

constexpr int INPUTS1 = 2 * NNUE_HALF, INPUTS2 = NNUE_HIDDEN;

// ---- portable

void update_portable(std::int16_t* to, const std::int16_t* from, const std::int16_t* const* removed,
                     int n_removed, const std::int16_t* const* added, int n_added) {
    std::int16_t sums[NNUE_HALF];
    std::copy_n(from, NNUE_HALF, sums);
    for (int k = 0; k < n_removed; ++k) {
        for (int i = 0; i < NNUE_HALF; ++i) sums[i] = std::int16_t(sums[i] - removed[k][i]);
    }
    for (int k = 0; k < n_added; ++k) {
        for (int i = 0; i < NNUE_HALF; ++i) sums[i] = std::int16_t(sums[i] + added[k][i]);
    }
    std::copy_n(sums, NNUE_HALF, to);
}

void affine_portable(const std::uint8_t* in, int inputs, const std::int8_t* weights,
                     const std::int32_t* biases, std::int32_t* out) {
    std::copy_n(biases, NNUE_HIDDEN, out);
    for (int i = 0; i < inputs; i += 4) {
        const std::int8_t* w = weights + i * NNUE_HIDDEN;
        for (int o = 0; o < NNUE_HIDDEN; ++o) {
            out[o] += in[i] * w[4 * o] + in[i + 1] * w[4 * o + 1] + in[i + 2] * w[4 * o + 2] +
                      in[i + 3] * w[4 * o + 3];
        }
    }
}

void clip_portable(const std::int32_t* from, std::uint8_t* to) {
    for (int i = 0; i < NNUE_HIDDEN; ++i) {
        to[i] = std::uint8_t(std::clamp(from[i] >> NNUE_SHIFT, 0, NNUE_ONE));
    }
}

std::int32_t propagate_portable(const NnueLayers& layers, const std::int16_t* own,
                                const std::int16_t* other) {
    std::uint8_t in1[INPUTS1], in2[INPUTS2], in3[INPUTS2];
    for (int i = 0; i < NNUE_HALF; ++i) {
        in1[i] = std::uint8_t(std::clamp<int>(own[i], 0, NNUE_ONE));
        in1[NNUE_HALF + i] = std::uint8_t(std::clamp<int>(other[i], 0, NNUE_ONE));
    }
    std::int32_t out[NNUE_HIDDEN];
    affine_portable(in1, INPUTS1, layers.weights1, layers.biases1, out);
    clip_portable(out, in2);
    affine_portable(in2, INPUTS2, layers.weights2, layers.biases2, out);
    clip_portable(out, in3);
    std::int32_t sum = layers.bias3;
    for (int i = 0; i < NNUE_HIDDEN; ++i) sum += in3[i] * layers.weights3[i];
    return sum;
}

bool always() { return true; }

#if defined(KOMADORI_X86_64)

// ---- AVX2

#define KOMADORI_AVX2 __attribute__((target("avx2")))

KOMADORI_AVX2 inline __m256i load256(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
KOMADORI_AVX2 inline void store256(void* p, __m256i v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), v);
}

KOMADORI_AVX2 void update_avx2(std::int16_t* to, const std::int16_t* from,
                               const std::int16_t* const* removed, int n_removed,
                               const std::int16_t* const* added, int n_added) {
    // Two halves of eight registers each.
    for (int half = 0; half < NNUE_HALF; half += NNUE_HALF / 2) {
        __m256i sums[8];
        for (int i = 0; i < 8; ++i) sums[i] = load256(from + half + 16 * i);
        for (int k = 0; k < n_removed; ++k) {
            const std::int16_t* row = removed[k] + half;
            for (int i = 0; i < 8; ++i) sums[i] = _mm256_sub_epi16(sums[i], load256(row + 16 * i));
        }
        for (int k = 0; k < n_added; ++k) {
            const std::int16_t* row = added[k] + half;
            for (int i = 0; i < 8; ++i) sums[i] = _mm256_add_epi16(sums[i], load256(row + 16 * i));
        }
        for (int i = 0; i < 8; ++i) store256(to + half + 16 * i, sums[i]);
    }
}

KOMADORI_AVX2 inline __m256i broadcast256(const std::uint8_t* four) {
    std::int32_t bits;
    __builtin_memcpy(&bits, four, 4);
    return _mm256_set1_epi32(bits);
}

// Sums of two products of uint8 (at most 127) and int8 fit into int16: no saturation.
KOMADORI_AVX2 inline __m256i dot256(__m256i sum, __m256i in, __m256i weights) {
    const __m256i pairs = _mm256_maddubs_epi16(in, weights);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

KOMADORI_AVX2 inline void affine_avx2(const std::uint8_t* in, int inputs,
                                      const std::int8_t* weights, const std::int32_t* biases,
                                      std::int32_t* out) {
    __m256i sums[4];
    for (int o = 0; o < 4; ++o) sums[o] = load256(biases + 8 * o);
    for (int i = 0; i < inputs; i += 4) {
        const __m256i four = broadcast256(in + i);
        const std::int8_t* w = weights + i * NNUE_HIDDEN;
        for (int o = 0; o < 4; ++o) sums[o] = dot256(sums[o], four, load256(w + 32 * o));
    }
    for (int o = 0; o < 4; ++o) store256(out + 8 * o, sums[o]);
}

KOMADORI_AVX2 inline __m256i clip_avx2(const std::int32_t* out) {
    const __m256i a = _mm256_packs_epi32(_mm256_srai_epi32(load256(out), NNUE_SHIFT),
                                         _mm256_srai_epi32(load256(out + 8), NNUE_SHIFT));
    const __m256i b = _mm256_packs_epi32(_mm256_srai_epi32(load256(out + 16), NNUE_SHIFT),
                                         _mm256_srai_epi32(load256(out + 24), NNUE_SHIFT));
    const __m256i bytes = _mm256_max_epi8(_mm256_packs_epi16(a, b), _mm256_setzero_si256());
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

KOMADORI_AVX2 inline void transform_avx2(const std::int16_t* sums, std::uint8_t* to) {
    for (int i = 0; i < NNUE_HALF; i += 32) {
        const __m256i packed = _mm256_packs_epi16(load256(sums + i), load256(sums + i + 16));
        const __m256i clipped = _mm256_max_epi8(packed, _mm256_setzero_si256());
        store256(to + i, _mm256_permute4x64_epi64(clipped, 0b11011000));
    }
}

KOMADORI_AVX2 inline std::int32_t last_layer_avx2(const NnueLayers& layers, __m256i in) {
    const __m256i sums = dot256(_mm256_setzero_si256(), in, load256(layers.weights3));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0b01001110));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0b10110001));
    return layers.bias3 + _mm_cvtsi128_si32(s);
}

KOMADORI_AVX2 std::int32_t propagate_avx2(const NnueLayers& layers, const std::int16_t* own,
                                          const std::int16_t* other) {
    alignas(64) std::uint8_t in1[INPUTS1], in2[INPUTS2];
    transform_avx2(own, in1);
    transform_avx2(other, in1 + NNUE_HALF);
    alignas(64) std::int32_t out[NNUE_HIDDEN];
    affine_avx2(in1, INPUTS1, layers.weights1, layers.biases1, out);
    store256(in2, clip_avx2(out));
    affine_avx2(in2, INPUTS2, layers.weights2, layers.biases2, out);
    return last_layer_avx2(layers, clip_avx2(out));
}

bool has_avx2() { return __builtin_cpu_supports("avx2"); }

// ---- AVX-512 VNNI

#define KOMADORI_VNNI __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

KOMADORI_VNNI inline __m512i load512(const void* p) { return _mm512_loadu_si512(p); }

KOMADORI_VNNI void update_vnni(std::int16_t* to, const std::int16_t* from,
                               const std::int16_t* const* removed, int n_removed,
                               const std::int16_t* const* added, int n_added) {
    __m512i sums[8];
    for (int i = 0; i < 8; ++i) sums[i] = load512(from + 32 * i);
    for (int k = 0; k < n_removed; ++k) {
        for (int i = 0; i < 8; ++i) {
            sums[i] = _mm512_sub_epi16(sums[i], load512(removed[k] + 32 * i));
        }
    }
    for (int k = 0; k < n_added; ++k) {
        for (int i = 0; i < 8; ++i) {
            sums[i] = _mm512_add_epi16(sums[i], load512(added[k] + 32 * i));
        }
    }
    for (int i = 0; i < 8; ++i) _mm512_storeu_si512(to + 32 * i, sums[i]);
}

KOMADORI_VNNI inline __m512i broadcast512(const std::uint8_t* four) {
    std::int32_t bits;
    __builtin_memcpy(&bits, four, 4);
    return _mm512_set1_epi32(bits);
}

// Accumulates inputs i..i+3 into both halves of the outputs.
KOMADORI_VNNI inline void dot512(__m512i& low, __m512i& high, const std::uint8_t* in,
                                 const std::int8_t* weights, int i) {
    const __m512i four = broadcast512(in + i);
    low = _mm512_dpbusd_epi32(low, four, load512(weights + i * NNUE_HIDDEN));
    high = _mm512_dpbusd_epi32(high, four, load512(weights + i * NNUE_HIDDEN + 64));
}

// Four independent accumulators per output, to hide the latency of the dot product.
template <int INPUTS>
KOMADORI_VNNI inline void affine_vnni(const std::uint8_t* in, const std::int8_t* weights,
                                      const std::int32_t* biases, std::int32_t* out) {
    __m512i low0 = load512(biases), high0 = load512(biases + 16);
    __m512i low1 = _mm512_setzero_si512(), high1 = low1, low2 = low1, high2 = low1;
    __m512i low3 = low1, high3 = low1;
#pragma GCC unroll 4
    for (int i = 0; i < INPUTS; i += 16) {
        dot512(low0, high0, in, weights, i);
        dot512(low1, high1, in, weights, i + 4);
        dot512(low2, high2, in, weights, i + 8);
        dot512(low3, high3, in, weights, i + 12);
    }
    const __m512i low =
        _mm512_add_epi32(_mm512_add_epi32(low0, low1), _mm512_add_epi32(low2, low3));
    const __m512i high =
        _mm512_add_epi32(_mm512_add_epi32(high0, high1), _mm512_add_epi32(high2, high3));
    _mm512_storeu_si512(out, low);
    _mm512_storeu_si512(out + 16, high);
}

KOMADORI_VNNI std::int32_t propagate_vnni(const NnueLayers& layers, const std::int16_t* own,
                                          const std::int16_t* other) {
    alignas(64) std::uint8_t in1[INPUTS1], in2[INPUTS2];
    transform_avx2(own, in1);
    transform_avx2(other, in1 + NNUE_HALF);
    alignas(64) std::int32_t out[NNUE_HIDDEN];
    affine_vnni<INPUTS1>(in1, layers.weights1, layers.biases1, out);
    store256(in2, clip_avx2(out));
    affine_vnni<INPUTS2>(in2, layers.weights2, layers.biases2, out);
    return last_layer_avx2(layers, clip_avx2(out));
}

bool has_vnni() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
}

#endif

const NnueKernels KERNELS[] = {
#if defined(KOMADORI_X86_64)
    {"avx512-vnni", has_vnni, update_vnni, propagate_vnni},
    {"avx2", has_avx2, update_avx2, propagate_avx2},
#endif
    {"portable", always, update_portable, propagate_portable},
};

}  // namespace

std::span<const NnueKernels> nnue_kernels() { return KERNELS; }

const NnueKernels& best_nnue_kernels() {
    static const NnueKernels& best =
        *std::ranges::find_if(KERNELS, [](const NnueKernels& k) { return k.is_supported(); });
    return best;
}

}  // namespace komadori::linear
