// Which of several search threads' results is played.
#pragma once

#include "komadori/alphabeta/score.h"

namespace komadori::alphabeta {

// The result of one thread's search.
struct Outcome {
    int completed_depth = 0;     // of its last complete iteration; 0: none
    int depth = 0;               // of its best line, which may be of an interrupted iteration
    Score score = 0;             // of that line
    Bound bound = Bound::EXACT;  // of that score

    constexpr bool has_mate() const { return score >= MATE_BOUND && allows(bound, Bound::LOWER); }
};

// Whether a helper's result is played instead of the best so far, which is at first that of the
// first thread: a shorter mate, or a deeper completed iteration with no lower score. If a node
// limit stopped the first thread within its first iteration, any helper that came further is
// better. With several lines only this last rule holds, since those of the helpers weren't
// reported.
constexpr bool is_preferred(const Outcome& helper, const Outcome& best, bool has_one_line) {
    const bool is_deeper = helper.completed_depth > best.completed_depth;
    if (has_one_line) {
        if (helper.has_mate()) return !best.has_mate() || helper.score > best.score;
        if (best.has_mate()) return false;
    }
    if (best.completed_depth == 0) return is_deeper || helper.depth > best.depth;
    return is_deeper && has_one_line && helper.score >= best.score;
}

}  // namespace komadori::alphabeta
