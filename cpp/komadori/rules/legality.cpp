// Whether one move of unknown origin is legal.
#include "komadori/rules/king_safety.h"

namespace komadori {

bool Position::is_pawn_drop_mate(Square to) const {
    return turn_ == BLACK ? pawn_drop_mates<BLACK>(to) : pawn_drop_mates<WHITE>(to);
}

template <Color US>
bool Position::is_legal_drop(Move m) const {
    Square to = m.to();
    PieceType t = m.dropped();
    if (t > GOLD || m != Move::drop(t, to) || !hand(US).has(t)) return false;
    Bitboard target = square_set(to).without(occupied());
    if (target.none()) return false;
    if (Bitboard checking = checkers(); checking.any()) {
        if (checking.more_than_one()) return false;
        Square from = checking.first();
        Relation r = relation(king_[US], from);
        if (!is_far(r) || !between(king_[US], from, direction_of(r)).has(to)) return false;
    }
    if (t == PAWN) return pawn_drop_squares<US>(target).any();
    if (t == LANCE) return !far_ranks(US, 1).has(to);
    return t != KNIGHT || !far_ranks(US, 2).has(to);
}

template <Color US>
bool Position::is_legal_board_move(Move m) const {
    Square from = m.from(), to = m.to(), king = king_[US];
    PieceType t = m.moved();
    if (t == NO_PIECE_TYPE || piece_on(from) != make_piece(US, t)) return false;
    if (m != Move::board(from, to, m.is_promotion(), t, type_of(piece_on(to)))) return false;
    Bitboard all = occupied();
    if (!attacks(US, t, from, all).without(by_color_[US]).has(to)) return false;
    if (m.is_promotion()) {
        constexpr Bitboard zone = far_ranks(US, 3);
        if (!can_promote(t) || !(zone.has(from) || zone.has(to))) return false;
    } else if (((t == PAWN || t == LANCE) && far_ranks(US, 1).has(to)) ||
               (t == KNIGHT && far_ranks(US, 2).has(to))) {
        return false;
    }
    if (t == KING) return safe_for_king<US>(king, square_set(to), all ^ square_set(from)).any();
    if (Bitboard checking = checkers(); checking.any()) {
        if (checking.more_than_one()) return false;
        Square checker = checking.first();
        Relation r = relation(king, checker);
        if (to != checker && !(is_far(r) && between(king, checker, direction_of(r)).has(to))) {
            return false;
        }
    }
    if (!blockers(US, US).has(from)) return true;
    Relation before = relation(king, from), after = relation(king, to);
    return is_line(after) && direction_of(before) == direction_of(after);
}

bool Position::is_legal(Move m) const {
    if (m.to() >= SQUARES) return false;
    if (m.is_drop()) return turn_ == BLACK ? is_legal_drop<BLACK>(m) : is_legal_drop<WHITE>(m);
    return turn_ == BLACK ? is_legal_board_move<BLACK>(m) : is_legal_board_move<WHITE>(m);
}

Move Position::from_move16(std::uint16_t m) const {
    Square to = Square(m & 127), from = Square(m >> 7 & 127);
    if (to >= SQUARES || m >> 15) return {};
    Move move;
    if (from >= SQUARES) {
        if (from > 80 + GOLD || m >> 14) return {};
        move = Move::drop(PieceType(from - 80), to);
    } else {
        move = Move::board(from, to, m >> 14 & 1, type_of(piece_on(from)), type_of(piece_on(to)));
    }
    return is_legal(move) ? move : Move();
}

}  // namespace komadori
