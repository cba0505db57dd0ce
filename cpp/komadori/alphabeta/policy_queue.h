// Positions that wait for a policy network. The search queues a position and waits, the engine's
// owner takes it (step) and supplies the network's priors, and the search resumes. No search
// thread runs the network.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "komadori/rules/position.h"

namespace komadori::alphabeta {

// What the network says of a position's moves, in no order.
struct Priors {
    std::vector<std::uint16_t> moves;  // move16
    std::vector<float> values;         // of any scale, the larger the better

    float least = 0;  // of them

    float of(Move m) const;  // `least` for a move that isn't there
};

struct PolicyQuestion {
    std::uint64_t key;
    std::array<std::uint8_t, 32> hcp;
};

// Any thread may call anything.
class PolicyQueue {
  public:
    // Called after a position was queued, by the thread that waits for it.
    std::function<void()> on_question;

    // What is known of the position, nullptr for nothing. Stays until `forget`.
    const Priors* find(std::uint64_t key) const;
    // Queues the position and waits for the answer; nullptr where `stop` came first.
    const Priors* ask(const Position& position, const std::atomic<bool>& stop);

    bool has_questions() const { return open_.load(std::memory_order_acquire) > 0; }
    // Those that wait and weren't taken yet.
    std::vector<PolicyQuestion> take();
    // Moves of the position as move16. Throws std::invalid_argument where lengths differ.
    void supply(std::uint64_t key, std::span<const std::uint16_t> moves,
                std::span<const float> values);
    void forget();  // not while searching
    void wake();    // waiting threads check `stop` again
    std::size_t size() const {
        std::lock_guard lock(mutex_);
        return known_.size();
    }
    // Answers since it last forgot.
    std::uint64_t answered() const { return answered_.load(std::memory_order_relaxed); }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<PolicyQuestion> questions_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Priors>> known_;  // empty while it is asked
    std::atomic<int> open_{0};
    std::atomic<std::uint64_t> answered_{0};
};

}  // namespace komadori::alphabeta
