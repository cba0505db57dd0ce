#include "komadori/alphabeta/material.h"

#include "komadori/rules/setup.h"

namespace komadori::alphabeta {

Score material(const Position& position) {
    Score balance = 0;
    for (Color c : {BLACK, WHITE}) {
        Score sum = 0;
        for (int t = PAWN; t < PIECE_TYPES; ++t) {
            sum += PIECE_VALUE[t] * position.pieces(c, PieceType(t)).count();
        }
        for (PieceType t : HAND_TYPES) sum += PIECE_VALUE[t] * position.hand(c, t);
        balance += c == BLACK ? sum : -sum;
    }
    return balance;
}

}  // namespace komadori::alphabeta
