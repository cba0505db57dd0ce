// Whether the side to move mates by checks alone, and how.
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
    int max_ply = 0;              // the longest mate looked for; 0: any
    std::int64_t time_ms = 0;     // 0: no limit
    // Having found a mate, look for shorter ones until there is none within the limits.
    bool shortest = false;
    // Of a CPU's time after the first 100,000 moves, 0.01 to 1: for a solve beside a search.
    double share = 1.0;
    const std::atomic<bool>* stop = nullptr;  // set by anyone: the solve returns within 10 ms
};

struct MateResult {
    MateStatus status = MateStatus::UNKNOWN;
    // Of a mate: checks and the answers that hold out longest in what was searched, to the mate
    // itself, each legal; interpositions that only delay are moves like any other.
    std::vector<Move> moves;
    std::uint64_t nodes = 0;
    bool is_shortest = false;  // proven that no mate is shorter
};

// One solve at a time; solvers share nothing, so each thread may have its own.
class MateSolver {
  public:
    explicit MateSolver(std::size_t table_bytes) : table_(table_bytes), search_(table_) {}

    // Results don't depend on solves before. NO_MATE is of the rules, not of the limits, but with
    // max_ply it says that there is none so short. The side to move may have no king; throws
    // PositionError if the other has none. A position that the path of `root` holds three times
    // counts as failed for the attacker.
    MateResult solve(const Position& root, const MateLimits& limits);

    std::size_t table_bytes() const { return table_.bytes(); }
    int permille_used() const { return table_.permille_used(); }

  private:
    mate::Table table_;
    mate::Search search_;
};

// Whether the moves are legal from `root`, each of the attacker's a check, the last mate.
bool is_mating_line(const Position& root, const std::vector<Move>& moves);

}  // namespace komadori
