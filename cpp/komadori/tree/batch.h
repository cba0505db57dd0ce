// Positions on their way to the network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "komadori/encoding/features.h"
#include "komadori/encoding/label.h"
#include "komadori/tree/node.h"

namespace komadori {

// One move of a playout: which edge of which node. Edges [0, touched) keep their ordinals.
struct Step {
    NodeIndex node;
    std::uint32_t ordinal;
    int assumed;  // the value that the edge's sum holds for a visit until its own is known
    std::uint32_t visits = 1;  // more than one where the playout is going to be undone

    // What the visits have added to the edge.
    std::uint64_t stat() const { return (std::uint64_t(assumed) << VISIT_BITS | 1) * visits; }
};

// Playouts that wait for the network.
struct Flight {
    struct Leaf {
        NodeIndex node;
        std::uint32_t path_begin;  // into `steps`
        std::uint32_t path_end;
        std::uint32_t columns_begin;  // into `columns`
        float searched = 0.0f;        // by the tree's LeafSearch, where it has one
    };

    std::span<const Step> path(const Leaf& leaf) const {
        return std::span(steps).subspan(leaf.path_begin, leaf.path_end - leaf.path_begin);
    }

    std::vector<Leaf> leaves;
    std::vector<Step> steps;
    // Of every leaf's edges, [edges][heads]: where their labels lie in the policy row. Empty for
    // the scheme 2187, whose labels an edge's move16 gives.
    std::vector<std::uint16_t> columns;
};

// The rows of the caller's input arrays and the playouts that wait for them. Filled by
// Tree::collect, emptied by Tree::expand or Tree::cancel; nothing is allocated once the
// vectors have grown to the usual size.
struct Batch {
    // `inputs`: one array per input of the table, [capacity][planes][9][9] (or tokens), the
    // caller's. The table is binary where `type` is UINT8.
    Batch(const FeatureTable& table_, const LabelScheme& labels_, PlaneType type_, int capacity_,
          std::span<void* const> inputs_)
        : table(table_),
          labels(labels_),
          is_2187(labels_.name == "2187"),
          type(type_),
          capacity(capacity_),
          flight(std::make_shared<Flight>()) {
        for (std::size_t i = 0; i < table.inputs.size(); ++i) {
            inputs[i] = static_cast<std::byte*>(inputs_[i]);
            row_bytes[i] = table.inputs[i].row_bytes(type);
        }
    }

    int rows() const { return int(flight->leaves.size()); }

    const FeatureTable& table;  // what the network reads
    const LabelScheme& labels;  // what its policy answers
    bool is_2187;               // of `labels`, whose labels need no lookup
    PlaneType type;             // FLOAT32 or UINT8
    int capacity;
    std::array<std::byte*, MAX_INPUTS> inputs{};
    std::array<std::size_t, MAX_INPUTS> row_bytes{};
    std::uint64_t generation = 0;    // of the tree, when the batch was begun
    std::shared_ptr<Flight> flight;  // the tree knows of it as long as it isn't empty
};

}  // namespace komadori
