#include "komadori/alphabeta/clock.h"

#include <algorithm>

namespace komadori::alphabeta {

TimeBudget time_budget(const Limits& limits, const Options& options, Color us, int ply) {
    TimeBudget budget;
    if (limits.infinite) return budget;
    if (limits.movetime_ms > 0) {
        budget.optimum_ms = budget.maximum_ms = limits.movetime_ms;
        return budget;
    }
    if (!limits.has_clock) return budget;

    std::int64_t left = std::max<std::int64_t>(limits.time_ms[us], 0);
    std::int64_t increment = limits.increment_ms[us], byoyomi = limits.byoyomi_ms;
    std::int64_t delay = options.network_delay_ms;
    // What can be used up in this move without losing on time.
    std::int64_t all = std::max<std::int64_t>(left + increment + byoyomi - delay, 1);
    if (byoyomi > 0 && left < byoyomi * 6 / 5) {  // from here on byoyomi is all there is
        budget.optimum_ms = budget.maximum_ms = all;
        return budget;
    }
    // Games last some 120 to 160 moves; keep enough for 15 more of one's own.
    std::int64_t moves_left = std::clamp(75 - ply / 2, 15, 50);
    std::int64_t share = left / moves_left + increment * 4 / 5 + byoyomi * 4 / 5;
    std::int64_t optimum = share * options.slow_mover / 100;
    std::int64_t maximum = std::min(optimum * 4, left / 4 + increment + byoyomi - delay);
    optimum = std::max(optimum, options.minimum_thinking_ms);
    budget.maximum_ms = std::clamp<std::int64_t>(std::max(maximum, optimum), 1, all);
    budget.optimum_ms = std::clamp<std::int64_t>(optimum - delay, 1, budget.maximum_ms);
    return budget;
}

}  // namespace komadori::alphabeta
