// Training samples: one row per position that a record gives a move, a score or a result for.
// Plies are 0 where the source doesn't give them.
#pragma once

#include <cstdint>
#include <vector>

#include "komadori/records/game.h"
#include "komadori/rules/types.h"

namespace komadori {

struct SampleTable {
    std::vector<std::uint8_t> hcp;       // [N, 32]
    std::vector<std::uint16_t> move16;   // the move to learn; 0: none
    std::vector<std::int16_t> score_cp;  // side to move's view
    std::vector<float> result;           // side to move's: 1 won, 0 lost, 0.5 drawn
    std::vector<std::int32_t> game;      // row of the game in its file
    std::vector<std::int16_t> ply;       // number of the move to be made, 1 at the start position
    std::vector<std::int16_t> end_ply;   // number of the game's last move
    std::vector<End> end;                // how the game ended

    std::size_t size() const { return move16.size(); }
};

// All moves that a search weighed, of samples: those of row i are first[i] to first[i + 1] - 1.
struct SampleMoveTable {
    std::vector<std::int64_t> first{0};
    std::vector<std::uint16_t> move16;
    std::vector<std::uint16_t> visits;
    std::vector<std::uint16_t> played;  // [N], the move made in the game
};

// The winner as the side to move sees it: 1 won, 0 lost, 0.5 drawn. The winner is known.
constexpr float result_for(Winner winner, Color turn) {
    if (winner == Winner::DRAW) return 0.5f;
    return (winner == Winner::BLACK) == (turn == BLACK) ? 1.0f : 0.0f;
}

// A sample for each ply of each game whose winner is known (a draw is known), except plies with
// candidates = 0, which their source wants left out. The move to learn is the candidate with the
// most visits (the first of equals), or the move played where the format has no candidates.
// A missing score is 0. Throws RulesError where a move isn't legal or hcp can't hold a position.
// `moves`: gets those of the samples; a ply without candidates has the move played, one visit.
SampleTable to_samples(const GameTable& table, SampleMoveTable* moves = nullptr);

}  // namespace komadori
