// What each piece attacks, and how two squares lie to each other.
#pragma once

#include "komadori/rules/bitboard.h"

namespace komadori {

// How a square lies from another: nothing, one step or farther along a direction, a knight's jump.
//   0 no line | 1+d one step in direction d | 9+d farther in direction d | 17, 18 knight of Black
//   | 19, 20 knight of White
using Relation = std::uint8_t;
constexpr bool is_line(Relation r) { return r >= 1 && r <= 16; }
constexpr bool is_far(Relation r) { return r >= 9 && r <= 16; }
constexpr Direction direction_of(Relation r) { return Direction((r - 1) & 7); }

struct AttackTables {
    Bitboard square[SQUARES + 1];   // the one square; empty for NO_SQUARE
    Bitboard ray[8][SQUARES];       // to the edge, start excluded
    Bitboard step[2][16][SQUARES];  // non-sliding part of each piece type's attacks
    Bitboard king_reach[SQUARES];   // from where a step piece could attack next to it
    Bitboard orthogonal[SQUARES];   // four rays together
    Bitboard diagonal[SQUARES];
    Bitboard lines[SQUARES];                  // the eight
    Relation relation[SQUARES][SQUARES + 1];  // [from][to]
    std::uint32_t reach[2][16];               // bit r: the piece attacks along relation r
};
extern const AttackTables TABLES;

inline const Bitboard& square_set(Square s) { return TABLES.square[s]; }
inline Relation relation(Square from, Square to) { return TABLES.relation[from][to]; }

// The squares strictly between a and b, which lie on a line in direction d from a.
inline Bitboard between(Square a, Square b, Direction d) {
    return TABLES.ray[d][a] ^ TABLES.ray[d][b] ^ TABLES.square[b];
}

// From `ray` what is seen up to and including the first blocker, for directions in which square
// numbers grow (subtraction runs from the lowest bit to the first blocker).
inline Bitboard see_up(const Bitboard& ray, const Bitboard& occupied) {
    std::uint64_t lo = ray.lo & occupied.lo, hi = ray.hi & occupied.hi;
    return {(lo ^ (lo - 1)) & ray.lo, (hi ^ (hi - (lo == 0))) & ray.hi};
}
// The same for directions in which square numbers fall.
inline Bitboard see_down(const Bitboard& ray, const Bitboard& occupied) {
    std::uint64_t lo = ray.lo & occupied.lo, hi = ray.hi & occupied.hi;
    std::uint64_t from_lo = ~std::uint64_t(0) << (63 - std::countl_zero(lo | 1));
    std::uint64_t from_hi = ~std::uint64_t(0) << (63 - std::countl_zero(hi | 1));
    return {ray.lo & (hi ? 0 : from_lo), ray.hi & from_hi};
}
constexpr bool is_up(Direction d) { return d >= NW && d <= S; }

inline Bitboard see(Direction d, Square from, const Bitboard& occupied) {
    return is_up(d) ? see_up(TABLES.ray[d][from], occupied)
                    : see_down(TABLES.ray[d][from], occupied);
}

inline Bitboard lance_attacks(Color c, Square s, const Bitboard& occupied) {
    return c == BLACK ? see_down(TABLES.ray[N][s], occupied) : see_up(TABLES.ray[S][s], occupied);
}
inline Bitboard bishop_attacks(Square s, const Bitboard& occupied) {
    return see_up(TABLES.ray[NW][s], occupied) | see_up(TABLES.ray[SW][s], occupied) |
           see_down(TABLES.ray[SE][s], occupied) | see_down(TABLES.ray[NE][s], occupied);
}
inline Bitboard rook_attacks(Square s, const Bitboard& occupied) {
    return see_up(TABLES.ray[W][s], occupied) | see_up(TABLES.ray[S][s], occupied) |
           see_down(TABLES.ray[E][s], occupied) | see_down(TABLES.ray[N][s], occupied);
}
inline const Bitboard& king_attacks(Square s) { return TABLES.step[BLACK][KING][s]; }
inline const Bitboard& gold_attacks(Color c, Square s) { return TABLES.step[c][GOLD][s]; }
inline const Bitboard& step_attacks(Color c, PieceType t, Square s) { return TABLES.step[c][t][s]; }

// The squares a piece of this type attacks, own pieces included.
inline Bitboard attacks(Color c, PieceType t, Square s, const Bitboard& occupied) {
    switch (t) {
        case LANCE:
            return lance_attacks(c, s, occupied);
        case BISHOP:
            return bishop_attacks(s, occupied);
        case ROOK:
            return rook_attacks(s, occupied);
        case HORSE:
            return bishop_attacks(s, occupied) | king_attacks(s);
        case DRAGON:
            return rook_attacks(s, occupied) | king_attacks(s);
        default:
            return TABLES.step[c][t][s];
    }
}

}  // namespace komadori
