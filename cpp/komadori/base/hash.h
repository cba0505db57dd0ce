// 64-bit hash mixing: the steps of splitmix64 (Steele, Lea and Flood, 2014).
#pragma once

#include <cstdint>

namespace komadori {

// 2^64 divided by the golden ratio, made odd: its multiples are evenly spread.
constexpr std::uint64_t GOLDEN_64 = 0x9e3779b97f4a7c15;

// splitmix64's finalizer, a bijection: each bit of x flips about half of the output bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// The output of splitmix64 in state x.
constexpr std::uint64_t splitmix64(std::uint64_t x) { return mix64(x + GOLDEN_64); }

}  // namespace komadori
