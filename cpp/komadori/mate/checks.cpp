#include "komadori/mate/checks.h"

namespace komadori {
namespace {

// The squares from which a non-sliding piece can give check in one move, promoting or not, on an
// empty board: [colour][type][king's square].
struct CheckOrigins {
    Bitboard from[2][16][SQUARES];
};

CheckOrigins make_origins() {
    CheckOrigins origins{};
    for (Color c : {BLACK, WHITE}) {
        for (int t = PAWN; t <= DRAGON; ++t) {
            for (Square from = 0; from < SQUARES; ++from) {
                step_attacks(c, PieceType(t), from).each([&](Square to) {
                    Bitboard kings = step_attacks(c, PieceType(t), to);
                    if (can_promote(PieceType(t))) {
                        kings |= step_attacks(c, promoted_type(PieceType(t)), to);
                    }
                    kings.each([&](Square k) { origins.from[c][t][k] |= square_set(from); });
                });
            }
        }
    }
    return origins;
}

const CheckOrigins ORIGINS = make_origins();

template <Color US>
class CheckGenerator {
  public:
    CheckGenerator(const Position& position, Move* out)
        : p_(position), out_(out), king_(position.king(THEM)), own_king_(position.king(US)) {}

    Move* run() {
        all_ = p_.occupied();
        pinned_ = p_.blockers(US, US);
        uncovering_ = p_.blockers(US, THEM);
        const Bitboard& own = p_.pieces(US);
        gold_ = gold_attacks(THEM, king_);
        diagonal_ = bishop_attacks(king_, all_);
        straight_ = rook_attacks(king_, all_);
        lance_ = straight_ & TABLES.ray[US == BLACK ? S : N][king_];
        const Bitboard& near = king_attacks(king_);

        steps<PAWN>(step_attacks(THEM, PAWN, king_), gold_);
        steps<KNIGHT>(step_attacks(THEM, KNIGHT, king_), gold_);
        steps<SILVER>(step_attacks(THEM, SILVER, king_), gold_);
        ((own & p_.golds()) & (ORIGINS.from[US][GOLD][king_] | uncovering_)).each([&](Square s) {
            write(type_of(p_.piece_on(s)), s, gold_attacks(US, s), gold_, {});
        });
        (own & p_.pieces(LANCE)).each([&](Square s) {
            write(LANCE, s, lance_attacks(US, s, all_), lance_, gold_);
        });
        (own & p_.pieces(BISHOP)).each([&](Square s) {
            write(BISHOP, s, bishop_attacks(s, all_), diagonal_, diagonal_ | near);
        });
        (own & p_.pieces(ROOK)).each([&](Square s) {
            write(ROOK, s, rook_attacks(s, all_), straight_, straight_ | near);
        });
        (own & p_.pieces(HORSE)).each([&](Square s) {
            write(HORSE, s, bishop_attacks(s, all_) | king_attacks(s), diagonal_ | near, {});
        });
        (own & p_.pieces(DRAGON)).each([&](Square s) {
            write(DRAGON, s, rook_attacks(s, all_) | king_attacks(s), straight_ | near, {});
        });
        if (own_king_ != NO_SQUARE && uncovering_.has(own_king_)) king_moves();
        drops();
        return out_;
    }

  private:
    static constexpr Color THEM = opponent(US);

    template <PieceType T>
    void steps(const Bitboard& checking, const Bitboard& promoted_checking) {
        Bitboard from = p_.pieces(US, T) & (ORIGINS.from[US][T][king_] | uncovering_);
        from.each(
            [&](Square s) { write(T, s, step_attacks(US, T, s), checking, promoted_checking); });
    }

    // Writes the checks by the piece on `from`: to squares of `reach` in `checking` unpromoted, in
    // `promoted_checking` promoted, and off the line of a discovered check to any.
    void write(PieceType t, Square from, const Bitboard& reach, const Bitboard& checking,
               const Bitboard& promoted_checking) {
        Bitboard targets = reach.without(p_.pieces(US));
        if (pinned_.has(from)) targets &= line(own_king_, from);
        Bitboard off_line;
        if (uncovering_.has(from)) off_line = targets.without(line(king_, from));
        Bitboard plain = (targets & checking) | off_line;
        if (can_promote(t)) {
            constexpr Bitboard zone = far_ranks(US, 3);
            Bitboard promoting = (targets & promoted_checking) | off_line;
            if (!zone.has(from)) promoting &= zone;
            promoting.each([&](Square to) {
                *out_++ = Move::board(from, to, true, t, type_of(p_.piece_on(to)));
            });
            if (t == PAWN || t == LANCE) plain = plain.without(far_ranks(US, 1));
            if (t == KNIGHT) plain = plain.without(far_ranks(US, 2));
        }
        plain.each([&](Square to) {
            *out_++ = Move::board(from, to, false, t, type_of(p_.piece_on(to)));
        });
    }

    static Bitboard line(Square king, Square from) {
        return TABLES.ray[direction_of(relation(king, from))][king];
    }

    void king_moves() {
        Bitboard without_king = all_ ^ square_set(own_king_);
        Bitboard targets = king_attacks(own_king_).without(p_.pieces(US));
        targets.without(line(king_, own_king_)).each([&](Square to) {
            if (p_.is_attacked(THEM, to, without_king)) return;
            *out_++ = Move::board(own_king_, to, false, KING, type_of(p_.piece_on(to)));
        });
    }

    void drops() {
        Hand hand = p_.hand(US);
        if (hand.empty()) return;
        Bitboard free = ~all_;
        auto drop = [&](PieceType t, const Bitboard& squares) {
            if (!hand.has(t)) return;
            (squares & free).each([&](Square to) { *out_++ = Move::drop(t, to); });
        };
        drop(GOLD, gold_);
        drop(SILVER, step_attacks(THEM, SILVER, king_));
        drop(ROOK, straight_);
        drop(BISHOP, diagonal_);
        drop(LANCE, lance_);
        drop(KNIGHT, step_attacks(THEM, KNIGHT, king_));
        if (hand.has(PAWN)) {
            Bitboard ahead = step_attacks(THEM, PAWN, king_) & free;
            if (ahead.any() && (p_.pieces(US, PAWN) & file_set(file_of(king_))).none() &&
                !p_.is_pawn_drop_mate(ahead.first())) {
                *out_++ = Move::drop(PAWN, ahead.first());
            }
        }
    }

    const Position& p_;
    Move* out_;
    Square king_, own_king_;
    Bitboard all_, pinned_, uncovering_;
    // The squares from which a gold, bishop, rook or lance gives check.
    Bitboard gold_, diagonal_, straight_, lance_;
};

}  // namespace

int checking_moves(const Position& position, Move* moves) {
    Color us = position.turn();
    if (position.king(opponent(us)) == NO_SQUARE) return 0;
    if (position.in_check()) {
        int n = position.legal_moves(moves), kept = 0;
        for (int i = 0; i < n; ++i) {
            if (position.gives_check(moves[i])) moves[kept++] = moves[i];
        }
        return kept;
    }
    Move* end = us == BLACK ? CheckGenerator<BLACK>(position, moves).run()
                            : CheckGenerator<WHITE>(position, moves).run();
    return int(end - moves);
}

}  // namespace komadori
