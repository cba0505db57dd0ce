// Mate in one.
//
// Only checks are candidates. A quick test rejects most: an escape square of the king that the
// checking piece doesn't attack from its destination remains an escape square. The rest are made
// on a copy of the position and decided exactly.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "komadori/rules/king_safety.h"

namespace komadori {
namespace {

// By the king's square: beyond this distance (a knight's jump plus another's attack) a non-sliding
// piece can't give check in one move.
constexpr std::array<Bitboard, SQUARES> NEAR_KING = [] {
    std::array<Bitboard, SQUARES> near{};
    for (int king = 0; king < SQUARES; ++king) {
        int file = file_of(Square(king)), rank = rank_of(Square(king));
        Bitboard ranks;
        for (int r = std::max(0, rank - 4); r <= std::min(8, rank + 4); ++r) ranks |= rank_set(r);
        Bitboard& set = near[std::size_t(king)];
        for (int f = std::max(0, file - 2); f <= std::min(8, file + 2); ++f) set |= file_set(f);
        set &= ranks;
    }
    return near;
}();

// Whether the legal move m, a check, is mate. `scratch` is a copy of the position to make it on,
// created on first use: most positions need none.
bool mates(const Position& position, Move m, std::optional<Position>& scratch) {
    if (!scratch) scratch.emplace(position.without_path());
    scratch->do_move(m);
    bool mate = !scratch->has_legal_moves();
    scratch->undo_move();
    return mate;
}

}  // namespace

template <Color US>
bool Position::has_reply_to_check() const {
    Square king = king_[US];
    if (king_targets<US>().any()) return true;
    Bitboard checking = checkers();
    if (checking.more_than_one()) return false;
    Square from = checking.first();
    Bitboard all = occupied();
    Bitboard movers = by_color_[US].without(blockers(US, US)).without(square_set(king));
    if ((attackers(US, from, all) & movers).any()) return true;
    Relation r = relation(king, from);
    if (!is_far(r)) return false;
    Bitboard inside = between(king, from, direction_of(r));
    Hand held = hand(US);
    if (held.has(SILVER) || held.has(GOLD) || held.has(BISHOP) || held.has(ROOK)) return true;
    if (held.has(LANCE) && inside.without(far_ranks(US, 1)).any()) return true;
    if (held.has(KNIGHT) && inside.without(far_ranks(US, 2)).any()) return true;
    if (held.has(PAWN) && pawn_drop_squares<US>(inside).any()) return true;
    for (Bitboard left = inside; left.any();) {
        if ((attackers(US, left.pop(), all) & movers).any()) return true;
    }
    return false;
}

bool Position::has_legal_moves() const {
    if (!in_check()) return count_legal_moves() > 0;
    return turn_ == BLACK ? has_reply_to_check<BLACK>() : has_reply_to_check<WHITE>();
}

template <Color US>
Move Position::find_mate() const {
    constexpr Color THEM = opponent(US);
    constexpr Bitboard zone = far_ranks(US, 3), rank1 = far_ranks(US, 1), rank12 = far_ranks(US, 2);
    Square king = king_[THEM];
    Bitboard all = occupied(), empty = ~all, own = by_color_[US];
    Bitboard around = king_attacks(king).without(by_color_[THEM]);
    Bitboard free = safe_for_king<THEM>(king, around, all ^ square_set(king));
    std::optional<Position> scratch;

    Bitboard diagonal = bishop_attacks(king, all), straight = rook_attacks(king, all);
    Bitboard golden = gold_attacks(THEM, king);
    // The squares from which each type attacks the king, before the move.
    auto checks_from = [&](PieceType t) -> Bitboard {
        switch (t) {
            case LANCE:
                return lance_attacks(THEM, king, all);
            case BISHOP:
                return diagonal;
            case ROOK:
                return straight;
            case HORSE:
                return diagonal | king_attacks(king);
            case DRAGON:
                return straight | king_attacks(king);
            case KING:
                return {};
            default:
                return step_attacks(THEM, t, king);
        }
    };

    // These can be dropped on any square to block a distant check.
    Hand theirs = hand(THEM), held = hand(US);
    bool blocks = theirs.has(GOLD) || theirs.has(SILVER) || theirs.has(BISHOP) || theirs.has(ROOK);
    Bitboard near = king_attacks(king) | step_attacks(THEM, KNIGHT, king);
    Bitboard useful = blocks ? near : Bitboard::all();
    if (held.has_pieces()) {
        Bitboard droppable = (empty & useful).without(free);  // the king captures an unguarded drop
        for (PieceType t : {GOLD, SILVER, ROOK, BISHOP, LANCE, KNIGHT}) {
            if (!held.has(t)) continue;
            for (Bitboard squares = checks_from(t) & droppable; squares.any();) {
                Square to = squares.pop();
                Bitboard seen = attacks(US, t, to, all ^ square_set(king));
                if (free.without(seen).any()) continue;
                if (Move m = Move::drop(t, to); mates(*this, m, scratch)) return m;
            }
        }
    }

    Bitboard pinned = blockers(US, US), discovering = blockers(US, THEM);
    auto may_leave = [&](Square from, Square to) {
        if (!pinned.has(from)) return true;
        Square home = king_[US];
        Relation after = relation(home, to);
        return is_line(after) && direction_of(after) == direction_of(relation(home, from));
    };
    Bitboard sliders = pieces(LANCE, BISHOP, ROOK, HORSE, DRAGON);
    Bitboard movers =
        (own & (sliders | NEAR_KING[king])).without(discovering).without(by_type_[KING]);
    while (movers.any()) {
        Square from = movers.pop();
        PieceType t = type_of(piece_on(from));
        Bitboard plain = checks_from(t);
        if (t == PAWN || t == LANCE) plain = plain.without(rank1);
        if (t == KNIGHT) plain = plain.without(rank12);
        Bitboard promoted;
        if (can_promote(t)) {
            promoted = t == BISHOP || t == ROOK ? checks_from(promoted_type(t)) : golden;
            if (!zone.has(from)) promoted &= zone;
        }
        Bitboard targets = (plain | promoted).without(own) & useful;
        if (targets.none()) continue;
        targets &= attacks(US, t, from, all);
        if (targets.none()) continue;
        // Moving the piece may open a line of a slider behind it.
        bool opens = (attackers(US, from, all) & sliders).any();
        Bitboard after = all ^ square_set(from) ^ square_set(king);
        while (targets.any()) {
            Square to = targets.pop();
            if (!may_leave(from, to)) continue;
            for (bool promote : {true, false}) {
                if (!(promote ? promoted : plain).has(to)) continue;
                Bitboard seen =
                    attacks(US, promote ? promoted_type(t) : t, to, after) | square_set(to);
                if (!opens && free.without(seen).any()) continue;
                Move m = Move::board(from, to, promote, t, type_of(piece_on(to)));
                if (mates(*this, m, scratch)) return m;
            }
        }
    }

    while (discovering.any()) {
        Square from = discovering.pop();
        PieceType t = type_of(piece_on(from));
        Bitboard targets = attacks(US, t, from, all).without(own);
        while (targets.any()) {
            Square to = targets.pop();
            for (bool promote : {true, false}) {
                Move m = Move::board(from, to, promote, t, type_of(piece_on(to)));
                if (is_legal(m) && gives_check(m) && mates(*this, m, scratch)) return m;
            }
        }
    }
    return {};
}

Move Position::mate_in_one() const {
    if (king_[opponent(turn_)] == NO_SQUARE) return {};
    if (!in_check()) return turn_ == BLACK ? find_mate<BLACK>() : find_mate<WHITE>();
    std::optional<Position> scratch;
    Move moves[MAX_LEGAL_MOVES];
    int n = legal_moves(moves);
    for (int i = 0; i < n; ++i) {
        if (gives_check(moves[i]) && mates(*this, moves[i], scratch)) return moves[i];
    }
    return {};
}

Position Position::without_path() const {
    std::vector<State> path;
    path.reserve(2);
    path.push_back(states_.back());
    Position copy{std::move(path)};
    std::copy(by_color_, by_color_ + 2, copy.by_color_);
    std::copy(by_type_, by_type_ + 16, copy.by_type_);
    std::copy(board_, board_ + SQUARES, copy.board_);
    copy.king_[BLACK] = king_[BLACK];
    copy.king_[WHITE] = king_[WHITE];
    copy.turn_ = turn_;
    copy.first_ply_ = ply();
    return copy;
}

}  // namespace komadori
