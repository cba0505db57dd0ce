// Positions that wait for a policy network. A search thread queues a position and waits; the
// engine's owner takes it (step), runs the network and supplies the priors.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "komadori/rules/position.h"

namespace komadori::alphabeta {

// A network's priors of a position's moves, in no particular order.
struct Priors {
    std::vector<std::uint16_t> moves;  // move16
    std::vector<float> values;         // on any scale, the larger the better

    float least = 0;  // the minimum of values

    float of(Move m) const;  // `least` for a move without a prior
};

struct PolicyRequest {
    std::uint64_t key;
    std::string sfen;  // hcp can't represent handicap games or a missing king
};

// Thread-safe.
class PolicyQueue {
  public:
    // Called after a position was queued, on the thread that waits for it.
    std::function<void()> on_request;

    // The priors of the position, or nullptr. Valid until clear().
    const Priors* find(std::uint64_t key) const;
    // Queues the position and waits for its priors; nullptr if stopped first.
    const Priors* request(const Position& position, const std::atomic<bool>& stop);

    bool has_requests() const { return open_.load(std::memory_order_acquire) > 0; }
    // Removes and returns the queued positions.
    std::vector<PolicyRequest> take();
    // `moves` are move16. Throws std::invalid_argument if lengths differ.
    void supply(std::uint64_t key, std::span<const std::uint16_t> moves,
                std::span<const float> values);
    void clear();  // not while searching
    void wake();   // makes waiting threads check `stop`
    std::size_t size() const {
        std::lock_guard lock(mutex_);
        return known_.size();
    }
    // Positions answered since the last clear().
    std::uint64_t answered() const { return answered_.load(std::memory_order_relaxed); }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<PolicyRequest> requests_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Priors>> known_;  // null: not answered yet
    std::atomic<int> open_{0};
    std::atomic<std::uint64_t> answered_{0};
};

}  // namespace komadori::alphabeta
