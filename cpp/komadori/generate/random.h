// Random numbers of a game: identical on every machine for the same seed and game number.
#pragma once

#include <cstdint>

#include "komadori/base/hash.h"

namespace komadori::generate {

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
  public:
    Random(std::uint64_t seed, std::uint64_t number) : state_(seed) { state_ = next() ^ number; }

    std::uint64_t next() { return mix64(state_ += GOLDEN_64); }
    // Uniform over 0 .. count - 1.
    std::uint32_t below(std::uint32_t count) {
        return std::uint32_t((next() >> 32) * std::uint64_t(count) >> 32);
    }
    // Uniform over [0, 1).
    double uniform() { return double(next() >> 11) * 0x1p-53; }
    bool chance(double probability) { return uniform() < probability; }

  private:
    std::uint64_t state_;
};

}  // namespace komadori::generate
