// Mixing of 64-bit numbers: the steps of splitmix64 (Steele, Lea and Flood, 2014).
#pragma once

#include <cstdint>

namespace komadori {

// 2^64 over the golden ratio, odd: multiples of it are spread evenly.
constexpr std::uint64_t GOLDEN_64 = 0x9e3779b97f4a7c15;

// splitmix64's finalizer, a bijection: every bit of x changes about half of the result's.
constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// The value that splitmix64 gives in the state x.
constexpr std::uint64_t splitmix64(std::uint64_t x) { return mix64(x + GOLDEN_64); }

}  // namespace komadori
