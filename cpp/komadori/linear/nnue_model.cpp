#include "komadori/linear/nnue_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "komadori/threads/parallel.h"

namespace komadori::linear {
namespace {

constexpr int HALF = NNUE_HALF, BOTH = 2 * NNUE_HALF, HIDDEN = NNUE_HIDDEN;

// Offsets of the layers' parameters, relative to `bias`.
constexpr std::size_t BIAS = 0, WEIGHTS1 = HALF, BIASES1 = WEIGHTS1 + BOTH * HIDDEN,
                      WEIGHTS2 = BIASES1 + HIDDEN, BIASES2 = WEIGHTS2 + HIDDEN * HIDDEN,
                      WEIGHTS3 = BIASES2 + HIDDEN, BIAS3 = WEIGHTS3 + HIDDEN, LAYERS = BIAS3 + 1;

// Shared rows of HalfKP.
constexpr int BOARD_KINDS = (BONA_PIECES - FIRST_BONA_ON_BOARD) / SQUARES;  // own and enemy
constexpr int SPAN = 17;                                                    // -8..8
constexpr int FIRST_SHARED = BONA_PIECES * SQUARES, FIRST_KING = FIRST_SHARED + BONA_PIECES,
              FIRST_RELATIVE = FIRST_KING + SQUARES,
              HALF_KP_ROWS = FIRST_RELATIVE + BOARD_KINDS * SPAN * SPAN;
// Scales the king's row, which is added once for each of the 38 pieces.
constexpr float KING_WEIGHT = 0.125f;

// Integer output units per logit.
constexpr double OUTPUT_SCALE = ELMO_COEF * NNUE_FV_SCALE;
constexpr double HIDDEN_SCALE = 1 << NNUE_SHIFT;
// The engine's shift rounds down; adding half a unit rounds to nearest.
constexpr double HALF_UNIT = HIDDEN_SCALE / 2;
constexpr float HIDDEN_LIMIT = float(127 / HIDDEN_SCALE);
constexpr float OUTPUT_LIMIT = float(127.0 * NNUE_ONE / OUTPUT_SCALE);

// Vectors of eight unaligned floats, compiled to the target's SIMD instructions.
using Eight = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr int BLOCK = 8;  // registers of eight floats
inline const Eight* eights(const float* p) { return reinterpret_cast<const Eight*>(p); }
inline Eight* eights(float* p) { return reinterpret_cast<Eight*>(p); }

// to[0..count) += factor * from[0..count); count is a multiple of 8.
inline void add_scaled(float* to, const float* from, float factor, int count) {
    for (int i = 0; i < count / 8; ++i) eights(to)[i] += factor * eights(from)[i];
}

inline float dot_hidden(const float* a, const float* b) {
    Eight s = eights(a)[0] * eights(b)[0];
    for (int i = 1; i < HIDDEN / 8; ++i) s += eights(a)[i] * eights(b)[i];
    return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

inline float on_grid(float x, float units) { return std::nearbyint(x * units) / units; }
inline float clip(float x) { return std::clamp(x, 0.0f, 1.0f); }
inline bool is_open(float clipped) { return clipped > 0 && clipped < 1; }

std::size_t row_count(NnueInputs inputs) {
    return std::size_t(inputs == NnueInputs::K_P ? nnue_input_count(inputs) : HALF_KP_ROWS);
}

int rounded(double x, double limit, const char* what) {
    const double r = std::nearbyint(x);
    if (!(std::abs(r) <= limit)) {
        throw std::invalid_argument(std::string(what) + " is too large for the engine's integers");
    }
    return int(r);
}

}  // namespace

NnueData::NnueData(std::span<const Hcp> hcps, std::span<const float> teacher_cp,
                   std::span<const float> result, int threads)
    : samples_(hcps.size()) {
    if (teacher_cp.size() != hcps.size() || result.size() != hcps.size()) {
        throw std::invalid_argument("positions, scores and results differ in length");
    }
    parallel_for(hcps.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
        Position position;
        for (std::size_t i = begin; i < end; ++i) {
            position.set_hcp(hcps[i]);
            const Color us = position.turn();
            samples_[i] = {bona_list(position, us), seen_from(us, position.king(us)),
                           seen_from(us, position.king(opponent(us))), teacher_cp[i], result[i]};
        }
    });
}

struct NnueModel::Activations {
    float x[BOTH], h1[HIDDEN], h2[HIDDEN], logit;
    float dx[BOTH];
};

NnueModel::NnueModel(NnueInputs inputs, std::uint64_t seed, int threads)
    : inputs_(inputs),
      threads_(std::max(threads, 1)),
      rows_(row_count(inputs)),
      parameters_(rows_ * HALF + LAYERS),
      first_(parameters_.size()),
      second_(parameters_.size()),
      folded_(std::size_t(nnue_input_count(inputs)) * HALF),
      used_(LAYERS),
      gradients_(std::size_t(threads_)) {
    const auto n_inputs = std::size_t(nnue_input_count(inputs));
    for (ThreadGradient& gradient : gradients_) {
        gradient.rows.resize(rows_ * HALF);
        gradient.has_seen.resize(n_inputs);
        gradient.layers.resize(LAYERS);
    }
    // Initial weights as in Nasu 2018's trainer: activations around 0.5, where none is clipped.
    std::mt19937_64 random(seed);
    const auto fill = [&](float* to, std::size_t count, double deviation) {
        for (std::size_t i = 0; i < count; ++i) {
            // Uniform with the given deviation; unlike std::normal_distribution, portable.
            const double uniform = double(random() >> 11) * 0x1p-53;
            to[i] = float((2 * uniform - 1) * std::sqrt(3.0) * deviation);
        }
    };
    // HalfKP: only shared rows of pieces are drawn; the inputs' own rows start at 0.
    const std::size_t first = inputs == NnueInputs::K_P ? 0 : std::size_t(FIRST_SHARED) * HALF;
    const std::size_t drawn = inputs == NnueInputs::K_P ? rows_ : BONA_PIECES;
    fill(&parameters_[first], drawn * HALF, 0.1 / std::sqrt(double(BONA_LIST)));
    float* p = layers();
    std::fill_n(p + BIAS, HALF, 0.5f);
    fill(p + WEIGHTS1, BOTH * HIDDEN, 1 / std::sqrt(double(BOTH)));
    fill(p + WEIGHTS2, HIDDEN * HIDDEN, 1 / std::sqrt(double(HIDDEN)));
    fill(p + WEIGHTS3, HIDDEN, 0.5 / std::sqrt(double(HIDDEN)));
    for (int o = 0; o < HIDDEN; ++o) {
        float sum1 = 0, sum2 = 0;
        for (int i = 0; i < BOTH; ++i) sum1 += p[WEIGHTS1 + std::size_t(i * HIDDEN + o)];
        for (int i = 0; i < HIDDEN; ++i) sum2 += p[WEIGHTS2 + std::size_t(i * HIDDEN + o)];
        p[BIASES1 + std::size_t(o)] = 0.5f * (1 - sum1);
        p[BIASES2 + std::size_t(o)] = 0.5f * (1 - sum2);
        p[BIAS3] -= 0.5f * p[WEIGHTS3 + std::size_t(o)];
    }
}

std::size_t NnueModel::bytes(NnueInputs inputs, int threads) {
    const std::size_t all = row_count(inputs) * HALF + LAYERS;
    const std::size_t folded = std::size_t(nnue_input_count(inputs)) * HALF;
    return ((3 + std::size_t(std::max(threads, 1))) * all + folded) * sizeof(float);
}

// ---- inputs and their rows

int NnueModel::shared_rows(int input, SharedRow (&found)[3]) const {
    if (inputs_ == NnueInputs::K_P) return 0;
    const int king = input / BONA_PIECES, piece = input % BONA_PIECES;
    found[0] = {FIRST_SHARED + piece, 1.0f};
    found[1] = {FIRST_KING + king, KING_WEIGHT};
    if (piece < FIRST_BONA_ON_BOARD) return 2;
    const int kind = (piece - FIRST_BONA_ON_BOARD) / SQUARES;
    const int square = (piece - FIRST_BONA_ON_BOARD) % SQUARES;
    const int dx = file_of(Square(square)) - file_of(Square(king)) + 8;
    const int dy = rank_of(Square(square)) - rank_of(Square(king)) + 8;
    found[2] = {FIRST_RELATIVE + (kind * SPAN + dx) * SPAN + dy, 1.0f};
    return 3;
}

void NnueModel::add_effective_row(int input, float* to) const {
    add_scaled(to, &parameters_[std::size_t(input) * HALF], 1, HALF);
    SharedRow shared[3];
    const int n = shared_rows(input, shared);
    for (int i = 0; i < n; ++i) {
        add_scaled(to, &parameters_[std::size_t(shared[i].row) * HALF], shared[i].weight, HALF);
    }
}

NnueModel::Found NnueModel::find(const NnueData::Sample& sample, bool is_mirrored) const {
    Found found;
    found.count = 0;
    const auto seen = [&](Square s) { return is_mirrored ? mirror(s) : s; };
    const Square own = seen(sample.own_king), enemy = seen(sample.enemy_king);
    const bool is_half_kp = inputs_ == NnueInputs::HALF_KP;
    const int base[2] = {is_half_kp ? nnue_half_kp_input(BLACK, own, 0) : 0,
                         is_half_kp ? nnue_half_kp_input(WHITE, enemy, 0) : 0};
    for (BonaPiece listed : sample.pieces) {
        if (listed == NO_BONA_PIECE) continue;
        const BonaPiece p = is_mirrored ? bona_mirrored(listed) : listed;
        found.of[0][found.count] = base[0] + p;
        found.of[1][found.count] = base[1] + bona_turned(p);
        ++found.count;
    }
    if (!is_half_kp) {
        for (Color view : {BLACK, WHITE}) {
            found.of[view][found.count] = nnue_king_input(view, BLACK, own);
            found.of[view][found.count + 1] = nnue_king_input(view, WHITE, enemy);
        }
        found.count += 2;
    }
    return found;
}

void NnueModel::prepare(const NnueData& data, NnueBatch batch) {
    if (inputs_ == NnueInputs::K_P) {  // few rows: mark all as used
        const std::size_t n = gradients_[0].has_seen.size();
        parallel_for(n, threads_, [&](std::size_t thread, std::size_t begin, std::size_t end) {
            for (std::size_t input = begin; input < end; ++input) {
                gradients_[thread].has_seen[input] = 1;
                gradients_[thread].seen.push_back(int(input));
            }
        });
    } else {
        parallel_for(batch.size(), threads_,
                     [&](std::size_t thread, std::size_t begin, std::size_t end) {
                         ThreadGradient& own = gradients_[thread];
                         for (std::size_t i = begin; i < end; ++i) {
                             const Found found =
                                 find(data[batch[i] & ~NNUE_MIRRORED], batch[i] & NNUE_MIRRORED);
                             for (const auto& view : found.of) {
                                 for (int k = 0; k < found.count; ++k) {
                                     if (own.has_seen[std::size_t(view[k])]) continue;
                                     own.has_seen[std::size_t(view[k])] = 1;
                                     own.seen.push_back(view[k]);
                                 }
                             }
                         }
                     });
    }
    run_threads(threads_, [&](std::size_t thread) {
        for (int input : gradients_[thread].seen) {
            if (!is_first(thread, input)) continue;
            float* to = &folded_[std::size_t(input) * HALF];
            std::fill_n(to, HALF, 0.0f);
            add_effective_row(input, to);
            if (!rounds) continue;
            for (int i = 0; i < HALF; ++i) to[i] = on_grid(to[i], NNUE_ONE);
        }
    });
    std::copy_n(layers(), LAYERS, used_.data());
    if (!rounds) return;
    const auto round = [&](std::size_t begin, std::size_t count, double units) {
        for (std::size_t i = begin; i < begin + count; ++i) {
            used_[i] = on_grid(used_[i], float(units));
        }
    };
    round(BIAS, HALF, NNUE_ONE);
    round(WEIGHTS1, BOTH * HIDDEN, HIDDEN_SCALE);
    round(WEIGHTS2, HIDDEN * HIDDEN, HIDDEN_SCALE);
    round(WEIGHTS3, HIDDEN, OUTPUT_SCALE / NNUE_ONE);
}

void NnueModel::clear_seen() {
    for (ThreadGradient& gradient : gradients_) {
        for (int input : gradient.seen) gradient.has_seen[std::size_t(input)] = 0;
        gradient.seen.clear();
    }
}

// ---- one position

void NnueModel::forward(const Found& found, Activations& a) const {
    const float* p = used_.data();
    for (int view = 0; view < 2; ++view) {
        for (int begin = 0; begin < HALF; begin += 8 * BLOCK) {
            Eight sums[BLOCK];
            for (int b = 0; b < BLOCK; ++b) sums[b] = eights(p + BIAS + begin)[b];
            for (int k = 0; k < found.count; ++k) {
                const Eight* from = eights(row(found.of[view][k]) + begin);
                for (int b = 0; b < BLOCK; ++b) sums[b] += from[b];
            }
            Eight* to = eights(a.x + view * HALF + begin);
            for (int b = 0; b < BLOCK; ++b) to[b] = sums[b];
        }
    }
    const auto activation = [this](float x) {
        return rounds ? on_grid(clip(x), NNUE_ONE) : clip(x);
    };
    float h1[HIDDEN], h2[HIDDEN];
    std::copy_n(p + BIASES1, HIDDEN, h1);
    for (int i = 0; i < BOTH; ++i) {
        a.x[i] = clip(a.x[i]);
        if (a.x[i] > 0) add_scaled(h1, p + WEIGHTS1 + i * HIDDEN, a.x[i], HIDDEN);
    }
    std::copy_n(p + BIASES2, HIDDEN, h2);
    for (int i = 0; i < HIDDEN; ++i) {
        a.h1[i] = activation(h1[i]);
        if (a.h1[i] > 0) add_scaled(h2, p + WEIGHTS2 + i * HIDDEN, a.h1[i], HIDDEN);
    }
    for (int i = 0; i < HIDDEN; ++i) a.h2[i] = activation(h2[i]);
    a.logit = p[BIAS3] + dot_hidden(a.h2, p + WEIGHTS3);
}

// The derivative by a hidden unit's sum, from that by its clipped value. A clipped unit gets a
// fraction of it (`leak`) if a step would open the unit: without any, units that are clipped for
// all positions never learn again.
float NnueModel::through(float clipped, float derivative) const {
    if (is_open(clipped)) return derivative;
    return (clipped > 0) == (derivative > 0) ? leak * derivative : 0;
}

// slope: d loss / d logit.
void NnueModel::backward(const Found& found, Activations& a, float slope,
                         ThreadGradient& gradient) const {
    const float* p = used_.data();
    float* g = gradient.layers.data();
    g[BIAS3] += slope;
    add_scaled(g + WEIGHTS3, a.h2, slope, HIDDEN);
    float d2[HIDDEN], d1[HIDDEN];
    for (int i = 0; i < HIDDEN; ++i) {
        d2[i] = through(a.h2[i], slope * p[WEIGHTS3 + std::size_t(i)]);
    }
    add_scaled(g + BIASES2, d2, 1, HIDDEN);
    for (int i = 0; i < HIDDEN; ++i) {
        if (a.h1[i] > 0) add_scaled(g + WEIGHTS2 + i * HIDDEN, d2, a.h1[i], HIDDEN);
        d1[i] = through(a.h1[i], dot_hidden(p + WEIGHTS2 + i * HIDDEN, d2));
    }
    add_scaled(g + BIASES1, d1, 1, HIDDEN);
    for (int i = 0; i < BOTH; ++i) {
        if (a.x[i] > 0) add_scaled(g + WEIGHTS1 + i * HIDDEN, d1, a.x[i], HIDDEN);
        a.dx[i] = is_open(a.x[i]) ? dot_hidden(p + WEIGHTS1 + i * HIDDEN, d1) : 0;
    }
    for (int view = 0; view < 2; ++view) {
        const float* dx = a.dx + view * HALF;
        add_scaled(g + BIAS, dx, 1, HALF);
        for (int begin = 0; begin < HALF; begin += 8 * BLOCK) {
            Eight d[BLOCK];
            for (int b = 0; b < BLOCK; ++b) d[b] = eights(dx + begin)[b];
            for (int k = 0; k < found.count; ++k) {
                Eight* to =
                    eights(&gradient.rows[std::size_t(found.of[view][k]) * HALF]) + begin / 8;
                for (int b = 0; b < BLOCK; ++b) to[b] += d[b];
            }
        }
    }
}

// ---- batches

std::vector<float> NnueModel::logits(const NnueData& data, NnueBatch batch) {
    prepare(data, batch);
    std::vector<float> found(batch.size());
    parallel_for(batch.size(), threads_, [&](std::size_t, std::size_t begin, std::size_t end) {
        Activations a;
        for (std::size_t i = begin; i < end; ++i) {
            forward(find(data[batch[i] & ~NNUE_MIRRORED], batch[i] & NNUE_MIRRORED), a);
            found[i] = a.logit;
        }
    });
    clear_seen();
    return found;
}

NnueLoss NnueModel::add_up(const NnueData& data, NnueBatch batch, const LossSettings& settings) {
    prepare(data, batch);
    parallel_for(batch.size(), threads_,
                 [&](std::size_t thread, std::size_t begin, std::size_t end) {
                     ThreadGradient& own = gradients_[thread];
                     own.loss = {};
                     Activations a;
                     for (std::size_t i = begin; i < end; ++i) {
                         const NnueData::Sample& sample = data[batch[i] & ~NNUE_MIRRORED];
                         const Found found = find(sample, batch[i] & NNUE_MIRRORED);
                         forward(found, a);
                         const LossTerms terms =
                             loss_terms(double(a.logit) * settings.scale_cp,
                                        double(sample.teacher_cp), double(sample.result), settings);
                         own.loss.add(terms);
                         backward(found, a, float(terms.slope / double(batch.size())), own);
                     }
                 });
    NnueLoss sum;
    for (const ThreadGradient& own : gradients_) {
        sum.add(own.loss);
    }
    return sum;
}

template <class Visit>
void NnueModel::each_part(const Visit& visit) {
    // Rows of inputs: the first thread that has seen an input sums its gradients over all threads
    // and adds the sum to the shared rows.
    const auto n_inputs = gradients_[0].has_seen.size();
    run_threads(threads_, [&](std::size_t thread) {
        ThreadGradient& own = gradients_[thread];
        for (int input : own.seen) {
            if (!is_first(thread, input)) continue;
            const std::size_t at = std::size_t(input) * HALF;
            float* sum = &own.rows[at];
            for (std::size_t other = 0; other < gradients_.size(); ++other) {
                if (other == thread) continue;
                float* more = &gradients_[other].rows[at];
                add_scaled(sum, more, 1, HALF);
                std::fill_n(more, HALF, 0.0f);
            }
            SharedRow shared[3];
            const int n = shared_rows(input, shared);
            for (int i = 0; i < n; ++i) {
                add_scaled(&own.rows[std::size_t(shared[i].row) * HALF], sum, shared[i].weight,
                           HALF);
            }
            visit(at, sum, std::size_t(HALF));
            std::fill_n(sum, HALF, 0.0f);
        }
    });
    clear_seen();
    // Shared rows, then the layers.
    parallel_for(rows_ - n_inputs, threads_, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t r = n_inputs + begin; r < n_inputs + end; ++r) {
            float* sum = &gradients_[0].rows[r * HALF];
            for (std::size_t other = 1; other < gradients_.size(); ++other) {
                float* more = &gradients_[other].rows[r * HALF];
                add_scaled(sum, more, 1, HALF);
                std::fill_n(more, HALF, 0.0f);
            }
            if (std::all_of(sum, sum + HALF, [](float x) { return x == 0; })) continue;
            visit(r * HALF, sum, std::size_t(HALF));
            std::fill_n(sum, HALF, 0.0f);
        }
    });
    std::vector<float>& sum = gradients_[0].layers;
    for (std::size_t other = 1; other < gradients_.size(); ++other) {
        std::vector<float>& more = gradients_[other].layers;
        for (std::size_t i = 0; i < LAYERS; ++i) sum[i] += more[i];
        std::ranges::fill(more, 0.0f);
    }
    visit(rows_ * HALF, sum.data(), LAYERS);
    std::ranges::fill(sum, 0.0f);
}

NnueLoss NnueModel::loss(const NnueData& data, NnueBatch batch, const LossSettings& settings) {
    const std::vector<float> found = logits(data, batch);
    NnueLoss sum;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const NnueData::Sample& sample = data[batch[i] & ~NNUE_MIRRORED];
        const LossTerms terms =
            loss_terms(double(found[i]) * settings.scale_cp, double(sample.teacher_cp),
                       double(sample.result), settings);
        sum.add(terms);
    }
    return sum;
}

std::vector<float> NnueModel::gradient(const NnueData& data, NnueBatch batch,
                                       const LossSettings& settings, NnueLoss& loss) {
    loss = add_up(data, batch, settings);
    std::vector<float> all(parameters_.size());
    each_part([&](std::size_t at, const float* g, std::size_t count) {
        std::copy_n(g, count, &all[at]);
    });
    return all;
}

NnueLoss NnueModel::step(const NnueData& data, NnueBatch batch, const LossSettings& settings,
                         const Adam& adam) {
    const NnueLoss loss = add_up(data, batch, settings);
    ++steps;
    const auto b1 = float(adam.beta1), b2 = float(adam.beta2), epsilon = float(adam.epsilon);
    const auto rate = float(adam.rate / (1 - std::pow(adam.beta1, double(steps))));
    const auto unbias = float(1 / (1 - std::pow(adam.beta2, double(steps))));
    const auto keep = float(1 - adam.rate * adam.decay);
    each_part([&](std::size_t at, const float* g, std::size_t count) {
        float *p = &parameters_[at], *m = &first_[at], *v = &second_[at];
        for (std::size_t i = 0; i < count; ++i) {
            m[i] = b1 * m[i] + (1 - b1) * g[i];
            v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
            p[i] = keep * p[i] - rate * m[i] / (std::sqrt(v[i] * unbias) + epsilon);
        }
    });
    // Clips the weights to the range of the engine's int8.
    float* p = layers();
    const auto limit = [&](std::size_t begin, std::size_t count, float most) {
        for (std::size_t i = begin; i < begin + count; ++i) p[i] = std::clamp(p[i], -most, most);
    };
    limit(WEIGHTS1, BOTH * HIDDEN, HIDDEN_LIMIT);
    limit(WEIGHTS2, HIDDEN * HIDDEN, HIDDEN_LIMIT);
    limit(WEIGHTS3, HIDDEN, OUTPUT_LIMIT);
    return loss;
}

// ---- for the engine

NnueParameters NnueModel::quantised() const {
    NnueParameters q;
    q.inputs = inputs_;
    const auto n_inputs = nnue_input_count(inputs_);
    q.ft_weights.resize(std::size_t(n_inputs) * HALF);
    for (int input = 0; input < n_inputs; ++input) {
        float sum[HALF] = {};
        add_effective_row(input, sum);
        for (std::size_t i = 0; i < HALF; ++i) {
            q.ft_weights[std::size_t(input) * HALF + i] =
                std::int16_t(rounded(double(sum[i]) * NNUE_ONE, INT16_MAX, "a row's weight"));
        }
    }
    const float* p = layers();
    for (std::size_t i = 0; i < HALF; ++i) {
        q.ft_biases.push_back(
            std::int16_t(rounded(double(p[BIAS + i]) * NNUE_ONE, INT16_MAX, "a bias")));
    }
    const auto layer = [&](std::size_t weights, std::size_t biases, int inputs, std::int8_t* w,
                           std::int32_t* b) {
        for (int o = 0; o < HIDDEN; ++o) {
            b[o] = rounded(double(p[biases + std::size_t(o)]) * HIDDEN_SCALE * NNUE_ONE + HALF_UNIT,
                           INT32_MAX / 2, "a layer's bias");
            for (int i = 0; i < inputs; ++i) {
                w[o * inputs + i] = std::int8_t(
                    rounded(double(p[weights + std::size_t(i * HIDDEN + o)]) * HIDDEN_SCALE, 127,
                            "a layer's weight"));
            }
        }
    };
    layer(WEIGHTS1, BIASES1, BOTH, q.weights1.data(), q.biases1.data());
    layer(WEIGHTS2, BIASES2, HIDDEN, q.weights2.data(), q.biases2.data());
    for (std::size_t i = 0; i < HIDDEN; ++i) {
        q.weights3[i] = std::int8_t(
            rounded(double(p[WEIGHTS3 + i]) * OUTPUT_SCALE / NNUE_ONE, 127, "an output weight"));
    }
    q.bias3 = rounded(double(p[BIAS3]) * OUTPUT_SCALE, INT32_MAX / 2, "the output's bias");
    return q;
}

void NnueModel::set(const NnueParameters& q) {
    if (q.inputs != inputs_) {
        throw std::invalid_argument(std::string("the network's inputs are ") +
                                    NNUE_NAMES[int(q.inputs)] + ", " + NNUE_NAMES[int(inputs_)] +
                                    " is needed");
    }
    std::fill(parameters_.begin(), parameters_.end(), 0.0f);
    const auto scaled = [](double integer, double units) { return float(integer / units); };
    for (std::size_t i = 0; i < q.ft_weights.size(); ++i) {
        parameters_[i] = scaled(q.ft_weights[i], NNUE_ONE);
    }
    float* p = layers();
    for (std::size_t i = 0; i < HALF; ++i) p[BIAS + i] = scaled(q.ft_biases[i], NNUE_ONE);
    const auto layer = [&](std::size_t weights, std::size_t biases, int inputs,
                           const std::int8_t* w, const std::int32_t* b) {
        for (int o = 0; o < HIDDEN; ++o) {
            p[biases + std::size_t(o)] = scaled(b[o] - HALF_UNIT, HIDDEN_SCALE * NNUE_ONE);
            for (int i = 0; i < inputs; ++i) {
                p[weights + std::size_t(i * HIDDEN + o)] = scaled(w[o * inputs + i], HIDDEN_SCALE);
            }
        }
    };
    layer(WEIGHTS1, BIASES1, BOTH, q.weights1.data(), q.biases1.data());
    layer(WEIGHTS2, BIASES2, HIDDEN, q.weights2.data(), q.biases2.data());
    for (std::size_t i = 0; i < HIDDEN; ++i) {
        p[WEIGHTS3 + i] = scaled(double(q.weights3[i]) * NNUE_ONE, OUTPUT_SCALE);
    }
    p[BIAS3] = scaled(q.bias3, OUTPUT_SCALE);
}

}  // namespace komadori::linear
