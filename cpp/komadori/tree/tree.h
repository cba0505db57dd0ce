// The PUCT search graph.
//
// collect() runs playouts from a root. Leaves that need no network (draws, mates, declarations,
// proven nodes, first visits to a transposition) are backed up at once; for the others it writes
// input planes to the batch. The caller evaluates the batch and passes the outputs to expand().
// Several batches may be in flight and may be expanded in any order.
//
// Transpositions share a node. Repetitions depend on the path: see repetition_nodes.cpp.
//
// Thread-safe: every public function takes the tree's lock, so different threads may collect and
// expand. With one thread, results are deterministic.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "komadori/rules/position.h"
#include "komadori/tree/batch.h"
#include "komadori/tree/leaf_search.h"
#include "komadori/tree/options.h"
#include "komadori/tree/store.h"
#include "komadori/tree/uncertainty.h"
#include "komadori/tree/value_bias.h"

namespace komadori {

// Counts since the tree was created or cleared, mostly of playouts by their end.
struct TreeStats {
    std::uint64_t evaluated = 0;   // leaves evaluated by the network
    std::uint64_t terminal = 0;    // ended by the rules or at a proven node
    std::uint64_t repeated = 0;    // part of `terminal`: ended by a repetition
    std::uint64_t transposed = 0;  // reached a transposition and backed up its mean
    std::uint64_t dropped = 0;     // reached a leaf in flight and were undone
    std::uint64_t reclaims = 0;    // times that memory ran short
    std::uint64_t depth = 0;       // plies of the longest playout since set_root
};

// A root move, from the view of the side that makes it.
struct RootMove {
    std::uint16_t move16;
    std::uint32_t visits;
    float value;  // mean win probability
    float prior;
    Proof proof;      // WIN: the move wins
    int proof_plies;  // plies to the end of the game, including this move
    Repetition repetition;
    float lower_bound;  // value minus lcb_stdevs standard errors, if lcb_stdevs is on
};

// A copy of a node, for tests.
struct NodeView {
    bool found = false;
    NodeState state = NodeState::NEW;
    Proof proof = Proof::NONE;
    int proof_plies = 0;
    std::uint32_t visits = 0;
    std::uint32_t in_flight = 0;
    bool is_private = false;
    std::uint64_t value_sum = 0;
    std::uint64_t square_sum = 0;
    float value = 0;
    std::vector<Edge> edges;
};

class Tree {
  public:
    explicit Tree(std::size_t bytes, TreeOptions options = {});

    TreeOptions options() const;
    // Clears the tree if an option that affects values changes (draws, declaration, temperature).
    void set_options(const TreeOptions& options);
    // Mixes another value into the network's; nullptr: only the network's. Clears the tree.
    void set_leaf_search(std::unique_ptr<LeafSearch> search);
    void clear();  // removes all positions; roots must be set again

    // Roots are numbered from 0. set_root takes the position with its path, for repetitions, and
    // returns the number of its finished visits.
    int add_root();
    std::uint32_t set_root(int root, const Position& position);
    // Restricts the search to these root moves; empty: all moves. Later unrestricted searches don't
    // see the restricted search's visits at the root, only below it.
    void set_search_moves(int root, std::span<const std::uint16_t> moves);

    // Adds up to `rows` leaves to the batch (fewer if playouts reach leaves in flight) and runs up
    // to `playouts` playouts, with or without a row (0: no limit). Returns the number of added
    // rows. Does nothing if the root is solved or close to MAX_VISITS. With `first` (move16), every
    // playout starts with that move.
    int collect(int root, Batch& batch, int rows, int playouts = 0, std::uint16_t first = 0);
    // Replaces priors of root moves, for example by self-play's noise; visits on other paths see
    // them too. Precondition: the root has been evaluated.
    void set_root_priors(int root, std::span<const std::uint16_t> moves,
                         std::span<const float> priors);
    // Expands the batch's leaves with the network's outputs and empties the batch. policy: [rows,
    // labels.size()] logits. value: [rows], in [0, 1], the side to move's view. Returns the number
    // of rows with NaN or a value outside [0, 1], which count as 0.5 with uniform priors.
    int expand(Batch& batch, const float* policy, const float* value);
    void cancel(Batch& batch);  // undoes the collection of the batch
    // collect, expand and cancel throw std::invalid_argument for a batch with rows of another tree.

    std::uint64_t playouts() const;             // completed: evaluated, terminal, transposed
    std::uint32_t root_visits(int root) const;  // finished visits
    // Whether the root, or with search moves all of those, is proven: collect() then does nothing.
    bool root_solved(int root) const;
    float root_value(int root) const;  // the side to move's view; 0.5 before the first visit
    // Best first: proven wins (shortest first), then by visits (with lcb_stdevs on, first the move
    // with the greatest lower bound among those with enough visits), then proven losses (longest
    // first). With search moves only those. Excludes visits in flight.
    std::vector<RootMove> root_moves(int root);
    // The principal variation that starts with `first`.
    std::vector<std::uint16_t> variation(int root, std::uint16_t first, int max_plies);

    TreeStats stats() const;
    double fullness() const;
    std::size_t node_count() const;
    // Frees unreachable nodes if the memory is fuller than `fullness`. Returns whether it did.
    bool reclaim(double fullness);

    NodeView view(int root, std::span<const std::uint16_t> moves) const;
    // Checks the invariants of the graph: a node's visits, and its values if none are in flight,
    // are its own plus its edges'. Returns the first error, or "".
    std::string check() const;

  private:
    struct Root {
        Position position;
        NodeIndex node = NO_NODE;
        NodeIndex whole = NO_NODE;                // with search moves: the unrestricted node
        int path_length = 0;                      // moves that led to the root
        std::vector<std::uint16_t> search_moves;  // sorted
    };
    enum class End : std::uint8_t { QUEUED, BACKED_UP, DROPPED, RETRY, STUCK };
    struct Selected {
        int ordinal;  // -1: nothing left to select
        float score;
        float q;  // mean value or first-play urgency
    };
    struct PathKeys {
        std::uint64_t key;
        std::uint64_t board_key;
    };

    void clear_unlocked();
    NodeIndex follow(const Root& root, NodeIndex from, const Position& position) const;
    std::vector<NodeIndex> kept_nodes() const;  // by reclaiming: roots and those in flight

    // collect.cpp
    End playout(Root& root, Batch& batch, std::span<const std::uint16_t> allowed);
    End backup_repetition(Root& root, NodeIndex index, const Selected& selected,
                          Repetition repetition);
    Step visit(NodeIndex index, const Selected& selected);
    NodeIndex create_node(const Position& position);
    void write_edges(Node& node, const Position& position);
    bool is_crowded(const Node& node) const;
    void collide(Node& leaf);
    void queue(NodeIndex index, const Position& position, Batch& batch);
    void write_columns(const Node& node, const Position& position, Batch& batch);
    std::uint64_t key_of(const Position& position) const;
    void make_room(int playouts);
    bool is_solved(const Root& root) const;

    // select.cpp
    double stdev(const Node* node) const;
    Selected select(Node& node, std::span<const std::uint16_t> allowed, bool at_root);
    void bring_front(Node& node);

    // repetition_nodes.cpp
    int repeated_at(Repetition repetition, const Position& position) const;
    bool make_private(Root& root, NodeIndex index, int anchor);
    void restrict_root(Root& root);
    NodeIndex fork(NodeIndex index, std::uint64_t key);
    void mark_repeats(NodeIndex index, int ordinal);
    void mark_root_repetitions(Root& root);
    void remove_in_flight(Node& copy, NodeIndex original);

    // backup.cpp
    double weight_of_leaf(float network, float searched);
    double weight_of_certainty() const;
    static int weighted_value(const Edge& edge, int assumed, int value, double weight);
    void backup(std::span<const Step> path, int value, double weight = 1.0);
    void undo(std::span<const Step> path);
    void prove(std::span<const Step> path, NodeIndex leaf);
    bool prove_from_edges(Node& node);
    void recompute_proof(Node& node);
    bool write_priors(Node& node, const Batch& batch, const Flight::Leaf& leaf, const float* row);
    float temperature_at(int depth) const;
    int draw_value(Color mover) const;
    int value_for_mover(const Node& child) const;
    int repetition_value(Repetition repetition, Color mover) const;
    void finish_batch(Batch& batch);

    // report.cpp
    int best_edge(const Node& node) const;
    void front_by_lower_bound(std::vector<RootMove>& moves) const;
    RootMove describe(const Edge& edge) const;
    bool is_allowed(const Root& root, std::uint16_t move16) const;

    void require_own(const Batch& batch) const;

    const std::uint64_t number_;  // of the tree in this process, from 1
    mutable std::mutex lock_;
    TreeOptions options_;
    Store store_;
    std::vector<Root> roots_;
    TreeStats stats_;
    std::unique_ptr<LeafSearch> leaf_search_;
    ValueBias value_bias_;
    Uncertainty uncertainty_;
    std::uint64_t generation_ = 0;                  // number of clears; invalidates older batches
    std::vector<std::shared_ptr<Flight>> flights_;  // batches in flight
    // State of the current call or playout.
    std::vector<Step> path_;
    std::vector<PathKeys> path_keys_;  // of the position before each step
    Flight dropped_;                   // paths of dropped playouts, to be undone
    std::vector<NodeIndex> crowded_;   // nodes at which is_crowded() dropped playouts
};

}  // namespace komadori
