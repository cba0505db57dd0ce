#include "komadori/tree/store.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace komadori {

namespace {

constexpr std::align_val_t PAGE{64};
constexpr std::uintptr_t LARGE_PAGE = std::uintptr_t(1) << 21;
// Edges allocated per node. Positions have 30 to 200 moves, but terminal nodes have no edges; edges
// usually run out before nodes.
constexpr std::size_t EDGES_PER_NODE = 48;
// Edges have 32-bit indices. This many nodes take 70 GiB.
constexpr std::size_t MAX_NODES = UINT32_MAX / EDGES_PER_NODE;
constexpr std::size_t MIN_BYTES = std::size_t(1) << 20;

// The graph is accessed at random; huge pages halve the TLB misses.
template <typename T>
T* allocate(std::size_t count) {
    void* memory = ::operator new(count * sizeof(T), PAGE);
#if defined(__linux__)
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(memory) + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    const auto end =
        (reinterpret_cast<std::uintptr_t>(memory) + count * sizeof(T)) & ~(LARGE_PAGE - 1);
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
}

}  // namespace

void Store::Free::operator()(void* p) const { ::operator delete(p, PAGE); }

Store::Store(std::size_t bytes) {
    // Per node: the node, its edges and up to two slots of the table.
    const std::size_t each = sizeof(Node) + EDGES_PER_NODE * sizeof(Edge) + 2 * sizeof(NodeIndex);
    node_capacity_ = std::min(std::max(bytes, MIN_BYTES) / each, MAX_NODES);
    edge_capacity_ = node_capacity_ * EDGES_PER_NODE;
    const std::size_t table = std::bit_ceil(node_capacity_);
    table_mask_ = table - 1;
    nodes_.reset(allocate<Node>(node_capacity_ + 1));
    edges_.reset(allocate<Edge>(edge_capacity_));
    table_.reset(allocate<NodeIndex>(table));
    clear();
}

NodeIndex Store::find(std::uint64_t key) const {
    NodeIndex i = table_[key & table_mask_];
    while (i != NO_NODE && nodes_[i].key != key) i = nodes_[i].next;
    return i;
}

NodeIndex Store::create(std::uint64_t key) {
    NodeIndex i;
    if (free_nodes_.empty()) {
        i = NodeIndex(nodes_end_++);
    } else {
        i = free_nodes_.back();
        free_nodes_.pop_back();
    }
    ++nodes_used_;
    nodes_[i] = Node{};
    nodes_[i].key = key;
    insert(i);
    return i;
}

void Store::insert(NodeIndex i) {
    NodeIndex& head = table_[nodes_[i].key & table_mask_];
    nodes_[i].next = head;
    head = i;
}

void Store::allocate_edges(Node& node, int count) {
    node.edges = std::uint32_t(edges_used_);
    node.edge_count = std::uint16_t(count);
    std::memset(static_cast<void*>(&edges_[edges_used_]), 0, sizeof(Edge) * std::size_t(count));
    edges_used_ += std::size_t(count);
}

double Store::fullness() const {
    return std::max(double(nodes_used_) / double(node_capacity_),
                    double(edges_used_) / double(edge_capacity_));
}

void Store::clear() {
    std::memset(table_.get(), 0, (table_mask_ + 1) * sizeof(NodeIndex));
    free_nodes_.clear();
    nodes_used_ = edges_used_ = 0;
    nodes_end_ = 1;
    nodes_[NO_NODE] = Node{};
}

void Store::mark_from(std::span<const NodeIndex> roots, std::uint32_t max_visits) {
    std::vector<NodeIndex> stack;
    for (const NodeIndex root : roots) {
        if (root != NO_NODE && !nodes_[root].mark) {
            nodes_[root].mark = 1;
            stack.push_back(root);
        }
    }
    while (!stack.empty()) {
        const Node& node = nodes_[stack.back()];
        stack.pop_back();
        // Edges beyond `touched` can have children too, from undone visits.
        for (Edge& edge : edges(node)) {
            if (!edge.has_child()) continue;
            Node& child = nodes_[edge.child];
            if (child.mark) continue;
            if (child.visits <= max_visits && child.in_flight == 0 && child.proof == Proof::NONE) {
                edge.child = NO_NODE;
                continue;
            }
            child.mark = 1;
            stack.push_back(edge.child);
        }
    }
}

void Store::reclaim(std::span<const NodeIndex> roots, std::uint32_t max_visits) {
    for (std::size_t i = 0; i < nodes_end_; ++i) nodes_[i].mark = 0;
    mark_from(roots, max_visits);

    std::memset(table_.get(), 0, (table_mask_ + 1) * sizeof(NodeIndex));
    free_nodes_.clear();
    std::vector<NodeIndex> kept;
    for (std::size_t i = nodes_end_ - 1; i > 0; --i) {
        if (nodes_[i].mark) {
            insert(NodeIndex(i));
            kept.push_back(NodeIndex(i));
        } else {
            free_nodes_.push_back(NodeIndex(i));
        }
    }
    nodes_used_ = kept.size();

    // Compacts the remaining edges in order.
    std::sort(kept.begin(), kept.end(),
              [this](NodeIndex a, NodeIndex b) { return nodes_[a].edges < nodes_[b].edges; });
    edges_used_ = 0;
    for (const NodeIndex i : kept) {
        Node& node = nodes_[i];
        if (node.edge_count == 0) continue;
        std::memmove(static_cast<void*>(&edges_[edges_used_]), &edges_[node.edges],
                     sizeof(Edge) * node.edge_count);
        node.edges = std::uint32_t(edges_used_);
        edges_used_ += node.edge_count;
    }
}

// Checks a node's counts against its edges'. Returns the error, or "".
std::string Store::check(const Node& node) const {
    std::uint64_t visits = node.state == NodeState::NEW ? 0 : 1;
    std::uint64_t value_sum = 0;
    int open = 0;
    for (std::size_t i = 0; i < node.edge_count; ++i) {
        const Edge& edge = edges_[node.edges + i];
        visits += edge.visits();
        value_sum += edge.value_sum();
        open += !edge.is_lost();
        if (i >= node.touched && edge.visits()) return "a visited edge beyond `touched`";
        if (edge.has_child() && find(nodes_[edge.child].key) != edge.child) {
            return "a child that is not in the table";
        }
    }
    if (node.state == NodeState::EXPANDED) {
        value_sum += std::uint64_t(std::lround(node.value * VALUE_ONE));
    }
    if (visits != node.visits) return "visits are not its own and its edges'";
    // Edges contain provisional values of visits in flight.
    if (node.in_flight == 0 && value_sum != node.value_sum)
        return "values are not its own and its edges'";
    if (node.edge_count && open != node.open) return "`open` does not count the open edges";
    if (node.in_flight > node.visits) return "more visits in flight than visits";
    return {};
}

std::string Store::check() const {
    std::size_t nodes = 0;
    std::size_t edges = 0;
    for (std::size_t slot = 0; slot <= table_mask_; ++slot) {
        for (NodeIndex i = table_[slot]; i != NO_NODE; i = nodes_[i].next) {
            const std::string problem = check(nodes_[i]);
            if (!problem.empty()) return "node " + std::to_string(i) + ": " + problem;
            ++nodes;
            edges += nodes_[i].edge_count;
        }
    }
    if (nodes != nodes_used_) return "the table does not hold every node";
    if (edges > edges_used_) return "more edges than were allocated";
    return {};
}

}  // namespace komadori
