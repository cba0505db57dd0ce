// Work shared out among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace komadori {

// Calls work(thread) in so many threads and rethrows what one throws.
template <class Work>
void in_threads(int threads, const Work& work) {
    const auto n = std::size_t(std::max(threads, 1));
    if (n == 1) return work(std::size_t(0));
    std::vector<std::exception_ptr> failures(n);
    {
        std::vector<std::jthread> pool;
        for (std::size_t i = 0; i < n; ++i) {
            pool.emplace_back([&, i] {
                try {
                    work(i);
                } catch (...) {
                    failures[i] = std::current_exception();
                }
            });
        }
    }
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

// Calls work(thread, begin, end) for equal shares of the count.
template <class Work>
void share(std::size_t count, int threads, const Work& work) {
    const auto n = std::size_t(std::max(threads, 1));
    in_threads(threads, [&](std::size_t i) { work(i, count * i / n, count * (i + 1) / n); });
}

// Calls work(thread, next) where next() gives numbers below count, each once, then count: for
// pieces of work of different length.
template <class Work>
void take_turns(std::size_t count, int threads, const Work& work) {
    std::atomic<std::size_t> taken{0};
    const auto next = [&] {
        return std::min(taken.fetch_add(1, std::memory_order_relaxed), count);
    };
    in_threads(threads, [&](std::size_t i) { work(i, next); });
}

}  // namespace komadori
