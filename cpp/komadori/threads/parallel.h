// Parallel loops.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace komadori {

// Allocates this thread's part of the exception handling, which its first throw would do: where
// that throw reports a lack of memory, glibc would end the process instead.
inline void prepare_to_throw() {
    // Stored, because calls of a function without side effects may be left out.
    [[maybe_unused]] volatile int count = std::uncaught_exceptions();
}

// Calls body(thread) once for each of `threads` threads, waits for all and rethrows the first
// exception. If the system can't start that many, the calling thread runs the remaining bodies, so
// they must not wait for each other.
template <class Body>
void run_threads(int threads, const Body& body) {
    const auto n = std::size_t(std::max(threads, 1));
    if (n == 1) return body(std::size_t(0));
    std::vector<std::exception_ptr> failures(n);
    const auto work = [&](std::size_t i) {
        prepare_to_throw();
        try {
            body(i);
        } catch (...) {
            failures[i] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> pool;
        pool.reserve(n);
        try {
            while (pool.size() < n) pool.emplace_back(work, pool.size());
        } catch (const std::system_error&) {
            for (std::size_t i = pool.size(); i < n; ++i) work(i);
        }
    }
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

// Static schedule: calls body(thread, begin, end) once per thread, on equal ranges of [0, count).
template <class Body>
void parallel_for(std::size_t count, int threads, const Body& body) {
    const auto n = std::size_t(std::max(threads, 1));
    run_threads(threads, [&](std::size_t i) { body(i, count * i / n, count * (i + 1) / n); });
}

// Dynamic schedule, for items of unequal cost: calls body(thread, next) once per thread; next()
// returns each index of [0, count) to one caller, then count.
template <class Body>
void parallel_queue(std::size_t count, int threads, const Body& body) {
    std::atomic<std::size_t> taken{0};
    const auto next = [&] {
        return std::min(taken.fetch_add(1, std::memory_order_relaxed), count);
    };
    run_threads(threads, [&](std::size_t i) { body(i, next); });
}

}  // namespace komadori
