// The memory layout of the search graph.
//
//   Node, 64 bytes: a position, or a position on one path only (see Tree::make_private)
//    0          8           16     20        24     28    32     36          38
//   +----------+-----------+------+---------+------+-----+------+-----------+-------+
//   | key      | value_sum |visits|in_flight|edges |next |value |edge_count |touched|
//   +----------+-----------+------+---------+------+-----+------+-----------+-------+
//    40   42          44    45    46   47    48      49   50         52       54   56           64
//   +----+-----------+-----+-----+----+-----+-------+----+----------+--------+----+------------+
//   |open|proof_plies|state|proof|turn|front|private|mark|collisions|unbiased|bias| square_sum |
//   +----+-----------+-----+-----+----+-----+-------+----+----------+--------+----+------------+
//
//   Edge, 16 bytes: a legal move; a node's edges are contiguous
//    0                                 8            12                    14        16
//   +-------------------+-------------+------------+---------------------+---------+
//   | value sum 38 bits | visits 26   | child      | lost 1 | move16 15  | prior   |
//   +-------------------+-------------+------------+---------------------+---------+
//
// Statistics are fixed-point: values in [0, 1] in units of 1/4096. So sums are exact, independent
// of the order in which batches are expanded (except with TreeOptions::uncertainty_weight), and
// visits can be undone exactly. The rounding error of a value is at most 1/8192.
//
// A node's sums are from its side to move's view. An edge's sum is from the view of the side that
// makes the move, which is the side to move of the node that owns the edge.
#pragma once

#include <bit>
#include <cstdint>

namespace komadori {

using NodeIndex = std::uint32_t;
constexpr NodeIndex NO_NODE = 0;           // the store never uses index 0
constexpr NodeIndex REPEATS = 0xffffffff;  // Edge::child of a move that repeats a position

constexpr int VALUE_ONE = 4096;  // the fixed-point value 1
constexpr int VISIT_BITS = 26;
constexpr std::uint32_t MAX_VISITS = (1u << VISIT_BITS) - 1;  // per edge, hence per node

// A probability in (0, 1] in 16 bits: 5 bits of exponent from -31, 11 bits of mantissa. Relative
// error at most 2^-12; zero becomes 2^-31.
constexpr std::uint32_t PRIOR_BASE = (127u - 31u) << 23;
constexpr std::uint16_t encode_prior(float p) {
    const auto bits = std::bit_cast<std::uint32_t>(p);
    return bits <= PRIOR_BASE ? 0 : std::uint16_t((bits - PRIOR_BASE + (1u << 11)) >> 12);
}
constexpr float decode_prior(std::uint16_t code) {
    return std::bit_cast<float>((std::uint32_t(code) << 12) + PRIOR_BASE);
}

struct Edge {
    std::uint64_t stat;   // value sum << VISIT_BITS | visits, including visits in flight (see Step)
    NodeIndex child;      // NO_NODE before the first visit and after reclaiming; REPEATS
    std::uint16_t bits;   // move16; bit 15: the move is proven to lose
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

// The proven value of a position, from its side to move's view.
enum class Proof : std::uint8_t { NONE, WIN, LOSS, DRAW };

// NEW: may have edges, but no priors. PENDING: in a batch. EXPANDED: evaluated.
enum class NodeState : std::uint8_t { NEW, PENDING, EXPANDED };

struct alignas(64) Node {
    std::uint64_t key;        // Tree::key_of, or a key of a private node
    std::uint64_t value_sum;  // its own evaluation plus all backed-up values
    std::uint32_t visits;     // 1 for its own evaluation plus its edges', including in flight
    std::uint32_t in_flight;  // visits without a value yet
    std::uint32_t edges;      // arena index of the first edge
    NodeIndex next;           // the next node of the hash bucket
    float value;              // the network's, mixed with a LeafSearch's and corrected, if set
    std::uint16_t edge_count;
    std::uint16_t touched;      // only edges [0, touched) may have visits
    std::uint16_t open;         // number of edges not proven to lose
    std::uint16_t proof_plies;  // plies to the end of a proven win or loss
    NodeState state;
    Proof proof;
    std::uint8_t turn;         // Color
    std::uint8_t front;        // edge `touched` has the largest prior of the edges from there on
    std::uint8_t is_private;   // reached by one path only
    std::uint8_t mark;         // mark bit of Store::reclaim
    std::uint8_t collisions;   // playouts dropped here in the current collect()
    std::uint16_t unbiased;    // `value` before TreeOptions::value_bias, in units of 1/VALUE_ONE
    std::uint16_t bias;        // ValueBias::bucket
    std::uint64_t square_sum;  // sum of the squares of the values in value_sum

    std::uint32_t finished() const { return visits - in_flight; }
    // Precondition: finished() > 0.
    float mean() const { return float(std::int64_t(value_sum)) / (float(finished()) * VALUE_ONE); }
};
static_assert(sizeof(Node) == 64);

}  // namespace komadori
