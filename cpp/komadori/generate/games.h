// Teacher games played by the built-in search, multithreaded: one engine per thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "komadori/alphabeta/engine.h"
#include "komadori/generate/game.h"

namespace komadori::generate {

struct FinishedGame {
    GameFacts facts;
    std::string hcpe3, inner;  // to_hcpe3(), inner_to_hcpe3()
};

// Plays the game and returns whether it was finished; false after `stop`. Starts a new game in the
// engines, which should search with one thread each.
bool play(TeacherGame& game, alphabeta::Engine& engine, alphabeta::Engine* opponent,
          const std::atomic<bool>& stop);

// add, take and stop must be called from one thread.
class TeacherGames {
  public:
    // Starts one thread per engine; `opponents` is empty or has the same size. The engines must
    // outlive this object.
    TeacherGames(std::vector<alphabeta::Engine*> engines, std::vector<alphabeta::Engine*> opponents,
                 Settings settings, Openings openings);
    ~TeacherGames() { stop(); }
    TeacherGames(const TeacherGames&) = delete;
    TeacherGames& operator=(const TeacherGames&) = delete;

    // Queues games, to be played in this order.
    void add(const std::vector<std::uint64_t>& numbers);
    // The number of queued and running games.
    std::size_t waiting() const;
    // The games finished since the last call; waits up to the timeout (ms) for one. Rethrows a
    // thread's exception.
    std::vector<FinishedGame> take(std::int64_t timeout_ms);
    // Stops the threads; running games are lost.
    void stop();
    std::uint64_t nodes() const { return nodes_; }

  private:
    void run(std::size_t thread);
    bool next(std::uint64_t& number);

    const std::vector<alphabeta::Engine*> engines_, opponents_;
    const Settings settings_;
    const Openings openings_;
    mutable std::mutex mutex_;
    std::condition_variable to_do_, done_;
    std::deque<std::uint64_t> numbers_;
    std::size_t unfinished_ = 0;
    std::vector<FinishedGame> finished_;
    std::exception_ptr failure_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> nodes_{0};
    std::atomic<std::size_t> running_{0};
    std::vector<std::thread> threads_;
};

}  // namespace komadori::generate
