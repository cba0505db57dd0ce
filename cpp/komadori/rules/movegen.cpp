// Legal moves, generated as such: pins and checkers are known first, so nothing is made and
// taken back.
#include "komadori/rules/position.h"

namespace komadori {
namespace {

template <Color US>
constexpr Direction AHEAD = US == BLACK ? N : S;

// Writes the moves of one piece to each target, promoted where it may, unpromoted where it can
// still move afterwards.
template <Color US, PieceType T>
Move* write_promotable(Move* out, const std::uint8_t* board, Square from, Bitboard targets) {
    constexpr Bitboard zone = far_ranks(US, 3);
    constexpr Bitboard stuck = T == KNIGHT               ? far_ranks(US, 2)
                               : T == PAWN || T == LANCE ? far_ranks(US, 1)
                                                         : Bitboard{};
    Bitboard promoting = zone.has(from) ? targets : targets & zone;
    promoting.each(
        [&](Square to) { *out++ = Move::board(from, to, true, T, type_of(Piece(board[to]))); });
    targets.without(stuck).each(
        [&](Square to) { *out++ = Move::board(from, to, false, T, type_of(Piece(board[to]))); });
    return out;
}

Move* write_plain(Move* out, const std::uint8_t* board, Square from, Bitboard targets) {
    PieceType t = type_of(Piece(board[from]));
    targets.each(
        [&](Square to) { *out++ = Move::board(from, to, false, t, type_of(Piece(board[to]))); });
    return out;
}

template <Color US>
Move* write_moves(Move* out, const std::uint8_t* board, Square from, Bitboard targets) {
    switch (type_of(Piece(board[from]))) {
        case PAWN:
            return write_promotable<US, PAWN>(out, board, from, targets);
        case LANCE:
            return write_promotable<US, LANCE>(out, board, from, targets);
        case KNIGHT:
            return write_promotable<US, KNIGHT>(out, board, from, targets);
        case SILVER:
            return write_promotable<US, SILVER>(out, board, from, targets);
        case BISHOP:
            return write_promotable<US, BISHOP>(out, board, from, targets);
        case ROOK:
            return write_promotable<US, ROOK>(out, board, from, targets);
        default:
            return write_plain(out, board, from, targets);
    }
}

template <Color US>
Move* write_drops(Move* out, Hand hand, const Bitboard& squares, const Bitboard& pawn_squares) {
    if (hand.has(PAWN)) {
        pawn_squares.each([&](Square to) { *out++ = Move::drop(PAWN, to); });
    }
    if (!hand.has_pieces()) return out;
    // Types in the order of where they may not go: knights first, then lances.
    std::uint32_t held[6];
    int n = 0, after_knights = 0, after_lances = 0;
    if (hand.has(KNIGHT)) held[n++] = Move::drop(KNIGHT, 0).raw();
    after_knights = n;
    if (hand.has(LANCE)) held[n++] = Move::drop(LANCE, 0).raw();
    after_lances = n;
    for (PieceType t : {SILVER, BISHOP, ROOK, GOLD}) {
        if (hand.has(t)) held[n++] = Move::drop(t, 0).raw();
    }
    auto write = [&](const Bitboard& to_set, int first) {
        to_set.each([&](Square to) {
            for (int i = first; i < n; ++i) *out++ = Move(held[i] | to);
        });
    };
    constexpr Bitboard rank1 = far_ranks(US, 1), rank12 = far_ranks(US, 2);
    write(squares & rank1, after_lances);
    write(squares & (rank12 ^ rank1), after_knights);
    write(squares.without(rank12), 0);
    return out;
}

}  // namespace

// The squares in files where none of these pawns stands. In each file's nine bits, 2^8 less a
// pawn's bit keeps its top bit only where there is no pawn (the subtraction Qugiy's author
// described in the WCSC appeal of 2021).
Bitboard files_without(const Bitboard& pawns) {
    constexpr Bitboard bottom = rank_set(8);
    std::uint64_t lo = (bottom.lo - pawns.lo) & bottom.lo;
    std::uint64_t hi = (bottom.hi - pawns.hi) & bottom.hi;
    return {(lo - (lo >> 8)) | lo, (hi - (hi >> 8)) | hi};
}

// Of `wanted`, the squares next to c's king that the other side doesn't attack once the king has
// left its square; `occupied` is without the king.
template <Color C>
Bitboard Position::safe_for_king(Square king, Bitboard wanted, const Bitboard& occupied) const {
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
        wanted = wanted.without(attacked);
        if (wanted.none()) return wanted;
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
        if ((reach & wanted).none()) return;
        switch (t) {
            case LANCE:
                wanted = wanted.without(lance_attacks(THEM, s, occupied));
                break;
            case BISHOP:
            case HORSE:
                wanted = wanted.without(bishop_attacks(s, occupied));
                break;
            default:
                wanted = wanted.without(rook_attacks(s, occupied));
        }
    });
    return wanted;
}

template <Color US>
Bitboard Position::king_targets() const {
    Square king = king_[US];
    if (king == NO_SQUARE) return {};
    Bitboard wanted = king_attacks(king).without(by_color_[US]);
    if (wanted.none()) return wanted;
    return safe_for_king<US>(king, wanted, occupied() ^ square_set(king));
}

template <Color US>
bool Position::pawn_drop_mates(Square to) const {
    constexpr Color THEM = opponent(US);
    Square king = king_[THEM];
    Bitboard all = occupied() | square_set(to);
    Bitboard takers = attackers(THEM, to, all) & ~square_set(king);
    Bitboard pinned = blockers(THEM, THEM);
    // On the file of the king and the pawn a pinned piece may take it.
    Bitboard held = pinned.without(file_set(file_of(king)));
    if (takers.without(held).any()) return false;
    Bitboard wanted = king_attacks(king).without(by_color_[THEM]);
    return safe_for_king<THEM>(king, wanted, all ^ square_set(king)).none();
}

bool Position::is_pawn_drop_mate(Square to) const {
    return turn_ == BLACK ? pawn_drop_mates<BLACK>(to) : pawn_drop_mates<WHITE>(to);
}

// Where a pawn may be dropped, of `squares`.
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

template <Color US>
int Position::generate(Move* moves) const {
    Move* out = moves;
    Square king = king_[US];
    Bitboard pinned = blockers(US, US);
    Bitboard own = by_color_[US], all = occupied();
    Bitboard targets = ~own, drops = ~all;
    if (Bitboard escapes = king_targets<US>(); escapes.any()) {
        out = write_plain(out, board_, king, escapes);
    }
    if (Bitboard giving = checkers(); giving.any()) {
        if (giving.more_than_one()) return int(out - moves);
        Square from = giving.first();
        Relation r = relation(king, from);
        drops = is_far(r) ? between(king, from, direction_of(r)) : Bitboard{};
        targets = drops | giving;
        own = own.without(pinned);  // a pinned piece can't help against another checker
        pinned = {};
    }
    Bitboard movers = own.without(pinned).without(by_type_[KING]);

    constexpr Direction F = AHEAD<US>;
    Bitboard steps = shift<F>(movers & by_type_[PAWN]) & targets;
    (steps & far_ranks(US, 3)).each([&](Square to) {
        Square from = Square(US == BLACK ? to + 1 : to - 1);
        *out++ = Move::board(from, to, true, PAWN, type_of(piece_on(to)));
    });
    steps.without(far_ranks(US, 1)).each([&](Square to) {
        Square from = Square(US == BLACK ? to + 1 : to - 1);
        *out++ = Move::board(from, to, false, PAWN, type_of(piece_on(to)));
    });
    (movers & by_type_[LANCE]).each([&](Square s) {
        out = write_promotable<US, LANCE>(out, board_, s, lance_attacks(US, s, all) & targets);
    });
    (movers & by_type_[KNIGHT]).each([&](Square s) {
        out = write_promotable<US, KNIGHT>(out, board_, s, step_attacks(US, KNIGHT, s) & targets);
    });
    (movers & by_type_[SILVER]).each([&](Square s) {
        out = write_promotable<US, SILVER>(out, board_, s, step_attacks(US, SILVER, s) & targets);
    });
    (movers & by_type_[BISHOP]).each([&](Square s) {
        out = write_promotable<US, BISHOP>(out, board_, s, bishop_attacks(s, all) & targets);
    });
    (movers & by_type_[ROOK]).each([&](Square s) {
        out = write_promotable<US, ROOK>(out, board_, s, rook_attacks(s, all) & targets);
    });
    (movers & golds()).each([&](Square s) {
        out = write_plain(out, board_, s, gold_attacks(US, s) & targets);
    });
    (movers & by_type_[HORSE]).each([&](Square s) {
        out = write_plain(out, board_, s, (bishop_attacks(s, all) | king_attacks(s)) & targets);
    });
    (movers & by_type_[DRAGON]).each([&](Square s) {
        out = write_plain(out, board_, s, (rook_attacks(s, all) | king_attacks(s)) & targets);
    });
    pinned.each([&](Square s) {
        Bitboard line = TABLES.ray[direction_of(relation(king, s))][king];
        Bitboard to = attacks(US, type_of(piece_on(s)), s, all) & targets & line;
        out = write_moves<US>(out, board_, s, to);
    });

    Hand held = hand(US);
    if (!held.empty() && drops.any()) {
        Bitboard pawns = held.has(PAWN) ? pawn_drop_squares<US>(drops) : Bitboard{};
        out = write_drops<US>(out, held, drops, pawns);
    }
    return int(out - moves);
}

int Position::legal_moves(Move* moves) const {
    return turn_ == BLACK ? generate<BLACK>(moves) : generate<WHITE>(moves);
}

int Position::count_legal_moves() const {
    Move moves[MAX_LEGAL_MOVES];
    return legal_moves(moves);
}

bool Position::is_legal(Move m) const {
    Move moves[MAX_LEGAL_MOVES];
    int n = legal_moves(moves);
    for (int i = 0; i < n; ++i) {
        if (moves[i] == m) return true;
    }
    return false;
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

Move Position::mate_in_one() const {
    Move moves[MAX_LEGAL_MOVES];
    int n = legal_moves(moves);
    for (int i = 0; i < n; ++i) {
        if (!gives_check(moves[i])) continue;
        Position after = *this;
        after.do_move(moves[i]);
        if (after.count_legal_moves() == 0) return moves[i];
    }
    return {};
}

}  // namespace komadori
