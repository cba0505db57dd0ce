// NNUE in float, as it is learnt: activations of 0..1 where the engine has 0..127.
//
// All parameters stand in one vector, and so do their gradient and moments:
//
//   rows     [rows][256]   of the feature transformer: one per input, and for HalfKP behind them
//                          the rows that inputs share (factorised, Nasu 2018): 1,548 of the piece
//                          whatever the king's square, 81 of the king's square, 5,202 of a piece
//                          on the board by its distance from the king (18 kinds x 17 x 17).
//                          An input's effective row is its own plus those it shares; that sum is
//                          what the file holds.
//   bias     [256]
//   weights1 [512][32], biases1 [32], weights2 [32][32], biases2 [32], weights3 [32], bias3 [1]
//            ([input][output])
//
// The output is a logit: 600 of it are centipawns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "komadori/linear/leaves.h"
#include "komadori/linear/loss.h"
#include "komadori/linear/nnue.h"

namespace komadori::linear {

// Positions with what is to be learnt of them, all of the side to move's view.
class NnueData {
  public:
    struct Sample {
        BonaList pieces;  // as the side to move sees them
        Square own_king, enemy_king;
        float teacher_cp, result;
    };

    // Throws std::invalid_argument where the lengths differ, the rules' errors for a bad hcp.
    NnueData(std::span<const Hcp> hcps, std::span<const float> teacher_cp,
             std::span<const float> result, int threads);
    std::size_t size() const { return samples_.size(); }
    const Sample& operator[](std::size_t i) const { return samples_[i]; }

  private:
    std::vector<Sample> samples_;
};

// Which samples make up a batch: their numbers, and MIRRORED where the board is to be turned left
// to right.
using NnueBatch = std::span<const std::uint32_t>;
constexpr std::uint32_t NNUE_MIRRORED = 1u << 31;

struct NnueLoss {  // sums over a batch
    double result = 0, teacher = 0, result_floor = 0, teacher_floor = 0;
};

struct Adam {
    double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0;
};

class NnueModel {
  public:
    NnueModel(NnueInputs inputs, std::uint64_t seed, int threads);

    NnueInputs inputs() const { return inputs_; }
    int threads() const { return threads_; }
    // What a model takes while it learns.
    static std::size_t bytes(NnueInputs inputs, int threads);

    std::vector<float>& parameters() { return parameters_; }
    std::vector<float>& first_moments() { return first_; }
    std::vector<float>& second_moments() { return second_; }
    std::int64_t steps = 0;
    // Work with weights and activations as the engine will round them; gradients go through the
    // rounding as if it weren't there.
    bool rounds = false;

    std::vector<float> logits(const NnueData& data, NnueBatch batch);
    NnueLoss loss(const NnueData& data, NnueBatch batch, const LossSettings& settings);
    // The gradient of the batch's mean loss, and its loss.
    std::vector<float> gradient(const NnueData& data, NnueBatch batch, const LossSettings& settings,
                                NnueLoss& loss);
    // One step of Adam; rows that no sample has stay as they are, moments included.
    NnueLoss step(const NnueData& data, NnueBatch batch, const LossSettings& settings,
                  const Adam& adam);
    // Rounded to the engine's integers.
    NnueParameters quantised() const;

  private:
    struct ThreadGradient {                  // summed by one thread
        std::vector<float> rows;             // [rows][256], 0 where not touched
        std::vector<std::uint8_t> has_seen;  // [inputs]
        std::vector<int> seen;               // those inputs
        std::vector<float> layers;           // from `bias` on
        NnueLoss loss;
    };
    struct Found {  // the inputs of a sample that are 1, [0] the side to move's view
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
    void backward(const Found& found, Activations& a, float slope, ThreadGradient& gradient) const;
    // Notes which inputs a batch has and brings their effective rows up to date.
    void prepare(const NnueData& data, NnueBatch batch);
    void forget();
    // Whether no thread before this one has seen the input.
    bool is_first(std::size_t thread, int input) const {
        for (std::size_t t = 0; t < thread; ++t) {
            if (gradients_[t].has_seen[std::size_t(input)]) return false;
        }
        return true;
    }
    NnueLoss add_up(const NnueData& data, NnueBatch batch, const LossSettings& settings);
    // Calls visit(offset, gradient, count) for all parameters that the batch has, in threads.
    template <class Visit>
    void each_part(const Visit& visit);

    NnueInputs inputs_;
    int threads_;
    std::size_t rows_;
    std::vector<float> parameters_, first_, second_;
    std::vector<float> folded_;  // effective rows, [inputs][256]; of those that a batch has
    std::vector<float> used_;    // the layers as they are or rounded
    std::vector<ThreadGradient> gradients_;
};

}  // namespace komadori::linear
