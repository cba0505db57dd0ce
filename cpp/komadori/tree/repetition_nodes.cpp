// Repetitions in a graph (the graph-history interaction problem).
//
// The value of a repetition depends on the path, so a node shared by several paths can't store it.
//
//     A --- B --- C --- (A again)        the value of C -> A is a draw on this path;
//           |                            where C is reached without A it is whatever
//     D ----+                            follows A
//
// Therefore B and C, the nodes inside the cycle, are copied: A's edge now leads to B', which only
// this edge reaches, and B' leads to C'. Every path to C' contains A, so C' can store the draw like
// any other value and it is backed up from C' to A. D keeps using B and C. Nodes above A need no
// copy, since the cycle below A exists on every path to A. If the repeated position is above the
// root, the root also gets a private node, with a key derived from the game's path.
//
// A copy starts with the original's finished visits and the same children; visits in flight remain
// with the original.
#include <algorithm>

#include "komadori/base/hash.h"
#include "komadori/tree/tree.h"

namespace komadori {

namespace {

// A lower bound of an edge's contribution to its node's square_sum: that of its mean.
std::uint64_t square_part(std::uint64_t value_sum, std::uint32_t visits) {
    return visits ? value_sum / visits * value_sum : 0;
}

// The key of a private node: by its parent's key and the move.
std::uint64_t private_key(std::uint64_t parent_key, std::uint16_t move16) {
    return mix64(parent_key + GOLDEN_64 * (move16 + 1u));
}

// The key of a root that is restricted to these moves.
std::uint64_t restricted_key(std::uint64_t path_key, std::span<const std::uint16_t> moves) {
    std::uint64_t key = mix64(path_key ^ 0x5851f42d4c957f2dull);
    for (const std::uint16_t move16 : moves) key = mix64(key ^ (0xd6e8feb86659fd93ull * move16));
    return key;
}

// A hash of the positions after the first `length` moves of the path and before.
std::uint64_t path_key(Position position, int length) {
    while (position.path_length() > length) position.undo_move();
    std::uint64_t key = mix64(position.key());
    while (position.path_length() > 0) {
        position.undo_move();
        key = mix64(key * 3 + position.key());
    }
    return key;
}

}  // namespace

// The depth of the node on the path that `position` repeats; -1 if it is above the root.
int Tree::repeated_at(Repetition repetition, const Position& position) const {
    const bool same_hands = repetition == Repetition::DRAW || repetition == Repetition::WIN ||
                            repetition == Repetition::LOSS;
    for (std::size_t i = path_keys_.size(); i-- > 0;) {
        if (same_hands ? path_keys_[i].key == position.key()
                       : path_keys_[i].board_key == position.board_key()) {
            return int(i);
        }
    }
    return -1;
}

// Makes the nodes of the current path below depth `anchor` private, down to its end, node `index`.
// Returns whether any had to be copied; path_ is then out of date.
bool Tree::make_private(Root& root, NodeIndex index, int anchor) {
    const std::size_t depth = path_.size();
    const auto node_at = [&](std::size_t i) { return i == depth ? index : path_[i].node; };
    std::size_t first = std::size_t(anchor + 1);
    while (first <= depth && store_[node_at(first)].is_private) ++first;
    if (first > depth) return false;

    std::size_t edges = 0;
    for (std::size_t i = first; i <= depth; ++i) edges += store_[node_at(i)].edge_count;
    if (!store_.has_room(depth + 1 - first, edges)) return false;
    NodeIndex parent = first == 0 ? NO_NODE : node_at(first - 1);
    for (std::size_t i = first; i <= depth; ++i) {
        if (i == 0) {
            parent = root.node = fork(root.node, path_key(root.position, root.path_length));
            continue;
        }
        Edge& edge = store_.edges(store_[parent])[path_[i - 1].ordinal];
        parent = edge.child = fork(node_at(i), private_key(store_[parent].key, edge.move16()));
    }
    return true;
}

// Copies a node under a new key. The copy's edges lead to the same children except private ones,
// which belong to the original's path.
NodeIndex Tree::fork(NodeIndex original, std::uint64_t key) {
    const NodeIndex known = store_.find(key);
    if (known != NO_NODE && known != original) return known;
    const NodeIndex index = store_.create(key);
    Node& copy = store_[index];
    const Node& source = store_[original];
    const NodeIndex next = copy.next;
    copy = source;
    copy.key = key;
    copy.next = next;
    copy.is_private = 1;
    if (copy.state == NodeState::PENDING) {  // the original will get the network's output
        copy.state = NodeState::NEW;
        copy.visits = copy.in_flight = 0;
        copy.collisions = 0;
    }
    store_.allocate_edges(copy, source.edge_count);
    const std::span<Edge> edges = store_.edges(copy);
    std::ranges::copy(store_.edges(source), edges.begin());
    for (Edge& edge : edges) {
        if (edge.child == REPEATS || (edge.has_child() && store_[edge.child].is_private)) {
            edge.child = NO_NODE;
        }
    }
    remove_in_flight(copy, original);
    return index;
}

// Gives a root restricted to search moves its own node, without visits of other moves, so that a
// later unrestricted search doesn't see the visits of the restricted one.
void Tree::restrict_root(Root& root) {
    make_room(2);
    const Node& whole = store_[root.node];
    if (!store_.has_room(1, whole.edge_count)) return;
    const std::uint64_t key =
        restricted_key(path_key(root.position, root.path_length), root.search_moves);
    const bool is_new = store_.find(key) == NO_NODE;
    root.whole = root.node;
    path_.clear();
    root.node = fork(root.whole, key);
    if (is_new) {
        Node& node = store_[root.node];
        for (Edge& edge : store_.edges(node)) {
            if (is_allowed(root, edge.move16())) continue;
            node.visits -= edge.visits();
            node.value_sum -= edge.value_sum();
            node.square_sum -= square_part(edge.value_sum(), edge.visits());
            edge.stat = 0;
        }
    }
    if (options_.repetition) mark_root_repetitions(root);
}

void Tree::remove_in_flight(Node& copy, NodeIndex original) {
    const std::span<Edge> edges = store_.edges(copy);
    const auto remove = [&](std::span<const Step> steps) {
        for (const Step& step : steps) {
            if (step.node != original) continue;
            edges[step.ordinal].stat -= step.stat();
            copy.visits -= step.visits;
            copy.in_flight -= step.visits;
        }
    };
    for (const auto& flight : flights_) remove(flight->steps);
    remove(dropped_.steps);
    remove(path_);
}

// Marks the edge as a repetition. Removes its visits and proof from other paths, except visits in
// flight.
void Tree::mark_repeats(NodeIndex index, int ordinal) {
    Node& node = store_[index];
    Edge& edge = store_.edges(node)[std::size_t(ordinal)];
    Edge in_flight{};
    const auto count = [&](std::span<const Step> steps) {
        for (const Step& step : steps) {
            if (step.node == index && int(step.ordinal) == ordinal) in_flight.stat += step.stat();
        }
    };
    for (const auto& flight : flights_) count(flight->steps);
    count(dropped_.steps);
    node.visits -= edge.visits() - in_flight.visits();
    node.value_sum -= edge.value_sum() - in_flight.value_sum();
    node.square_sum -=
        square_part(edge.value_sum() - in_flight.value_sum(), edge.visits() - in_flight.visits());
    edge.stat = in_flight.stat;
    edge.child = REPEATS;
    if (edge.is_lost()) {
        edge.clear_lost();
        ++node.open;
    }
    recompute_proof(node);
}

// Marks the root's moves that repeat a position of the game before the search starts: such a move
// may already have a good value from other paths.
void Tree::mark_root_repetitions(Root& root) {
    Position& position = root.position;
    path_.clear();
    path_keys_.clear();
    std::vector<std::uint16_t> moves;
    for (const Edge& edge : store_.edges(store_[root.node])) {
        position.do_move(position.from_move16(edge.move16()));
        if (position.repetition(2) != Repetition::NONE) moves.push_back(edge.move16());
        position.undo_move();
    }
    if (moves.empty()) return;
    make_private(root, root.node, -1);
    const Node& node = store_[root.node];
    for (int i = 0; i < (node.is_private ? node.edge_count : 0); ++i) {
        const Edge& edge = store_.edges(node)[std::size_t(i)];
        const bool repeats = std::ranges::find(moves, edge.move16()) != moves.end();
        if (repeats && edge.child != REPEATS) mark_repeats(root.node, i);
    }
}

}  // namespace komadori
