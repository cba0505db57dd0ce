#include "komadori/alphabeta/exchange.h"

#include "komadori/alphabeta/material.h"

namespace komadori::alphabeta {
namespace {

// Types in capturing order, by capture_value.
constexpr PieceType CHEAPEST_FIRST[] = {PAWN,       LANCE,  PRO_PAWN,   KNIGHT, PRO_LANCE,
                                        PRO_KNIGHT, SILVER, PRO_SILVER, GOLD,   BISHOP,
                                        HORSE,      ROOK,   DRAGON,     KING};

// The pieces of both sides that attack the square.
Bitboard attackers_of_both(const Position& position, Square s, const Bitboard& occupied) {
    const Bitboard &black = position.pieces(BLACK), &white = position.pieces(WHITE);
    auto steps = [&](PieceType t) {
        return ((step_attacks(WHITE, t, s) & black) | (step_attacks(BLACK, t, s) & white)) &
               position.pieces(t);
    };
    Bitboard found =
        steps(PAWN) | steps(KNIGHT) | steps(SILVER) |
        (((gold_attacks(WHITE, s) & black) | (gold_attacks(BLACK, s) & white)) & position.golds()) |
        (king_attacks(s) & position.pieces(KING, HORSE, DRAGON));
    Bitboard straight = position.pieces(ROOK, DRAGON) & TABLES.orthogonal[s];
    if (straight.any()) found |= rook_attacks(s, occupied) & straight;
    Bitboard diagonal = position.pieces(BISHOP, HORSE) & TABLES.diagonal[s];
    if (diagonal.any()) found |= bishop_attacks(s, occupied) & diagonal;
    if (Bitboard lances = position.pieces(LANCE) & file_set(file_of(s)); lances.any()) {
        found |= lance_attacks(WHITE, s, occupied) & lances & black;
        found |= lance_attacks(BLACK, s, occupied) & lances & white;
    }
    return found & occupied;
}

// The slider that attacks `s` after the piece on `gone` has left the line (x-ray attack).
Bitboard uncovered(const Position& position, Square s, Square gone, const Bitboard& occupied) {
    Relation r = relation(s, gone);
    if (!is_line(r)) return {};
    Direction d = direction_of(r);
    Bitboard sliders =
        TABLES.ray[d][s] & occupied & position.pieces(LANCE, BISHOP, ROOK, HORSE, DRAGON);
    if (sliders.none()) return {};
    Bitboard seen = ray_attacks(d, s, occupied) & sliders;
    if (seen.none()) return {};
    Piece p = position.piece_on(seen.first());
    Relation far = Relation(9 + reverse(d));
    return TABLES.reach[color_of(p)][type_of(p)] >> far & 1 ? seen : Bitboard{};
}

}  // namespace

bool exchange_gains(const Position& position, Move m, Score threshold) {
    Square to = m.to();
    Score balance = gain(m) - threshold;
    if (balance < 0) return false;
    PieceType at_risk = m.is_promotion() ? promoted_type(m.moved()) : m.moved();
    if (at_risk == KING) return true;  // after a legal move the king can't be captured
    balance -= capture_value(at_risk);
    if (balance >= 0) return true;

    Bitboard occupied = position.occupied() | square_set(to);
    if (!m.is_drop()) occupied ^= square_set(m.from());
    Color us = position.turn(), side = us;
    Bitboard both = attackers_of_both(position, to, occupied);
    Bitboard takers[2] = {both & position.pieces(BLACK), both & position.pieces(WHITE)};
    // `balance` is that of the side that captured last, if its piece is captured in turn.
    while (true) {
        side = opponent(side);
        if (takers[side].none()) break;
        PieceType t = KING;
        Bitboard cheapest;
        for (PieceType candidate : CHEAPEST_FIRST) {
            cheapest = takers[side] & position.pieces(candidate);
            if (cheapest.any()) {
                t = candidate;
                break;
            }
        }
        if (t == KING) {
            if (takers[opponent(side)].any()) break;  // the king can't capture a defended piece
            side = opponent(side);
            break;
        }
        Square from = cheapest.first();
        // `side` captures. If it stays ahead even when recaptured, it wins the exchange.
        balance = -balance - 1 - capture_value(t);
        if (balance >= 0) {
            side = opponent(side);
            break;
        }
        occupied ^= square_set(from);
        takers[side] ^= square_set(from);
        Bitboard more = uncovered(position, to, from, occupied);
        takers[BLACK] |= more & position.pieces(BLACK);
        takers[WHITE] |= more & position.pieces(WHITE);
    }
    return side != us;
}

}  // namespace komadori::alphabeta
