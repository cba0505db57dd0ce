// Batches of positions for the network.
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

// One move of a playout: an edge of a node. Edges [0, touched) keep their ordinals.
struct Step {
    NodeIndex node;
    std::uint32_t ordinal;
    int assumed;               // provisional value of the visit in the edge's sum
    std::uint32_t visits = 1;  // more than one in a dropped playout, see Tree::collide

    // The contribution of the visits to Edge::stat.
    std::uint64_t stat() const { return (std::uint64_t(assumed) << VISIT_BITS | 1) * visits; }
};

// The playouts of a batch, which wait for the network.
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
    // The policy columns of every leaf's edges, [edges][heads]. Empty for the scheme 2187, whose
    // labels follow from an edge's move16.
    std::vector<std::uint16_t> columns;
};

// The rows of the caller's input arrays and their playouts. Filled by Tree::collect, emptied by
// Tree::expand or Tree::cancel. Allocates nothing once the vectors have grown to their usual size.
struct Batch {
    // `inputs`: the caller's arrays, one per input of the table, [capacity][planes][9][9] (or
    // tokens). UINT8 needs a binary table.
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

    const FeatureTable& table;  // of the network's inputs
    const LabelScheme& labels;  // of its policy output
    bool is_2187;               // `labels` is 2187, which needs no columns
    PlaneType type;             // FLOAT32 or UINT8
    int capacity;
    std::array<std::byte*, MAX_INPUTS> inputs{};
    std::array<std::size_t, MAX_INPUTS> row_bytes{};
    std::uint64_t tree = 0;          // Tree::number_ of the rows' tree
    std::uint64_t generation = 0;    // of the tree when the batch was started
    std::shared_ptr<Flight> flight;  // also in Tree::flights_ while it isn't empty
};

}  // namespace komadori
