// Attack tables, and the geometric relation of two squares.
#pragma once

#include "komadori/rules/bitboard.h"

namespace komadori {

// The relation of a square to another: adjacent or distant along a direction, or a knight's jump.
//   0 none | 1+d adjacent in direction d | 9+d distant in direction d | 17, 18 Black's knight
//   | 19, 20 White's knight
using Relation = std::uint8_t;
constexpr bool is_line(Relation r) { return r >= 1 && r <= 16; }
constexpr bool is_far(Relation r) { return r >= 9 && r <= 16; }
constexpr Direction direction_of(Relation r) { return Direction((r - 1) & 7); }

struct AttackTables {
    Bitboard square[SQUARES + 1];   // the square alone; empty for NO_SQUARE
    Bitboard ray[8][SQUARES];       // to the edge, start excluded
    Bitboard step[2][16][SQUARES];  // non-sliding part of each piece type's attacks
    Bitboard king_reach[SQUARES];   // where a non-sliding piece attacks a neighbour of the square
    Bitboard orthogonal[SQUARES];   // union of the four rays
    Bitboard diagonal[SQUARES];
    Bitboard lines[SQUARES];                  // union of all eight rays
    Relation relation[SQUARES][SQUARES + 1];  // [from][to]
    std::uint32_t reach[2][16];               // bit r: the piece attacks along relation r
};
extern const AttackTables TABLES;

inline const Bitboard& square_set(Square s) { return TABLES.square[s]; }
inline Relation relation(Square from, Square to) { return TABLES.relation[from][to]; }

// Squares strictly between a and b; b lies in direction d from a.
inline Bitboard between(Square a, Square b, Direction d) {
    return TABLES.ray[d][a] ^ TABLES.ray[d][b] ^ TABLES.square[b];
}

// Attacks along `ray` up to and including the first blocker, for directions of increasing square
// index (the borrow of the subtraction stops at the first blocker).
inline Bitboard ray_attacks_up(const Bitboard& ray, const Bitboard& occupied) {
    std::uint64_t lo = ray.lo & occupied.lo, hi = ray.hi & occupied.hi;
    return {(lo ^ (lo - 1)) & ray.lo, (hi ^ (hi - (lo == 0))) & ray.hi};
}
// The same for directions of decreasing square index.
inline Bitboard ray_attacks_down(const Bitboard& ray, const Bitboard& occupied) {
    std::uint64_t lo = ray.lo & occupied.lo, hi = ray.hi & occupied.hi;
    std::uint64_t from_lo = ~std::uint64_t(0) << (63 - std::countl_zero(lo | 1));
    std::uint64_t from_hi = ~std::uint64_t(0) << (63 - std::countl_zero(hi | 1));
    return {ray.lo & (hi ? 0 : from_lo), ray.hi & from_hi};
}
constexpr bool is_up(Direction d) { return d >= NW && d <= S; }

inline Bitboard ray_attacks(Direction d, Square from, const Bitboard& occupied) {
    return is_up(d) ? ray_attacks_up(TABLES.ray[d][from], occupied)
                    : ray_attacks_down(TABLES.ray[d][from], occupied);
}

inline Bitboard lance_attacks(Color c, Square s, const Bitboard& occupied) {
    return c == BLACK ? ray_attacks_down(TABLES.ray[N][s], occupied)
                      : ray_attacks_up(TABLES.ray[S][s], occupied);
}
inline Bitboard bishop_attacks(Square s, const Bitboard& occupied) {
    return ray_attacks_up(TABLES.ray[NW][s], occupied) |
           ray_attacks_up(TABLES.ray[SW][s], occupied) |
           ray_attacks_down(TABLES.ray[SE][s], occupied) |
           ray_attacks_down(TABLES.ray[NE][s], occupied);
}
inline Bitboard rook_attacks(Square s, const Bitboard& occupied) {
    return ray_attacks_up(TABLES.ray[W][s], occupied) | ray_attacks_up(TABLES.ray[S][s], occupied) |
           ray_attacks_down(TABLES.ray[E][s], occupied) |
           ray_attacks_down(TABLES.ray[N][s], occupied);
}
inline const Bitboard& king_attacks(Square s) { return TABLES.step[BLACK][KING][s]; }
inline const Bitboard& gold_attacks(Color c, Square s) { return TABLES.step[c][GOLD][s]; }
inline const Bitboard& step_attacks(Color c, PieceType t, Square s) { return TABLES.step[c][t][s]; }

// The squares that a piece of this type attacks, own pieces included.
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
