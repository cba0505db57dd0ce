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

constexpr int MAX_PACKED_WORDS = 96;
using PackedWords = std::array<std::uint64_t, MAX_PACKED_WORDS>;

// The packed form of one input; bits past its end are 0.
void pack(const FeatureInput& input, const FeatureSource& source, PackedWords& words);
// The dense form, planes() * cells() values. `fraction` is the value of FRACTION planes.
float fraction(const FeatureInput& input, int plies);
template <class T>
void expand(const FeatureInput& input, const std::uint8_t* packed, float fraction, T* out);

// PAST_CACHE suits outputs much larger than the caches: it is several times as fast there, but
// the reader has to fetch them from memory.
enum class Stores : std::uint8_t { CACHED, PAST_CACHE };

// Writes every input of the table: outs[i] has room for input i in the form asked for.
void write_planes(const FeatureTable& table, const Placement& placement, int plies, PlaneType type,
                  void* const* outs, Stores stores = Stores::CACHED);

// dlshogi's two inputs: 62 and 57 planes of 81 values.
void write_dlshogi(const Position& position, float* features1, float* features2);
void write_dlshogi(const Position& position, std::uint8_t* features1, std::uint8_t* features2);
// 628 and 8 bytes.
void write_dlshogi_packed(const Position& position, std::uint8_t* features1,
                          std::uint8_t* features2);

}  // namespace komadori
