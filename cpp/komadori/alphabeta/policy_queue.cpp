#include "komadori/alphabeta/policy_queue.h"

#include <algorithm>
#include <stdexcept>

namespace komadori::alphabeta {

float Priors::of(Move m) const {
    const auto found = std::ranges::find(moves, m.move16());
    return found == moves.end() ? least : values[std::size_t(found - moves.begin())];
}

const Priors* PolicyQueue::find(std::uint64_t key) const {
    std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second.get();
}

const Priors* PolicyQueue::request(const Position& position, const std::atomic<bool>& stop) {
    const std::uint64_t key = position.key();
    std::unique_lock lock(mutex_);
    if (known_.try_emplace(key).second) {
        requests_.push_back({key, position.sfen()});
        open_.store(int(requests_.size()), std::memory_order_release);
        if (on_request) {
            lock.unlock();
            on_request();
            lock.lock();
        }
    }
    const auto answer = [&]() -> const Priors* {
        const auto found = known_.find(key);
        return found == known_.end() ? nullptr : found->second.get();
    };
    changed_.wait(lock, [&] { return answer() || stop.load(std::memory_order_relaxed); });
    const Priors* found = answer();
    if (!found) {  // stopped: withdraws the request
        known_.erase(key);
        std::erase_if(requests_, [key](const PolicyRequest& r) { return r.key == key; });
        open_.store(int(requests_.size()), std::memory_order_release);
    }
    return found;
}

std::vector<PolicyRequest> PolicyQueue::take() {
    std::lock_guard lock(mutex_);
    open_.store(0, std::memory_order_release);
    return std::exchange(requests_, {});
}

void PolicyQueue::supply(std::uint64_t key, std::span<const std::uint16_t> moves,
                         std::span<const float> values) {
    if (moves.size() != values.size()) {
        throw std::invalid_argument("moves and priors differ in length");
    }
    auto priors = std::make_unique<Priors>();
    priors->moves.assign(moves.begin(), moves.end());
    priors->values.assign(values.begin(), values.end());
    if (!values.empty()) priors->least = std::ranges::min(values);
    std::lock_guard lock(mutex_);
    auto& slot = known_[key];
    if (slot) return;  // answered before; the search may be reading it
    slot = std::move(priors);
    answered_.fetch_add(1, std::memory_order_relaxed);
    changed_.notify_all();
}

void PolicyQueue::clear() {
    std::lock_guard lock(mutex_);
    known_.clear();
    requests_.clear();
    open_ = 0;
    answered_ = 0;
}

void PolicyQueue::wake() {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
}

}  // namespace komadori::alphabeta
