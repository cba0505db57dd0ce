// Piece indices of KPP and NNUE ("BonaPiece", from Bonanza via Apery and YaneuraOu): 1,548 indices
// for pieces other than kings from one side's view. A position has 38 of them.
//
//   0 .. 89       in hand, an own and an enemy block per type: pawn 0, 19; lance 38, 43; knight
//                 48, 53; silver 58, 63; gold 68, 73; bishop 78, 81; rook 84, 87. The n-th piece
//                 has the index block start + n: three pawns in hand are 1, 2 and 3
//   90 .. 1547    on the board, block start + square from that side's view: pawn 90, 171; lance
//                 252, 333; knight 414, 495; silver 576, 657; gold and pieces that move like it
//                 738, 819; bishop 900, 981; horse 1062, 1143; rook 1224, 1305; dragon 1386, 1467
//
// White's view is rotated by 180 degrees. 0 means no piece.
#pragma once

#include <array>
#include <cstdint>

#include "komadori/rules/position.h"

namespace komadori::linear {

using BonaPiece = std::uint16_t;
constexpr int BONA_PIECES = 1548;
constexpr int BONA_LIST = 38;  // pieces other than kings
constexpr BonaPiece NO_BONA_PIECE = 0;
constexpr BonaPiece FIRST_BONA_ON_BOARD = 90;

// Hand blocks by piece type, pawn to gold.
constexpr BonaPiece OWN_HAND_BLOCK[8] = {0, 0, 38, 48, 58, 78, 84, 68};
constexpr BonaPiece ENEMY_HAND_BLOCK[8] = {0, 19, 43, 53, 63, 81, 87, 73};
// Board blocks by piece type; the enemy's block starts 81 later. Kings have none.
constexpr BonaPiece OWN_BOARD_BLOCK[16] = {0, 90,  252, 414, 576, 900,  1224, 738,
                                           0, 738, 738, 738, 738, 1062, 1386, 0};

constexpr Square seen_from(Color view, Square s) { return view == BLACK ? s : rotate(s); }

// The square that a side's king is evaluated on: in positions without it (mate problems), that of
// the initial position.
inline Square king_or_home(const Position& position, Color c) {
    const Square king = position.king(c);
    return king == NO_SQUARE ? seen_from(c, make_square(4, 8)) : king;
}

// The n-th piece of its type (from 1) in the hand of `owner`, from `view`'s side.
constexpr BonaPiece bona_in_hand(Color view, Color owner, PieceType t, int number) {
    return BonaPiece((view == owner ? OWN_HAND_BLOCK : ENEMY_HAND_BLOCK)[t] + number);
}
constexpr BonaPiece bona_on_board(Color view, Color owner, PieceType t, Square s) {
    return BonaPiece(OWN_BOARD_BLOCK[t] + (view == owner ? 0 : SQUARES) + seen_from(view, s));
}

// The same piece from the other side's view.
BonaPiece bona_turned(BonaPiece p);
// On the board mirrored left to right; a piece in hand is unchanged.
BonaPiece bona_mirrored(BonaPiece p);

// The pieces from `view`'s side, padded with NO_BONA_PIECE if there are fewer than 38.
using BonaList = std::array<BonaPiece, BONA_LIST>;
BonaList bona_list(const Position& position, Color view);

}  // namespace komadori::linear
