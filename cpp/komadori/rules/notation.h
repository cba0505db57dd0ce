// Moves as text.
#pragma once

#include <string>
#include <string_view>

#include "komadori/rules/position.h"

namespace komadori {

// Whether the bits name squares and pieces that exist: a destination, and an origin or a piece to
// drop. Says nothing about any position.
bool is_well_formed(std::uint16_t move16);

std::string to_usi(std::uint16_t move16);             // "7g7f", "8h2b+", "P*5e"
std::uint16_t parse_usi_move(std::string_view text);  // throws MoveError

// The move of that bits in this position; throws IllegalMoveError, which names the move and why.
Move require_legal(const Position& position, std::uint16_t move16);

}  // namespace komadori
