// How the threads of several searches share the CPUs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace komadori::alphabeta {

// Lets at most `threads` search threads run at a time, in turns of TURN_MS. Shared by any number of
// engines (Options::turns).
class Turns {
  public:
    static constexpr std::int64_t TURN_MS = 10;

    explicit Turns(int threads);
    // Waits for a turn; a search with `stop` set doesn't wait.
    void begin(const std::atomic<bool>& stop);
    void end();
    bool has_waiting() const { return waiting_count_.load(std::memory_order_relaxed) > 0; }
    // Makes waiting threads check `stop`.
    void wake();

  private:
    struct Waiting {
        std::condition_variable changed;
        bool has_turn = false;
    };

    void pass_on();

    const int threads_;
    std::mutex mutex_;
    int running_ = 0;
    std::deque<Waiting*> waiting_;  // longest first
    std::atomic<int> waiting_count_{0};
};

// Raises the niceness of the calling thread, and of those it starts, by this much (Linux; nothing
// elsewhere).
void lower_priority(int niceness);

}  // namespace komadori::alphabeta
