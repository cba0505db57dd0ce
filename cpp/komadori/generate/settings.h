// Settings of teacher games. A game depends only on these, its number and the weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace komadori::generate {

// Limits of every search of a game; 0 is none. If there are several, one is drawn per game in
// proportion to its weight.
struct SearchBounds {
    int depth = 0;
    std::uint64_t nodes = 0;
    double weight = 1;
};

struct Settings {
    std::uint64_t seed = 1;
    std::vector<SearchBounds> searches;
    // Fraction of games that start with an opening line, and the number of its moves to play:
    // uniform between the two, at most the whole line.
    double opening_fraction = 1;
    int opening_min_plies = 0, opening_max_plies = 0;
    // Maximum number of random moves after the opening, uniform from 0. Games without an opening
    // line play at least half of it: with fewer, games from the same position repeat.
    int random_moves = 6;

    int multi_pv = 1;  // lines of the searches for sampled plies and candidates
    // Sampling: the first plies after the random moves, their number uniform from 0 to
    // sampled_plies, play a line drawn by exp(score / temperature) among those at most window_cp
    // below the best.
    int sampled_plies = 0;
    double sample_temperature_cp = 50;
    int sample_window_cp = 150;
    double candidate_fraction = 0;          // fraction of the other plies that keep candidates
    double candidate_temperature_cp = 100;  // of the softmax that converts scores to visits
    double candidate_minimum = 0.02;        // lines with a smaller probability are left out
    // Visits are rounded to this many steps per factor of two below the best's, BEST_VISITS, which
    // compresses better; 0: to thousandths of the softmax.
    int candidate_steps = 2;
    // Scores are rounded to multiples of this, coarser where the win rate is flatter (0: exact):
    // see rounded_score().
    int score_step_cp = 0;

    double opponent_fraction = 0;                 // fraction of games against the opponent
    std::vector<SearchBounds> opponent_searches;  // empty: same as `searches`

    int resign_cp = 3000, resign_plies = 2;  // resigns beyond this score for that many plies
    double play_on_fraction = 0.1;           // fraction of games without resignation
    int repetitions = 2;                     // occurrences of a position that end the game
    int max_plies = 320;

    double inner_fraction = 0;  // fraction of plies with an inner position, see inner_position()
    int inner_depth = 8;        // its maximum distance from the ply
};

// Candidates' probabilities are stored as visits that sum to about this, or of which the best has
// BEST_VISITS.
constexpr int CANDIDATE_VISITS = 1000;
constexpr int BEST_VISITS = 64;

// The score rounded to a multiple of step_cp, which doubles whenever the slope of the win rate
// halves, up to four times: 1 / (1 + exp(-score / 600)) is then rounded by at most step / 4800.
int rounded_score(int score_cp, int step_cp);

// Opening lines: line i has the moves (move16) moves[first[i]] .. moves[first[i + 1] - 1].
struct Openings {
    std::vector<std::string> sfen;
    std::vector<std::uint32_t> first{0};
    std::vector<std::uint16_t> moves;

    std::size_t size() const { return sfen.size(); }
};

}  // namespace komadori::generate
