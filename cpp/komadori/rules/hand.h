// The pieces in one side's hand, packed: one field a type with a guard bit above it, so that a
// whole hand is compared by one subtraction.
#pragma once

#include <cstdint>

#include "komadori/rules/types.h"

namespace komadori {

class Hand {
  public:
    constexpr int count(PieceType t) const { return int(bits_ >> SHIFT[t] & MASK[t]); }
    constexpr bool has(PieceType t) const { return (bits_ >> SHIFT[t] & MASK[t]) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr void add(PieceType t, int n = 1) { bits_ += std::uint32_t(n) << SHIFT[t]; }
    constexpr void take(PieceType t) { bits_ -= std::uint32_t(1) << SHIFT[t]; }
    constexpr bool operator==(const Hand&) const = default;
    // At least as many of every type.
    constexpr bool holds_all_of(Hand o) const { return ((bits_ - o.bits_) & GUARDS) == 0; }
    // Of every type that isn't a pawn.
    constexpr bool has_pieces() const { return (bits_ >> SHIFT[LANCE]) != 0; }
    constexpr std::uint32_t bits() const { return bits_; }

  private:
    //                                   -  P  L   N   S   B   R   G
    static constexpr int SHIFT[8] = {0, 0, 6, 10, 14, 18, 21, 24};
    static constexpr std::uint32_t MASK[8] = {0, 31, 7, 7, 7, 3, 3, 7};
    static constexpr std::uint32_t GUARDS =
        1u << 5 | 1u << 9 | 1u << 13 | 1u << 17 | 1u << 20 | 1u << 23 | 1u << 27 | 1u << 31;
    std::uint32_t bits_ = 0;
};

}  // namespace komadori
