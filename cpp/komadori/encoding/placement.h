// A position from the side to move's view: the lightweight source of planes.
#pragma once

#include <cstdint>

#include "komadori/rules/bitboard.h"
#include "komadori/rules/position.h"
#include "komadori/rules/setup.h"
#include "komadori/rules/types.h"

namespace komadori {

// With White to move the board is rotated by 180 degrees and colours are swapped, so OWN always
// moves up the board.
enum Side : std::uint8_t { OWN, OPPONENT };

struct Placement {
    Bitboard pieces[2][16];   // [Side][PieceType]
    std::uint8_t hand[2][8];  // [Side][PAWN..GOLD]
    Square king[2];           // [Side]; NO_SQUARE if there is none
    Color turn;
    Bitboard of_side[2];

    Bitboard occupied() const { return of_side[OWN] | of_side[OPPONENT]; }

    explicit Placement(const Position& position);
    // Doesn't check whether the rules allow the position (two pawns on a file, a check on the side
    // not to move, ...).
    explicit Placement(const PieceList& list);

    // The piece on a square of the actual, unrotated board.
    Piece piece_on(Square s) const;

  private:
    explicit Placement(Color turn);
    void put(Square s, Color c, PieceType t);
};

// The side to move of an hcp, without decoding the rest.
inline Color hcp_turn(PackedView hcp) { return Color(hcp[0] & 1); }

// Attacked squares by type and number of attackers per square. Includes squares of own pieces;
// sliders stop at the first piece; ignores pins.
struct AttackMap {
    Bitboard by_type[2][16];  // [Side][PieceType]
    Bitboard at_least[2][3];  // [Side]: attacked by 1, 2, 3 or more pieces

    explicit AttackMap(const Placement& placement);
};

}  // namespace komadori
