// What a search is asked for, how it may go about it, and what it reports.
#pragma once

#include <cstdint>
#include <vector>

#include "komadori/alphabeta/score.h"
#include "komadori/rules/declaration.h"
#include "komadori/rules/types.h"

namespace komadori::alphabeta {

// Bounds of one search; 0 is none. Times in ms from its start, planned by komadori.search.clock.
struct Limits {
    int depth = 0;
    std::uint64_t nodes = 0;                 // of all threads together, used up exactly
    std::int64_t optimum_ms = 0;             // no new iteration once this has passed, nor before
                                             // where it equals the maximum
    std::int64_t maximum_ms = 0;             // stop at once
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
    Score draw_score[2] = {0, 0};  // of a draw, for the side to move at the root [colour]
    int max_ply = 0;               // the game is drawn when this many moves are made; 0: never
    DeclarationPoints declaration_points = POINTS_27;
    // Moves are ordered by a policy network's priors from this remaining depth up; 0: by none.
    // Below the root it evaluates one position per policy_nodes at most.
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
