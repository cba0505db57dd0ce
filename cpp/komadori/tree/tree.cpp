#include "komadori/tree/tree.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace komadori {

namespace {

std::atomic<std::uint64_t> trees{0};

}  // namespace

Tree::Tree(std::size_t bytes, TreeOptions options)
    : number_(++trees), options_(options), store_(bytes) {}

TreeOptions Tree::options() const {
    const std::lock_guard guard(lock_);
    return options_;
}

void Tree::set_options(const TreeOptions& options) {
    const std::lock_guard guard(lock_);
    const bool same_values =
        options.temperature == options_.temperature &&
        options.temperature_root == options_.temperature_root &&
        options.temperature_decay == options_.temperature_decay &&
        options.value_bias == options_.value_bias &&
        options.uncertainty_weight == options_.uncertainty_weight &&
        options.draw_value == options_.draw_value && options.draw_ply == options_.draw_ply &&
        options.repetition == options_.repetition && options.mate_in_one == options_.mate_in_one &&
        options.declaration_points == options_.declaration_points;
    options_ = options;
    if (!same_values) clear_unlocked();
}

void Tree::set_leaf_search(std::unique_ptr<LeafSearch> search) {
    const std::lock_guard guard(lock_);
    leaf_search_ = std::move(search);
    clear_unlocked();
}

void Tree::clear() {
    const std::lock_guard guard(lock_);
    clear_unlocked();
}

void Tree::clear_unlocked() {
    store_.clear();
    value_bias_.clear();
    uncertainty_.clear();
    for (Root& root : roots_) root.node = root.whole = NO_NODE;
    flights_.clear();
    stats_ = {};
    ++generation_;
}

int Tree::add_root() {
    const std::lock_guard guard(lock_);
    roots_.emplace_back();
    return int(roots_.size()) - 1;
}

std::uint32_t Tree::set_root(int number, const Position& position) {
    const std::lock_guard guard(lock_);
    Root& root = roots_.at(std::size_t(number));
    const NodeIndex whole = root.whole != NO_NODE ? root.whole : root.node;
    NodeIndex known = follow(root, whole, position);
    if (known == NO_NODE) known = follow(root, root.node, position);
    root.position = position;
    root.path_length = position.path_length();
    root.whole = NO_NODE;
    root.search_moves.clear();
    stats_.depth = 0;
    root.node = known != NO_NODE ? known : store_.find(key_of(position));
    make_room(2);
    const bool needs_edges = root.node == NO_NODE || store_[root.node].edge_count == 0;
    if (needs_edges && !store_.has_room(1, MAX_LEGAL_MOVES)) {  // roots are never reclaimed
        root.node = NO_NODE;
        throw std::length_error("the tree's memory is too small for its roots");
    }
    if (root.node == NO_NODE) {
        root.node = store_.create(key_of(position));
        store_[root.node].turn = position.turn();
        store_[root.node].bias = ValueBias::bucket(position);
    }
    // The root is searched even if it is drawn by rule or has a mate in one.
    Node& node = store_[root.node];
    if (node.edge_count == 0) {
        node.proof = Proof::NONE;
        write_edges(node, position);
    }
    if (options_.repetition) mark_root_repetitions(root);
    return store_[root.node].finished();
}

// The node of a position that continues the root's path, found by its moves from node `from`: nodes
// of the path may be private and thus not found by key.
NodeIndex Tree::follow(const Root& root, NodeIndex from, const Position& position) const {
    const int further = position.path_length() - root.path_length;
    if (from == NO_NODE || further < 0) return NO_NODE;
    Position before = position;
    NodeIndex index = from;
    for (int i = 0; i < further; ++i) {
        const std::uint16_t move16 = position.path_move(root.path_length + i).move16();
        const std::span<const Edge> edges = store_.edges(store_[index]);
        const auto edge = std::find_if(edges.begin(), edges.end(), [move16](const Edge& e) {
            return e.move16() == move16 && e.has_child();
        });
        if (edge == edges.end()) return NO_NODE;
        index = edge->child;
        before.undo_move();
    }
    Position old = root.position;
    for (int i = root.path_length;; --i) {
        if (before.key() != old.key()) return NO_NODE;
        if (i == 0) return index;
        before.undo_move();
        old.undo_move();
    }
}

void Tree::set_search_moves(int number, std::span<const std::uint16_t> moves) {
    const std::lock_guard guard(lock_);
    Root& root = roots_.at(std::size_t(number));
    std::vector<std::uint16_t> sorted(moves.begin(), moves.end());
    std::ranges::sort(sorted);
    if (sorted == root.search_moves) return;
    if (root.whole != NO_NODE) root.node = root.whole;
    root.whole = NO_NODE;
    root.search_moves = std::move(sorted);
    if (!root.search_moves.empty() && root.node != NO_NODE) restrict_root(root);
}

void Tree::set_root_priors(int number, std::span<const std::uint16_t> moves,
                           std::span<const float> priors) {
    const std::lock_guard guard(lock_);
    const Root& root = roots_.at(std::size_t(number));
    if (root.node == NO_NODE || store_[root.node].state != NodeState::EXPANDED) {
        throw std::logic_error("set_root_priors: the root has not been evaluated");
    }
    Node& node = store_[root.node];
    for (Edge& edge : store_.edges(node)) {
        const auto found = std::ranges::find(moves, edge.move16());
        if (found == moves.end()) continue;
        edge.prior = encode_prior(priors[std::size_t(found - moves.begin())]);
    }
    node.front = 0;
}

bool Tree::reclaim(double fullness) {
    const std::lock_guard guard(lock_);
    if (store_.fullness() <= fullness) return false;
    store_.reclaim(kept_nodes(), 0);
    return true;
}

// Those of batches in flight needn't be reachable from a root: a repetition replaces an edge's
// child by a private copy, but its visits in flight remain with the original.
std::vector<NodeIndex> Tree::kept_nodes() const {
    std::vector<NodeIndex> nodes;
    for (const Root& root : roots_) {
        nodes.push_back(root.node);
        nodes.push_back(root.whole);
    }
    for (const std::shared_ptr<Flight>& flight : flights_) {
        for (const Flight::Leaf& leaf : flight->leaves) nodes.push_back(leaf.node);
        for (const Step& step : flight->steps) nodes.push_back(step.node);
    }
    return nodes;
}

}  // namespace komadori
