// komadori._core.generate: teacher games.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

#include "gil.h"
#include "komadori/generate/games.h"
#include "komadori/generate/nearby.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "module.h"
#include "sample_arrays.h"

using namespace komadori;
using namespace komadori::generate;
using namespace nb::literals;

namespace {

using HcpRows = nb::ndarray<const std::uint8_t, nb::shape<-1, 32>, nb::c_contig, nb::device::cpu>;
using Results = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Engines = std::vector<alphabeta::Engine*>;

nb::bytes to_bytes(const std::string& s) { return nb::bytes(s.data(), s.size()); }

// A game that owns the settings and openings that it refers to.
struct OwnedGame {
    Settings settings;
    Openings openings;
    TeacherGame game;

    OwnedGame(const Settings& s, const Openings& o, std::uint64_t number)
        : settings(s), openings(o), game(settings, openings, number) {}
    OwnedGame(const OwnedGame&) = delete;
};

std::vector<std::string> path_of(const Position& position) {
    std::vector<std::string> moves;
    for (int i = 0; i < position.path_length(); ++i) {
        moves.push_back(to_usi(position.path_move(i).move16()));
    }
    return moves;
}

}  // namespace

void bind_generate(nb::module_& m) {
    m.attr("CANDIDATE_VISITS") = CANDIDATE_VISITS;

    nb::class_<SearchBounds>(m, "SearchBounds", "Limits of every search of a game; 0 is none.")
        .def(
            "__init__",
            [](SearchBounds* self, int depth, std::uint64_t nodes, double weight) {
                new (self) SearchBounds{depth, nodes, weight};
            },
            "depth"_a, "nodes"_a, "weight"_a)
        .def_ro("depth", &SearchBounds::depth)
        .def_ro("nodes", &SearchBounds::nodes)
        .def_ro("weight", &SearchBounds::weight);

    nb::class_<Settings>(m, "Settings", "Settings of teacher games.")
        .def(nb::init<>())
        .def_rw("seed", &Settings::seed)
        .def_rw("searches", &Settings::searches)
        .def_rw("opening_fraction", &Settings::opening_fraction)
        .def_rw("opening_min_plies", &Settings::opening_min_plies)
        .def_rw("opening_max_plies", &Settings::opening_max_plies)
        .def_rw("random_moves", &Settings::random_moves)
        .def_rw("multi_pv", &Settings::multi_pv)
        .def_rw("sampled_plies", &Settings::sampled_plies)
        .def_rw("sample_temperature_cp", &Settings::sample_temperature_cp)
        .def_rw("sample_window_cp", &Settings::sample_window_cp)
        .def_rw("candidate_fraction", &Settings::candidate_fraction)
        .def_rw("candidate_temperature_cp", &Settings::candidate_temperature_cp)
        .def_rw("candidate_minimum", &Settings::candidate_minimum)
        .def_rw("candidate_steps", &Settings::candidate_steps)
        .def_rw("score_step_cp", &Settings::score_step_cp)
        .def_rw("opponent_fraction", &Settings::opponent_fraction)
        .def_rw("opponent_searches", &Settings::opponent_searches)
        .def_rw("resign_cp", &Settings::resign_cp)
        .def_rw("resign_plies", &Settings::resign_plies)
        .def_rw("play_on_fraction", &Settings::play_on_fraction)
        .def_rw("repetitions", &Settings::repetitions)
        .def_rw("max_plies", &Settings::max_plies)
        .def_rw("inner_fraction", &Settings::inner_fraction)
        .def_rw("inner_depth", &Settings::inner_depth);

    nb::class_<Openings>(m, "Openings", "Opening lines.")
        .def(nb::init<>())
        .def("__len__", &Openings::size)
        .def(
            "add",
            [](Openings& o, const std::string& sfen, const std::vector<std::string>& moves) {
                Position position;
                position.set_sfen(sfen);
                position.hcp();  // throws if hcpe3 can't represent it
                std::vector<std::uint16_t> line;
                for (const std::string& text : moves) {
                    const Move move = require_legal(position, parse_usi_move(text));
                    line.push_back(move.move16());
                    position.do_move(move);
                }
                o.sfen.push_back(position.path_length() ? sfen : position.sfen());
                o.moves.insert(o.moves.end(), line.begin(), line.end());
                o.first.push_back(std::uint32_t(o.moves.size()));
            },
            "sfen"_a, "moves"_a,
            "Adds a line of USI moves. Raises RulesError for an illegal move or a position that "
            "hcp can't represent.");

    nb::class_<GameFacts>(m, "GameFacts", "Statistics of a finished game.")
        .def_ro("number", &GameFacts::number)
        .def_ro("digest", &GameFacts::digest, "Hash of the initial position and the moves.")
        .def_prop_ro("winner", [](const GameFacts& f) { return int(f.winner); })
        .def_prop_ro("end", [](const GameFacts& f) { return int(f.end); })
        .def_ro("plies", &GameFacts::plies)
        .def_ro("scored", &GameFacts::scored, "Plies to train on.")
        .def_ro("differing", &GameFacts::differing, "Scored plies whose move isn't the best.")
        .def_ro("with_candidates", &GameFacts::with_candidates, "Plies with several candidates.")
        .def_prop_ro(
            "foreseen", [](const GameFacts& f) { return int(f.foreseen); },
            "The winner by the resignation rule, of a game played on without resignation.")
        .def_ro("nodes", &GameFacts::nodes);

    nb::class_<FinishedGame>(m, "FinishedGame", "A finished game in hcpe3.")
        .def_ro("facts", &FinishedGame::facts)
        .def_prop_ro("hcpe3", [](const FinishedGame& g) { return to_bytes(g.hcpe3); })
        .def_prop_ro(
            "inner", [](const FinishedGame& g) { return to_bytes(g.inner); },
            "Positions visited by its searches, each as a game of one ply.");

    nb::class_<Request>(m, "Request", "The search that a game waits for.")
        .def_prop_ro("depth", [](const Request& r) { return r.bounds.depth; })
        .def_prop_ro("nodes", [](const Request& r) { return r.bounds.nodes; })
        .def_ro("multi_pv", &Request::multi_pv)
        .def_ro("by_opponent", &Request::by_opponent);

    nb::class_<OwnedGame>(m, "TeacherGame",
                          "A game that requests searches and consumes their results.")
        .def(nb::init<const Settings&, const Openings&, std::uint64_t>(), "settings"_a,
             "openings"_a, "number"_a)
        .def_prop_ro("is_over", [](const OwnedGame& g) { return g.game.is_over(); })
        .def_prop_ro("initial_sfen", [](const OwnedGame& g) { return g.game.initial_sfen(); })
        .def_prop_ro(
            "moves", [](const OwnedGame& g) { return path_of(g.game.position()); }, "In USI.")
        .def_prop_ro("position", [](const OwnedGame& g) { return g.game.position(); })
        .def(
            "request", [](OwnedGame& g) { return g.game.request(); },
            "Call it once before each answer.")
        .def(
            "answer",
            [](OwnedGame& g, const std::vector<std::tuple<std::string, int>>& lines,
               std::uint64_t nodes, bool declares_win) {
                std::vector<ScoredMove> found;
                for (const auto& [text, score] : lines) {
                    found.push_back(
                        {require_legal(g.game.position(), parse_usi_move(text)), score});
                }
                g.game.answer(std::move(found), nodes, declares_win);
            },
            "lines"_a, "nodes"_a, "declares_win"_a = false,
            "lines: (USI move, centipawns from the side to move's view), best first; empty: the "
            "side to move resigns. Raises RulesError for an illegal move.")
        .def(
            "finished",
            [](const OwnedGame& g) {
                return FinishedGame{g.game.facts(), g.game.to_hcpe3(), g.game.inner_to_hcpe3()};
            },
            "The finished game; is_over must be true.");

    nb::class_<TeacherGames>(m, "TeacherGames", "Teacher games, one thread per engine.")
        .def(
            "__init__",
            [](TeacherGames* self, const Engines& engines, const Engines& opponents,
               const Settings& settings, const Openings& openings) {
                new (self) TeacherGames(without_none(engines), without_none(opponents), settings,
                                        openings);
            },
            "engines"_a, "opponents"_a, "settings"_a, "openings"_a, nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 3>())
        .def("add", &TeacherGames::add, "numbers"_a, "Queues games, to be played in this order.")
        .def_prop_ro("waiting", &TeacherGames::waiting, "The number of unfinished games.")
        .def("take", &TeacherGames::take, "timeout_ms"_a, nb::call_guard<ReleaseGil>(),
             "The games finished since the last call; waits up to the timeout for one.")
        .def("stop", &TeacherGames::stop, nb::call_guard<ReleaseGil>(),
             "Stops the threads; running games are lost.")
        .def_prop_ro("nodes", &TeacherGames::nodes, "Nodes searched for the finished games.");

    m.attr("NEARBY_BLOCK") = NEARBY_BLOCK;

    nb::class_<NearbySettings>(m, "NearbySettings", "Positions a few random moves from others.")
        .def(nb::init<>())
        .def_rw("seed", &NearbySettings::seed)
        .def_rw("min_plies", &NearbySettings::min_plies)
        .def_rw("max_plies", &NearbySettings::max_plies)
        .def_rw("tactical_fraction", &NearbySettings::tactical_fraction)
        .def_rw("bounds", &NearbySettings::bounds)
        .def_rw("limit_cp", &NearbySettings::limit_cp)
        .def_rw("evaluated_every", &NearbySettings::evaluated_every)
        .def_rw("label_nodes", &NearbySettings::label_nodes);

    m.def(
        "nearby_position",
        [](const Position& from, const NearbySettings& settings, std::uint64_t number) {
            return nearby_position(from, settings, number);
        },
        "position"_a, "settings"_a, "number"_a,
        "The position of draw `number`, without its path; None if the game ends before.");

    nb::class_<NearbySearch>(m, "NearbySearch",
                             "Searches positions near others, one thread per engine.")
        .def(
            "__init__",
            [](NearbySearch* self, const Engines& engines, const NearbySettings& settings) {
                new (self) NearbySearch(without_none(engines), settings);
            },
            "engines"_a, "settings"_a, nb::keep_alive<1, 2>())
        .def(
            "run",
            [](NearbySearch& search, const HcpRows& hcp, const Results& result,
               std::uint64_t first) {
                if (hcp.shape(0) != result.shape(0)) {
                    throw std::invalid_argument("columns of samples differ in length");
                }
                SampleTable found;
                {
                    ReleaseGil release;
                    found =
                        search.run({hcp.data(), hcp.size()}, {result.data(), result.size()}, first);
                }
                return to_dict(std::move(found));
            },
            "hcp"_a, "result"_a, "first"_a,
            nb::sig("def run(self, hcp: numpy.typing.NDArray[numpy.uint8], result: "
                    "numpy.typing.NDArray[numpy.float32], first: int) -> dict[str, typing.Any]"),
            "Columns of samples near the rows; `game` is the index of the row. Row k uses draw "
            "first + k. After `stop`, only the rows searched so far.")
        .def("stop", &NearbySearch::stop, "Stops `run` of another thread.")
        .def_prop_ro("done", &NearbySearch::done, "Rows processed.")
        .def_prop_ro("nodes", &NearbySearch::nodes)
        .def_prop_ro("search_seconds", &NearbySearch::search_seconds,
                     "Time inside searches, summed over threads.");
}
