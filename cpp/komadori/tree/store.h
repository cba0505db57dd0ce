// Memory of the search graph: nodes by key, edges in an arena, both bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "komadori/tree/node.h"

namespace komadori {

class Store {
  public:
    // Uses at most `bytes` (at least 1 MiB); pages are touched as the graph grows.
    explicit Store(std::size_t bytes);

    Node& operator[](NodeIndex i) { return nodes_[i]; }
    const Node& operator[](NodeIndex i) const { return nodes_[i]; }
    void prefetch(NodeIndex i) const { __builtin_prefetch(&nodes_[i]); }
    std::span<Edge> edges(const Node& node) { return {&edges_[node.edges], node.edge_count}; }
    std::span<const Edge> edges(const Node& node) const {
        return {&edges_[node.edges], node.edge_count};
    }

    NodeIndex find(std::uint64_t key) const;
    // Adds a zeroed node. Preconditions: has_room(1, 0), no node has the key.
    NodeIndex create(std::uint64_t key);
    // Allocates zeroed edges. Preconditions: has_room(0, count), the node has no edges yet.
    void allocate_edges(Node& node, int count);

    bool has_room(std::size_t nodes, std::size_t edges) const {
        return nodes_used_ + nodes <= node_capacity_ && edges_used_ + edges <= edge_capacity_;
    }
    double fullness() const;  // 0 to 1
    std::size_t edge_capacity() const { return edge_capacity_; }
    std::size_t node_count() const { return nodes_used_; }
    std::size_t edge_count() const { return edges_used_; }

    void clear();
    // Frees every node that can't be reached from `roots` and every unproven node with at most
    // `max_visits` visits that is neither a root nor in flight. Edges to freed nodes keep their
    // statistics. Node indices stay valid, edge indices change.
    void reclaim(std::span<const NodeIndex> roots, std::uint32_t max_visits);

    // Checks the counts of all nodes. Returns the first error, or "".
    std::string check() const;

  private:
    void mark_from(std::span<const NodeIndex> roots, std::uint32_t max_visits);
    void insert(NodeIndex i);
    std::string check(const Node& node) const;

    struct Free {
        void operator()(void* p) const;
    };
    std::size_t node_capacity_;
    std::size_t edge_capacity_;
    std::size_t table_mask_;
    std::unique_ptr<Node[], Free> nodes_;
    std::unique_ptr<Edge[], Free> edges_;
    std::unique_ptr<NodeIndex[], Free> table_;
    std::vector<NodeIndex> free_nodes_;
    std::size_t nodes_used_ = 0;
    std::size_t nodes_end_ = 1;  // one past the highest index ever used
    std::size_t edges_used_ = 0;
};

}  // namespace komadori
