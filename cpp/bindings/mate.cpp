// komadori._core.mate: the df-pn solver and the fixed-depth search. Moves are move16.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "gil.h"
#include "komadori/mate/checks.h"
#include "komadori/mate/leaf.h"
#include "komadori/mate/solver.h"
#include "module.h"

namespace komadori {
namespace {

struct StopFlag {
    std::atomic<bool> raised{false};
};

std::vector<std::uint16_t> to_bits(const std::vector<Move>& moves) {
    std::vector<std::uint16_t> bits;
    for (Move m : moves) bits.push_back(m.move16());
    return bits;
}

// A solver that rejects concurrent solves.
class GuardedSolver {
  public:
    explicit GuardedSolver(double hash_mb) : solver_(checked_bytes(hash_mb)) {}

    MateResult solve(const Position& position, std::uint64_t max_nodes, int max_ply,
                     std::int64_t time_ms, bool shortest, double cpu_fraction,
                     const StopFlag* stop) {
        if (max_ply < 0 || time_ms < 0) throw nb::value_error("a limit is negative");
        if (!(cpu_fraction >= 0.01 && cpu_fraction <= 1.0))
            throw nb::value_error("cpu_fraction must be 0.01 to 1");
        if (busy_.exchange(true)) throw std::runtime_error("the solver is already running");
        Position copy = position;  // Python may change the board during the solve
        struct Release {
            std::atomic<bool>& busy;
            ~Release() { busy = false; }
        } release{busy_};
        ReleaseGil unlocked;
        return solver_.solve(copy, {max_nodes, max_ply, time_ms, shortest, cpu_fraction,
                                    stop ? &stop->raised : nullptr});
    }
    int permille_used() const { return solver_.permille_used(); }
    std::size_t table_bytes() const { return solver_.table_bytes(); }

  private:
    static std::size_t checked_bytes(double hash_mb) {
        if (!(hash_mb > 0 && hash_mb <= 1 << 20)) {
            throw nb::value_error("hash_mb must be above 0 and at most 1048576");
        }
        return std::size_t(hash_mb * (1 << 20));
    }

    MateSolver solver_;
    std::atomic<bool> busy_{false};
};

}  // namespace
}  // namespace komadori

void bind_mate(nb::module_& m) {
    using namespace komadori;
    nb::enum_<MateStatus>(m, "MateStatus", "The result of a mate search.")
        .value("MATE", MateStatus::MATE)
        .value("NO_MATE", MateStatus::NO_MATE)
        .value("UNKNOWN", MateStatus::UNKNOWN);
    nb::class_<StopFlag>(m, "StopFlag",
                         "Stops the solves that it was passed to; may be set from any thread.")
        .def(nb::init<>())
        .def("set", [](StopFlag& f) { f.raised = true; })
        .def("clear", [](StopFlag& f) { f.raised = false; })
        .def("is_set", [](const StopFlag& f) { return f.raised.load(); });
    nb::class_<MateResult>(m, "SolveResult")
        .def_ro("status", &MateResult::status)
        .def_prop_ro("moves", [](const MateResult& r) { return to_bits(r.moves); })
        .def_ro("nodes", &MateResult::nodes)
        .def_ro("is_shortest", &MateResult::is_shortest);
    nb::class_<GuardedSolver>(m, "Solver")
        .def(nb::init<double>(), nb::arg("hash_mb"))
        .def("solve", &GuardedSolver::solve, nb::arg("position"), nb::arg("max_nodes"),
             nb::arg("max_ply"), nb::arg("time_ms"), nb::arg("shortest"), nb::arg("cpu_fraction"),
             nb::arg("stop").none())
        .def_prop_ro("permille_used", &GuardedSolver::permille_used)
        .def_prop_ro("table_bytes", &GuardedSolver::table_bytes);
    m.def(
        "mate_within",
        [](const Position& position, int plies) {
            if (plies < 0 || plies > MAX_LEAF_PLIES) {
                throw nb::value_error(("plies must be 0 to " + std::to_string(MAX_LEAF_PLIES) +
                                       ", not " + std::to_string(plies))
                                          .c_str());
            }
            return without_gil([&](Position& p) { return mate_within(p, plies).move16(); },
                               position);
        },
        nb::arg("position"), nb::arg("plies"), "The first move's move16, 0 if there is no mate.");
    m.def(
        "checking_moves",
        [](const Position& position) {
            Move moves[MAX_LEGAL_MOVES];
            int n = checking_moves(position, moves);
            return to_bits(std::vector<Move>(moves, moves + n));
        },
        nb::arg("position"));
}
