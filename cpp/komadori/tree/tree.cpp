#include "komadori/tree/tree.h"

#include <algorithm>

namespace komadori {

Tree::Tree(std::size_t bytes, TreeOptions options) : options_(options), store_(bytes) {}

TreeOptions Tree::options() const {
    const std::lock_guard guard(lock_);
    return options_;
}

void Tree::set_options(const TreeOptions& options) {
    const std::lock_guard guard(lock_);
    const bool same_values =
        options.temperature == options_.temperature && options.draw_value == options_.draw_value &&
        options.draw_ply == options_.draw_ply && options.repetition == options_.repetition &&
        options.mate_in_one == options_.mate_in_one &&
        options.declaration_points == options_.declaration_points;
    options_ = options;
    if (!same_values) forget();
}

void Tree::clear() {
    const std::lock_guard guard(lock_);
    forget();
}

void Tree::forget() {
    store_.clear();
    for (Root& root : roots_) root.node = NO_NODE;
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
    root.position = position;
    root.path_length = position.path_length();
    root.search_moves.clear();
    stats_.depth = 0;
    root.node = store_.find(key_of(position));
    if (root.node == NO_NODE) {
        make_room(1);
        root.node = store_.create(key_of(position));
        store_[root.node].turn = position.turn();
    }
    // A root is searched even where the rules or a mate in one have settled it as a leaf.
    Node& node = store_[root.node];
    if (node.edge_count == 0) {
        node.proof = Proof::NONE;
        write_edges(node, position);
    }
    return node.finished();
}

void Tree::set_search_moves(int number, std::span<const std::uint16_t> moves) {
    const std::lock_guard guard(lock_);
    Root& root = roots_.at(std::size_t(number));
    root.search_moves.assign(moves.begin(), moves.end());
}

bool Tree::reclaim(double fullness) {
    const std::lock_guard guard(lock_);
    if (store_.fullness() <= fullness) return false;
    store_.reclaim(root_nodes(), 0);
    return true;
}

std::vector<NodeIndex> Tree::root_nodes() const {
    std::vector<NodeIndex> nodes;
    for (const Root& root : roots_) nodes.push_back(root.node);
    return nodes;
}

}  // namespace komadori
