// NNUE in float, for training: activations in 0..1, which are 0..127 in the engine.
//
// All parameters are in one vector; so are the gradient and the moments:
//
//   rows     [rows][256]   of the feature transformer: one per input, and for HalfKP also rows
//                          shared by inputs (factorisation, Nasu 2018): 1,548 of the piece for any
//                          king square, 81 of the king's square, 5,202 of a piece on the board by
//                          its displacement from the king (18 kinds x 17 x 17). An input's
//                          effective row, which the file stores, is the sum of its own row and the
//                          rows it shares.
//   bias     [256]
//   weights1 [512][32], biases1 [32], weights2 [32][32], biases2 [32], weights3 [32], bias3 [1]
//            ([input][output])
//
// The output is a logit; 1 is ELMO_COEF centipawns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "komadori/linear/leaves.h"
#include "komadori/linear/loss.h"
#include "komadori/linear/nnue.h"

namespace komadori::linear {

// Training positions with their targets, from the side to move's view.
class NnueData {
  public:
    struct Sample {
        BonaList pieces;  // the side to move's view
        Square own_king, enemy_king;
        float teacher_cp, result;
    };

    // Throws std::invalid_argument if lengths differ, RulesError for an invalid hcp.
    NnueData(std::span<const Hcp> hcps, std::span<const float> teacher_cp,
             std::span<const float> result, int threads);
    std::size_t size() const { return samples_.size(); }
    const Sample& operator[](std::size_t i) const { return samples_[i]; }

  private:
    std::vector<Sample> samples_;
};

// The sample indices of a batch; NNUE_MIRRORED set: mirrored left to right.
using NnueBatch = std::span<const std::uint32_t>;
constexpr std::uint32_t NNUE_MIRRORED = 1u << 31;

struct NnueLoss {  // sums over a batch
    double result = 0, teacher = 0, result_floor = 0, teacher_floor = 0;

    template <class Terms>  // NnueLoss or LossTerms
    void add(const Terms& terms) {
        result += terms.result;
        teacher += terms.teacher;
        result_floor += terms.result_floor;
        teacher_floor += terms.teacher_floor;
    }
};

struct Adam {
    double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0;
};

class NnueModel {
  public:
    NnueModel(NnueInputs inputs, std::uint64_t seed, int threads);

    NnueInputs inputs() const { return inputs_; }
    int threads() const { return threads_; }
    // Memory of a model during training.
    static std::size_t bytes(NnueInputs inputs, int threads);

    std::vector<float>& parameters() { return parameters_; }
    std::vector<float>& first_moments() { return first_; }
    std::vector<float>& second_moments() { return second_; }
    std::int64_t steps = 0;
    // Quantisation-aware training: weights and activations are rounded as in the engine, gradients
    // pass straight through.
    bool rounds = false;
    // Fraction of the gradient that clipped hidden units get towards their open range.
    float leak = 0;

    std::vector<float> logits(const NnueData& data, NnueBatch batch);
    NnueLoss loss(const NnueData& data, NnueBatch batch, const LossSettings& settings);
    // The gradient of the batch's mean loss; `loss` gets the sums.
    std::vector<float> gradient(const NnueData& data, NnueBatch batch, const LossSettings& settings,
                                NnueLoss& loss);
    // One step of sparse Adam: rows that no sample uses keep their weights and moments.
    NnueLoss step(const NnueData& data, NnueBatch batch, const LossSettings& settings,
                  const Adam& adam);
    // The parameters rounded to the engine's integers.
    NnueParameters quantised() const;
    // Sets the parameters to those of an engine's file, so that `quantised` returns them; rows
    // shared by inputs become 0. Throws std::invalid_argument for other inputs.
    void set(const NnueParameters& parameters);

  private:
    struct ThreadGradient {                  // gradient sum of one thread
        std::vector<float> rows;             // [rows][256], 0 where unused
        std::vector<std::uint8_t> has_seen;  // [inputs]
        std::vector<int> seen;               // the inputs with has_seen
        std::vector<float> layers;           // from `bias` on
        NnueLoss loss;
    };
    struct Found {  // the active inputs of a sample; of[0]: the side to move's view
        int of[2][BONA_LIST + 2];
        int count;
    };
    struct Activations;
    struct SharedRow {
        int row;
        float weight;
    };

    float* layers() { return &parameters_[rows_ * NNUE_HALF]; }
    const float* layers() const { return &parameters_[rows_ * NNUE_HALF]; }
    const float* row(int input) const { return &folded_[std::size_t(input) * NNUE_HALF]; }
    int shared_rows(int input, SharedRow (&found)[3]) const;
    void add_effective_row(int input, float* to) const;
    Found find(const NnueData::Sample& sample, bool is_mirrored) const;
    void forward(const Found& found, Activations& a) const;
    float through(float clipped, float derivative) const;
    void backward(const Found& found, Activations& a, float slope, ThreadGradient& gradient) const;
    // Collects the inputs of a batch and computes their effective rows.
    void prepare(const NnueData& data, NnueBatch batch);
    void clear_seen();
    // Whether no thread before this one has seen the input.
    bool is_first(std::size_t thread, int input) const {
        for (std::size_t t = 0; t < thread; ++t) {
            if (gradients_[t].has_seen[std::size_t(input)]) return false;
        }
        return true;
    }
    NnueLoss add_up(const NnueData& data, NnueBatch batch, const LossSettings& settings);
    // Calls visit(offset, gradient, count) for all parameters that the batch uses, on all threads.
    template <class Visit>
    void each_part(const Visit& visit);

    NnueInputs inputs_;
    int threads_;
    std::size_t rows_;
    std::vector<float> parameters_, first_, second_;
    std::vector<float> folded_;  // effective rows, [inputs][256]; valid for the batch's inputs
    std::vector<float> used_;    // the layers' parameters, rounded if `rounds`
    std::vector<ThreadGradient> gradients_;
};

}  // namespace komadori::linear
