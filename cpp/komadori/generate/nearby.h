// Positions near given ones, by random moves, with what a search finds in them; in threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "komadori/alphabeta/engine.h"
#include "komadori/generate/random.h"
#include "komadori/generate/settings.h"
#include "komadori/records/samples.h"
#include "komadori/rules/position.h"

namespace komadori::generate {

struct NearbySettings {
    std::uint64_t seed = 1;
    int min_plies = 1, max_plies = 3;  // random moves, drawn evenly between the two
    double tactical_share = 0.3;  // of them that are captures or promotions where there are any
    SearchBounds bounds;
    int limit_cp = 4000;  // positions with a score beyond are left out; 0: none is
};

// Positions that share an engine's memory: it is emptied before each block of them, so that what
// is found depends on neither the threads nor what came before.
constexpr std::size_t NEARBY_BLOCK = 1024;

// The position after the random moves of the numbered draw; none where the game ends before.
std::optional<Position> nearby_position(const Position& from, const NearbySettings& settings,
                                        std::uint64_t number);

class NearbySearch {
  public:
    // A thread for each engine, all of one search thread. They outlive this.
    NearbySearch(std::vector<alphabeta::Engine*> engines, NearbySettings settings)
        : engines_(std::move(engines)), settings_(settings) {}

    // Row i of the result is near row `game[i]` of the N given; rows without one are left out.
    // hcp: [N, 32]. result: [N], the side to move's. numbers: draws number first, first + 1, ...
    // Nothing more is begun after stop(); what comes back then is a part.
    SampleTable run(std::span<const std::uint8_t> hcp, std::span<const float> result,
                    std::uint64_t first);
    // For other threads.
    void stop();
    std::size_t done() const { return done_; }      // rows, of all runs
    std::uint64_t nodes() const { return nodes_; }  // of all runs
    double search_seconds() const;                  // of all threads, inside the searches

  private:
    void work(alphabeta::Engine& engine, std::span<const std::uint8_t> hcp,
              std::span<const float> result, std::uint64_t first, std::vector<SampleTable>& blocks);

    const std::vector<alphabeta::Engine*> engines_;
    const NearbySettings settings_;
    std::atomic<bool> stop_{false};
    std::atomic<std::size_t> next_block_{0}, done_{0};
    std::atomic<std::uint64_t> nodes_{0};
    std::atomic<std::int64_t> search_ns_{0};
};

}  // namespace komadori::generate
