#include "komadori/encoding/planes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "komadori/rules/declaration.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace komadori {
namespace {

static_assert(std::endian::native == std::endian::little, "packed planes are little-endian words");

class BitWriter {
  public:
    explicit BitWriter(std::uint64_t* words) : out_(words) {}
    void put(std::uint64_t bits, int n) {  // n in 1..64; bits above n are 0
        word_ |= bits << used_;
        used_ += n;
        if (used_ < 64) return;
        *out_++ = word_;
        used_ -= 64;
        word_ = used_ ? bits >> (n - used_) : 0;
    }
    void put(const Bitboard& b) {  // 64 bits and 17
        const std::uint64_t low = b.lo | b.hi << 63, high = b.hi >> 1;
        *out_++ = word_ | low << used_;
        word_ = low >> 1 >> (63 - used_) | high << used_;
        used_ += 17;
        if (used_ < 64) return;
        *out_++ = word_;
        used_ -= 64;
        word_ = high >> (17 - used_);
    }
    void finish() {
        if (used_) *out_ = word_;
    }

  private:
    std::uint64_t* out_;
    std::uint64_t word_ = 0;
    int used_ = 0;
};

// The eight bit values of every byte.
template <class T>
constexpr auto make_expansion() {
    std::array<std::array<T, 8>, 256> table{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = T(byte >> bit & 1);
    }
    return table;
}
template <class T>
alignas(64) constexpr auto EXPANSION = make_expansion<T>();

bool bit_at(const std::uint8_t* packed, int i) { return packed[i >> 3] >> (i & 7) & 1; }

#if defined(__AVX2__)
// The 32 bits as bytes of 0 and 1, lowest first.
__m256i bytes_of(std::uint32_t bits) {
    const __m256i spread =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i each = _mm256_set1_epi64x(std::int64_t(0x8040201008040201ull));
    const __m256i copies = _mm256_shuffle_epi8(_mm256_set1_epi32(int(bits)), spread);
    return _mm256_min_epu8(_mm256_and_si256(copies, each), _mm256_set1_epi8(1));
}

void store_bits(std::uint32_t bits, std::uint8_t* out) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes_of(bits));
}

void store_bits(std::uint32_t bits, float* out) {
    const __m256i copies = _mm256_set1_epi32(int(bits));
    const __m256i one = _mm256_castps_si256(_mm256_set1_ps(1.0f));
    __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (int i = 0; i < 32; i += 8, each = _mm256_slli_epi32(each, 8)) {
        const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(copies, each), each);
        _mm256_storeu_ps(out + i, _mm256_castsi256_ps(_mm256_and_si256(set, one)));
    }
}
#endif

// Writes n values from bit `first` on. Reads no byte past the last bit.
template <class T>
T* expand_bits(const std::uint8_t* packed, int first, int n, T* out) {
    const std::uint8_t* p = packed + (first >> 3);
    const int shift = first & 7;
#if defined(__AVX2__)
    // Each step loads eight bytes for 32 bits, so the last 63 bits take the slow path.
    for (; n >= 64; n -= 32, first += 32, p += 4, out += 32) {
        std::uint64_t bits;
        std::memcpy(&bits, p, sizeof bits);
        store_bits(std::uint32_t(bits >> shift), out);
    }
#endif
    const int bytes = n >> 3;
    if (shift == 0) {
        for (int i = 0; i < bytes; ++i, out += 8) {
            std::memcpy(out, EXPANSION<T>[p[i]].data(), 8 * sizeof(T));
        }
    } else {
        for (int i = 0; i < bytes; ++i, out += 8) {
            const auto byte = std::uint8_t((p[i] | p[i + 1] << 8) >> shift);
            std::memcpy(out, EXPANSION<T>[byte].data(), 8 * sizeof(T));
        }
    }
    for (int i = 8 * bytes; i < n; ++i) *out++ = T(bit_at(packed, first + i));
    return out;
}

void put_square_tokens(const FeatureSource& source, BitWriter& writer) {
    std::uint64_t tokens[SQUARES] = {};
    int k = 0;
    const auto scatter = [&](const Bitboard& plane) {
        plane.each([&](Square s) { tokens[s] |= std::uint64_t(1) << k; });
        ++k;
    };
    for (int side = OWN; side <= OPPONENT; ++side) {
        for (PieceType t : APERY_ORDER) scatter(source.placement.pieces[side][t]);
        for (PieceType t : APERY_ORDER) scatter(source.attacks->by_type[side][t]);
        for (const Bitboard& plane : source.attacks->at_least[side]) scatter(plane);
    }
    for (std::uint64_t token : tokens) writer.put(token, TOKEN_SIZE);
}

constexpr std::uint64_t low_bits(int n) { return (std::uint64_t(1) << n) - 1; }

// A side's pieces in the zone without the king, and its points for the declaration (bishops and
// rooks count 5), including the hand.
struct Declaration {
    int pieces;
    int points;
};
Declaration declaration(const Placement& placement, Side side) {
    const auto& of_type = placement.pieces[side];
    const Bitboard zone = far_ranks(Color(side), 3);
    Bitboard all;
    for (int t = PAWN; t <= DRAGON; ++t) {
        if (t != KING) all |= of_type[t];
    }
    const Bitboard big = of_type[BISHOP] | of_type[ROOK] | of_type[HORSE] | of_type[DRAGON];
    const int pieces = (all & zone).count();
    int points = pieces + 4 * (big & zone).count();
    for (PieceType t : HAND_TYPES) {
        points += placement.hand[side][t] * (t == BISHOP || t == ROOK ? 5 : 1);
    }
    return {pieces, points};
}

std::uint64_t constant_bits(const FeatureBlock& block, int n) {
    if (block.kind == BlockKind::THERMOMETER) return low_bits(std::min(n, block.planes));
    if (block.quantity == Quantity::PLIES) n = std::min(n / block.unit, block.planes - 1);
    return n >= 0 && n < block.planes ? std::uint64_t(1) << n : 0;
}

}  // namespace

int FeatureSource::quantity(const FeatureBlock& block) const {
    const Side side = block.side;
    switch (block.quantity) {
        case Quantity::NONE:
            break;
        case Quantity::HAND:
            return placement.hand[side][block.hand_type];
        case Quantity::IN_CHECK:
            return placement.king[OWN] != NO_SQUARE &&
                   attacks->at_least[OPPONENT][0].has(placement.king[OWN]);
        case Quantity::KING_IN_ZONE:
            return (placement.pieces[side][KING] & far_ranks(Color(side), 3)).any();
        case Quantity::ZONE_REMAINING:
            return 10 - declaration(placement, side).pieces;
        case Quantity::POINTS_REMAINING:
            return POINTS_27[int(side) ^ int(placement.turn)] - declaration(placement, side).points;
        case Quantity::PLIES:
            return plies;
        case Quantity::BLACK_TO_MOVE:
            return placement.turn == BLACK;
    }
    return 0;
}

void pack(const FeatureInput& input, const FeatureSource& source, PackedWords& words) {
    BitWriter writer(words.data());
    for (const FeatureBlock& block : input.blocks) {
        switch (block.kind) {
            case BlockKind::PLACEMENT:
                for (PieceType t : *block.order) writer.put(source.placement.pieces[block.side][t]);
                break;
            case BlockKind::ATTACKS:
                for (PieceType t : *block.order) writer.put(source.attacks->by_type[block.side][t]);
                break;
            case BlockKind::ATTACK_COUNTS:
                for (const Bitboard& b : source.attacks->at_least[block.side]) writer.put(b);
                break;
            case BlockKind::SQUARE_TOKENS:
                put_square_tokens(source, writer);
                break;
            case BlockKind::THERMOMETER:
            case BlockKind::ONE_HOT:
                writer.put(constant_bits(block, source.quantity(block)), block.planes);
                break;
            case BlockKind::FRACTION:
                break;
        }
    }
    writer.finish();
}

template <class T>
void expand(const FeatureInput& input, const std::uint8_t* packed, const Fractions& fractions,
            T* out) {
    const int cells = input.cells();
    int first = 0;
    std::size_t fraction = 0;
    for (const FeatureBlock& block : input.blocks) {
        if (block.kind == BlockKind::FRACTION) {
            out = std::fill_n(out, block.planes * cells, T(fractions[fraction++]));
        } else if (block.is_constant()) {
            for (int i = 0; i < block.planes;) {
                const bool on = bit_at(packed, first + i);
                int end = i + 1;
                while (end < block.planes && bit_at(packed, first + end) == on) ++end;
                out = std::fill_n(out, (end - i) * cells, T(on));
                i = end;
            }
        } else {
            out = expand_bits(packed, first, block.bits(), out);
        }
        first += block.bits();
    }
}
template void expand(const FeatureInput&, const std::uint8_t*, const Fractions&, float*);
template void expand(const FeatureInput&, const std::uint8_t*, const Fractions&, std::uint8_t*);

Fractions fractions(const FeatureInput& input, const FeatureSource& source) {
    Fractions values{};
    std::size_t count = 0;
    for (const FeatureBlock& block : input.blocks) {
        if (block.kind != BlockKind::FRACTION) continue;
        values[count++] = std::clamp(float(source.quantity(block)) / float(block.unit), 0.0f, 1.0f);
    }
    return values;
}

namespace {

void copy_past_cache(void* to, const void* from, std::size_t bytes) {
#if defined(__SSE2__)
    auto* out = static_cast<std::uint8_t*>(to);
    const auto* in = static_cast<const std::uint8_t*>(from);
    const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(out) % 16);
    std::memcpy(out, in, head);
    std::size_t at = head;
    for (; at + 16 <= bytes; at += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(out + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
    }
    std::memcpy(out + at, in + at, bytes - at);
#else
    std::memcpy(to, from, bytes);
#endif
}

template <class T>
void write_dense(const FeatureInput& input, const std::uint8_t* packed,
                 const Fractions& fraction_values, void* out, Stores stores) {
    if (stores == Stores::CACHED)
        return expand(input, packed, fraction_values, static_cast<T*>(out));
    alignas(64) T row[MAX_ROW_VALUES];
    expand(input, packed, fraction_values, row);
    copy_past_cache(out, row, std::size_t(input.planes() * input.cells()) * sizeof(T));
}

}  // namespace

void write_planes(const FeatureTable& table, const Placement& placement, int plies, PlaneType type,
                  void* const* outs, Stores stores) {
    std::optional<AttackMap> attacks;
    if (table.needs_attacks()) attacks.emplace(placement);
    const FeatureSource source{placement, attacks ? &*attacks : nullptr, plies};
    for (std::size_t i = 0; i < table.inputs.size(); ++i) {
        const FeatureInput& input = table.inputs[i];
        PackedWords words;
        pack(input, source, words);
        const auto* packed = reinterpret_cast<const std::uint8_t*>(words.data());
        switch (type) {
            case PlaneType::FLOAT32:
                write_dense<float>(input, packed, fractions(input, source), outs[i], stores);
                break;
            case PlaneType::UINT8:
                write_dense<std::uint8_t>(input, packed, {}, outs[i], stores);
                break;
            case PlaneType::PACKED:
                std::memcpy(outs[i], packed, std::size_t(input.packed_bytes()));
                break;
        }
    }
}

}  // namespace komadori
