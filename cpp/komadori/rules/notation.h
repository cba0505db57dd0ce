// Moves as text. CSA, KIF and KI2 text needs the position; USI text doesn't.
#pragma once

#include <string>
#include <string_view>

#include "komadori/rules/position.h"

namespace komadori {

// Whether the bits encode a destination, and an origin or a piece to drop. Independent of any
// position.
bool is_well_formed(std::uint16_t move16);

// Decodes the move in this position. Throws MoveError, or IllegalMoveError with the move and the
// position.
Move require_legal(const Position& position, std::uint16_t move16);

// Every parser consumes the whole text. It throws MoveError with what is wrong at which character
// or, given a position, IllegalMoveError.
std::string to_usi(std::uint16_t move16);  // "7g7f", "8h2b+", "P*5e"
std::uint16_t parse_usi_move(std::string_view text);

// The pieces of CSA text, by PieceType (CSA standard 2.2).
constexpr std::string_view CSA_NAMES[PIECE_TYPES] = {"",   "FU", "KY", "KE", "GI", "KA", "HI", "KI",
                                                     "OU", "TO", "NY", "NK", "NG", "UM", "RY"};
// "+7776FU", with the side's sign; the parser accepts text without it.
std::string to_csa(const Position& position, Move m);
Move parse_csa_move(const Position& position, std::string_view text);

// "７六歩(77)", "同　銀(31)", "５五角打", "２二角成(88)". 同 refers to the last move of the path,
// or to `last` where the path is empty.
std::string to_kif(const Position& position, Move m, Square last = NO_SQUARE);
// "７六歩", "同銀右", "５五角打" only where a piece on the board could go there too.
std::string to_ki2(const Position& position, Move m, Square last = NO_SQUARE);
// Reads both, and the variants of other programs: ASCII digits for files or ranks, a leading
// ▲△☗☖▼▽, 竜 or 龍, 王 or 玉, one- or two-letter names of promoted pieces, a space after 同.
Move parse_kif_move(const Position& position, std::string_view text, Square last = NO_SQUARE);

}  // namespace komadori
