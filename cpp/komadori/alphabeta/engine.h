// The engine: worker threads that search one position together (lazy SMP).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "komadori/alphabeta/options.h"
#include "komadori/alphabeta/outcome.h"
#include "komadori/alphabeta/policy_queue.h"
#include "komadori/alphabeta/table.h"
#include "komadori/alphabeta/turns.h"
#include "komadori/base/process.h"
#include "komadori/rules/position.h"

namespace komadori::alphabeta {

inline std::int64_t now_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// The remaining nodes of a search. Threads claim nodes in advance, so that the limit is exact.
class NodeBudget {
  public:
    void reset(std::uint64_t nodes) { left_ = std::int64_t(std::min(nodes, MOST)); }
    // Returns the unused nodes of the last claim (negative: nodes used beyond it) and claims up to
    // `most` new ones; 0 if none are left.
    std::int64_t renew(std::int64_t unused, std::int64_t most, std::int64_t threads) {
        std::int64_t left = left_.load(std::memory_order_relaxed), claimed;
        do {
            claimed = std::clamp<std::int64_t>((left + unused + threads - 1) / threads, 0, most);
        } while (
            !left_.compare_exchange_weak(left, left + unused - claimed, std::memory_order_relaxed));
        return claimed;
    }

  private:
    // Leaves room for adding the claims of all threads.
    static constexpr std::uint64_t MOST = std::uint64_t(1) << 62;

    std::atomic<std::int64_t> left_{0};
};

// State shared by the threads of a search. During a search only atomics, the table and members with
// their own lock change.
struct Shared {
    static constexpr std::int64_t NEVER = std::int64_t(1) << 60;

    Options options;
    Limits limits;
    TranspositionTable table;
    PolicyQueue policy;
    std::atomic<std::int64_t> started_ms{0};  // of the search, then of the ponderhit
    std::atomic<bool> stop{false};
    std::atomic<bool> infinite{false}, has_node_limit{false};
    std::atomic<std::int64_t> minimum_ms{0}, optimum_ms{NEVER}, maximum_ms{NEVER};
    NodeBudget node_budget;
    std::function<std::uint64_t()> nodes;             // of all threads
    std::function<void(std::vector<Info>&&)> report;  // the lines of an iteration

    std::int64_t elapsed_ms() const { return now_ms() - started_ms; }
};

// Beta cutoffs by remaining depth, and those by the first move.
struct Cutoffs {
    static constexpr int DEPTHS = 32;
    std::uint64_t all[DEPTHS] = {}, by_first[DEPTHS] = {};

    void count(int depth, bool is_first) {
        const int at = depth < DEPTHS ? depth : DEPTHS - 1;
        ++all[at];
        by_first[at] += is_first;
    }
};

// Takes every n-th position that a search evaluates, with its static evaluation.
class EvaluationSampler {
  public:
    explicit EvaluationSampler(std::uint32_t every) : every_(every), left_(every) {}

    void see(const Position& position, Score evaluation) {
        if (--left_ > 0) return;
        left_ = every_;
        taken_.push_back({position.hcp(), position.turn(), evaluation});
    }
    struct Taken {
        std::array<std::uint8_t, 32> hcp;
        Color turn;
        Score evaluation;  // the side to move's view
    };
    const std::vector<Taken>& taken() const { return taken_; }
    void clear() { taken_.clear(); }

  private:
    const std::uint32_t every_;
    std::uint32_t left_;
    std::vector<Taken> taken_;
};

// One search thread, independent of its evaluator.
class AnyWorker {
  public:
    virtual ~AnyWorker() = default;
    virtual void new_game() = 0;
    // Searches until a limit or `stop`. The first worker checks the time and reports.
    virtual void think(const Position& root, const std::vector<Move>& root_moves) = 0;
    virtual Score evaluate(const Position& position) = 0;  // static, side to move's view
    // Number of mismatches between incremental and full evaluation in a random walk of `steps`.
    virtual std::uint64_t evaluator_mismatches(const Position& start, std::uint64_t steps,
                                               std::uint64_t seed) = 0;

    // Shows the positions that searches evaluate to a sampler; nullptr: to none.
    void set_sampler(EvaluationSampler* sampler) { sampler_ = sampler; }

    std::uint64_t nodes() const { return nodes_.load(std::memory_order_relaxed); }
    std::uint64_t nodes_at_hit() const { return nodes_at_hit_.load(std::memory_order_relaxed); }
    void note_ponderhit() { nodes_at_hit_.store(nodes(), std::memory_order_relaxed); }
    void reset_counts() {
        nodes_.store(0, std::memory_order_relaxed);
        nodes_at_hit_.store(0, std::memory_order_relaxed);
        cutoffs_ = {};
    }
    const Cutoffs& cutoffs() const { return cutoffs_; }  // of the last search
    int completed_depth() const { return completed_depth_; }
    const std::vector<Info>& lines() const { return lines_; }  // of the last iteration, best first
    Outcome outcome() const {                                  // of lines(), which aren't empty
        const Info& line = lines_.front();
        return {completed_depth_, line.depth, line.score, line.bound};
    }
    bool has_reported() const { return has_reported_; }        // whether lines() was reported
    bool is_out_of_nodes() const { return is_out_of_nodes_; }  // the node budget is used up

  protected:
    void count_node() {
        nodes_.store(nodes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    std::atomic<std::uint64_t> nodes_{0}, nodes_at_hit_{0};
    EvaluationSampler* sampler_ = nullptr;
    Cutoffs cutoffs_;
    int completed_depth_ = 0;
    bool has_reported_ = false, is_out_of_nodes_ = false;
    std::vector<Info> lines_;
};

using WorkerFactory = std::function<std::unique_ptr<AnyWorker>(Shared&, int index)>;

// The result of a search. Without a legal move, best and lines are empty.
struct Result {
    Move best, ponder;
    bool declares_win = false;
    std::vector<Info> lines;
};

// Methods may be called from any thread; those that need the engine for themselves wait until no
// search runs.
class Engine {
  public:
    explicit Engine(WorkerFactory factory, const Options& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    Options options() const;
    // Waits for a running search. Resizing the table clears it; new threads start with empty
    // histories. Throws std::invalid_argument without a thread or memory for the table.
    void set_options(const Options& options);
    void new_game();
    // Shows the positions that the first thread evaluates to a sampler, which must outlive the
    // searches; nullptr: to none.
    void set_sampler(EvaluationSampler* sampler) { workers_.front()->set_sampler(sampler); }
    Score evaluate(const Position& position);
    std::uint64_t evaluator_mismatches(const Position& start, std::uint64_t steps,
                                       std::uint64_t seed);

    // Starts a search in the background; the position is copied.
    void start(const Position& position, const Limits& limits);
    // Searches on the calling thread, which saves starting one; helpers still get their own.
    Result search(const Position& position, const Limits& limits);
    // Waits at most this long for new lines, policy requests or the end of the search. Returns and
    // removes the new lines.
    std::vector<Info> wait(std::int64_t timeout_ms);
    // Whether a search ran when this process was forked: its threads are missing here, so that it
    // never ends, and the locks may be held for ever.
    bool is_lost() const { return is_searching() && process_ != process_id(); }
    bool is_searching() const { return searching_.load(std::memory_order_acquire); }
    void stop();
    // With options.policy_depth: step() returns the positions that wait for priors and supply()
    // answers one. After `stop` the search doesn't wait for missing answers.
    std::vector<PolicyRequest> step() { return shared_.policy.take(); }
    void supply(std::uint64_t key, std::span<const std::uint16_t> moves,
                std::span<const float> values) {
        shared_.policy.supply(key, moves, values);
    }
    std::uint64_t answered() const { return shared_.policy.answered(); }
    // Summed over all threads of the last search; waits for its end.
    Cutoffs cutoffs();
    // Continues the search under new limits, with time and nodes counted from now.
    void ponderhit(const Limits& limits);
    // Waits for the end of the search; an empty result of one that ran when the process was forked.
    Result result();

    // Of the last search, over all threads; after a ponderhit, since then.
    std::uint64_t nodes() const;
    std::size_t table_bytes() const { return shared_.table.bytes(); }
    const TranspositionTable& table() const { return shared_.table; }

  private:
    void join();
    void wait_for_search();
    void wait_until_finite();
    std::uint64_t count_nodes() const;
    void prepare(const Limits& limits);
    Result run(Position position);
    void apply(const Limits& limits);

    WorkerFactory factory_;
    Shared shared_;
    std::vector<std::unique_ptr<AnyWorker>> workers_;
    std::thread thread_;
    int process_ = process_id();  // of the last search
    std::mutex control_;  // held by what starts a search or needs that none runs; before mutex_
    // Also held by what changes the workers or the options, which only threads of a search may
    // read without it.
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Info> unread_;
    std::atomic<bool> searching_{false};
    Result result_;
};

// Makes an engine, never destroyed in a process that was forked during a search.
std::shared_ptr<Engine> make_engine(WorkerFactory factory, const Options& options);

}  // namespace komadori::alphabeta
