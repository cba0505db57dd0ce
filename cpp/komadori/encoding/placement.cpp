#include "komadori/encoding/placement.h"

#include <algorithm>

#include "komadori/rules/attacks.h"

namespace komadori {

Placement::Placement(Color to_move) : pieces{}, hand{}, king{NO_SQUARE, NO_SQUARE}, turn(to_move) {}

void Placement::put(Square s, Color c, PieceType t) {
    const Square seen = turn == BLACK ? s : rotate(s);
    const int side = c ^ turn;
    pieces[side][t] |= Bitboard::of(seen);
    of_side[side] |= Bitboard::of(seen);
    if (t == KING) king[side] = seen;
}

Placement::Placement(const Position& position) : Placement(position.turn()) {
    position.occupied().each([&](Square s) {
        const Piece p = position.piece_on(s);
        put(s, color_of(p), type_of(p));
    });
    for (int c = BLACK; c <= WHITE; ++c) {
        for (PieceType t : HAND_TYPES) {
            hand[c ^ turn][t] = std::uint8_t(position.hand(Color(c), t));
        }
    }
}

Placement::Placement(const PieceList& list) : Placement(list.turn) {
    for (int i = 0; i < list.pieces; ++i) {
        const auto [square, piece] = list.board[std::size_t(i)];
        put(square, color_of(piece), type_of(piece));
    }
    std::copy_n(list.hand[turn].begin(), 8, hand[OWN]);
    std::copy_n(list.hand[opponent(turn)].begin(), 8, hand[OPPONENT]);
}

Piece Placement::piece_on(Square s) const {
    const Bitboard at = Bitboard::of(turn == BLACK ? s : rotate(s));
    if ((occupied() & at).none()) return NO_PIECE;
    for (int side = OWN; side <= OPPONENT; ++side) {
        for (int t = PAWN; t <= DRAGON; ++t) {
            if ((pieces[side][t] & at).any()) return make_piece(Color(side ^ turn), PieceType(t));
        }
    }
    return NO_PIECE;
}

AttackMap::AttackMap(const Placement& placement) : by_type{}, at_least{} {
    const Bitboard occupied = placement.occupied();
    for (int side = OWN; side <= OPPONENT; ++side) {
        // No two pawns attack the same square, so one shift gives their attacks.
        const Bitboard& pawns = placement.pieces[side][PAWN];
        const Bitboard by_pawns = side == OWN ? shift<N>(pawns) : shift<S>(pawns);
        by_type[side][PAWN] = by_pawns;
        Bitboard one = by_pawns, two, three;
        const auto add_type = [&](PieceType type, auto&& attacked_from) {
            Bitboard all;
            placement.pieces[side][type].each([&](Square s) {
                const Bitboard attacked = attacked_from(s);
                all |= attacked;
                three |= two & attacked;
                two |= one & attacked;
                one |= attacked;
            });
            by_type[side][type] = all;
        };
        const Color forward = Color(side);
        for (PieceType type :
             {KNIGHT, SILVER, GOLD, KING, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER}) {
            add_type(type, [&](Square s) { return step_attacks(forward, type, s); });
        }
        for (PieceType type : {LANCE, BISHOP, ROOK, HORSE, DRAGON}) {
            add_type(type, [&](Square s) { return attacks(forward, type, s, occupied); });
        }
        at_least[side][0] = one;
        at_least[side][1] = two;
        at_least[side][2] = three;
    }
}

}  // namespace komadori
