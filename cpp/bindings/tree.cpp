// komadori._core.tree: the PUCT search graph, used by komadori.search.
#include "komadori/tree/tree.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "gil.h"
#include "module.h"
#include "named_tables.h"

namespace komadori {
namespace {

using Planes = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Policy = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Moves = std::vector<std::uint16_t>;

std::string shape_text(std::size_t rows, const FeatureInput& input) {
    const std::string cells = input.is_tokens ? std::to_string(TOKEN_SIZE) : "9, 9";
    return "[" + (rows ? std::to_string(rows) : "N") + ", " + std::to_string(input.planes()) +
           ", " + cells + "]";
}

bool has_shape(const Planes& array, std::size_t rows, const FeatureInput& input) {
    if (array.ndim() != (input.is_tokens ? 3u : 4u) || array.shape(0) != rows) return false;
    if (array.shape(1) != std::size_t(input.planes())) return false;
    if (input.is_tokens) return array.shape(2) == TOKEN_SIZE;
    return array.shape(2) == 9 && array.shape(3) == 9;
}

// A Batch that keeps the caller's arrays alive.
struct BoundBatch {
    BoundBatch(std::vector<Planes> inputs, const std::string& features, const std::string& labels)
        : arrays(std::move(inputs)),
          batch(make(arrays, table_named(features), scheme_named(labels))) {}

    std::vector<Planes> arrays;
    Batch batch;

  private:
    static Batch make(const std::vector<Planes>& arrays, const FeatureTable& table,
                      const LabelScheme& scheme) {
        if (arrays.size() != table.inputs.size()) {
            throw nb::value_error((std::to_string(arrays.size()) + " arrays for " + table.name +
                                   ", which has " + std::to_string(table.inputs.size()) + " inputs")
                                      .c_str());
        }
        const nb::dlpack::dtype type = arrays[0].dtype();
        const bool is_uint8 = type == nb::dtype<std::uint8_t>();
        if ((!is_uint8 && type != nb::dtype<float>()) ||
            std::ranges::any_of(arrays, [&](const Planes& a) { return a.dtype() != type; })) {
            throw nb::type_error("the arrays of a batch must be all float32 or all uint8");
        }
        if (is_uint8 && !table.is_binary()) {
            throw nb::type_error(
                (table.name + " has values other than 0 and 1: float32 only").c_str());
        }
        const std::size_t rows = arrays[0].ndim() ? arrays[0].shape(0) : 0;
        void* data[MAX_INPUTS] = {};
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            if (rows == 0 || !has_shape(arrays[i], rows, table.inputs[i])) {
                throw nb::value_error(
                    (table.inputs[i].name + " is not " + shape_text(rows, table.inputs[i]))
                        .c_str());
            }
            data[i] = arrays[i].data();
        }
        return Batch(table, scheme, is_uint8 ? PlaneType::UINT8 : PlaneType::FLOAT32, int(rows),
                     std::span(data, arrays.size()));
    }
};

int expand_batch(Tree& tree, BoundBatch& bound, const Policy& policy, const Values& value) {
    const auto rows = std::size_t(bound.batch.rows());
    if (policy.shape(0) < rows || value.shape(0) < rows) {
        throw nb::value_error("fewer outputs than rows in the batch");
    }
    if (const int labels = bound.batch.labels.size(); policy.shape(1) != std::size_t(labels)) {
        throw nb::value_error(("policy is not [N, " + std::to_string(labels) + "]").c_str());
    }
    const ReleaseGil release;
    return tree.expand(bound.batch, policy.data(), value.data());
}

void bind_options(nb::module_& m) {
    nb::class_<TreeOptions>(m, "TreeOptions", "Options of the PUCT search, see `tree/options.h`.")
        .def(nb::init<>())
        .def_rw("c_init", &TreeOptions::c_init)
        .def_rw("c_base", &TreeOptions::c_base)
        .def_rw("fpu_reduction", &TreeOptions::fpu_reduction)
        .def_rw("c_init_root", &TreeOptions::c_init_root)
        .def_rw("c_base_root", &TreeOptions::c_base_root)
        .def_rw("fpu_reduction_root", &TreeOptions::fpu_reduction_root)
        .def_rw("c_growth", &TreeOptions::c_growth)
        .def_rw("stdev_scale", &TreeOptions::stdev_scale)
        .def_rw("stdev_prior", &TreeOptions::stdev_prior)
        .def_rw("stdev_prior_weight", &TreeOptions::stdev_prior_weight)
        .def_rw("lcb_stdevs", &TreeOptions::lcb_stdevs)
        .def_rw("lcb_min_visits", &TreeOptions::lcb_min_visits)
        .def_rw("value_bias", &TreeOptions::value_bias)
        .def_rw("uncertainty_weight", &TreeOptions::uncertainty_weight)
        .def_rw("temperature", &TreeOptions::temperature)
        .def_rw("temperature_root", &TreeOptions::temperature_root)
        .def_rw("temperature_decay", &TreeOptions::temperature_decay)
        .def_rw("visits_per_flight", &TreeOptions::visits_per_flight)
        .def_rw("draw_value", &TreeOptions::draw_value)
        .def_rw("draw_ply", &TreeOptions::draw_ply)
        .def_rw("repetition", &TreeOptions::repetition)
        .def_rw("mate_in_one", &TreeOptions::mate_in_one)
        .def_rw("declaration_points", &TreeOptions::declaration_points)
        .def("exploration", &TreeOptions::exploration, nb::arg("visits"), nb::arg("at_root"),
             "Factor of prior / (1 + visits of the move) in a move's PUCT score, at a "
             "node with this\nmany visits below it; without the factor of stdev_scale.");
}

void bind_reports(nb::module_& m) {
    nb::enum_<Proof>(m, "Proof", "The proven value of a position or move.")
        .value("NONE", Proof::NONE)
        .value("WIN", Proof::WIN)
        .value("LOSS", Proof::LOSS)
        .value("DRAW", Proof::DRAW);
    nb::class_<RootMove>(m, "RootMove", "A root move, from the view of the side that makes it.")
        .def_ro("move16", &RootMove::move16)
        .def_ro("visits", &RootMove::visits)
        .def_ro("value", &RootMove::value)
        .def_ro("prior", &RootMove::prior)
        .def_ro("proof", &RootMove::proof)
        .def_ro("proof_plies", &RootMove::proof_plies)
        .def_ro("repetition", &RootMove::repetition)
        .def_ro("lower_bound", &RootMove::lower_bound);
    nb::class_<TreeStats>(
        m, "TreeStats",
        "Counts since the tree was created or cleared, mostly of playouts by their end.")
        .def_ro("evaluated", &TreeStats::evaluated)
        .def_ro("terminal", &TreeStats::terminal)
        .def_ro("repeated", &TreeStats::repeated)
        .def_ro("transposed", &TreeStats::transposed)
        .def_ro("dropped", &TreeStats::dropped)
        .def_ro("reclaims", &TreeStats::reclaims)
        .def_ro("depth", &TreeStats::depth);
    nb::class_<NodeView>(m, "NodeView", "A node of the graph, for tests and inspection.")
        .def_ro("found", &NodeView::found)
        .def_ro("proof", &NodeView::proof)
        .def_ro("proof_plies", &NodeView::proof_plies)
        .def_ro("visits", &NodeView::visits)
        .def_ro("in_flight", &NodeView::in_flight)
        .def_ro("is_private", &NodeView::is_private)
        .def_ro("value_sum", &NodeView::value_sum, "In units of 1/4096.")
        .def_ro("square_sum", &NodeView::square_sum, "In units of 1/4096^2.")
        .def_ro("value", &NodeView::value)
        .def_prop_ro(
            "edges",
            [](const NodeView& view) {
                nb::list edges;
                for (const Edge& e : view.edges) {
                    edges.append(nb::make_tuple(e.move16(), e.visits(), e.value_sum(),
                                                decode_prior(e.prior), e.is_lost()));
                }
                return edges;
            },
            nb::sig("def edges(self) -> list[tuple[int, int, int, float, bool]]"),
            "(move16, visits, value sum, prior, lost) of each move.");
}

}  // namespace
}  // namespace komadori

void bind_tree(nb::module_& m) {
    using namespace komadori;
    const auto free = nb::call_guard<ReleaseGil>();
    bind_options(m);
    bind_reports(m);
    m.def("value_bias_bucket", &ValueBias::bucket, nb::arg("position"),
          "Number of the bucket in which value_bias collects errors, by the last two moves.");

    nb::class_<BoundBatch>(m, "Batch",
                           "Rows of the caller's arrays and the playouts that wait for them.")
        .def(nb::init<std::vector<Planes>, const std::string&, const std::string&>(),
             nb::arg("inputs").noconvert(), nb::arg("features") = "dlshogi",
             nb::arg("labels") = "2187",
             nb::sig("def __init__(self, inputs: Sequence[NDArray[numpy.float32] | "
                     "NDArray[numpy.uint8]], features: str = 'dlshogi', labels: str = '2187') "
                     "-> None"),
             "inputs: one array per input of the feature table, [rows, *shape], all float32 or, "
             "for a binary table, all uint8. labels: the label scheme of the policy output.")
        .def_prop_ro("rows", [](const BoundBatch& b) { return b.batch.rows(); });

    nb::class_<Tree>(m, "Tree", "The PUCT search graph; thread-safe.")
        .def(nb::init<std::size_t, TreeOptions>(), nb::arg("memory_bytes"),
             nb::arg("options") = TreeOptions())
        .def_prop_rw("options", &Tree::options, &Tree::set_options,
                     "A copy; assign to change. Options that affect values clear the tree.")
        .def(
            "set_leaf_search",
            [](Tree& t, std::shared_ptr<alphabeta::Engine> engine, std::uint64_t nodes,
               float weight, double scale_cp) {
                t.set_leaf_search(engine ? std::make_unique<LeafSearch>(std::move(engine), nodes,
                                                                        weight, scale_cp)
                                         : nullptr);
            },
            nb::arg("engine").none(), nb::arg("nodes") = 0, nb::arg("weight") = 0.0f,
            nb::arg("scale_cp") = ELMO_COEF, free,
            "Mix the value of an alpha-beta search of each leaf into the network's, with this "
            "weight in [0, 1]; None: the network's alone. Clears the tree.")
        .def("clear", &Tree::clear, free)
        .def("add_root", &Tree::add_root)
        .def(
            "set_root",
            [](Tree& t, int root, const Position& position) {
                return without_gil([&](const Position& p) { return t.set_root(root, p); },
                                   position);
            },
            nb::arg("root"), nb::arg("position"),
            "Set a root to a position with its path; returns its number of finished visits.")
        .def(
            "set_search_moves",
            [](Tree& t, int root, const Moves& moves) { t.set_search_moves(root, moves); },
            nb::arg("root"), nb::arg("moves"),
            "Restrict the search to these moves (move16); empty: all.")
        .def(
            "collect",
            [](Tree& t, int root, BoundBatch& b, int rows, int playouts, std::uint16_t first) {
                return t.collect(root, b.batch, rows, playouts, first);
            },
            nb::arg("root"), nb::arg("batch"), nb::arg("rows"), nb::arg("playouts") = 0,
            nb::arg("first") = 0, free,
            "Add up to `rows` leaves to the batch in up to `playouts` playouts (0: no limit); "
            "returns the number of added rows. first: the move16 that every playout starts with; "
            "0: any.")
        .def(
            "set_root_priors",
            [](Tree& t, int root, const Moves& moves, const std::vector<float>& priors) {
                if (moves.size() != priors.size()) {
                    throw nb::value_error("moves and priors differ in length");
                }
                t.set_root_priors(root, moves, priors);
            },
            nb::arg("root"), nb::arg("moves"), nb::arg("priors"),
            "Replace the priors of moves (move16) of an evaluated root, for example by noise.")
        .def("expand", &expand_batch, nb::arg("batch"), nb::arg("policy"), nb::arg("value"),
             "Expand a batch's leaves. policy: logits [rows, labels]. value: win rate [rows]. "
             "Returns "
             "the number of rows with NaN or a value outside [0, 1].")
        .def(
            "cancel", [](Tree& t, BoundBatch& b) { t.cancel(b.batch); }, nb::arg("batch"), free,
            "Undo the collection of a batch.")
        .def("playouts", &Tree::playouts, "The number of completed playouts.")
        .def("root_visits", &Tree::root_visits, nb::arg("root"))
        .def("root_solved", &Tree::root_solved, nb::arg("root"))
        .def("root_value", &Tree::root_value, nb::arg("root"))
        .def("root_moves", &Tree::root_moves, nb::arg("root"), "Best first.")
        .def("variation", &Tree::variation, nb::arg("root"), nb::arg("first"), nb::arg("max_plies"),
             "The principal variation (move16) that starts with `first`.")
        .def_prop_ro("stats", &Tree::stats)
        .def_prop_ro("fullness", &Tree::fullness)
        .def_prop_ro("node_count", &Tree::node_count)
        .def("reclaim", &Tree::reclaim, nb::arg("fullness"), free,
             "Free unreachable nodes if memory is fuller than this; returns whether it did.")
        .def(
            "view", [](const Tree& t, int root, const Moves& moves) { return t.view(root, moves); },
            nb::arg("root"), nb::arg("moves") = Moves())
        .def("check", &Tree::check, free, "Check the invariants; returns the first error or \"\".");
}
