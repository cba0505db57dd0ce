#include "komadori/linear/comparison.h"

#include <algorithm>
#include <cmath>

#include "komadori/base/hash.h"
#include "komadori/linear/line_search.h"
#include "komadori/threads/parallel.h"

namespace komadori::linear {
namespace {

constexpr std::size_t CHUNK = 64;  // choices per work item

// Black's minus White's pieces by type.
std::array<std::int8_t, 16> balance(const Position& position) {
    std::array<std::int8_t, 16> pieces{};
    position.occupied().each([&](Square s) {
        const Piece p = position.piece_on(s);
        pieces[type_of(p)] = std::int8_t(pieces[type_of(p)] + (color_of(p) == BLACK ? 1 : -1));
    });
    for (PieceType t : HAND_TYPES) {
        pieces[t] = std::int8_t(pieces[t] + position.hand(BLACK, t) - position.hand(WHITE, t));
    }
    return pieces;
}

// Searches the choices of a chunk; comparisons index the leaves of the chunk.
Lines lines_of(const TwoPieceWeights& weights, std::span<const Choice> choices, std::size_t first,
               std::size_t last, std::uint64_t seed) {
    Lines lines;
    LineSearch<TwoPieceEvaluator> search(weights);
    for (std::size_t i = first; i < last; ++i) {
        Position root;
        root.set_hcp(choices[i].hcp);
        const Move record = root.from_move16(choices[i].move16);
        if (record.is_none()) {
            ++lines.left_out;
            continue;
        }
        const int depth = 1 + int(splitmix64(seed ^ splitmix64(i)) >> 63);
        search.set_root(root);
        const auto add_leaf = [&] {
            search.at_leaf([&](const Position& leaf, const TwoPieceEvaluator& evaluator) {
                lines.leaves.push_back({evaluator.list(), balance(leaf)});
            });
            return std::uint32_t(lines.leaves.size() - 1);
        };
        const Score value =
            search.search_move(record, depth, -alphabeta::INFINITE, alphabeta::INFINITE);
        if (alphabeta::is_decisive(value)) {
            ++lines.left_out;
            continue;
        }
        ++lines.searched;
        const std::uint32_t best = add_leaf();
        Move moves[MAX_LEGAL_MOVES];
        const int n = root.legal_moves(moves);
        for (int k = 0; k < n; ++k) {
            if (moves[k].move16() == record.move16()) continue;
            const Score other = search.search_move(moves[k], depth, value - WINDOW, value + WINDOW);
            if (other <= value - WINDOW || other >= value + WINDOW) continue;
            lines.comparisons.push_back({root.turn() == BLACK ? 1.0f : -1.0f, best, add_leaf()});
        }
    }
    lines.nodes = search.nodes();
    return lines;
}

// E(other) - E(record) of two leaves of one root, centipawns, Black's view.
double difference(const TwoPieceWeights& weights, const Leaf& other, const Leaf& record) {
    double pieces = 0;
    for (std::size_t t = 1; t < 16; ++t) {
        pieces += weights.piece_value(PieceType(t)) * (other.pieces[t] - record.pieces[t]);
    }
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < PIECES; ++i) {
        if (other.list[i] == record.list[i]) continue;
        const std::int16_t* gained = weights.row(other.list[i]);
        const std::int16_t* lost = weights.row(record.list[i]);
        // Counts a pair of two changed pieces once, with the lower index first.
        for (std::size_t j = 0; j < PIECES; ++j) {
            if (j < i && other.list[j] != record.list[j]) continue;
            sum += gained[other.list[j]];
            sum -= lost[record.list[j]];
        }
    }
    return pieces + double(sum) / WEIGHT_UNITS;
}

// Adds to the pairs that only one of the leaves has: `gained` for `other`, `lost` for `record`.
void add_difference(float* pairs, const Leaf& other, const Leaf& record, float gained, float lost) {
    for (std::size_t i = 0; i < PIECES; ++i) {
        if (other.list[i] == record.list[i]) continue;
        for (std::size_t j = 0; j < PIECES; ++j) {
            if (j < i && other.list[j] != record.list[j]) continue;
            const auto add = [&](Feature a, Feature b, float w) {
                if (a == NO_FEATURE || b == NO_FEATURE || (a == b && !is_in_hand(a))) return;
                pairs[std::size_t(a) * FEATURES + b] += w;
            };
            add(other.list[i], other.list[j], gained);
            add(record.list[i], record.list[j], lost);
        }
    }
}

}  // namespace

double sigmoid(double x) {
    return 1 / (1 + std::exp(-7.0 / WINDOW * std::clamp(x, -double(WINDOW), double(WINDOW))));
}

double slope(double x) {
    if (std::abs(x) >= WINDOW) return 0;
    const double t = sigmoid(x);
    return 7.0 / WINDOW * t * (1 - t);
}

void Lines::append(Lines&& more) {
    const auto base = std::uint32_t(leaves.size());
    leaves.insert(leaves.end(), more.leaves.begin(), more.leaves.end());
    for (Comparison c : more.comparisons) {
        c.record += base;
        c.other += base;
        comparisons.push_back(c);
    }
    searched += more.searched;
    left_out += more.left_out;
    nodes += more.nodes;
}

Lines find_lines(const TwoPieceWeights& weights, std::span<const Choice> choices,
                 std::uint64_t seed, int threads) {
    std::vector<Lines> chunks((choices.size() + CHUNK - 1) / CHUNK);
    parallel_for(chunks.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t c = begin; c < end; ++c) {
            chunks[c] = lines_of(weights, choices, c * CHUNK,
                                 std::min((c + 1) * CHUNK, choices.size()), seed);
        }
    });
    Lines all;
    for (Lines& chunk : chunks) all.append(std::move(chunk));
    return all;
}

Gradient gradient(const TwoPieceWeights& weights, const Lines& lines, int threads) {
    const auto n_threads = std::size_t(std::max(threads, 1));
    std::vector<Gradient> parts(n_threads);
    parallel_for(lines.comparisons.size(), threads,
                 [&](std::size_t thread, std::size_t begin, std::size_t end) {
                     Gradient& part = parts[thread];
                     part.pairs.assign(std::size_t(FEATURES) * FEATURES, 0.0f);
                     for (std::size_t k = begin; k < end; ++k) {
                         const Comparison& c = lines.comparisons[k];
                         const Leaf &other = lines.leaves[c.other],
                                    &record = lines.leaves[c.record];
                         const double x = c.sign * difference(weights, other, record);
                         part.loss += sigmoid(x);
                         const double down = -c.sign * slope(x);  // -d loss / d E(other)
                         for (std::size_t t = 1; t < 16; ++t) {
                             part.pieces[t] += down * (other.pieces[t] - record.pieces[t]);
                         }
                         const auto weight = float(down / WEIGHT_UNITS);
                         add_difference(part.pairs.data(), other, record, weight, -weight);
                     }
                 });
    Gradient all = std::move(parts[0]);
    for (std::size_t i = 1; i < n_threads; ++i) {
        all.loss += parts[i].loss;
        for (std::size_t t = 0; t < 16; ++t) all.pieces[t] += parts[i].pieces[t];
        for (std::size_t k = 0; k < all.pairs.size(); ++k) all.pairs[k] += parts[i].pairs[k];
    }
    return all;
}

std::vector<float> occurrences(const Lines& lines) {
    std::vector<float> counts(std::size_t(FEATURES) * FEATURES);
    for (const Comparison& c : lines.comparisons) {
        add_difference(counts.data(), lines.leaves[c.other], lines.leaves[c.record], 1, 1);
    }
    return counts;
}

}  // namespace komadori::linear
