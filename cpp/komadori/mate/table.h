// What a mate search knows about positions, in bounded memory.
//
// A bucket holds the entries of one or more boards; a board with several hands has several
// entries, all in its bucket. The table starts small, so that a short search stays in the
// CPU's cache, and doubles up to its limit as it fills: bucket i is split into i and
// i + buckets. Beyond the limit the entries with the least work below them make room.
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

// Proof and disproof numbers end here: (0, INFINITE) is proven, (INFINITE, 0) disproven.
constexpr std::uint32_t INFINITE = 1u << 30;

struct Entry {
    std::uint64_t key = 0;  // board, side to move and, in a search of limited length, plies left
    Hand hand;              // the attacker's; of a proof the least, of a disproof the most
    std::uint32_t pn = 0;
    std::uint32_t dn = 0;
    std::uint32_t loop_sum = 0;  // see loop_plies
    // Not 0: this very position is disproven on a path whose last loop_plies positions have the
    // sum loop_sum, because of repetitions of some of them. pn and dn hold elsewhere.
    std::uint16_t loop_plies = 0;
    std::uint16_t move = 0;        // move16 of the mating move, of a proof
    std::uint16_t plies : 11 = 0;  // to mate, of a proof: an upper bound
    std::uint16_t work : 5 = 0;    // log2 of the nodes below
    std::uint16_t generation = 0;  // the solve it belongs to; older ones are free
};
static_assert(sizeof(Entry) == 32);

class Table {
  public:
    static constexpr int BUCKET = 8;
    // At most this many bytes, rounded down to a power of two; at least one 16 KiB.
    explicit Table(std::size_t bytes);

    // Forgets everything, at once. Allocates at the first call; throws std::bad_alloc.
    void start_solve();
    Entry* bucket(std::uint64_t key) { return buckets_ + (key & mask_) * BUCKET; }
    bool is_live(const Entry& e) const { return e.generation == generation_; }
    std::uint16_t generation() const { return generation_; }

    // A place for a new entry of that key: a free one or the least valuable.
    Entry& make_room(std::uint64_t key);
    bool wants_to_grow() const { return count_ > (mask_ + 1) * (BUCKET / 2) && mask_ < max_mask_; }
    void grow(const std::atomic<bool>& stop);

    std::size_t bytes() const { return (max_mask_ + 1) * BUCKET * sizeof(Entry); }
    int permille_used() const;  // of the memory it may use

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
