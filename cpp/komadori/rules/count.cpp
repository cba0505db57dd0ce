// Counts legal moves without generating them.
#include "komadori/rules/king_safety.h"

namespace komadori {

template <Color US>
int Position::count() const {
    if (in_check()) {
        Move moves[MAX_LEGAL_MOVES];
        return generate<US>(moves);
    }
    constexpr Direction F = AHEAD<US>, B = reverse(F);
    constexpr Bitboard zone = far_ranks(US, 3), rank1 = far_ranks(US, 1);
    constexpr Bitboard rank12 = far_ranks(US, 2), near_zone = far_ranks(US, 4);
    const Bitboard &own = by_color_[US], all = occupied();
    Bitboard pinned = blockers(US, US), targets = ~own;
    Bitboard movers = own.without(pinned);
    int n = king_targets<US>().count();

    // A target where promotion is optional counts twice.
    auto count_promotable = [&](Square s, const Bitboard& to) {
        n += to.count() + (zone.has(s) ? to : to & zone).count();
    };
    // Non-sliding pieces: one shift per direction, since no two of a kind land on the same square.
    Bitboard step = shift<F>(movers & by_type_[PAWN]) & targets;
    n += step.without(rank1).count() + (step & zone).count();
    if (Bitboard knights = movers & by_type_[KNIGHT]; knights.any()) {
        Bitboard jump = shift<F>(shift<F>(knights));
        Bitboard west = shift<W>(jump) & targets, east = shift<E>(jump) & targets;
        n += west.without(rank12).count() + (west & zone).count();
        n += east.without(rank12).count() + (east & zone).count();
    }
    Bitboard gold = movers & golds(), silver = movers & by_type_[SILVER];
    Bitboard ahead = shift<F>(gold | silver), back = shift<B>(silver);
    n += (ahead & targets).count() + (shift<W>(ahead) & targets).count() +
         (shift<E>(ahead) & targets).count() + (shift<W>(back) & targets).count() +
         (shift<E>(back) & targets).count() + (shift<W>(gold) & targets).count() +
         (shift<E>(gold) & targets).count() + (shift<B>(gold) & targets).count();
    (silver & near_zone).each([&](Square s) {
        Bitboard to = step_attacks(US, SILVER, s) & targets;
        n += (zone.has(s) ? to : to & zone).count();
    });

    (movers & by_type_[LANCE]).each([&](Square s) {
        Bitboard to = lance_attacks(US, s, all) & targets;
        n += to.without(rank1).count() + (to & zone).count();
    });
    (movers & by_type_[BISHOP]).each([&](Square s) {
        count_promotable(s, bishop_attacks(s, all) & targets);
    });
    (movers & by_type_[ROOK]).each([&](Square s) {
        count_promotable(s, rook_attacks(s, all) & targets);
    });
    (movers & by_type_[HORSE]).each([&](Square s) {
        n += ((bishop_attacks(s, all) | king_attacks(s)) & targets).count();
    });
    (movers & by_type_[DRAGON]).each([&](Square s) {
        n += ((rook_attacks(s, all) | king_attacks(s)) & targets).count();
    });
    pinned.each([&](Square s) {
        Square king = king_[US];
        PieceType t = type_of(piece_on(s));
        Bitboard to =
            attacks(US, t, s, all) & targets & TABLES.ray[direction_of(relation(king, s))][king];
        Bitboard stuck = t == KNIGHT ? rank12 : t == PAWN || t == LANCE ? rank1 : Bitboard{};
        n += to.without(stuck).count();
        if (can_promote(t)) n += (zone.has(s) ? to : to & zone).count();
    });

    Hand held = hand(US);
    if (held.empty()) return n;
    Bitboard empty = ~all;
    if (held.has(PAWN)) n += pawn_drop_squares<US>(empty).count();
    if (!held.has_pieces()) return n;
    if (held.has(LANCE)) n += empty.without(rank1).count();
    if (held.has(KNIGHT)) n += empty.without(rank12).count();
    int anywhere = held.has(SILVER) + held.has(GOLD) + held.has(BISHOP) + held.has(ROOK);
    return n + anywhere * empty.count();
}

int Position::count_legal_moves() const { return turn_ == BLACK ? count<BLACK>() : count<WHITE>(); }

}  // namespace komadori
