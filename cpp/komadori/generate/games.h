// Teacher games of the built-in search, in threads: one searching engine per thread.
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
    std::string hcpe3, inner;  // as TeacherGame has them
};

// Plays the numbered game to its end; what it has found so far is thrown away when `stop` is set.
// The engines begin with a new game and search with one thread. Whether it came to the end.
bool play(TeacherGame& game, alphabeta::Engine& engine, alphabeta::Engine* opponent,
          const std::atomic<bool>& stop);

// add, take and stop are for one thread.
class TeacherGames {
  public:
    // As many threads as engines; `opponents` is empty or as long. Both outlive this.
    TeacherGames(std::vector<alphabeta::Engine*> engines, std::vector<alphabeta::Engine*> opponents,
                 Settings settings, Openings openings);
    ~TeacherGames() { stop(); }
    TeacherGames(const TeacherGames&) = delete;
    TeacherGames& operator=(const TeacherGames&) = delete;

    // Games to be played, in this order.
    void add(const std::vector<std::uint64_t>& numbers);
    // Games of those that aren't finished yet.
    std::size_t waiting() const;
    // Games that have ended since the last call; waits up to the timeout (ms). Rethrows a thread's
    // exception.
    std::vector<FinishedGame> take(std::int64_t timeout_ms);
    // Ends the threads at once; games in play are lost.
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
