#include "komadori/linear/kpp_update.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "komadori/threads/parallel.h"

namespace komadori::linear {
namespace {

// A leaf's contribution to the KPP of one king.
struct PairsOfLeaf {
    BonaList list;  // in the king's frame, ascending
    float down;     // descent direction of the sum of its pairs
};

// A leaf's contribution to KKP and KK.
struct SinglesOfLeaf {
    BonaList list;  // Black's view
    Square black, white;
    float board, turn;
};

// The costs of a king's table and of a king pair's, in leaves: passes over the gradient.
constexpr std::size_t KING_COST = 5000, KING_PAIR_COST = 100;

// Item indices by bucket: bucket b has items[start[b]..start[b + 1]), in order.
struct Buckets {
    std::vector<std::uint32_t> start, items;

    Buckets(std::size_t count, const std::vector<std::uint32_t>& bucket_of) : start(count + 1) {
        for (std::uint32_t b : bucket_of) ++start[b + 1];
        for (std::size_t b = 0; b < count; ++b) start[b + 1] += start[b];
        items.resize(bucket_of.size());
        std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = 0; i < bucket_of.size(); ++i) {
            items[next[bucket_of[i]]++] = std::uint32_t(i);
        }
    }
    std::span<const std::uint32_t> of(std::size_t bucket) const {
        return {items.data() + start[bucket], items.data() + start[bucket + 1]};
    }
    std::size_t count() const { return start.size() - 1; }
    // The non-empty buckets by thread: each, the fullest first, goes to the thread with the least
    // work. Unlike with a queue, neither the shares nor the sums per thread depend on timing.
    // `fixed_cost`: of a bucket, in items.
    std::vector<std::vector<std::size_t>> shares(int threads, std::size_t fixed_cost) const {
        std::vector<std::size_t> order;
        for (std::size_t b = 0; b < count(); ++b) {
            if (!of(b).empty()) order.push_back(b);
        }
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return of(a).size() > of(b).size(); });
        std::vector<std::vector<std::size_t>> shares(std::size_t(std::max(threads, 1)));
        std::vector<std::size_t> work(shares.size());
        for (std::size_t b : order) {
            const auto least = std::size_t(std::ranges::min_element(work) - work.begin());
            shares[least].push_back(b);
            work[least] += of(b).size() + fixed_cost;
        }
        return shares;
    }
};

class Updater {
  public:
    Updater(const KppState& state, const KppStep& step) : state_(state), step_(step) {}

    // AdaGrad step of one table where the gradient isn't 0; gradient[i] belongs to index first + i.
    template <class Real>
    void descend(KppTable table, std::size_t first, std::span<const Real> gradient) const {
        const double rate = step_.rate[table];
        if (rate == 0) return;
        const std::size_t start = table_start(table) + first;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const auto g = double(gradient[i]);
            if (g == 0) continue;
            float& squares = state_.squares[start + i];
            const double sum = double(squares) + g * g;
            squares = float(sum);
            float& weight = state_.weights[start + i];
            weight = float(double(weight) + rate * g / std::sqrt(sum + step_.epsilon));
        }
    }

    void average(std::size_t begin, std::size_t end) const {
        const auto keep = float(step_.decay), take = float(1 - step_.decay);
        for (std::size_t i = begin; i < end; ++i) {
            if (state_.squares[i] == 0) continue;
            state_.average[i] = keep * state_.average[i] + take * state_.weights[i];
        }
    }

  private:
    const KppState& state_;
    const KppStep& step_;
};

// Updates KPP king by king; `pairs` [BONA_PAIRS] gets the gradient summed over all kings.
void update_pairs(const Updater& updater, const std::vector<PairsOfLeaf>& parts,
                  const Buckets& kings, int threads, std::vector<double>& pairs) {
    const std::vector<std::vector<std::size_t>> shares = kings.shares(threads, KING_COST);
    const std::span<const std::uint32_t> mirrored = pp_places();
    std::vector<std::vector<double>> sums(shares.size());
    run_threads(threads, [&](std::size_t thread) {
        std::vector<double>& sum = sums[thread];
        sum.assign(BONA_PAIRS, 0.0);
        std::vector<float> gradient(BONA_PAIRS);
        for (std::size_t king : shares[thread]) {
            std::fill(gradient.begin(), gradient.end(), 0.0f);
            for (std::uint32_t item : kings.of(king)) {
                const PairsOfLeaf& part = parts[item];
                for (std::size_t i = 0; i < BONA_LIST; ++i) {
                    if (part.list[i] == NO_BONA_PIECE) continue;
                    float* row = &gradient[pair_row(part.list[i])];
                    for (std::size_t j = i + 1; j < BONA_LIST; ++j) row[part.list[j]] += part.down;
                }
            }
            for (std::size_t i = 0; i < BONA_PAIRS; ++i) sum[i] += double(gradient[i]);
            if (file_of(Square(king)) == 4) {
                for (std::size_t i = 0; i < BONA_PAIRS; ++i) {
                    if (mirrored[i] == i) continue;
                    gradient[mirrored[i]] += gradient[i];
                    gradient[i] = 0;
                }
            }
            updater.descend<float>(TABLE_KPP, king * BONA_PAIRS, gradient);
        }
    });
    pairs.assign(BONA_PAIRS, 0.0);
    for (const std::vector<double>& sum : sums) {
        for (std::size_t i = 0; i < sum.size(); ++i) pairs[mirrored[i]] += sum[i];
    }
}

// Gradients of KP, RKP and P; board and turn interleaved.
struct Beside {
    std::vector<double> kp = std::vector<double>(KPP_TABLE_SIZES[TABLE_KP]);
    std::vector<double> rkp = std::vector<double>(KPP_TABLE_SIZES[TABLE_RKP]);
    std::vector<double> p = std::vector<double>(KPP_TABLE_SIZES[TABLE_P]);

    void add(Square king, BonaPiece piece, std::size_t part, double g) {
        kp[kp_place(king, piece) + part] += g;
        p[p_place(piece) + part] += g;
        if (const std::size_t place = rkp_place(king, piece); place != NO_PLACE) {
            rkp[place + part] += g;
        }
    }
    void add(const Beside& other) {
        const auto sum = [](std::vector<double>& to, const std::vector<double>& from) {
            for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
        };
        sum(kp, other.kp);
        sum(rkp, other.rkp);
        sum(p, other.p);
    }
};

// Updates KKP and KK, one orbit of king pairs at a time.
Beside update_singles(const Updater& updater, const std::vector<SinglesOfLeaf>& leaves,
                      const Buckets& pairs, int threads) {
    const std::vector<std::vector<std::size_t>> shares = pairs.shares(threads, KING_PAIR_COST);
    std::vector<Beside> sums(shares.size());
    run_threads(threads, [&](std::size_t thread) {
        Beside& beside = sums[thread];
        std::vector<double> gradient(BONA_PIECES * 2);
        for (std::size_t pair : shares[thread]) {
            std::fill(gradient.begin(), gradient.end(), 0.0);
            double kk[2] = {0, 0};
            for (std::uint32_t item : pairs.of(pair)) {
                const SinglesOfLeaf& leaf = leaves[item];
                const KingPair kings = king_pair(leaf.black, leaf.white);
                for (BonaPiece p : leaf.list) {
                    if (p == NO_BONA_PIECE) continue;
                    const SignedPlace place = kkp_place(kings, p);
                    gradient[2 * place.piece] += double(place.sign * leaf.board);
                    gradient[2 * place.piece + 1] += double(leaf.turn);
                }
                if (!kings.is_its_own_negative()) {
                    kk[0] += double(kings.image[0].swapped ? -leaf.board : leaf.board);
                }
                kk[1] += double(leaf.turn);
            }
            updater.descend<double>(TABLE_KKP, pair * BONA_PIECES * 2, gradient);
            updater.descend<double>(TABLE_KK, pair * 2, kk);
            const auto black = Square(pair / SQUARES);
            const Square white = rotate(Square(pair % SQUARES));
            for (int piece = 0; piece < BONA_PIECES; ++piece) {
                const auto p = BonaPiece(piece);
                const double board = gradient[2 * p], tempo = gradient[2 * p + 1];
                if (board == 0 && tempo == 0) continue;
                beside.add(black, p, 0, board);
                beside.add(white, bona_turned(p), 0, -board);
                beside.add(black, p, 1, tempo);
                beside.add(white, bona_turned(p), 1, tempo);
            }
        }
    });
    for (std::size_t i = 1; i < sums.size(); ++i) sums[0].add(sums[i]);
    return std::move(sums[0]);
}

}  // namespace

void update(const KppState& state, std::span<const Hcp> leaves, std::span<const double> slope,
            std::span<const bool> same_turn, const KppStep& step, int threads) {
    const Updater updater(state, step);
    std::vector<PairsOfLeaf> of_kings(2 * leaves.size());
    std::vector<SinglesOfLeaf> singles(leaves.size());
    std::vector<std::uint32_t> king(2 * leaves.size()), pair(leaves.size());
    parallel_for(leaves.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
        Position leaf;
        for (std::size_t i = begin; i < end; ++i) {
            leaf.set_hcp(leaves[i]);
            // Descent direction for the evaluation from the leaf's side to move, then from Black.
            const auto turn = float((same_turn[i] ? -slope[i] : slope[i]) / KPP_UNITS);
            const float board = leaf.turn() == BLACK ? turn : -turn;
            const Square black = leaf.king(BLACK), white = leaf.king(WHITE);
            for (Color c : {BLACK, WHITE}) {
                const Square k = seen_from(c, c == BLACK ? black : white);
                PairsOfLeaf& part = of_kings[2 * i + c];
                part.list = bona_list(leaf, c);
                if (c == BLACK) singles[i] = {part.list, black, white, board, turn};
                if (is_folded(k)) {
                    std::transform(part.list.begin(), part.list.end(), part.list.begin(),
                                   bona_mirrored);
                }
                std::sort(part.list.begin(), part.list.end());
                part.down = c == BLACK ? board : -board;
                king[2 * i + c] = folded_king(k);
            }
            pair[i] = std::uint32_t(king_pair(black, white).pair());
        }
    });

    std::vector<double> pairs;
    update_pairs(updater, of_kings, Buckets(FOLDED_KINGS, king), threads, pairs);
    const Beside beside =
        update_singles(updater, singles, Buckets(SQUARES * SQUARES, pair), threads);
    std::vector<double> relative(RELATIVE_PAIRS);
    const std::span<const std::uint32_t> places = rpp_places();
    for (std::size_t i = 0; i < BONA_PAIRS; ++i) {
        if (places[i] != NO_PLACE) relative[places[i]] += pairs[i];
    }
    updater.descend<double>(TABLE_PP, 0, pairs);
    updater.descend<double>(TABLE_RPP, 0, relative);
    updater.descend<double>(TABLE_KP, 0, beside.kp);
    updater.descend<double>(TABLE_RKP, 0, beside.rkp);
    updater.descend<double>(TABLE_P, 0, beside.p);
    parallel_for(KPP_PARAMETERS, threads, [&](std::size_t, std::size_t begin, std::size_t end) {
        updater.average(begin, end);
    });
}

}  // namespace komadori::linear
