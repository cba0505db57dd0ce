// The transposition table, shared by all threads without a lock.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "komadori/alphabeta/large_pages.h"
#include "komadori/alphabeta/score.h"

namespace komadori::alphabeta {

struct TableEntry {
    std::uint16_t move16 = 0;  // 0: none
    Score score = NO_SCORE;    // mates counted from this position; NO_SCORE if only evaluated
    Score eval = NO_SCORE;     // static evaluation, NO_SCORE in check
    int depth = 0;
    Bound bound = Bound::NONE;
    bool was_pv = false;
};

// Four entries of two words share a cache line:
//   data  | move16 16 | score 16 | eval 16 | depth 8 | generation 5 | was_pv 1 | bound 2 |
//   check | key ^ data, so that a torn write matches no key (Hyatt and Mann's lockless hashing)
class TranspositionTable {
  public:
    static constexpr int DEPTH_MIN = -8;  // the lowest depth that can be stored

    // Uses at most `megabytes` MiB (at least 1) and clears the table.
    void resize(std::size_t megabytes);
    void clear();
    // Ages the entries of earlier searches: they are replaced first.
    void new_search() { generation_ = (generation_ + 1) & GENERATIONS; }

    bool probe(std::uint64_t key, TableEntry& entry) const;
    // Overwrites an entry of the same key, of which only the move if it is much deeper, else the
    // least valuable of four. If `entry` has no move, the old move of the same key is kept.
    void store(std::uint64_t key, const TableEntry& entry);
    void prefetch(std::uint64_t key) const { __builtin_prefetch(&lines_[index(key)]); }

    // Per mille of entries written by this search, estimated from a sample.
    int hashfull() const;
    std::size_t bytes() const { return count_ * sizeof(Line); }

  private:
    static constexpr int ENTRIES = 4;
    static constexpr unsigned GENERATIONS = 31;
    struct Slot {
        std::atomic<std::uint64_t> check, data;
    };
    struct alignas(64) Line {
        Slot slots[ENTRIES];
    };

    std::size_t index(std::uint64_t key) const {
        return std::size_t((unsigned __int128)(key)*count_ >> 64);
    }
    int replacement_value(std::uint64_t data) const;

    LargePages<Line[]> lines_;
    std::size_t count_ = 0;
    unsigned generation_ = 0;
};

// Mate scores count plies from the root in the search, from the stored position in the table.
constexpr Score to_table(Score s, int plies) {
    return s >= MATE_BOUND ? s + plies : s <= -MATE_BOUND ? s - plies : s;
}
constexpr Score from_table(Score s, int plies) {
    return s == NO_SCORE ? s : s >= MATE_BOUND ? s - plies : s <= -MATE_BOUND ? s + plies : s;
}

}  // namespace komadori::alphabeta
