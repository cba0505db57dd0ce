// hcpe3: a stream of games, little-endian.
//
//   36 bytes  hcp[32]  u16 plies  u8 result  u8 opponent
//   a ply     u16 move16  s16 score_cp (side to move)  u16 n     then n x
//             u16 move16  u16 visits                              (n = 0: not trained on)
//
// result: bits 0-1 winner (0 draw, 1 Black, 2 White), 4 sennichite, 8 declaration,
// 16 the ply limit. Source: dlshogi's HuffmanCodedPosAndEval3.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "komadori/records/game.h"

namespace komadori {

constexpr std::size_t HCPE3_HEADER = 36;
constexpr int HCPE3_MAX_PLIES = 513;

// The result byte of hcpe2 and hcpe3. The winner is known.
std::uint8_t to_result_byte(Winner winner, End end);
bool is_result_byte(std::uint8_t byte);
void from_result_byte(std::uint8_t byte, Winner& winner, End& end);

// Reads games from byte `begin` on until `max_games` are read or the bytes end, every one whose
// position is sound and whose moves (candidates included) are legal.
// A damaged game becomes a fault; reading goes on at the next game header found behind it.
GameTable read_hcpe3(std::span<const std::uint8_t> bytes, std::size_t begin = 0,
                     std::size_t max_games = ALL);

// Appends one game of the table. Scores are clipped to s16, a missing one is written as 0; a
// ply that says nothing of candidates gets the move played as its only one, with one visit.
// Throws RecordError for too many plies or no result, RulesError for an illegal move or a
// position that hcp can't hold.
void write_hcpe3(const GameTable& table, std::size_t game, std::string& out);

}  // namespace komadori
