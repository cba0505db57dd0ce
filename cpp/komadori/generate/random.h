// Random numbers of a game: the same on every machine for the same seed and number.
#pragma once

#include <cstdint>

#include "komadori/base/hash.h"

namespace komadori::generate {

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
  public:
    Random(std::uint64_t seed, std::uint64_t number) : state_(seed) { state_ = next() ^ number; }

    std::uint64_t next() { return mix64(state_ += GOLDEN_64); }
    // Even over 0 .. count - 1; count is below 2^32.
    std::uint32_t below(std::uint32_t count) {
        return std::uint32_t((next() >> 32) * std::uint64_t(count) >> 32);
    }
    // Even over [0, 1).
    double part() { return double(next() >> 11) * 0x1p-53; }
    bool chance(double probability) { return part() < probability; }

  private:
    std::uint64_t state_;
};

}  // namespace komadori::generate
