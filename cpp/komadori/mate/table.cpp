#include "komadori/mate/table.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace komadori::mate {
namespace {

constexpr std::size_t BUCKET_BYTES = Table::BUCKET * sizeof(Entry);
constexpr std::size_t FIRST_BUCKETS = 1024;
constexpr std::size_t MIN_BUCKETS = 64;

// Replacement priority: proofs and disproofs before estimates, then by the work below.
int value(const Entry& e) { return e.work + (e.pn == 0 || e.dn == 0 ? 2 : 0); }

}  // namespace

void Table::Free::operator()(void* memory) const { std::free(memory); }

Table::Table(std::size_t bytes) {
    max_mask_ = std::bit_floor(std::max(bytes / BUCKET_BYTES, MIN_BUCKETS)) - 1;
}

void Table::start_solve() {
    if (!memory_) {
        // The system maps zeroed pages on first touch.
        memory_.reset(std::calloc(bytes() + BUCKET_BYTES, 1));
        if (!memory_) throw std::bad_alloc();
        auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        address = (address + BUCKET_BYTES - 1) & ~std::uintptr_t(BUCKET_BYTES - 1);
        buckets_ = reinterpret_cast<Entry*>(address);
    }
    mask_ = std::min<std::uint64_t>(FIRST_BUCKETS - 1, max_mask_);
    count_ = 0;
    if (++generation_ == 0) {
        std::memset(static_cast<void*>(buckets_), 0, bytes());
        generation_ = 1;
    }
}

Entry& Table::make_room(std::uint64_t key) {
    Entry* entries = bucket(key);
    Entry* least = entries;
    for (Entry* e = entries; e != entries + BUCKET; ++e) {
        if (!is_live(*e)) {
            ++count_;
            return *e;
        }
        if (value(*e) < value(*least)) least = e;
    }
    return *least;
}

void Table::grow(const std::atomic<bool>& stop) {
    std::uint64_t old_buckets = mask_ + 1;
    for (std::uint64_t i = 0; i < old_buckets; ++i) {
        if (i % 1024 == 0 && stop.load(std::memory_order_relaxed)) return;
        Entry* low = buckets_ + i * BUCKET;
        Entry* high = low + old_buckets * BUCKET;
        for (int k = 0; k < BUCKET; ++k) high[k].generation = 0;
        for (int k = 0; k < BUCKET; ++k) {
            if (!is_live(low[k]) || !(low[k].key & old_buckets)) continue;
            *high++ = low[k];
            low[k].generation = 0;
        }
    }
    mask_ = mask_ * 2 + 1;
}

int Table::permille_used() const { return int(count_ * 1000 / ((max_mask_ + 1) * BUCKET)); }

}  // namespace komadori::mate
