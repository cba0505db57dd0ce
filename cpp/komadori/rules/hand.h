// The pieces in one side's hand, packed: one field per piece type with a guard bit above it, so
// that one subtraction compares two hands.
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
    // Whether it has at least as many of every type as o.
    constexpr bool holds_all_of(Hand o) const { return ((bits_ - o.bits_) & GUARDS) == 0; }
    // Whether it has any piece other than pawns.
    constexpr bool has_pieces() const { return (bits_ >> SHIFT[LANCE]) != 0; }
    constexpr std::uint32_t bits() const { return bits_; }

    // Per type: the sum, the maximum, the minimum.
    friend constexpr Hand operator+(Hand a, Hand b) { return Hand(a.bits_ + b.bits_); }
    static constexpr Hand most(Hand a, Hand b) {
        std::uint32_t mask = at_least(a, b);
        return Hand((a.bits_ & mask) | (b.bits_ & ~mask));
    }
    static constexpr Hand least(Hand a, Hand b) {
        std::uint32_t mask = at_least(a, b);
        return Hand((b.bits_ & mask) | (a.bits_ & ~mask));
    }

    constexpr Hand() = default;
    constexpr explicit Hand(std::uint32_t bits) : bits_(bits) {}  // a value of bits()

  private:
    // The fields in which a holds at least as many as b, all their bits set.
    static constexpr std::uint32_t at_least(Hand a, Hand b) {
        std::uint32_t top = ((a.bits_ | GUARDS) - b.bits_) & GUARDS;
        constexpr std::uint32_t five = 1u << 5, two = 1u << 20 | 1u << 23;
        constexpr std::uint32_t three = GUARDS & ~(five | two);
        return top - ((top & five) >> 5 | (top & three) >> 3 | (top & two) >> 2);
    }
    //                                   -  P  L   N   S   B   R   G
    static constexpr int SHIFT[8] = {0, 0, 6, 10, 14, 18, 21, 24};
    static constexpr std::uint32_t MASK[8] = {0, 31, 7, 7, 7, 3, 3, 7};
    static constexpr std::uint32_t GUARDS =
        1u << 5 | 1u << 9 | 1u << 13 | 1u << 17 | 1u << 20 | 1u << 23 | 1u << 27 | 1u << 31;
    std::uint32_t bits_ = 0;
};

}  // namespace komadori
