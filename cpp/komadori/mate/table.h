// The transposition table of a mate search.
//
// A bucket holds the entries of one or more boards; a board with several hands has several
// entries, all in its bucket. The table starts small, so that a short search stays in the
// CPU's cache, and doubles up to its limit as it fills: bucket i is split into i and
// i + buckets. At the limit, entries with the least work below them are replaced.
//
//   key 8 | hand 4 | pn 4 | dn 4 | loop_sum 4 | loop_plies 2 | move 2 | plies, work 2 | generation
//   2
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "komadori/rules/hand.h"

namespace komadori::mate {

// The largest proof and disproof number: (0, INFINITE) is proven, (INFINITE, 0) disproven.
constexpr std::uint32_t INFINITE = 1u << 30;

struct Entry {
    std::uint64_t key = 0;  // board, side to move and, in a search with max_ply, plies left
    Hand hand;              // the attacker's: proof pieces, disproof pieces or the exact hand
    std::uint32_t pn = 0;
    std::uint32_t dn = 0;
    std::uint32_t loop_sum = 0;  // see loop_plies
    // If not 0: the position is disproven, by repetition, on every path whose last loop_plies
    // positions have the hash sum loop_sum. On other paths pn and dn hold.
    std::uint16_t loop_plies = 0;
    std::uint16_t move = 0;        // of a proof: move16 of the mating move
    std::uint16_t plies : 11 = 0;  // of a proof: upper bound on the plies to mate
    std::uint16_t work : 5 = 0;    // log2 of the nodes below
    std::uint16_t generation = 0;  // the solve that wrote it; entries of older solves are free
};
static_assert(sizeof(Entry) == 32);

class Table {
  public:
    static constexpr int BUCKET = 8;
    // Uses at most this many bytes, rounded down to a power of two, but at least 16 KiB.
    explicit Table(std::size_t bytes);

    // Clears the table in constant time. Allocates at the first call; throws std::bad_alloc.
    void start_solve();
    Entry* bucket(std::uint64_t key) { return buckets_ + (key & mask_) * BUCKET; }
    bool is_live(const Entry& e) const { return e.generation == generation_; }
    std::uint16_t generation() const { return generation_; }

    // The slot for a new entry of that key: a free one or the least valuable.
    Entry& make_room(std::uint64_t key);
    bool wants_to_grow() const { return count_ > (mask_ + 1) * (BUCKET / 2) && mask_ < max_mask_; }
    void grow(const std::atomic<bool>& stop);

    std::size_t bytes() const { return (max_mask_ + 1) * BUCKET * sizeof(Entry); }
    int permille_used() const;  // relative to the full size

  private:
    struct Free {
        void operator()(void* memory) const;
    };

    std::uint64_t mask_ = 0, max_mask_ = 0;
    std::size_t count_ = 0;
    std::uint16_t generation_ = 0;
    Entry* buckets_ = nullptr;  // aligned, within memory_
    std::unique_ptr<void, Free> memory_;
};

}  // namespace komadori::mate
