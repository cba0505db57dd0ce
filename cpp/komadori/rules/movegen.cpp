// Generates legal moves directly: pins and checkers are computed first, so no move has to be made
// and undone.
#include "komadori/rules/king_safety.h"

namespace komadori {
namespace {

// Writes the moves of one piece to each target: promoted where allowed, unpromoted where the piece
// could move again.
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
    // The most restricted types first: knights, then lances, then those allowed anywhere.
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
    if (Bitboard checking = checkers(); checking.any()) {
        if (checking.more_than_one()) return int(out - moves);
        Square from = checking.first();
        Relation r = relation(king, from);
        drops = is_far(r) ? between(king, from, direction_of(r)) : Bitboard{};
        targets = drops | checking;
        own = own.without(pinned);  // a pinned piece can't answer a check by another piece
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

template int Position::generate<BLACK>(Move*) const;
template int Position::generate<WHITE>(Move*) const;

}  // namespace komadori
