// The PUCT graph: `collect` and `expand`.
//
// collect() walks from a root to leaves, backs up those that need no network (draws, mates,
// declarations, proven nodes, first visits to a transposition) and writes the input planes of
// the others to the batch. The caller evaluates the batch and hands the outputs to expand().
// Any number of batches may be out at a time and they may come back in any order.
//
// One node stands for a position however it was reached. A repetition is a property of the
// path: see repetition_nodes.cpp.
//
// Every public function takes the tree's lock, so collecting and expanding may happen in
// different threads. With one thread and the same calls, results are the same bit for bit.
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

namespace komadori {

// Playouts by how they ended, since the tree was made or cleared.
struct TreeStats {
    std::uint64_t evaluated = 0;   // leaves that the network answered
    std::uint64_t terminal = 0;    // ended by the rules or at a proven node
    std::uint64_t repeated = 0;    // of `terminal`, ended by a repetition
    std::uint64_t transposed = 0;  // met a node known from another path, took its mean
    std::uint64_t dropped = 0;     // met a leaf in flight and were undone
    std::uint64_t invalid = 0;     // rows with NaN or values outside [0, 1] (taken as even)
    std::uint64_t reclaims = 0;    // times that memory was short
    std::uint64_t depth = 0;       // plies of the longest playout since a root was set
};

// A root's move, in the view of the side that makes it.
struct RootMove {
    std::uint16_t move16;
    std::uint32_t visits;
    float value;  // mean win probability
    float prior;
    Proof proof;      // WIN: the move wins
    int proof_plies;  // plies to the end of the game after and with this move
    Repetition repetition;
    float lower_bound;  // of the value: lcb_stdevs standard errors below it, where that is on
};

// A node as tests see it.
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
    // Changing what values mean (draws, declaration, temperature) clears the tree.
    void set_options(const TreeOptions& options);
    // Mixes another value into the network's; nullptr: the network's alone. Clears the tree.
    void set_leaf_search(std::unique_ptr<LeafSearch> search);
    void clear();  // forgets all positions; roots must be set again

    // Roots are numbered from 0. set_root takes the position with its path, on which repetitions
    // are counted, and returns how many finished visits are known of it.
    int add_root();
    std::uint32_t set_root(int root, const Position& position);
    // Only these moves are searched at the root; empty: all of them. Visits of such a search stay
    // apart: later searches of other moves don't see them at the root, only below it.
    void set_search_moves(int root, std::span<const std::uint16_t> moves);

    // Adds up to `rows` leaves to the batch, fewer where playouts run into leaves in flight, and
    // ends up to `playouts` playouts with and without a row (0: no bound). Returns how many rows
    // were added. Does nothing once the root is solved or MAX_VISITS is near.
    // With `first` (move16) every playout begins with that move.
    int collect(int root, Batch& batch, int rows, int playouts = 0, std::uint16_t first = 0);
    // Gives moves of the root other priors, as self-play's noise does; later visits of the position
    // on other paths see them too. Precondition: the root has been evaluated.
    void set_root_priors(int root, std::span<const std::uint16_t> moves,
                         std::span<const float> priors);
    // Takes the network's outputs: policy [rows, labels.size()] logits, value [rows] in [0, 1],
    // the side to move's. Empties the batch.
    void expand(Batch& batch, const float* policy, const float* value);
    void cancel(Batch& batch);  // as if the batch had never been collected

    std::uint64_t playouts() const;             // ended so far: evaluated, terminal, transposed
    std::uint32_t root_visits(int root) const;  // finished ones
    // Whether collect() has nothing left to do: the root, or with search moves those moves, are
    // proven.
    bool root_solved(int root) const;
    float root_value(int root) const;  // the side to move's; 0.5 before anything is known
    // Best first: proven wins (shortest first), then by visits (of those with enough visits the
    // one with the greatest lower bound first, where that is on), then proven losses (longest
    // first). Only the search moves where they are given. Visits in flight don't count.
    std::vector<RootMove> root_moves(int root);
    // What is expected after `first`, best moves for both sides, itself included.
    std::vector<std::uint16_t> variation(int root, std::uint16_t first, int max_plies);

    TreeStats stats() const;
    double fullness() const;
    std::size_t node_count() const;
    // Frees what no root reaches, if the memory is fuller than `fullness`. Returns whether it did.
    bool reclaim(double fullness);

    NodeView view(int root, std::span<const std::uint16_t> moves) const;
    // The first broken invariant of the whole graph in words, "" if it is sound:
    // every node's visits are its own and its edges', and where none is in flight its values too.
    std::string check() const;

  private:
    struct Root {
        Position position;
        NodeIndex node = NO_NODE;
        NodeIndex whole = NO_NODE;                // with search moves: the node of all moves
        int path_length = 0;                      // moves that led to it
        std::vector<std::uint16_t> search_moves;  // sorted
    };
    enum class End : std::uint8_t { QUEUED, BACKED_UP, DROPPED, RETRY, STUCK };
    struct Selected {
        int ordinal;  // -1: nothing left to select
        float score;
        float q;  // its mean value, or the first-play urgency
    };
    struct PathKeys {
        std::uint64_t key;
        std::uint64_t board_key;
    };

    void forget();
    NodeIndex follow(const Root& root, NodeIndex from, const Position& position) const;
    std::vector<NodeIndex> root_nodes() const;

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
    void backup(std::span<const Step> path, int value);
    void undo(std::span<const Step> path);
    void prove(std::span<const Step> path, NodeIndex leaf);
    bool prove_from_edges(Node& node);
    void prove_anew(Node& node);
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

    mutable std::mutex lock_;
    TreeOptions options_;
    Store store_;
    std::vector<Root> roots_;
    TreeStats stats_;
    std::unique_ptr<LeafSearch> leaf_search_;
    std::uint64_t generation_ = 0;  // counts clears; a batch from before one is void
    std::vector<std::shared_ptr<Flight>> flights_;  // batches that are out
    // Of the call or playout under way.
    std::vector<Step> path_;
    std::vector<PathKeys> path_keys_;  // of the position before each step
    Flight dropped_;                   // paths of playouts to be undone
    std::vector<NodeIndex> crowded_;   // nodes with as many playouts in flight as they may have
};

}  // namespace komadori
