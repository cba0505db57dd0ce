#include "komadori/alphabeta/engine.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "komadori/rules/errors.h"

namespace komadori::alphabeta {

Engine::Engine(WorkerFactory factory, const Options& options) : factory_(std::move(factory)) {
    shared_.nodes = [this] { return count_nodes(); };
    shared_.report = [this](std::vector<Info>&& lines) {
        std::lock_guard lock(mutex_);
        for (Info& line : lines) unread_.push_back(std::move(line));
        changed_.notify_all();
    };
    shared_.policy.on_request = [this] {
        std::lock_guard lock(mutex_);
        changed_.notify_all();
    };
    set_options(options);
}

Engine::~Engine() {
    stop();
    join();
}

std::shared_ptr<Engine> make_engine(WorkerFactory factory, const Options& options) {
    return {new Engine(std::move(factory), options), [](Engine* engine) {
                if (!engine->is_lost()) delete engine;
            }};
}

void Engine::join() {
    if (!thread_.joinable()) return;
    if (process_ == process_id()) return thread_.join();
    // A thread of the parent, which can neither be joined nor destroyed.
    [[maybe_unused]] auto* kept = new std::thread(std::move(thread_));
}

Options Engine::options() const {
    std::lock_guard lock(mutex_);
    return shared_.options;
}

void Engine::set_options(const Options& options) {
    if (options.threads < 1) throw std::invalid_argument("threads must be at least 1");
    if (options.hash_mb < 1) throw std::invalid_argument("hash_mb must be at least 1");
    std::lock_guard control(control_);
    wait_for_search();
    const bool resized = std::size_t(options.hash_mb) << 20 != shared_.table.bytes();
    if (resized) shared_.table.resize(std::size_t(options.hash_mb));
    const auto threads = std::size_t(options.threads);
    std::vector<std::unique_ptr<AnyWorker>> added;
    for (std::size_t i = workers_.size(); i < threads; ++i) {
        added.push_back(factory_(shared_, int(i)));
    }
    Options replaced = options;  // its Turns may need Python's lock to go, so not under this one
    std::lock_guard lock(mutex_);
    std::swap(shared_.options, replaced);
    workers_.resize(std::min(workers_.size(), threads));
    std::ranges::move(added, std::back_inserter(workers_));
}

void Engine::new_game() {
    std::lock_guard control(control_);
    wait_for_search();
    shared_.table.clear();
    shared_.policy.clear();
    for (auto& worker : workers_) worker->new_game();
}

Score Engine::evaluate(const Position& position) {
    std::lock_guard control(control_);
    wait_for_search();
    return workers_.front()->evaluate(position);
}

std::uint64_t Engine::evaluator_mismatches(const Position& start, std::uint64_t steps,
                                           std::uint64_t seed) {
    std::lock_guard control(control_);
    wait_for_search();
    return workers_.front()->evaluator_mismatches(start, steps, seed);
}

std::uint64_t Engine::nodes() const {
    if (is_lost()) return count_nodes();
    std::lock_guard lock(mutex_);
    return count_nodes();
}

std::uint64_t Engine::count_nodes() const {
    std::uint64_t sum = 0;
    for (const auto& worker : workers_) sum += worker->nodes() - worker->nodes_at_hit();
    return sum;
}

Cutoffs Engine::cutoffs() {
    std::lock_guard control(control_);
    wait_for_search();
    Cutoffs sum;
    for (const auto& worker : workers_) {
        for (int d = 0; d < Cutoffs::DEPTHS; ++d) {
            sum.all[d] += worker->cutoffs().all[d];
            sum.by_first[d] += worker->cutoffs().by_first[d];
        }
    }
    return sum;
}

void Engine::apply(const Limits& limits) {
    auto or_never = [](std::int64_t ms) { return ms > 0 ? ms : Shared::NEVER; };
    shared_.started_ms = now_ms();
    shared_.minimum_ms = limits.minimum_ms;
    shared_.optimum_ms = or_never(limits.optimum_ms);
    shared_.maximum_ms = or_never(limits.maximum_ms);
    shared_.node_budget.reset(limits.nodes);
    shared_.has_node_limit = limits.nodes > 0;
    shared_.infinite = limits.infinite;  // last: the others hold while it isn't
}

void Engine::prepare(const Limits& limits) {
    wait_for_search();
    join();
    constexpr std::size_t MAX_PRIORS = 100'000;
    if (shared_.policy.size() > MAX_PRIORS) shared_.policy.clear();
    shared_.limits = limits;
    shared_.stop = false;
    apply(limits);
    std::lock_guard lock(mutex_);
    unread_.clear();
    result_ = {};
    process_ = process_id();
    searching_.store(true, std::memory_order_release);
}

Result Engine::search(const Position& position, const Limits& limits) {
    {
        std::lock_guard control(control_);
        prepare(limits);
    }
    return run(position);  // result() may be that of another thread's next search
}

void Engine::start(const Position& position, const Limits& limits) {
    std::lock_guard control(control_);
    prepare(limits);
    try {
        thread_ = std::thread([this, copy = position]() mutable {
            lower_priority(shared_.options.niceness);
            run(std::move(copy));
        });
    } catch (...) {
        searching_.store(false, std::memory_order_release);
        throw;
    }
}

Result Engine::run(Position position) {
    // Before any thread starts: the first worker reports the sum over all.
    for (const auto& worker : workers_) worker->reset_counts();
    const Options& options = shared_.options;
    Result found;
    Move moves[MAX_LEGAL_MOVES];
    int n = position.legal_moves(moves);
    std::vector<Move> root_moves;
    for (int i = 0; i < n; ++i) {
        const auto& allowed = shared_.limits.searchmoves;
        if (allowed.empty() || std::ranges::find(allowed, moves[i].move16()) != allowed.end()) {
            root_moves.push_back(moves[i]);
        }
    }
    found.declares_win =
        options.parts.declaration && n > 0 && position.can_declare_win(options.declaration_points);
    if (!root_moves.empty() && !found.declares_win) {
        shared_.table.new_search();
        std::vector<std::thread> helpers;
        try {
            for (std::size_t i = 1; i < workers_.size(); ++i) {
                helpers.emplace_back([&, i] { workers_[i]->think(position, root_moves); });
            }
        } catch (const std::exception&) {  // no more threads: search with those that started
        }
        workers_[0]->think(position, root_moves);
        wait_until_finite();
        // If the node budget ran out, helpers first use up the nodes that they have claimed.
        if (!workers_[0]->is_out_of_nodes()) stop();
        for (auto& helper : helpers) helper.join();
        shared_.stop = true;
        const AnyWorker* best = workers_[0].get();
        // Workers whose thread didn't start hold the lines of an earlier search.
        for (std::size_t i = 1; i <= helpers.size(); ++i) {
            const AnyWorker& worker = *workers_[i];
            if (worker.lines().empty()) continue;
            if (is_preferred(worker.outcome(), best->outcome(), options.multi_pv == 1)) {
                best = &worker;
            }
        }
        found.lines = best->lines();
        for (Info& line : found.lines) {  // a helper's lines have no counts
            line.nodes = count_nodes();
            line.time_ms = shared_.elapsed_ms();
            line.hashfull = shared_.table.hashfull();
        }
        if (best != workers_[0].get() || !best->has_reported()) {
            shared_.report(std::vector<Info>(found.lines));
        }
        found.best = found.lines.front().pv.front();
        if (found.lines.front().pv.size() > 1) found.ponder = found.lines.front().pv[1];
    } else {
        wait_until_finite();
    }
    std::lock_guard lock(mutex_);
    result_ = found;
    searching_.store(false, std::memory_order_release);
    changed_.notify_all();
    return found;
}

std::vector<Info> Engine::wait(std::int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] {
        return !unread_.empty() || shared_.policy.has_requests() || !is_searching();
    });
    return std::exchange(unread_, {});
}

void Engine::stop() {
    if (is_lost()) return;
    std::shared_ptr<Turns> turns;
    {
        std::lock_guard lock(mutex_);
        shared_.stop = true;
        turns = shared_.options.turns;
    }
    shared_.policy.wake();
    if (turns) turns->wake();
    changed_.notify_all();
}

void Engine::ponderhit(const Limits& limits) {
    {
        std::lock_guard lock(mutex_);
        for (const auto& worker : workers_) worker->note_ponderhit();
        apply(limits);
    }
    changed_.notify_all();
}

void Engine::wait_for_search() {
    if (is_lost()) {
        throw std::runtime_error(
            "the engine was searching when this process was forked; make one in each process");
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_searching(); });
}

// USI: an infinite search that has ended early, or has nothing to search, still waits for `stop`.
void Engine::wait_until_finite() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !shared_.infinite || shared_.stop; });
}

Result Engine::result() {
    if (is_lost()) return {};
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_searching(); });
    return result_;
}

}  // namespace komadori::alphabeta
