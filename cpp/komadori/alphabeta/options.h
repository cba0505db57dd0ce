// What a search is asked for, how it may go about it, and what it reports.
#pragma once

#include <cstdint>
#include <vector>

#include "komadori/alphabeta/score.h"
#include "komadori/rules/types.h"

namespace komadori::alphabeta {

// Bounds of one search; 0 is none. Times in ms.
struct Limits {
    int depth = 0;
    std::uint64_t nodes = 0;  // of all threads together; exact with one thread
    std::int64_t movetime_ms = 0;
    std::int64_t time_ms[2] = {0, 0}, increment_ms[2] = {0, 0}, byoyomi_ms = 0;
    bool has_clock = false;                  // time_ms, increment_ms and byoyomi_ms count
    bool infinite = false;                   // until stopped; also while pondering
    std::vector<std::uint16_t> searchmoves;  // move16; empty: all
};

// Parts of the search that can be left out: to test the rest, and to measure what each is worth.
struct Parts {
    bool table = true;
    bool quiescence = true;
    bool null_move = true;
    bool razoring = true;
    bool futility = true;  // of nodes and of moves, exchange pruning included
    bool probing = true;   // ProbCut: captures that beat beta by a margin at reduced depth
    bool reductions = true;
    bool check_extension = true;
    bool singular_extension = true;
    bool mate_in_one = true;
    bool mate_distance = true;
    bool aspiration = true;
    bool repetition = true;
    bool declaration = true;
    bool all_moves = false;  // non-promotions that only serve to avoid mate by a dropped pawn
};

struct Options {
    int threads = 1;
    int hash_mb = 64;
    int multi_pv = 1;
    Score draw_score[2] = {0, 0};      // of a draw, for the side to move at the root [colour]
    int max_ply = 0;                   // the game is drawn when this many moves are made; 0: never
    int declare_points[2] = {28, 27};  // of Black, White; 0: no declaration
    std::int64_t network_delay_ms = 20;  // kept off every move's time
    std::int64_t minimum_thinking_ms = 0;
    int slow_mover = 100;  // per cent of the usual share of the clock
    // Moves are ordered by a policy network's priors from this remaining depth up; 0: by none. Of
    // positions but the root one is asked for in so many nodes at most.
    int policy_depth = 0;
    std::uint64_t policy_nodes = 20000;
    Parts parts;
};

// One line of a finished (or interrupted) iteration.
struct Info {
    int depth = 0, selective_depth = 0;
    std::uint64_t nodes = 0;
    std::int64_t time_ms = 0;
    int hashfull = 0;  // per mille
    int multi_pv = 1;  // rank of the line, from 1
    Score score = 0;   // of the root's side to move
    Bound bound = Bound::EXACT;
    std::vector<Move> pv;
};

}  // namespace komadori::alphabeta
