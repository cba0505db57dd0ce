// komadori._core.alphabeta: the engine behind komadori.search.alphabeta.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "gil.h"
#include "komadori/alphabeta/engines.h"
#include "komadori/alphabeta/exchange.h"
#include "komadori/alphabeta/material.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/rules/staged_moves.h"
#include "module.h"

namespace komadori::alphabeta {
namespace {

nb::object mate_plies(const Info& info) {
    if (info.score >= MATE_BOUND) return nb::int_(MATE - info.score);
    if (info.score <= -MATE_BOUND) return nb::int_(-(MATE + info.score));
    return nb::none();
}

std::vector<int> move16s(const std::vector<Move>& moves) {
    std::vector<int> bits;
    for (Move m : moves) bits.push_back(m.move16());
    return bits;
}

nb::object optional_move16(Move m) {
    if (m.is_none()) return nb::none();
    return nb::int_(int(m.move16()));
}

std::shared_ptr<Engine> engine_named(std::string_view evaluator, const Options& options) {
    if (evaluator != "material") {
        throw nb::value_error(("unknown evaluator " + std::string(evaluator)).c_str());
    }
    ReleaseGil release;  // clearing a large table is slow
    return make_engine(material_workers(), options);
}

// Lists of pseudo-legal moves by kind, for tests against the legal moves.
std::vector<int> staged_moves(const Position& position, std::string_view kind, bool all) {
    ListedMove moves[MAX_LEGAL_MOVES + 47];
    ListedMove* end = moves;
    if (kind == "captures") end = generate_moves<MoveKind::CAPTURES>(position, moves, all);
    if (kind == "captures and promotions")
        end = generate_moves<MoveKind::CAPTURES_AND_PROMOTIONS>(position, moves, all);
    if (kind == "quiets") end = generate_moves<MoveKind::QUIETS>(position, moves, all);
    if (kind == "evasions") end = generate_moves<MoveKind::EVASIONS>(position, moves, all);
    Bitboard pinned = position.blockers(position.turn(), position.turn());
    std::vector<int> bits;
    for (ListedMove* m = moves; m < end; ++m) {
        if (is_legal_pseudo(position, pinned, m->move())) bits.push_back(m->move().move16());
    }
    return bits;
}

}  // namespace
}  // namespace komadori::alphabeta

void bind_alphabeta(nb::module_& m) {
    using namespace komadori;
    using namespace komadori::alphabeta;

    nb::class_<Limits>(m, "Limits", "Limits of one search; 0 is none.")
        .def(nb::init<>())
        .def_rw("depth", &Limits::depth)
        .def_rw("nodes", &Limits::nodes)
        .def_rw("minimum_ms", &Limits::minimum_ms)
        .def_rw("optimum_ms", &Limits::optimum_ms)
        .def_rw("maximum_ms", &Limits::maximum_ms)
        .def_rw("infinite", &Limits::infinite)
        .def_rw("searchmoves", &Limits::searchmoves);

    nb::class_<Parts>(m, "Parts", "Parts of the search that can be disabled.")
        .def(nb::init<>())
        .def_rw("table", &Parts::table)
        .def_rw("quiescence", &Parts::quiescence)
        .def_rw("null_move", &Parts::null_move)
        .def_rw("razoring", &Parts::razoring)
        .def_rw("futility", &Parts::futility)
        .def_rw("probing", &Parts::probing)
        .def_rw("reductions", &Parts::reductions)
        .def_rw("singular_extension", &Parts::singular_extension)
        .def_rw("corrections", &Parts::corrections)
        .def_rw("mate_in_one", &Parts::mate_in_one)
        .def_rw("mate_distance", &Parts::mate_distance)
        .def_rw("aspiration", &Parts::aspiration)
        .def_rw("repetition", &Parts::repetition)
        .def_rw("declaration", &Parts::declaration)
        .def_rw("all_moves", &Parts::all_moves);

    nb::class_<Turns>(m, "Turns",
                      "Lets at most this many threads of the engines that share it run at a time, "
                      "in turns.")
        .def(nb::init<int>(), nb::arg("threads"));

    nb::class_<Options>(m, "Options", "Options of the engine.")
        .def(nb::init<>())
        .def(nb::init<const Options&>(), nb::arg("other"))
        .def_rw("threads", &Options::threads)
        .def_rw("hash_mb", &Options::hash_mb)
        .def_rw("multi_pv", &Options::multi_pv)
        .def_rw("max_ply", &Options::max_ply)
        .def_rw("declaration_points", &Options::declaration_points)
        .def_rw("policy_depth", &Options::policy_depth)
        .def_rw("policy_nodes", &Options::policy_nodes)
        .def_rw("niceness", &Options::niceness)
        .def_prop_rw(
            "turns", [](const Options& o) { return o.turns; },
            [](Options& o, std::shared_ptr<Turns> turns) { o.turns = std::move(turns); },
            nb::for_setter(nb::arg("turns").none()),
            nb::for_getter(nb::sig("def turns(self) -> Turns | None")),
            nb::for_setter(nb::sig("def turns(self, turns: Turns | None, /) -> None")))
        .def_rw("parts", &Options::parts)
        .def(
            "set_constant",
            [](Options& o, const std::string& name, int value) {
                for (const ConstantField& field : CONSTANT_FIELDS) {
                    if (name == field.name) {
                        o.constants.*field.member = value;
                        return;
                    }
                }
                throw nb::key_error(name.c_str());
            },
            nb::arg("name"), nb::arg("value"), "Set one of constants().")
        .def(
            "set_draw_scores",
            [](Options& o, Score black, Score white) {
                o.draw_score[BLACK] = black;
                o.draw_score[WHITE] = white;
            },
            nb::arg("black_cp"), nb::arg("white_cp"));

    m.def(
        "constants",
        [] {
            const Constants defaults;
            std::vector<std::tuple<std::string, int, int, int>> all;
            for (const ConstantField& field : CONSTANT_FIELDS)
                all.emplace_back(field.name, defaults.*field.member, field.least, field.most);
            return all;
        },
        "The search's tunable constants: (name, value, minimum, maximum).");

    nb::class_<Info>(m, "Info", "One line of an iteration.")
        .def_ro("depth", &Info::depth)
        .def_ro("seldepth", &Info::selective_depth)
        .def_ro("nodes", &Info::nodes)
        .def_ro("time_ms", &Info::time_ms)
        .def_ro("hashfull", &Info::hashfull)
        .def_ro("multipv", &Info::multi_pv)
        .def_ro("score_cp", &Info::score)
        .def_prop_ro("is_lower_bound", [](const Info& info) { return info.bound == Bound::LOWER; })
        .def_prop_ro("is_upper_bound", [](const Info& info) { return info.bound == Bound::UPPER; })
        .def_prop_ro("mate_plies", &mate_plies, nb::sig("def mate_plies(self) -> int | None"))
        .def_prop_ro("pv", [](const Info& info) { return move16s(info.pv); });

    nb::class_<Result>(m, "Result", "The result of a search; moves as move16.")
        .def_prop_ro(
            "best", [](const Result& r) { return optional_move16(r.best); },
            nb::sig("def best(self) -> int | None"))
        .def_prop_ro(
            "ponder", [](const Result& r) { return optional_move16(r.ponder); },
            nb::sig("def ponder(self) -> int | None"))
        .def_ro("declares_win", &Result::declares_win)
        .def_ro("lines", &Result::lines);

    nb::class_<Engine>(
        m, "Engine",
        "Searches in the background, without the GIL. What needs the engine for itself "
        "waits until no search runs.")
        .def(nb::new_(&engine_named), nb::arg("evaluator"), nb::arg("options"))
        .def_prop_ro("options", &Engine::options, nb::call_guard<ReleaseGil>())
        .def(
            "set_options",
            [](Engine& engine, const Options& options) {
                without_gil([&](const Options& o) { engine.set_options(o); }, options);
            },
            nb::arg("options"))
        .def("new_game", &Engine::new_game, nb::call_guard<ReleaseGil>())
        .def(
            "evaluate",
            [](Engine& engine, const Position& position) {
                return without_gil([&](const Position& p) { return engine.evaluate(p); }, position);
            },
            nb::arg("position"))
        .def(
            "evaluator_mismatches",
            [](Engine& engine, const Position& start, std::uint64_t steps, std::uint64_t seed) {
                return without_gil(
                    [&](const Position& p) { return engine.evaluator_mismatches(p, steps, seed); },
                    start);
            },
            nb::arg("start"), nb::arg("steps"), nb::arg("seed"))
        .def(
            "start",
            [](Engine& engine, const Position& position, const Limits& limits) {
                without_gil([&](const Position& p, const Limits& l) { engine.start(p, l); },
                            position, limits);
            },
            nb::arg("position"), nb::arg("limits"))
        .def(
            "search",
            [](Engine& engine, const Position& position, const Limits& limits) {
                return without_gil(
                    [&](const Position& p, const Limits& l) { return engine.search(p, l); },
                    position, limits);
            },
            nb::arg("position"), nb::arg("limits"),
            "Searches on the calling thread and returns the result.")
        .def("wait", &Engine::wait, nb::arg("timeout_ms"), nb::call_guard<ReleaseGil>())
        .def(
            "step",
            [](Engine& engine) {
                nb::list requests;
                for (const PolicyRequest& r : engine.step()) {
                    requests.append(nb::make_tuple(r.key, r.sfen));
                }
                return requests;
            },
            nb::sig("def step(self) -> list[tuple[int, str]]"),
            "Key and SFEN of the positions that wait for priors.")
        .def(
            "supply",
            [](Engine& engine, std::uint64_t key, const std::vector<std::uint16_t>& moves,
               const std::vector<float>& values) { engine.supply(key, moves, values); },
            nb::arg("key"), nb::arg("moves"), nb::arg("log_probabilities"),
            "Supplies the policy's priors of a position; moves as move16.")
        .def_prop_ro("answered", &Engine::answered, "Positions supplied since new_game.")
        .def(
            "cutoffs",
            [](Engine& engine) {
                const Cutoffs c = engine.cutoffs();
                return std::make_pair(
                    std::vector<std::uint64_t>(c.all, c.all + Cutoffs::DEPTHS),
                    std::vector<std::uint64_t>(c.by_first, c.by_first + Cutoffs::DEPTHS));
            },
            "Beta cutoffs of the last search by remaining depth, and those by the first move.")
        .def_prop_ro("is_searching", &Engine::is_searching)
        .def("stop", &Engine::stop, nb::call_guard<ReleaseGil>())
        .def(
            "ponderhit",
            [](Engine& engine, const Limits& limits) {
                without_gil([&](const Limits& l) { engine.ponderhit(l); }, limits);
            },
            nb::arg("limits"))
        .def("result", &Engine::result, nb::call_guard<ReleaseGil>())
        .def_prop_ro("nodes", &Engine::nodes, nb::call_guard<ReleaseGil>())
        .def_prop_ro("table_bytes", &Engine::table_bytes);

    m.def(
        "exchange_gains",
        [](const Position& p, int move16, Score threshold) {
            return exchange_gains(p, require_legal(p, std::uint16_t(move16)), threshold);
        },
        nb::arg("position"), nb::arg("move16"), nb::arg("threshold_cp"));
    nb::class_<Outcome>(m, "Outcome", "The result of one search thread.")
        .def(
            "__init__",
            [](Outcome* o, int completed_depth, int depth, Score score, int bound) {
                new (o) Outcome{completed_depth, depth, score, Bound(bound)};
            },
            nb::arg("completed_depth"), nb::arg("depth"), nb::arg("score_cp"),
            nb::arg("bound") = int(Bound::EXACT));
    m.def("is_preferred", &is_preferred, nb::arg("helper"), nb::arg("best"),
          nb::arg("has_one_line"), "Whether a helper thread's result is played.");
    m.def("material", &material, nb::arg("position"));
    m.def(
        "key_after",
        [](const Position& p, int move16) {
            return p.key_after(require_legal(p, std::uint16_t(move16)));
        },
        nb::arg("position"), nb::arg("move16"));
    m.def("staged_moves", &staged_moves, nb::arg("position"), nb::arg("kind"), nb::arg("all"));
}
