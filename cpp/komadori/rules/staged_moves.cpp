#include "komadori/rules/staged_moves.h"

#include "komadori/rules/king_safety.h"

namespace komadori {
namespace {

// The squares from which a piece of this type could never move again.
template <Color US, PieceType T>
constexpr Bitboard DEAD_END = T == KNIGHT               ? far_ranks(US, 2)
                              : T == PAWN || T == LANCE ? far_ranks(US, 1)
                                                        : Bitboard{};

// The squares where it is generated unpromoted only if all moves are requested.
template <Color US, PieceType T>
constexpr Bitboard ALWAYS_PROMOTES = T == LANCE                              ? far_ranks(US, 2)
                                     : T == PAWN || T == BISHOP || T == ROOK ? far_ranks(US, 3)
                                                                             : DEAD_END<US, T>;

ListedMove* add(ListedMove* out, Move m) {
    out->raw = m.raw();
    return out + 1;
}

template <Color US>
class Generator {
  public:
    Generator(const Position& position, ListedMove* out, bool all)
        : position_(position), out_(out), occupied_(position.occupied()), all_(all) {}

    ListedMove* captures(bool and_promotions) {
        const Bitboard& theirs = position_.pieces(opponent(US));
        pawns(and_promotions ? theirs | (~occupied_ & far_ranks(US, 3)) : theirs, theirs);
        pieces(theirs);
        return out_;
    }

    ListedMove* quiets() {
        Bitboard empty = ~occupied_;
        pawns(empty, empty);
        pieces(empty);
        drops(empty);
        return out_;
    }

    // King moves, captures of the checker, interpositions.
    ListedMove* evasions() {
        Square king = position_.king(US);
        const Bitboard &own = position_.pieces(US), &checking = position_.checkers();
        each_plain(king, KING, king_attacks(king).without(own));
        if (checking.more_than_one()) return out_;
        Square from = checking.first();
        Relation r = relation(king, from);
        Bitboard inside = is_far(r) ? between(king, from, direction_of(r)) : Bitboard{};
        pawns(inside | checking, inside | checking);
        pieces_but_king(inside | checking);
        drops(inside);
        return out_;
    }

  private:
    void push(Square from, Square to, bool promote, PieceType t) {
        out_ = add(out_, Move::board(from, to, promote, t, type_of(position_.piece_on(to))));
    }

    void each_plain(Square from, PieceType t, const Bitboard& targets) {
        targets.each([&](Square to) { push(from, to, false, t); });
    }

    template <PieceType T>
    void each_promotable(Square from, const Bitboard& targets) {
        constexpr Bitboard zone = far_ranks(US, 3);
        bool inside = zone.has(from);
        Bitboard promoting = inside ? targets : targets & zone;
        promoting.each([&](Square to) { push(from, to, true, T); });
        // A bishop or rook leaving the zone also promotes.
        Bitboard plain = all_ ? targets.without(DEAD_END<US, T>)
                         : inside && (T == BISHOP || T == ROOK)
                             ? Bitboard{}
                             : targets.without(ALWAYS_PROMOTES<US, T>);
        plain.each([&](Square to) { push(from, to, false, T); });
    }

    // Promoting pawn moves to `promoting`, other pawn moves to `plain`.
    void pawns(const Bitboard& promoting, const Bitboard& plain) {
        Bitboard steps = shift<AHEAD<US>>(position_.pieces(US, PAWN));
        auto from = [](Square to) { return Square(US == BLACK ? to + 1 : to - 1); };
        (steps & promoting & far_ranks(US, 3)).each([&](Square to) {
            push(from(to), to, true, PAWN);
        });
        constexpr Bitboard never = DEAD_END<US, PAWN>, seldom = ALWAYS_PROMOTES<US, PAWN>;
        (steps & plain).without(all_ ? never : seldom).each([&](Square to) {
            push(from(to), to, false, PAWN);
        });
    }

    void pieces_but_king(const Bitboard& targets) {
        const Bitboard& own = position_.pieces(US);
        (own & position_.pieces(LANCE)).each([&](Square s) {
            each_promotable<LANCE>(s, lance_attacks(US, s, occupied_) & targets);
        });
        (own & position_.pieces(KNIGHT)).each([&](Square s) {
            each_promotable<KNIGHT>(s, step_attacks(US, KNIGHT, s) & targets);
        });
        (own & position_.pieces(SILVER)).each([&](Square s) {
            each_promotable<SILVER>(s, step_attacks(US, SILVER, s) & targets);
        });
        (own & position_.pieces(BISHOP)).each([&](Square s) {
            each_promotable<BISHOP>(s, bishop_attacks(s, occupied_) & targets);
        });
        (own & position_.pieces(ROOK)).each([&](Square s) {
            each_promotable<ROOK>(s, rook_attacks(s, occupied_) & targets);
        });
        (own & position_.golds()).each([&](Square s) {
            each_plain(s, type_of(position_.piece_on(s)), gold_attacks(US, s) & targets);
        });
        (own & position_.pieces(HORSE, DRAGON)).each([&](Square s) {
            PieceType t = type_of(position_.piece_on(s));
            each_plain(s, t, attacks(US, t, s, occupied_) & targets);
        });
    }

    void pieces(const Bitboard& targets) {
        pieces_but_king(targets);
        if (Square king = position_.king(US); king != NO_SQUARE) {
            each_plain(king, KING, king_attacks(king) & targets);
        }
    }

    Bitboard pawn_files() const { return files_without(position_.pieces(US, PAWN)); }

    void drops(const Bitboard& empty) {
        Hand held = position_.hand(US);
        if (held.empty() || empty.none()) return;
        if (held.has(PAWN)) {
            Bitboard to = empty & pawn_files();
            to.without(far_ranks(US, 1)).each([&](Square s) {
                out_ = add(out_, Move::drop(PAWN, s));
            });
        }
        if (!held.has_pieces()) return;
        // The most restricted types first: knights, then lances, then those allowed anywhere.
        std::uint32_t types[6];
        int n = 0;
        if (held.has(KNIGHT)) types[n++] = Move::drop(KNIGHT, 0).raw();
        int after_knights = n;
        if (held.has(LANCE)) types[n++] = Move::drop(LANCE, 0).raw();
        int after_lances = n;
        for (PieceType t : {SILVER, BISHOP, ROOK, GOLD}) {
            if (held.has(t)) types[n++] = Move::drop(t, 0).raw();
        }
        auto write = [&](const Bitboard& targets, int first) {
            targets.each([&](Square to) {
                for (int i = first; i < n; ++i) out_ = add(out_, Move(types[i] | to));
            });
        };
        constexpr Bitboard last = far_ranks(US, 1), last_two = far_ranks(US, 2);
        write(empty & last, after_lances);
        write(empty & (last_two ^ last), after_knights);
        write(empty.without(last_two), 0);
    }

    const Position& position_;
    ListedMove* out_;
    Bitboard occupied_;
    bool all_;
};

template <MoveKind KIND, Color US>
ListedMove* generate_for(const Position& position, ListedMove* out, bool all) {
    Generator<US> generator(position, out, all);
    if constexpr (KIND == MoveKind::CAPTURES) return generator.captures(false);
    if constexpr (KIND == MoveKind::CAPTURES_AND_PROMOTIONS) return generator.captures(true);
    if constexpr (KIND == MoveKind::QUIETS) return generator.quiets();
    if constexpr (KIND == MoveKind::EVASIONS) return generator.evasions();
}

}  // namespace

template <MoveKind KIND>
ListedMove* generate_moves(const Position& position, ListedMove* out, bool all) {
    return position.turn() == BLACK ? generate_for<KIND, BLACK>(position, out, all)
                                    : generate_for<KIND, WHITE>(position, out, all);
}
template ListedMove* generate_moves<MoveKind::CAPTURES>(const Position&, ListedMove*, bool);
template ListedMove* generate_moves<MoveKind::CAPTURES_AND_PROMOTIONS>(const Position&, ListedMove*,
                                                                       bool);
template ListedMove* generate_moves<MoveKind::QUIETS>(const Position&, ListedMove*, bool);
template ListedMove* generate_moves<MoveKind::EVASIONS>(const Position&, ListedMove*, bool);

bool is_legal_pseudo(const Position& position, const Bitboard& pinned, Move m) {
    Color us = position.turn(), them = opponent(us);
    Square to = m.to();
    if (m.is_drop()) {
        if (m.dropped() != PAWN) return true;
        Square king = position.king(them);
        if (king == NO_SQUARE || !step_attacks(them, PAWN, king).has(to)) return true;
        return !position.is_pawn_drop_mate(to);
    }
    Square from = m.from();
    if (m.moved() == KING) {
        return !position.is_attacked(them, to, position.occupied() ^ square_set(from));
    }
    if (!pinned.has(from)) return true;
    Square king = position.king(us);
    Relation away = relation(king, to);
    return is_line(away) && direction_of(away) == direction_of(relation(king, from));
}

}  // namespace komadori
