#include "komadori/generate/games.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "komadori/generate/score.h"
#include "komadori/threads/parallel.h"

namespace komadori::generate {
namespace {

using alphabeta::Engine;
using alphabeta::Info;

// The lines of the last complete iteration, with the best move from an interrupted one if it
// changed.
std::vector<ScoredMove> lines_of(const std::vector<Info>& reported, const Info& best) {
    std::size_t first = 0, most = 0;
    for (std::size_t begin = 0; begin < reported.size();) {
        std::size_t end = begin + 1;
        bool is_whole = true;  // an interrupted iteration has lines of the previous depth
        for (; end < reported.size() && reported[end].multi_pv > 1; ++end) {
            is_whole &= reported[end].depth == reported[begin].depth;
        }
        if (is_whole && end - begin >= most) {
            first = begin;
            most = end - begin;
        }
        begin = end;
    }
    std::vector<ScoredMove> lines{{best.pv.front(), to_cp(best.score)}};
    for (std::size_t i = first; i < first + most; ++i) {
        const Move move = reported[i].pv.front();
        if (move == lines.front().move) continue;
        lines.push_back({move, std::min(to_cp(reported[i].score), lines.front().score_cp)});
    }
    return lines;
}

struct Found {
    std::vector<ScoredMove> lines;
    bool declares_win = false;
};

Found search(Engine& engine, const Position& position, const SearchBounds& bounds, int multi_pv) {
    if (engine.options().multi_pv != multi_pv) {
        alphabeta::Options options = engine.options();
        options.multi_pv = multi_pv;
        engine.set_options(options);
    }
    alphabeta::Limits limits;
    limits.depth = bounds.depth;
    limits.nodes = bounds.nodes;
    const alphabeta::Result& result = engine.search(position, limits);
    Found found{{}, result.declares_win};
    if (result.lines.empty()) return found;
    const Info& best = result.lines.front();
    found.lines = multi_pv > 1 ? lines_of(engine.wait(0), best)
                               : std::vector<ScoredMove>{{best.pv.front(), to_cp(best.score)}};
    return found;
}

}  // namespace

bool play(TeacherGame& game, Engine& engine, Engine* opponent, const std::atomic<bool>& stop) {
    engine.new_game();
    if (opponent) opponent->new_game();
    while (!game.is_over()) {
        const Request request = game.request();
        Engine& searcher = request.by_opponent && opponent ? *opponent : engine;
        Found found = search(searcher, game.position(), request.bounds, request.multi_pv);
        const std::uint64_t nodes = searcher.nodes();
        if (stop.load(std::memory_order_relaxed)) return false;
        std::optional<Position> inner;
        if (!request.by_opponent && !found.declares_win) {
            inner = game.inner_position([&engine](std::uint64_t key) {
                alphabeta::TableEntry entry;
                return engine.table().probe(key, entry);
            });
        }
        game.answer(std::move(found.lines), nodes, found.declares_win);
        if (!inner) continue;
        const Position bare = inner->without_path();
        const Found below = search(engine, bare, request.bounds, 1);
        if (stop.load(std::memory_order_relaxed)) return false;
        if (!below.lines.empty()) game.add_inner(bare, below.lines.front(), engine.nodes());
    }
    return true;
}

TeacherGames::TeacherGames(std::vector<Engine*> engines, std::vector<Engine*> opponents,
                           Settings settings, Openings openings)
    : engines_(std::move(engines)),
      opponents_(std::move(opponents)),
      settings_(std::move(settings)),
      openings_(std::move(openings)) {
    const auto work = [this](std::size_t i) {
        try {
            run(i);
        } catch (...) {
            std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
        --running_;
        done_.notify_all();
    };
    threads_.reserve(engines_.size());
    const auto start = std::make_shared<ThreadStart>();
    if (!start->has_memory()) throw std::bad_alloc();
    try {
        for (std::size_t i = 0; i < engines_.size(); ++i) {
            threads_.emplace_back([start, work, i] {
                start->prepare();
                work(i);
            });
        }
    } catch (const std::exception&) {  // no more threads: those that there are play
        if (threads_.empty()) throw;
    }
    running_ = threads_.size();
    start->release(threads_.size());
}

void TeacherGames::run(std::size_t thread) {
    std::uint64_t number;
    while (next(number)) {
        TeacherGame game(settings_, openings_, number);
        Engine* opponent = opponents_.empty() ? nullptr : opponents_[thread];
        if (!play(game, *engines_[thread], opponent, stop_)) return;
        FinishedGame finished{game.facts(), game.to_hcpe3(), game.inner_to_hcpe3()};
        nodes_ += finished.facts.nodes;
        {
            std::lock_guard lock(mutex_);
            finished_.push_back(std::move(finished));
            --unfinished_;
        }
        done_.notify_all();
    }
}

bool TeacherGames::next(std::uint64_t& number) {
    std::unique_lock lock(mutex_);
    to_do_.wait(lock, [this] { return stop_ || !numbers_.empty(); });
    if (stop_) return false;
    number = numbers_.front();
    numbers_.pop_front();
    return true;
}

void TeacherGames::add(const std::vector<std::uint64_t>& numbers) {
    {
        std::lock_guard lock(mutex_);
        numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
        unfinished_ += numbers.size();
    }
    to_do_.notify_all();
}

std::size_t TeacherGames::waiting() const {
    std::lock_guard lock(mutex_);
    return unfinished_;
}

std::vector<FinishedGame> TeacherGames::take(std::int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                   [this] { return !finished_.empty() || failure_ || unfinished_ == 0; });
    if (finished_.empty() && failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::exchange(finished_, {});
}

void TeacherGames::stop() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    to_do_.notify_all();
    // A search that is just starting resets its stop flag, so stop is repeated until all have
    // ended.
    while (running_ > 0) {
        for (Engine* engine : engines_) engine->stop();
        for (Engine* engine : opponents_) engine->stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::thread& thread : threads_) {
        if (thread.joinable()) thread.join();
    }
}

}  // namespace komadori::generate
