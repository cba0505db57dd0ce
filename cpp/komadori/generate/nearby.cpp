#include "komadori/generate/nearby.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "komadori/generate/score.h"
#include "komadori/threads/parallel.h"

namespace komadori::generate {
namespace {

using alphabeta::Engine;
using alphabeta::Info;

Move draw_move(const Position& position, double tactical_fraction, Random& random) {
    Move moves[MAX_LEGAL_MOVES];
    const int n = position.legal_moves(moves);
    if (n == 0) return Move();
    if (random.chance(tactical_fraction)) {
        Move tactical[MAX_LEGAL_MOVES];
        int count = 0;
        for (int i = 0; i < n; ++i) {
            if (moves[i].captured() || moves[i].is_promotion()) tactical[count++] = moves[i];
        }
        if (count > 0) return tactical[random.below(std::uint32_t(count))];
    }
    return moves[random.below(std::uint32_t(n))];
}

// While it lives, an engine's searches show their positions to the sampler.
struct SamplingSearches {
    Engine& engine;
    alphabeta::EvaluationSampler sampler;

    SamplingSearches(Engine& e, std::uint32_t every) : engine(e), sampler(every) {
        engine.set_sampler(&sampler);
    }
    ~SamplingSearches() { engine.set_sampler(nullptr); }
    SamplingSearches(const SamplingSearches&) = delete;
};

void append(const SampleTable& from, SampleTable& to) {
    const auto extend = [](auto& column, const auto& more) {
        column.insert(column.end(), more.begin(), more.end());
    };
    extend(to.hcp, from.hcp);
    extend(to.move16, from.move16);
    extend(to.score_cp, from.score_cp);
    extend(to.result, from.result);
    extend(to.game, from.game);
    extend(to.ply, from.ply);
    extend(to.end_ply, from.end_ply);
    extend(to.end, from.end);
}

}  // namespace

std::optional<Position> nearby_position(const Position& from, const NearbySettings& settings,
                                        std::uint64_t number) {
    Random random(settings.seed, number);
    const auto range = std::uint32_t(settings.max_plies - settings.min_plies + 1);
    const int plies = settings.min_plies + int(random.below(range));
    Position position = from;
    for (int i = 0; i < plies; ++i) {
        const Move move = draw_move(position, settings.tactical_fraction, random);
        if (move.is_none()) return std::nullopt;
        position.do_move(move);
    }
    if (!position.has_legal_moves()) return std::nullopt;
    return position.without_path();
}

SampleTable NearbySearch::run(std::span<const std::uint8_t> hcp, std::span<const float> result,
                              std::uint64_t first) {
    std::vector<SampleTable> blocks((result.size() + NEARBY_BLOCK - 1) / NEARBY_BLOCK);
    next_block_ = 0;
    run_threads(int(engines_.size()), [&](std::size_t thread) {
        try {
            work(*engines_[thread], hcp, result, first, blocks);
        } catch (...) {
            stop_ = true;
            throw;
        }
    });
    SampleTable all;
    for (const SampleTable& block : blocks) append(block, all);
    return all;
}

void NearbySearch::work(Engine& engine, std::span<const std::uint8_t> hcp,
                        std::span<const float> result, std::uint64_t first,
                        std::vector<SampleTable>& blocks) {
    alphabeta::Limits limits;
    limits.depth = settings_.bounds.depth;
    limits.nodes = settings_.bounds.nodes;
    Position from;
    for (std::size_t block; !stop_ && (block = next_block_++) < blocks.size();) {
        engine.new_game();
        std::optional<SamplingSearches> evaluated;  // counts from 0 in each block
        if (settings_.evaluated_every > 0) evaluated.emplace(engine, settings_.evaluated_every);
        SampleTable& out = blocks[block];
        const std::size_t end = std::min(result.size(), (block + 1) * NEARBY_BLOCK);
        std::uint64_t nodes = 0;
        std::chrono::steady_clock::duration searched{};
        for (std::size_t row = block * NEARBY_BLOCK; row < end && !stop_; ++row) {
            from.set_hcp(hcp.subspan(32 * row).first<32>());
            const Color turn = from.turn();
            const std::optional<Position> position = nearby_position(from, settings_, first + row);
            ++done_;
            if (!position) continue;
            const auto began = std::chrono::steady_clock::now();
            const alphabeta::Result& found = engine.search(*position, limits);
            searched += std::chrono::steady_clock::now() - began;
            nodes += engine.nodes();
            if (evaluated) {
                engine.set_sampler(nullptr);
                const auto labels_began = std::chrono::steady_clock::now();
                nodes += label(engine, evaluated->sampler, turn, result[row], row, out);
                searched += std::chrono::steady_clock::now() - labels_began;
                evaluated->sampler.clear();
                engine.set_sampler(&evaluated->sampler);
                continue;
            }
            if (found.lines.empty() || found.declares_win) continue;
            const Info& best = found.lines.front();
            add(position->hcp(), best.pv.front().move16(), to_cp(best.score),
                position->turn() == turn ? result[row] : 1 - result[row], row, out);
        }
        nodes_ += nodes;
        search_ns_ += std::chrono::duration_cast<std::chrono::nanoseconds>(searched).count();
    }
}

std::uint64_t NearbySearch::label(Engine& engine, const alphabeta::EvaluationSampler& sampler,
                                  Color turn, float result, std::size_t row,
                                  SampleTable& to) const {
    alphabeta::Limits limits;
    limits.nodes = settings_.label_nodes;
    std::uint64_t nodes = 0;
    Position position;
    for (const auto& taken : sampler.taken()) {
        const float own_result = taken.turn == turn ? result : 1 - result;
        if (settings_.label_nodes == 0) {
            add(taken.hcp, 0, taken.evaluation, own_result, row, to);
            continue;
        }
        if (stop_) break;
        position.set_hcp(taken.hcp);
        const alphabeta::Result& found = engine.search(position, limits);
        nodes += engine.nodes();
        if (found.lines.empty() || found.declares_win) continue;
        const Info& best = found.lines.front();
        const Move move = best.pv.front();
        if (move.captured() || move.is_promotion()) continue;
        add(taken.hcp, move.move16(), to_cp(best.score), own_result, row, to);
    }
    return nodes;
}

void NearbySearch::add(const std::array<std::uint8_t, 32>& hcp, std::uint16_t move16, int cp,
                       float result, std::size_t row, SampleTable& to) const {
    if (settings_.limit_cp && std::abs(cp) > settings_.limit_cp) return;
    to.hcp.insert(to.hcp.end(), hcp.begin(), hcp.end());
    to.move16.push_back(move16);
    to.score_cp.push_back(std::int16_t(std::clamp(cp, -MATE_CP, MATE_CP)));
    to.result.push_back(result);
    to.game.push_back(std::int32_t(row));
    to.ply.push_back(0);
    to.end_ply.push_back(0);
    to.end.push_back(End::UNKNOWN);
}

void NearbySearch::stop() {
    stop_ = true;
    for (Engine* engine : engines_) engine->stop();
}

double NearbySearch::search_seconds() const { return double(search_ns_) * 1e-9; }

}  // namespace komadori::generate
