#include "komadori/rules/attacks.h"

#include <cstdlib>

namespace komadori {
namespace {

constexpr bool on_board(int file, int rank) {
    return file >= 0 && file < 9 && rank >= 0 && rank < 9;
}

// Directions of Black's steps and slides, as bits.
constexpr unsigned bits(auto... d) { return ((1u << d) | ...); }
constexpr unsigned ORTHOGONAL = bits(N, W, S, E), DIAGONAL = bits(NW, SW, SE, NE);
constexpr unsigned GOLD_STEPS = ORTHOGONAL | bits(NW, NE);

constexpr unsigned steps_of(int t) {
    switch (t) {
        case PAWN:
            return bits(N);
        case SILVER:
            return DIAGONAL | bits(N);
        case GOLD:
        case PRO_PAWN:
        case PRO_LANCE:
        case PRO_KNIGHT:
        case PRO_SILVER:
            return GOLD_STEPS;
        case KING:
            return ORTHOGONAL | DIAGONAL;
        case HORSE:
            return ORTHOGONAL;
        case DRAGON:
            return DIAGONAL;
        default:
            return 0;
    }
}
constexpr unsigned slides_of(int t) {
    switch (t) {
        case LANCE:
            return bits(N);
        case BISHOP:
        case HORSE:
            return DIAGONAL;
        case ROOK:
        case DRAGON:
            return ORTHOGONAL;
        default:
            return 0;
    }
}

constexpr AttackTables make_tables() {
    AttackTables t{};
    for (int s = 0; s < SQUARES; ++s) {
        int f = file_of(Square(s)), r = rank_of(Square(s));
        t.square[s] = Bitboard::of(Square(s));
        for (int d = 0; d < 8; ++d) {
            int distance = 1;
            for (int x = f + FILE_STEP[d], y = r + RANK_STEP[d]; on_board(x, y);
                 x += FILE_STEP[d], y += RANK_STEP[d], ++distance) {
                Square to = make_square(x, y);
                t.ray[d][s] |= Bitboard::of(to);
                t.relation[s][to] = Relation((distance == 1 ? 1 : 9) + d);
            }
            (d & 1 ? t.diagonal : t.orthogonal)[s] |= t.ray[d][s];
            t.lines[s] |= t.ray[d][s];
        }
        for (int side = -1; side <= 1; side += 2) {
            for (int c = 0; c < 2; ++c) {
                int x = f + side, y = r + (c == BLACK ? -2 : 2);
                if (!on_board(x, y)) continue;
                Square to = make_square(x, y);
                t.step[c][KNIGHT][s] |= Bitboard::of(to);
                t.relation[s][to] = Relation(17 + 2 * c + (side > 0));
            }
        }
        for (int p = PAWN; p <= DRAGON; ++p) {
            for (int c = 0; c < 2; ++c) {
                for (int d = 0; d < 8; ++d) {
                    if (!(steps_of(p) >> d & 1)) continue;
                    int turned = relative(Color(c), Direction(d));
                    int x = f + FILE_STEP[turned], y = r + RANK_STEP[turned];
                    if (on_board(x, y)) t.step[c][p][s] |= Bitboard::of(make_square(x, y));
                }
            }
        }
        for (int to = 0; to < SQUARES; ++to) {
            int x = file_of(Square(to)) - f, y = rank_of(Square(to)) - r;
            if (x >= -2 && x <= 2 && y >= -3 && y <= 3) {
                t.king_reach[s] |= Bitboard::of(Square(to));
            }
        }
    }
    for (int p = PAWN; p <= DRAGON; ++p) {
        for (int c = 0; c < 2; ++c) {
            for (int d = 0; d < 8; ++d) {
                int turned = relative(Color(c), Direction(d));
                if ((steps_of(p) | slides_of(p)) >> d & 1) t.reach[c][p] |= 1u << (1 + turned);
                if (slides_of(p) >> d & 1) t.reach[c][p] |= 1u << (9 + turned);
            }
            if (p == KNIGHT) t.reach[c][p] |= 3u << (17 + 2 * c);
        }
    }
    return t;
}

}  // namespace

constinit const AttackTables TABLES = make_tables();

}  // namespace komadori
