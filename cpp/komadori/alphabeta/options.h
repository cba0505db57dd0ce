// Limits, options and reports of a search.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "komadori/alphabeta/constants.h"
#include "komadori/alphabeta/score.h"
#include "komadori/rules/declaration.h"
#include "komadori/rules/types.h"

namespace komadori::alphabeta {

class Turns;

// Limits of one search; 0 is none. Times in ms from its start, planned by komadori.search.clock.
struct Limits {
    int depth = 0;
    std::uint64_t nodes = 0;                 // of all threads together; exact
    std::int64_t minimum_ms = 0;             // new iterations until then, unless a mate is found
    std::int64_t optimum_ms = 0;             // no new iteration after this, more or less as the
                                             // result is unstable; exact if equal to the maximum
    std::int64_t maximum_ms = 0;             // stop at once
    bool infinite = false;                   // until stopped; also while pondering
    std::vector<std::uint16_t> searchmoves;  // move16; empty: all
};

// Parts of the search that can be disabled, for tests and ablations.
struct Parts {
    bool table = true;
    bool quiescence = true;
    bool null_move = true;
    bool razoring = true;
    bool futility = true;  // of nodes and moves, including pruning by static exchange
    bool probing = true;   // ProbCut
    bool reductions = true;
    bool singular_extension = true;
    bool corrections = true;  // of the evaluation, by correction histories
    bool mate_in_one = true;
    bool mate_distance = true;
    bool aspiration = true;
    bool repetition = true;
    bool declaration = true;
    bool all_moves = false;  // generate also the non-promotions that generate_moves omits
};

struct Options {  // set by AlphaBetaOptions in search/alphabeta.py, which has the defaults
    int threads = 1;
    int hash_mb = 64;
    int multi_pv = 1;
    Score draw_score[2] = {0, 0};  // value of a draw for the root's side to move, by colour
    int max_ply = 0;               // the game is drawn after this many moves; 0: never
    DeclarationPoints declaration_points = POINTS_27;
    // Orders moves by a policy network's priors at nodes of at least this remaining depth; 0:
    // never. Below the root, requests at most one position per policy_nodes nodes.
    int policy_depth = 0;
    std::uint64_t policy_nodes = 20000;
    int niceness = 0;              // added to that of the threads of Engine::start (Linux)
    std::shared_ptr<Turns> turns;  // searches that share the CPUs; null: this one always runs
    Parts parts;
    Constants constants;
};

// One line of a finished (or interrupted) iteration.
struct Info {
    int depth = 0, selective_depth = 0;
    std::uint64_t nodes = 0;
    std::int64_t time_ms = 0;
    int hashfull = 0;  // per mille
    int multi_pv = 1;  // rank of the line, from 1
    Score score = 0;   // the root's side to move's view
    Bound bound = Bound::EXACT;
    std::vector<Move> pv;
};

}  // namespace komadori::alphabeta
