#include "komadori/alphabeta/turns.h"

#include <algorithm>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace komadori::alphabeta {

Turns::Turns(int threads) : threads_(std::max(threads, 1)) {}

void Turns::begin(const std::atomic<bool>& stop) {
    std::unique_lock lock(mutex_);
    Waiting self;
    waiting_.push_back(&self);
    pass_on();
    self.changed.wait(lock, [&] { return self.has_turn || stop; });
    if (!self.has_turn) {
        std::erase(waiting_, &self);
        ++running_;  // a stopped search only returns its result
    }
    waiting_count_ = int(waiting_.size());
}

void Turns::end() {
    std::lock_guard lock(mutex_);
    --running_;
    pass_on();
}

void Turns::pass_on() {
    while (running_ < threads_ && !waiting_.empty()) {
        ++running_;
        waiting_.front()->has_turn = true;
        waiting_.front()->changed.notify_one();
        waiting_.pop_front();
    }
    waiting_count_ = int(waiting_.size());
}

void Turns::wake() {
    std::lock_guard lock(mutex_);
    for (Waiting* waiting : waiting_) waiting->changed.notify_one();
}

void lower_priority([[maybe_unused]] int niceness) {
#ifdef __linux__
    const auto thread = id_t(syscall(SYS_gettid));
    if (niceness > 0) {
        setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + niceness);
    }
#endif
}

}  // namespace komadori::alphabeta
