// Parallel loops.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace komadori {

// Allocates this thread's part of the exception handling, which its first throw would do: where
// that throw reports a lack of memory, glibc would end the process instead.
inline void prepare_to_throw() {
    // Stored, because calls of a function without side effects may be left out.
    [[maybe_unused]] volatile int count = std::uncaught_exceptions();
}

// Memory that is free when threads prepare to throw: their allocations take less from the system.
// More than 32 MiB, so that glibc always maps it and gives it back (mallopt(3), M_MMAP_THRESHOLD).
constexpr std::size_t SPARE_BYTES = std::size_t(33) << 20;

// Holds threads until all have started; then lets them prepare to throw while spare memory is free
// and nothing else takes it, and only then lets them work. Where little memory is left, a thread
// that prepared beside the others' work would end the process.
class ThreadStart {
  public:
    // Whether there is memory to start threads with.
    bool has_memory() const { return spare_ != nullptr; }

    // Called first by each thread.
    void prepare() {
        phase_.wait(STARTING);
        prepare_to_throw();
        prepared_.fetch_add(1);
        prepared_.notify_one();
        phase_.wait(PREPARING);
    }

    // Called once all `threads` have been started, by the thread that started them.
    void release(std::size_t threads) {
        spare_.reset();
        enter(PREPARING);
        for (std::size_t n; (n = prepared_.load()) < threads;) prepared_.wait(n);
        enter(WORKING);
    }

  private:
    enum Phase { STARTING, PREPARING, WORKING };

    void enter(Phase phase) {
        phase_.store(phase);
        phase_.notify_all();
    }

    std::unique_ptr<char[]> spare_{new (std::nothrow) char[SPARE_BYTES]};
    std::atomic<Phase> phase_{STARTING};
    std::atomic<std::size_t> prepared_{0};
};

// Calls body(thread) once for each of `threads` threads, waits for all and rethrows the first
// exception. If the system can't start that many, the calling thread runs the remaining bodies, so
// they must not wait for each other.
template <class Body>
void run_threads(int threads, const Body& body) {
    const auto n = std::size_t(std::max(threads, 1));
    if (n == 1) return body(std::size_t(0));
    std::vector<std::exception_ptr> failures(n);
    const auto work = [&](std::size_t i) {
        try {
            body(i);
        } catch (...) {
            failures[i] = std::current_exception();
        }
    };
    {
        ThreadStart start;
        std::vector<std::jthread> pool;
        pool.reserve(n);
        try {
            while (start.has_memory() && pool.size() < n) {
                pool.emplace_back([&, i = pool.size()] {
                    start.prepare();
                    work(i);
                });
            }
        } catch (const std::exception&) {  // no more threads, or no memory to start one
        }
        const std::size_t started = pool.size();
        start.release(started);
        for (std::size_t i = started; i < n; ++i) work(i);
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
