// The memory layout of the search graph.
//
//   Node, 64 bytes: a position, or a position as one path reaches it (see Tree::make_private)
//    0          8           16     20        24     28    32     36          38
//   +----------+-----------+------+---------+------+-----+------+-----------+-------+
//   | key      | value_sum |visits|in_flight|edges |next |value |edge_count |touched|
//   +----------+-----------+------+---------+------+-----+------+-----------+-------+
//    40   42           44    45    46    47     48         49    50         51    56           64
//   +----+------------+-----+-----+----+-------+----------+----+----------+-----+------------+
//   |open|proof_plies |state|proof|turn| front |is_private|mark|collisions|spare| square_sum |
//   +----+------------+-----+-----+----+-------+----------+----+----------+-----+------------+
//
//   Edge, 16 bytes: a legal move; a node's edges lie side by side
//    0                                 8            12                    14        16
//   +-------------------+-------------+------------+---------------------+---------+
//   | value sum 38 bits | visits 26   | child      | lost 1 | move16 15  | prior   |
//   +-------------------+-------------+------------+---------------------+---------+
//
// Statistics are integers: a value in [0, 1] counts in steps of 1/4096. Sums are then exact,
// whatever the order in which batches come back, and undoing a visit leaves no trace. A single
// value is off by at most 1/8192, a mean by far less.
//
// A node's sums are from its side to move's view. An edge's sum is from the view of the side
// that makes the move, the side to move of the node that owns the edge.
#pragma once

#include <bit>
#include <cstdint>

namespace komadori {

using NodeIndex = std::uint32_t;
constexpr NodeIndex NO_NODE = 0;           // the pool never hands out index 0
constexpr NodeIndex REPEATS = 0xffffffff;  // an edge's child where the move repeats a position

constexpr int VALUE_ONE = 4096;  // a value of 1 in fixed point
constexpr int VISIT_BITS = 26;
constexpr std::uint32_t MAX_VISITS = (1u << VISIT_BITS) - 1;  // of one edge, so of one node

// A probability in (0, 1] in 16 bits: 5 of exponent, 11 of mantissa, the top bits of a float
// whose exponent starts at -31. Relative error at most 2^-12; zero becomes 2^-31.
constexpr std::uint32_t PRIOR_BASE = (127u - 31u) << 23;
constexpr std::uint16_t encode_prior(float p) {
    const auto bits = std::bit_cast<std::uint32_t>(p);
    return bits <= PRIOR_BASE ? 0 : std::uint16_t((bits - PRIOR_BASE + (1u << 11)) >> 12);
}
constexpr float decode_prior(std::uint16_t code) {
    return std::bit_cast<float>((std::uint32_t(code) << 12) + PRIOR_BASE);
}

struct Edge {
    std::uint64_t stat;   // value sum << VISIT_BITS | visits; visits in flight count, see Step
    NodeIndex child;      // NO_NODE until first met and after its memory was reclaimed; REPEATS
    std::uint16_t bits;   // move16, and in bit 15 whether the move is proven to lose
    std::uint16_t prior;  // encode_prior

    std::uint32_t visits() const { return std::uint32_t(stat & MAX_VISITS); }
    std::uint64_t value_sum() const { return stat >> VISIT_BITS; }
    std::uint16_t move16() const { return bits & 0x7fff; }
    bool has_child() const { return child != NO_NODE && child != REPEATS; }
    bool is_lost() const { return bits >> 15; }
    void mark_lost() { bits |= 0x8000; }
    void clear_lost() { bits &= 0x7fff; }
};
static_assert(sizeof(Edge) == 16);

// What is proven of a position, from its side to move's view.
enum class Proof : std::uint8_t { NONE, WIN, LOSS, DRAW };

// NEW: edges may be there, priors are not. PENDING: in a batch. EXPANDED: evaluated.
enum class NodeState : std::uint8_t { NEW, PENDING, EXPANDED };

struct alignas(64) Node {
    std::uint64_t key;        // of the position; near the ply limit of the ply too; or private
    std::uint64_t value_sum;  // its own evaluation and everything backed up through it
    std::uint32_t visits;     // 1 for its own evaluation + those of its edges, in flight included
    std::uint32_t in_flight;  // of them, how many have no value yet
    std::uint32_t edges;      // number of the first edge in the arena
    NodeIndex next;           // the next node of the same hash slot
    float value;              // the network's, a LeafSearch's mixed in
    std::uint16_t edge_count;
    std::uint16_t touched;      // edges [0, touched) may have visits, all later ones have none
    std::uint16_t open;         // edges not proven to lose
    std::uint16_t proof_plies;  // plies to the end of the game, where a win or loss is proven
    NodeState state;
    Proof proof;
    std::uint8_t turn;         // Color
    std::uint8_t front;        // edge `touched` has the largest prior of those from there on
    std::uint8_t is_private;   // reached by one path only
    std::uint8_t mark;         // of the reclaimer
    std::uint8_t collisions;   // playouts that were dropped here while a batch was collected
    std::uint64_t square_sum;  // of the squares of the values in value_sum

    std::uint32_t finished() const { return visits - in_flight; }
    // The mean value; precondition: finished() > 0.
    float mean() const { return float(value_sum) / (float(finished()) * VALUE_ONE); }
};
static_assert(sizeof(Node) == 64);

}  // namespace komadori
