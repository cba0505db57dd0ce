// Mate solver: mates by continuous checks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "komadori/mate/dfpn.h"
#include "komadori/rules/position.h"

namespace komadori {

enum class MateStatus : std::uint8_t { MATE, NO_MATE, UNKNOWN };

struct MateLimits {
    std::uint64_t max_nodes = 0;  // moves made; 0: no limit
    int max_ply = 0;              // the longest mate to look for; 0: no limit
    std::int64_t time_ms = 0;     // 0: no limit
    // After a mate, look for shorter ones until none is found within the limits.
    bool shortest = false;
    // Fraction of a CPU's time after the first 100,000 moves, 0.01 to 1; for solving in the
    // background of a search.
    double cpu_fraction = 1.0;
    const std::atomic<bool>* stop = nullptr;  // when set, the solve returns within 10 ms
};

struct MateResult {
    MateStatus status = MateStatus::UNKNOWN;
    // The mating line: checks, and the replies that last longest among those searched, up to the
    // mate. All moves are legal; futile interpositions are included.
    std::vector<Move> moves;
    std::uint64_t nodes = 0;
    bool is_shortest = false;  // proven that no mate is shorter
};

// Not thread-safe; use one solver per thread.
class MateSolver {
  public:
    explicit MateSolver(std::size_t table_bytes) : table_(table_bytes), search_(table_) {}

    // Results don't depend on earlier solves. NO_MATE is a proof (with max_ply, that there is no
    // mate of that length); a limit reached gives UNKNOWN. The side to move may have no king;
    // throws PositionError if the opponent has none. A position that occurs three times on the path
    // of `root` counts as failed for the attacker.
    MateResult solve(const Position& root, const MateLimits& limits);

    std::size_t table_bytes() const { return table_.bytes(); }
    int permille_used() const { return table_.permille_used(); }

  private:
    mate::Table table_;
    mate::Search search_;
};

// Whether the moves are legal from `root`, every move of the attacker is a check and the last one
// is mate.
bool is_mating_line(const Position& root, const std::vector<Move>& moves);

}  // namespace komadori
