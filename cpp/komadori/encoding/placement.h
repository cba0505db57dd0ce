// A position as the side to move sees it: the light form that planes are made of.
#pragma once

#include <cstdint>

#include "komadori/rules/bitboard.h"
#include "komadori/rules/position.h"
#include "komadori/rules/setup.h"
#include "komadori/rules/types.h"

namespace komadori {

// For White to move the board is turned by 180 degrees and the colours are swapped, so side 0
// always moves up the board as Black does.
enum Side : std::uint8_t { OWN, OPPONENT };

struct Placement {
    Bitboard pieces[2][16];   // [Side][PieceType]
    std::uint8_t hand[2][8];  // [Side][PAWN..GOLD]
    Square king[2];           // [Side]; NO_SQUARE where there is none
    Color turn;
    Bitboard of_side[2];

    Bitboard occupied() const { return of_side[OWN] | of_side[OPPONENT]; }

    explicit Placement(const Position& position);
    explicit Placement(const PieceList& list);
    // Throws HcpError for bytes that are no placement. Whether the rules allow the position
    // (nifu, check to the side that just moved, ...) isn't asked.
    explicit Placement(PackedView hcp);

    // The piece on a square of the real board (not turned).
    Piece piece_on(Square s) const;

  private:
    explicit Placement(Color turn);
    void put(Square s, Color c, PieceType t);
};

// The side to move of an hcp, without decoding the rest.
inline Color hcp_turn(PackedView hcp) { return Color(hcp[0] & 1); }

// What each type attacks and how often each square is attacked. Own pieces' squares are
// included, sliders stop at the first piece, pins don't matter.
struct AttackMap {
    Bitboard by_type[2][16];  // [Side][PieceType]
    Bitboard at_least[2][3];  // [Side]: attacked by 1, 2, 3 or more pieces

    explicit AttackMap(const Placement& placement);
};

}  // namespace komadori
