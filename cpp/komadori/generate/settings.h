// How teacher games are played. A game depends on these, its number and the weights alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace komadori::generate {

// Bounds of every search of a game; 0 is none. One of several is drawn per game by its weight.
struct SearchBounds {
    int depth = 0;
    std::uint64_t nodes = 0;
    double weight = 1;
};

struct Settings {
    std::uint64_t seed = 1;
    std::vector<SearchBounds> searches;
    // The share of games that begin with a line of the openings, and how many of its moves are
    // played: drawn evenly between the two, at most all of them.
    double opening_share = 1;
    int opening_min_plies = 0, opening_max_plies = 0;
    int random_moves = 6;  // after the opening, drawn evenly from 0 on

    int multi_pv = 1;  // lines of the searches that are sampled or keep candidates
    // The first moves that aren't random are drawn among the lines: as many plies as are drawn
    // evenly from 0 on, of lines at most window_cp below the best, by exp(score / temperature).
    int sampled_plies = 0;
    double sample_temperature_cp = 50;
    int sample_window_cp = 150;
    double candidate_share = 0;             // of the other plies that keep candidates too
    double candidate_temperature_cp = 100;  // of the visits that stand for their scores

    double opponent_share = 0;                    // of games in which one side is the opponent
    std::vector<SearchBounds> opponent_searches;  // empty: as the game's own

    int resign_cp = 3000, resign_plies = 2;  // a score beyond this for that many plies in a row
    double play_on_share = 0.1;              // of games that nobody resigns
    int repetitions = 2;                     // occurrences of a position that end the game
    int max_plies = 320;

    double inner_share = 0;  // of plies of whose search a position is searched too
    int inner_depth = 8;     // at most this many moves below the ply
};

// Visits that stand for candidates' scores add up to about this.
constexpr int CANDIDATE_VISITS = 1000;

// Lines to begin with: move16 of line i are moves[first[i]] .. moves[first[i + 1] - 1].
struct Openings {
    std::vector<std::string> sfen;
    std::vector<std::uint32_t> first{0};
    std::vector<std::uint16_t> moves;

    std::size_t size() const { return sfen.size(); }
};

}  // namespace komadori::generate
