// Planes of a position, as float32, uint8 or packed bits, in buffers of the caller.
#pragma once

#include <array>
#include <cstdint>

#include "komadori/encoding/features.h"
#include "komadori/encoding/placement.h"

namespace komadori {

// Everything a table can ask of one position.
struct FeatureSource {
    const Placement& placement;
    const AttackMap* attacks;  // null where the table has needs_attacks() false
    int plies;                 // moves made before this position

    int quantity(const FeatureBlock& block) const;  // before the unit is applied
};

using PackedWords = std::array<std::uint64_t, MAX_PACKED_WORDS>;
// The values of the input's FRACTION blocks in their order.
using Fractions = std::array<float, MAX_FRACTIONS>;

// The packed form of one input; bits past its end are 0.
void pack(const FeatureInput& input, const FeatureSource& source, PackedWords& words);
Fractions fractions(const FeatureInput& input, const FeatureSource& source);
// The dense form, planes() * cells() values.
template <class T>
void expand(const FeatureInput& input, const std::uint8_t* packed, const Fractions& fractions,
            T* out);

// PAST_CACHE suits outputs much larger than the caches: it is several times as fast there, but
// the reader has to fetch them from memory.
enum class Stores : std::uint8_t { CACHED, PAST_CACHE };

// Writes every input of the table: outs[i] has room for input i in the form asked for.
void write_planes(const FeatureTable& table, const Placement& placement, int plies, PlaneType type,
                  void* const* outs, Stores stores = Stores::CACHED);

}  // namespace komadori
