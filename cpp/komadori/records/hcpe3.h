// hcpe3: a stream of games, little-endian.
//
//   header    hcp[32]  u16 plies  u8 result  u8 opponent
//   per ply   u16 move16  s16 score_cp (side to move)  u16 n     then n times
//             u16 move16  u16 visits                              (n = 0: not trained on)
//
// result: bits 0-1 winner (0 draw, 1 Black, 2 White), 4 sennichite, 8 declaration,
// 16 the ply limit. Source: dlshogi's HuffmanCodedPosAndEval3.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "komadori/records/game.h"
#include "komadori/records/samples.h"

namespace komadori {

constexpr std::size_t HCPE3_HEADER = 36;
constexpr int HCPE3_MAX_PLIES = 513;

// The result byte of hcpe2 and hcpe3. The winner must be known.
std::uint8_t to_result_byte(Winner winner, End end);
bool is_result_byte(std::uint8_t byte);
void from_result_byte(std::uint8_t byte, Winner& winner, End& end);

// Reads up to `max_games` games from byte `begin` on. Positions must be valid and moves, including
// candidates, legal. A damaged game becomes a fault; reading resumes at the next game header.
GameTable read_hcpe3(std::span<const std::uint8_t> bytes, std::size_t begin = 0,
                     std::size_t max_games = ALL);

// Appends one game of the table. Clips scores to s16; writes 0 for a missing score. For plies with
// NO_CANDIDATES, writes the played move with one visit. Throws RecordError for too many plies or a
// missing result, RulesError for an illegal move or a position that hcp can't represent.
void write_hcpe3(const GameTable& table, std::size_t game, std::string& out);

// Appends the games of samples: a game is a run of rows with the same `game`, its consecutive
// plies; moves.played[i] is the move made in row i. Winner and end are those of the first row.
// Throws RecordError for too many plies.
void write_hcpe3(const SampleTable& samples, const SampleMoveTable& moves, std::string& out);

}  // namespace komadori
