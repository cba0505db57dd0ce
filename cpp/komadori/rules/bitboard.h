// A set of squares in 81 bits.
//
//   hi: files 9 8          lo: files 7 6 5 4 3 2 1
//   17 .......... 0         62 ................. 0      (bit 63 of lo is always 0)
//
// The nine squares of a file are adjacent bits of one word, rank 1 lowest: a black pawn's step is
// a right shift by one, and sliding attacks along a file take one subtraction.
#pragma once

#include <bit>
#include <cstdint>

#include "komadori/rules/types.h"

namespace komadori {

struct alignas(16) Bitboard {
    std::uint64_t lo = 0;
    std::uint64_t hi = 0;

    static constexpr std::uint64_t LO_ALL = (std::uint64_t(1) << 63) - 1;
    static constexpr std::uint64_t HI_ALL = (std::uint64_t(1) << 18) - 1;

    static constexpr Bitboard of(Square s) {
        return s < 63 ? Bitboard{std::uint64_t(1) << s, 0}
                      : Bitboard{0, std::uint64_t(1) << (s - 63)};
    }
    static constexpr Bitboard all() { return {LO_ALL, HI_ALL}; }

    constexpr bool any() const { return (lo | hi) != 0; }
    constexpr bool none() const { return (lo | hi) == 0; }
    constexpr bool has(Square s) const { return (s < 63 ? lo >> s : hi >> (s - 63)) & 1; }
    constexpr int count() const { return std::popcount(lo) + std::popcount(hi); }
    constexpr bool more_than_one() const {
        return lo ? (lo & (lo - 1)) | hi : (hi & (hi - 1)) != 0;
    }
    // The lowest square; the set must not be empty.
    constexpr Square first() const {
        return Square(lo ? std::countr_zero(lo) : 63 + std::countr_zero(hi));
    }
    constexpr Square pop() {
        Square s = first();
        if (lo) {
            lo &= lo - 1;
        } else {
            hi &= hi - 1;
        }
        return s;
    }
    template <class Visit>
    constexpr void each(Visit&& visit) const {
        for (std::uint64_t b = lo; b; b &= b - 1) visit(Square(std::countr_zero(b)));
        for (std::uint64_t b = hi; b; b &= b - 1) visit(Square(63 + std::countr_zero(b)));
    }

    constexpr Bitboard& operator|=(const Bitboard& o) { return *this = *this | o; }
    constexpr Bitboard& operator&=(const Bitboard& o) { return *this = *this & o; }
    constexpr Bitboard& operator^=(const Bitboard& o) { return *this = *this ^ o; }
    friend constexpr Bitboard operator|(const Bitboard& a, const Bitboard& b) {
        return {a.lo | b.lo, a.hi | b.hi};
    }
    friend constexpr Bitboard operator&(const Bitboard& a, const Bitboard& b) {
        return {a.lo & b.lo, a.hi & b.hi};
    }
    friend constexpr Bitboard operator^(const Bitboard& a, const Bitboard& b) {
        return {a.lo ^ b.lo, a.hi ^ b.hi};
    }
    friend constexpr Bitboard operator~(const Bitboard& a) {
        return {a.lo ^ LO_ALL, a.hi ^ HI_ALL};
    }
    constexpr Bitboard without(const Bitboard& o) const { return {lo & ~o.lo, hi & ~o.hi}; }
    constexpr bool operator==(const Bitboard&) const = default;
};

constexpr Bitboard rank_set(int rank) {  // 0..8
    constexpr std::uint64_t first_lo = 0x0040201008040201, first_hi = 0x201;
    return {first_lo << rank, first_hi << rank};
}
constexpr Bitboard file_set(int file) {  // 0..8
    return file < 7 ? Bitboard{std::uint64_t(0x1ff) << 9 * file, 0}
                    : Bitboard{0, std::uint64_t(0x1ff) << 9 * (file - 7)};
}
// The n ranks farthest from c: 3 are the promotion zone.
constexpr Bitboard far_ranks(Color c, int n) {
    Bitboard b;
    for (int i = 0; i < n; ++i) b |= rank_set(c == BLACK ? i : 8 - i);
    return b;
}

// The eight directions, seen with Black at the bottom: west is toward file 9.
enum Direction : std::uint8_t { N, NW, W, SW, S, SE, E, NE };
constexpr Direction reverse(Direction d) { return Direction(d ^ 4); }
constexpr int FILE_STEP[8] = {0, 1, 1, 1, 0, -1, -1, -1};
constexpr int RANK_STEP[8] = {-1, -1, 0, 1, 1, 1, 0, -1};
// Direction d from c's point of view.
constexpr Direction relative(Color c, Direction d) { return Direction(d ^ (c << 2)); }

// The set moved one step in direction D; squares that leave the board are dropped.
template <Direction D>
constexpr Bitboard shift(Bitboard b) {
    if constexpr (RANK_STEP[D] < 0) {
        constexpr Bitboard keep = ~rank_set(0);
        b = {(b.lo & keep.lo) >> 1, (b.hi & keep.hi) >> 1};
    } else if constexpr (RANK_STEP[D] > 0) {
        constexpr Bitboard keep = ~rank_set(8);
        b = {(b.lo & keep.lo) << 1, (b.hi & keep.hi) << 1};
    }
    if constexpr (FILE_STEP[D] > 0) {
        b = {b.lo << 9 & Bitboard::LO_ALL, (b.hi << 9 & Bitboard::HI_ALL) | b.lo >> 54};
    } else if constexpr (FILE_STEP[D] < 0) {
        b = {b.lo >> 9 | (b.hi & 0x1ff) << 54, b.hi >> 9};
    }
    return b;
}

}  // namespace komadori
