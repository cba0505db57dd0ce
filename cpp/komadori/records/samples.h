// Training samples: one row per position with a move, a score or a result. Plies are 0 if the
// source has none.
#pragma once

#include <cstdint>
#include <vector>

#include "komadori/records/game.h"
#include "komadori/rules/types.h"

namespace komadori {

struct SampleTable {
    std::vector<std::uint8_t> hcp;       // [N, 32]
    std::vector<std::uint16_t> move16;   // target move; 0: none
    std::vector<std::int16_t> score_cp;  // side to move's view
    std::vector<float> result;           // side to move's view: 1 won, 0 lost, 0.5 drawn
    std::vector<std::int32_t> game;      // index of the game in its file
    std::vector<std::int16_t> ply;       // number of the next move, 1 at the start position
    std::vector<std::int16_t> end_ply;   // number of the game's last move
    std::vector<End> end;                // end of the game

    std::size_t size() const { return move16.size(); }
};

// The candidate moves of samples: row i has the entries first[i] to first[i + 1] - 1.
struct SampleMoveTable {
    std::vector<std::int64_t> first{0};
    std::vector<std::uint16_t> move16;
    std::vector<std::uint16_t> visits;
    std::vector<std::uint16_t> played;  // [N], the played move
};

// The result from the side to move's view: 1 won, 0 lost, 0.5 drawn. The winner must be known.
constexpr float result_for(Winner winner, Color turn) {
    if (winner == Winner::DRAW) return 0.5f;
    return (winner == Winner::BLACK) == (turn == BLACK) ? 1.0f : 0.0f;
}

// The side to move of an hcp, or of a PackedSfen.
constexpr Color turn_of(const std::uint8_t* hcp) { return Color(hcp[0] & 1); }

// The inverse of result_for.
constexpr Winner winner_of(float result, Color turn) {
    if (result == 0.5f) return Winner::DRAW;
    return (result > 0.5f) == (turn == BLACK) ? Winner::BLACK : Winner::WHITE;
}

// One sample per ply of every game with a known result (draws included), except plies with
// candidates = 0, which hcpe3 excludes from training. The target move is the candidate with the
// most visits (the first on a tie), or the played move if the format has no candidates. A missing
// score is 0. Throws RulesError for an illegal move or a position that hcp can't represent.
// `moves`, if given, gets the candidates; with NO_CANDIDATES, the played move with one visit.
SampleTable to_samples(const GameTable& table, SampleMoveTable* moves = nullptr);

}  // namespace komadori
