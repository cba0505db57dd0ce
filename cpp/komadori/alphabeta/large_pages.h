// Memory for randomly accessed tables, in huge pages where available: with normal pages most reads
// would also miss the TLB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace komadori::alphabeta {

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using LargePages = std::unique_ptr<T, FreeMemory>;

// Uninitialised; T must be trivial.
template <class T>
LargePages<T> allocate_large(std::size_t count) {
    constexpr std::size_t PAGE = std::size_t(2) << 20;
    if (count > (PTRDIFF_MAX - PAGE) / sizeof(std::remove_extent_t<T>)) throw std::bad_alloc();
    std::size_t bytes = (count * sizeof(std::remove_extent_t<T>) + 63) / 64 * 64;
    if (bytes >= PAGE) bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void* memory = std::aligned_alloc(bytes >= PAGE ? PAGE : 64, bytes);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (bytes >= PAGE) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return LargePages<T>(static_cast<std::remove_extent_t<T>*>(memory));
}

// For containers; aligned to a cache line.
template <class T>
struct LargePageAllocator {
    using value_type = T;

    LargePageAllocator() = default;
    template <class U>
    LargePageAllocator(const LargePageAllocator<U>&) {}
    T* allocate(std::size_t count) { return allocate_large<T[]>(count).release(); }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    bool operator==(const LargePageAllocator&) const = default;
};

}  // namespace komadori::alphabeta
