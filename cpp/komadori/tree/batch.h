// Positions on their way to the network.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "komadori/encoding/planes.h"
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
    };

    std::span<const Step> path(const Leaf& leaf) const {
        return std::span(steps).subspan(leaf.path_begin, leaf.path_end - leaf.path_begin);
    }

    std::vector<Leaf> leaves;
    std::vector<Step> steps;
};

// The rows of the caller's input arrays and the playouts that wait for them. Filled by
// Tree::collect, emptied by Tree::expand or Tree::cancel; nothing is allocated once the
// vectors have grown to the usual size.
struct Batch {
    Batch(void* features1_, void* features2_, PlaneType type_, int capacity_, int channels2_)
        : features1(features1_),
          features2(features2_),
          type(type_),
          capacity(capacity_),
          channels2(channels2_),
          flight(std::make_shared<Flight>()) {}

    int rows() const { return int(flight->leaves.size()); }

    void* features1;  // [capacity, 62, 9, 9], the caller's
    void* features2;  // [capacity, channels2, 9, 9], the caller's
    PlaneType type;   // FLOAT32 or UINT8
    int capacity;
    int channels2;                   // 57 or 119
    std::uint64_t generation = 0;    // of the tree, when the batch was begun
    std::shared_ptr<Flight> flight;  // the tree knows of it as long as it isn't empty
};

}  // namespace komadori
