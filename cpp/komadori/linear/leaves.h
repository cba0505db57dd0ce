// Quiescence leaves and ranks of record moves under the current weights, for the learners of
// evaluations. Multithreaded; results don't depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "komadori/linear/line_search.h"
#include "komadori/threads/parallel.h"

namespace komadori::linear {

using Hcp = std::array<std::uint8_t, 32>;

struct Choice {  // one position of a record
    Hcp hcp;
    std::uint16_t move16;  // the record's move
};

// The leaves of the principal variations of quiescence searches, one entry per root.
struct Leaves {
    std::vector<Hcp> hcp;
    std::vector<std::int32_t> value;       // centipawns, the view of the root's side to move
    std::vector<std::uint8_t> same_turn;   // 1: the root's side is to move at the leaf
    std::vector<std::uint8_t> is_settled;  // 0: the line ends in mate
    std::uint64_t nodes = 0;

    explicit Leaves(std::size_t n) : hcp(n), value(n), same_turn(n), is_settled(n) {}
};

template <alphabeta::Evaluator E>
Leaves find_leaves(const typename E::Weights& weights, std::span<const Hcp> roots, int threads) {
    constexpr std::size_t CHUNK = 256;
    Leaves leaves(roots.size());
    std::atomic<std::uint64_t> nodes{0};
    const std::size_t chunks = (roots.size() + CHUNK - 1) / CHUNK;
    parallel_queue(chunks, threads, [&](std::size_t, const auto& next) {
        LineSearch<E> search(weights);
        for (std::size_t chunk; (chunk = next()) < chunks;) {
            const std::size_t last = std::min((chunk + 1) * CHUNK, roots.size());
            for (std::size_t i = chunk * CHUNK; i < last; ++i) {
                Position root;
                root.set_hcp(roots[i]);
                search.set_root(root);
                leaves.value[i] = search.search_root();
                leaves.is_settled[i] = !alphabeta::is_decisive(leaves.value[i]);
                search.at_leaf([&](const Position& leaf, const E&) {
                    leaves.hcp[i] = leaf.hcp();
                    leaves.same_turn[i] = leaf.turn() == root.turn();
                });
            }
        }
        nodes += search.nodes();
    });
    leaves.nodes = nodes;
    return leaves;
}

// The rank of the record's move per choice: the number of legal moves with a higher value (0: the
// best move); -1 if it is illegal. depth: 1 or 2 plies before quiescence.
template <alphabeta::Evaluator E>
std::vector<std::int32_t> find_ranks(const typename E::Weights& weights,
                                     std::span<const Choice> choices, int depth, int threads) {
    std::vector<std::int32_t> ranks(choices.size());
    parallel_queue(choices.size(), threads, [&](std::size_t, const auto& next) {
        LineSearch<E> search(weights);
        for (std::size_t i; (i = next()) < choices.size();) {
            Position root;
            root.set_hcp(choices[i].hcp);
            const Move record = root.from_move16(choices[i].move16);
            ranks[i] = -1;
            if (record.is_none()) continue;
            search.set_root(root);
            const Score value =
                search.search_move(record, depth, -alphabeta::INFINITE, alphabeta::INFINITE);
            Move moves[MAX_LEGAL_MOVES];
            const int n = root.legal_moves(moves);
            ranks[i] = 0;
            for (int k = 0; k < n; ++k) {
                if (moves[k].move16() == record.move16()) continue;
                ranks[i] += search.search_move(moves[k], depth, value, value + 1) > value;
            }
        }
    });
    return ranks;
}

}  // namespace komadori::linear
