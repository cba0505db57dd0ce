#include "komadori/mate/solver.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "komadori/mate/checks.h"
#include "komadori/rules/errors.h"

namespace komadori {
namespace {

using mate::Budget;
using mate::Search;
using mate::Value;

// Keys that occur three times on the path: a fourth occurrence would end the game.
std::vector<std::uint64_t> nearly_repeated(const Position& root) {
    std::vector<std::uint64_t> found;
    if (root.path_length() < 8) return found;
    std::unordered_map<std::uint64_t, int> seen;
    for (Position p = root;; p.undo_move()) {
        if (++seen[p.key()] == 3) found.push_back(p.key());
        if (p.path_length() == 0) break;
    }
    return found;
}

// The mating line of a proven position: the attacker follows the shortest proof in the table, the
// defender the longest. Searches again for proofs that were overwritten; nullopt if the budget runs
// out.
std::optional<std::vector<Move>> mating_line(Search& search, const Position& root, int max_ply) {
    Position p = root;
    Color attacker = root.turn();
    std::vector<Move> line;
    Move moves[MAX_LEGAL_MOVES];
    while (line.size() < std::size_t(mate::MAX_DEPTH)) {
        bool attacks = p.turn() == attacker;
        int left = max_ply ? max_ply - int(line.size()) : 0;
        int left_below = max_ply ? left - 1 : 0;
        int n = attacks ? checking_moves(p, moves) : p.legal_moves(moves);
        if (!attacks && n == 0) return line;
        Move chosen;
        int plies = 0;
        for (int i = 0; i < n; ++i) {
            p.do_move(moves[i]);
            Value below;
            if (attacks && p.count_legal_moves() == 0) {
                below = {0, mate::INFINITE, {}, mate::NO_LOOP, 0, 0};
            } else {
                below = search.proof_of(p, attacker, left_below);
                if (!attacks && !below.is_proven()) below = search.prove(p, attacker, left_below);
            }
            p.undo_move();
            if (!below.is_proven()) {
                if (!attacks) return std::nullopt;
                continue;
            }
            if (chosen.is_none() || (attacks ? below.plies < plies : below.plies > plies)) {
                plies = below.plies;
                chosen = moves[i];
            }
        }
        if (chosen.is_none()) {
            Value again = search.prove(p, attacker, left);
            if (!again.is_proven()) return std::nullopt;
            chosen = p.from_move16(again.move);
            if (chosen.is_none()) return std::nullopt;
        }
        p.do_move(chosen);
        line.push_back(chosen);
    }
    return std::nullopt;
}

}  // namespace

bool is_mating_line(const Position& root, const std::vector<Move>& moves) {
    Position p = root;
    Color attacker = root.turn();
    for (Move m : moves) {
        if (!p.is_legal(m) || (p.turn() == attacker && !p.gives_check(m))) return false;
        p.do_move(m);
        Repetition r = p.repetition();
        if (r == Repetition::DRAW || r == Repetition::WIN || r == Repetition::LOSS) return false;
    }
    return p.turn() != attacker && p.in_check() && p.count_legal_moves() == 0;
}

MateResult MateSolver::solve(const Position& root, const MateLimits& limits) {
    using Clock = std::chrono::steady_clock;
    if (root.king(opponent(root.turn())) == NO_SQUARE) {
        throw PositionError("there is no king to mate: the side not to move has none");
    }
    Budget budget;
    constexpr std::int64_t ENDLESS_MS = std::int64_t(1) << 40;  // the clock counts nanoseconds
    if (limits.time_ms > 0 && limits.time_ms < ENDLESS_MS) {
        budget.deadline = Clock::now() + std::chrono::milliseconds(limits.time_ms);
    }
    budget.stop = limits.stop;
    budget.cpu_fraction = limits.cpu_fraction;
    std::vector<std::uint64_t> forbidden = nearly_repeated(root);

    MateResult result;
    // A mate takes an odd number of plies.
    int max_ply = limits.max_ply > 0 ? (limits.max_ply - 1) | 1 : 0;
    for (;;) {
        if (limits.max_nodes) {
            if (result.nodes >= limits.max_nodes) return result;
            budget.max_nodes = limits.max_nodes - result.nodes;
        }
        search_.begin(budget, forbidden);
        Value value = search_.solve(root, max_ply);
        std::optional<std::vector<Move>> line;
        if (value.is_proven()) line = mating_line(search_, root, max_ply);
        result.nodes += search_.nodes();
        bool found_before = result.status == MateStatus::MATE;
        if (line && is_mating_line(root, *line)) {
            result.status = MateStatus::MATE;
            result.moves = std::move(*line);
            if (!limits.shortest) return result;
            if (result.moves.size() == 1) {
                result.is_shortest = true;
                return result;
            }
            max_ply = int(result.moves.size()) - 2;
            continue;
        }
        if (value.is_disproven() && value.loop == mate::NO_LOOP) {
            if (found_before) {
                result.is_shortest = true;
            } else {
                result.status = MateStatus::NO_MATE;
            }
        }
        return result;
    }
}

}  // namespace komadori
