#include "komadori/alphabeta/table.h"

#include <algorithm>

namespace komadori::alphabeta {
namespace {

std::uint64_t pack(const TableEntry& e, std::uint16_t move16, unsigned generation) {
    return std::uint64_t(move16) | std::uint64_t(std::uint16_t(e.score)) << 16 |
           std::uint64_t(std::uint16_t(e.eval)) << 32 |
           std::uint64_t(std::uint8_t(e.depth - TranspositionTable::DEPTH_MIN)) << 48 |
           std::uint64_t(generation << 3 | unsigned(e.was_pv) << 2 | unsigned(e.bound)) << 56;
}
int depth_of(std::uint64_t data) { return int(data >> 48 & 255) + TranspositionTable::DEPTH_MIN; }
unsigned generation_of(std::uint64_t data) { return unsigned(data >> 59); }
Bound bound_of(std::uint64_t data) { return Bound(data >> 56 & 3); }

}  // namespace

void TranspositionTable::resize(std::size_t megabytes) {
    std::size_t bytes = std::max<std::size_t>(megabytes, 1) << 20;
    if (bytes != this->bytes()) {
        lines_ = allocate_large<Line[]>(bytes / sizeof(Line));  // keeps the old table on failure
        count_ = bytes / sizeof(Line);
    }
    clear();
}

void TranspositionTable::clear() {
    for (std::size_t i = 0; i < count_; ++i) {
        for (Slot& slot : lines_[i].slots) {
            slot.check.store(0, std::memory_order_relaxed);
            slot.data.store(0, std::memory_order_relaxed);
        }
    }
    generation_ = 0;
}

bool TranspositionTable::probe(std::uint64_t key, TableEntry& entry) const {
    for (const Slot& slot : lines_[index(key)].slots) {
        std::uint64_t data = slot.data.load(std::memory_order_relaxed);
        if ((slot.check.load(std::memory_order_relaxed) ^ data) != key || !data) continue;
        entry.move16 = std::uint16_t(data);
        entry.score = std::int16_t(data >> 16);
        entry.eval = std::int16_t(data >> 32);
        entry.depth = depth_of(data);
        entry.was_pv = data >> 58 & 1;
        entry.bound = bound_of(data);
        return true;
    }
    return false;
}

// Replacement value: deep entries of recent searches are kept.
int TranspositionTable::replacement_value(std::uint64_t data) const {
    return depth_of(data) - 8 * int((generation_ - generation_of(data)) & GENERATIONS);
}

void TranspositionTable::store(std::uint64_t key, const TableEntry& entry) {
    Line& line = lines_[index(key)];
    Slot* chosen = &line.slots[0];
    int least = 1 << 20;
    std::uint16_t move16 = entry.move16;
    for (Slot& slot : line.slots) {
        std::uint64_t data = slot.data.load(std::memory_order_relaxed);
        if (!data) {
            chosen = &slot;
            least = -(1 << 20);
            continue;
        }
        if ((slot.check.load(std::memory_order_relaxed) ^ data) == key) {
            if (!move16) move16 = std::uint16_t(data);
            bool keep = entry.bound != Bound::EXACT && bound_of(data) != Bound::NONE &&
                        generation_of(data) == generation_ &&
                        entry.depth + 4 + 2 * entry.was_pv <= depth_of(data);
            if (keep) {
                if (!entry.move16 || entry.move16 == std::uint16_t(data)) return;
                data = (data & ~std::uint64_t(0xffff)) | entry.move16;  // only its move is newer
                slot.data.store(data, std::memory_order_relaxed);
                slot.check.store(key ^ data, std::memory_order_relaxed);
                return;
            }
            chosen = &slot;
            break;
        }
        if (int value = replacement_value(data); value < least) {
            chosen = &slot;
            least = value;
        }
    }
    std::uint64_t data = pack(entry, move16, generation_);
    chosen->data.store(data, std::memory_order_relaxed);
    chosen->check.store(key ^ data, std::memory_order_relaxed);
}

int TranspositionTable::hashfull() const {
    std::size_t lines = std::min<std::size_t>(count_, 250);
    int used = 0;
    for (std::size_t i = 0; i < lines; ++i) {
        for (const Slot& slot : lines_[i].slots) {
            std::uint64_t data = slot.data.load(std::memory_order_relaxed);
            used += data && generation_of(data) == generation_;
        }
    }
    return lines ? int(used * 1000 / int(lines * ENTRIES)) : 0;
}

}  // namespace komadori::alphabeta
