// A set of positions by a 64-bit hash of their hcp. Among n positions, the probability that two
// collide is about n^2 / 4e19.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "komadori/base/hash.h"

namespace komadori {

// Chains splitmix64 over the words of the hcp.
inline std::uint64_t position_key(const std::uint8_t* hcp) {
    std::uint64_t key = 0;
    for (int i = 0; i < 4; ++i) {
        std::uint64_t word;
        std::memcpy(&word, hcp + 8 * i, 8);
        key = splitmix64(key ^ word);
    }
    return key;
}

class PositionSet {
  public:
    // Returns whether the position was new.
    bool add(const std::uint8_t* hcp) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        std::uint64_t& slot = slots_[find(slots_, hash(hcp))];
        if (slot != EMPTY) return false;
        slot = hash(hcp);
        ++size_;
        return true;
    }

    bool contains(const std::uint8_t* hcp) const {
        return size_ > 0 && slots_[find(slots_, hash(hcp))] != EMPTY;
    }

    std::size_t size() const { return size_; }

  private:
    static constexpr std::uint64_t EMPTY = 0;

    static std::uint64_t hash(const std::uint8_t* hcp) {
        const std::uint64_t h = position_key(hcp);
        return h == EMPTY ? 1 : h;
    }

    // The slot of the hash, or the empty slot for it. The number of slots is a power of two, and
    // some are always empty.
    static std::size_t find(const std::vector<std::uint64_t>& slots, std::uint64_t h) {
        const std::size_t mask = slots.size() - 1;
        std::size_t i = h & mask;
        while (slots[i] != EMPTY && slots[i] != h) i = (i + 1) & mask;
        return i;
    }

    void grow() {
        std::vector<std::uint64_t> larger(slots_.empty() ? 1024 : 2 * slots_.size(), EMPTY);
        for (const std::uint64_t h : slots_)
            if (h != EMPTY) larger[find(larger, h)] = h;
        slots_.swap(larger);
    }

    std::vector<std::uint64_t> slots_;
    std::size_t size_ = 0;
};

}  // namespace komadori
