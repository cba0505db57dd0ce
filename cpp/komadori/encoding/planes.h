// Input planes of a position as float32, uint8 or packed bits, in the caller's buffers.
#pragma once

#include <array>
#include <cstdint>

#include "komadori/encoding/features.h"
#include "komadori/encoding/placement.h"

namespace komadori {

// The data of one position that feature blocks are computed from.
struct FeatureSource {
    const Placement& placement;
    const AttackMap* attacks;  // null unless the table needs_attacks()
    int plies;                 // moves made before this position

    int quantity(const FeatureBlock& block) const;  // not divided by the unit
};

using PackedWords = std::array<std::uint64_t, MAX_PACKED_WORDS>;
// The values of the input's FRACTION blocks, in order.
using Fractions = std::array<float, MAX_FRACTIONS>;

// The packed form of one input; bits past its end are 0.
void pack(const FeatureInput& input, const FeatureSource& source, PackedWords& words);
Fractions fractions(const FeatureInput& input, const FeatureSource& source);
// The dense form, planes() * cells() values.
template <class T>
void expand(const FeatureInput& input, const std::uint8_t* packed, const Fractions& fractions,
            T* out);

// PAST_CACHE uses non-temporal stores: several times faster for outputs much larger than the
// caches, but the reader then loads them from memory.
enum class Stores : std::uint8_t { CACHED, PAST_CACHE };

// Writes every input of the table: outs[i] must have room for input i as `type`.
void write_planes(const FeatureTable& table, const Placement& placement, int plies, PlaneType type,
                  void* const* outs, Stores stores = Stores::CACHED);

}  // namespace komadori
