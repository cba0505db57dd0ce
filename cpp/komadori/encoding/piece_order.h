// The orders of piece types in planes and labels.
#pragma once

#include <array>

#include "komadori/rules/types.h"

namespace komadori {

// Apery, dlshogi: P L N S B R G K, then the promoted types.
constexpr std::array<PieceType, 14> APERY_ORDER = {
    PAWN, LANCE,    KNIGHT,    SILVER,     BISHOP,     ROOK,  GOLD,
    KING, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER, HORSE, DRAGON};
// python-shogi, pydlshogi and the diary: gold before bishop.
constexpr std::array<PieceType, 14> PYTHON_SHOGI_ORDER = {
    PAWN, LANCE,    KNIGHT,    SILVER,     GOLD,       BISHOP, ROOK,
    KING, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER, HORSE,  DRAGON};

constexpr std::array<PieceType, 7> APERY_HAND_ORDER = {PAWN,   LANCE, KNIGHT, SILVER,
                                                       BISHOP, ROOK,  GOLD};

}  // namespace komadori
