// Positions a few random moves away from given ones, labelled by a search, or the positions that
// such searches evaluate; multithreaded.
#pragma once

#include <array>
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
    int min_plies = 1, max_plies = 3;  // number of random moves, uniform between the two
    double tactical_fraction = 0.3;    // fraction of moves drawn from captures and promotions
    SearchBounds bounds;
    int limit_cp = 4000;  // skips positions with a larger absolute score; 0: none
    // If not 0: instead of the searched positions, every n-th that the searches evaluate, with its
    // static evaluation and no move.
    std::uint32_t evaluated_every = 0;
    // If not 0: such a position has the score and the move of a search of this many nodes.
    // Positions whose move is a capture or a promotion are dropped: no static evaluation explains
    // these scores.
    std::uint32_t label_nodes = 0;
};

// The engine's tables are cleared before each block of positions, so that results depend on neither
// the threads nor earlier blocks.
constexpr std::size_t NEARBY_BLOCK = 1024;

// The position after the random moves of draw `number`; nullopt if the game ends before.
std::optional<Position> nearby_position(const Position& from, const NearbySettings& settings,
                                        std::uint64_t number);

class NearbySearch {
  public:
    // Uses one thread per engine; the engines must search with one thread and outlive this object.
    NearbySearch(std::vector<alphabeta::Engine*> engines, NearbySettings settings)
        : engines_(std::move(engines)), settings_(settings) {}

    // hcp: [N, 32]. result: [N], the side to move's view. Row k uses draw first + k. Row i of the
    // returned table comes from row `game[i]`; rows without a position are skipped. After stop()
    // returns the rows searched so far.
    SampleTable run(std::span<const std::uint8_t> hcp, std::span<const float> result,
                    std::uint64_t first);
    // The following may be called from other threads.
    void stop();
    std::size_t done() const { return done_; }      // rows processed in all runs
    std::uint64_t nodes() const { return nodes_; }  // in all runs
    double search_seconds() const;                  // inside searches, summed over threads

  private:
    void work(alphabeta::Engine& engine, std::span<const std::uint8_t> hcp,
              std::span<const float> result, std::uint64_t first, std::vector<SampleTable>& blocks);

    // Appends the positions taken from a search to `to`, with their labels; returns the nodes of
    // the searches that these took.
    std::uint64_t label(alphabeta::Engine& engine, const alphabeta::EvaluationSampler& sampler,
                        Color turn, float result, std::size_t row, SampleTable& to) const;

    // Appends a row unless its score is beyond the limit.
    void add(const std::array<std::uint8_t, 32>& hcp, std::uint16_t move16, int cp, float result,
             std::size_t row, SampleTable& to) const;

    const std::vector<alphabeta::Engine*> engines_;
    const NearbySettings settings_;
    std::atomic<bool> stop_{false};
    std::atomic<std::size_t> next_block_{0}, done_{0};
    std::atomic<std::uint64_t> nodes_{0};
    std::atomic<std::int64_t> search_ns_{0};
};

}  // namespace komadori::generate
