// King moves and pawn drops, shared by move generation, counting, legality and mate in one.
// Internal to this folder.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

template <Color US>
inline constexpr Direction AHEAD = US == BLACK ? N : S;

// The squares of the files without any of these pawns. Within a file's nine bits, 2^8 minus the
// pawn's bit keeps the top bit only if there is no pawn (from Qugiy's appeal document, WCSC 2021).
inline Bitboard files_without(const Bitboard& pawns) {
    constexpr Bitboard bottom = rank_set(8);
    std::uint64_t lo = (bottom.lo - pawns.lo) & bottom.lo;
    std::uint64_t hi = (bottom.hi - pawns.hi) & bottom.hi;
    return {(lo - (lo >> 8)) | lo, (hi - (hi >> 8)) | hi};
}

// The squares of `candidates`, all adjacent to C's king, that the opponent doesn't attack once the
// king has left its square; `occupied` excludes the king.
template <Color C>
Bitboard Position::safe_for_king(Square king, Bitboard candidates, const Bitboard& occupied) const {
    constexpr Color THEM = opponent(C);
    const Bitboard& theirs = by_color_[THEM];
    if (Bitboard near = theirs & TABLES.king_reach[king]; near.any()) {
        constexpr Direction F = AHEAD<THEM>;
        Bitboard round = near & pieces(KING, HORSE, DRAGON);
        Bitboard gold = (near & golds()) | round;
        Bitboard silver = (near & by_type_[SILVER]) | round;
        Bitboard ahead = shift<F>(gold | silver | (near & by_type_[PAWN]));
        Bitboard diagonal = shift<F>(gold | silver);
        Bitboard jump = shift<F>(shift<F>(near & by_type_[KNIGHT]));
        Bitboard back = shift<reverse(F)>(silver);
        Bitboard both = diagonal | jump | back | gold;
        Bitboard attacked = ahead | shift<W>(both) | shift<E>(both) | shift<reverse(F)>(gold);
        candidates = candidates.without(attacked);
        if (candidates.none()) return candidates;
    }
    Bitboard sliders = theirs & pieces(LANCE, BISHOP, HORSE, ROOK, DRAGON);
    sliders.each([&](Square s) {
        PieceType t = type_of(piece_on(s));
        Bitboard reach;
        switch (t) {
            case LANCE:
                reach = TABLES.ray[AHEAD<THEM>][s];
                break;
            case BISHOP:
            case HORSE:
                reach = TABLES.diagonal[s];
                break;
            default:
                reach = TABLES.orthogonal[s];
        }
        if ((reach & candidates).none()) return;
        switch (t) {
            case LANCE:
                candidates = candidates.without(lance_attacks(THEM, s, occupied));
                break;
            case BISHOP:
            case HORSE:
                candidates = candidates.without(bishop_attacks(s, occupied));
                break;
            default:
                candidates = candidates.without(rook_attacks(s, occupied));
        }
    });
    return candidates;
}

template <Color US>
Bitboard Position::king_targets() const {
    Square king = king_[US];
    if (king == NO_SQUARE) return {};
    Bitboard candidates = king_attacks(king).without(by_color_[US]);
    if (candidates.none()) return candidates;
    return safe_for_king<US>(king, candidates, occupied() ^ square_set(king));
}

template <Color US>
bool Position::pawn_drop_mates(Square to) const {
    constexpr Color THEM = opponent(US);
    Square king = king_[THEM];
    Bitboard all = occupied() | square_set(to);
    Bitboard takers = attackers(THEM, to, all) & ~square_set(king);
    Bitboard pinned = blockers(THEM, THEM);
    // A piece pinned along the king's file may still capture the pawn.
    Bitboard immobile = pinned.without(file_set(file_of(king)));
    if (takers.without(immobile).any()) return false;
    Bitboard candidates = king_attacks(king).without(by_color_[THEM]);
    return safe_for_king<THEM>(king, candidates, all ^ square_set(king)).none();
}

// The squares of `squares` where a pawn may be dropped.
template <Color US>
Bitboard Position::pawn_drop_squares(const Bitboard& squares) const {
    constexpr Color THEM = opponent(US);
    Bitboard found = squares & files_without(by_color_[US] & by_type_[PAWN]);
    found = found.without(far_ranks(US, 1));
    if (Square king = king_[THEM]; king != NO_SQUARE) {
        Bitboard checking = step_attacks(THEM, PAWN, king) & found;
        if (checking.any() && pawn_drop_mates<US>(checking.first())) found ^= checking;
    }
    return found;
}

}  // namespace komadori
