// How long to think about a move.
#pragma once

#include <chrono>
#include <cstdint>

#include "komadori/alphabeta/options.h"

namespace komadori::alphabeta {

inline std::int64_t now_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

struct TimeBudget {
    static constexpr std::int64_t NEVER = std::int64_t(1) << 60;
    std::int64_t optimum_ms = NEVER;  // no new iteration once this has passed
    std::int64_t maximum_ms = NEVER;  // stop at once
};

// The clock's share for the move number `ply` of side `us`. Without a clock, movetime or nothing.
TimeBudget time_budget(const Limits& limits, const Options& options, Color us, int ply);

}  // namespace komadori::alphabeta
