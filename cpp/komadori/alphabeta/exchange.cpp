#include "komadori/alphabeta/exchange.h"

#include "komadori/alphabeta/material.h"

namespace komadori::alphabeta {
namespace {

// Types in the order in which they are risked.
constexpr PieceType CHEAPEST_FIRST[] = {PAWN,       LANCE,  KNIGHT,     PRO_PAWN, PRO_LANCE,
                                        PRO_KNIGHT, SILVER, PRO_SILVER, GOLD,     BISHOP,
                                        HORSE,      ROOK,   DRAGON,     KING};

// The sliders that see `s` along the line on which `gone` stood, which is no longer occupied.
Bitboard uncovered(const Position& position, Square s, Square gone, const Bitboard& occupied) {
    Relation r = relation(s, gone);
    if (!is_line(r)) return {};
    Direction d = direction_of(r);
    Bitboard sliders =
        TABLES.ray[d][s] & occupied & position.pieces(LANCE, BISHOP, ROOK, HORSE, DRAGON);
    if (sliders.none()) return {};
    Bitboard seen = see(d, s, occupied) & sliders;
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
    if (at_risk == KING) return true;  // a legal move of the king isn't taken back
    balance -= capture_value(at_risk);
    if (balance >= 0) return true;

    Bitboard occupied = position.occupied() | square_set(to);
    if (!m.is_drop()) occupied ^= square_set(m.from());
    Color us = position.turn(), side = us;
    Bitboard takers[2] = {position.attackers(BLACK, to, occupied) & occupied,
                          position.attackers(WHITE, to, occupied) & occupied};
    // `balance` is the mover's if the exchange stopped after `side` has taken and was taken back.
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
            if (takers[opponent(side)].any()) break;  // it may not take what is defended
            side = opponent(side);
            break;
        }
        Square from = cheapest.first();
        // It takes; now it stands there itself. It has gained enough if that loss is bearable.
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
