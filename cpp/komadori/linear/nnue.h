// NNUE (Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions for Computer
// Shogi", 2018): a small network over piece positions with an incrementally updated first layer.
//
//   side to move's view, opponent's view of the inputs
//        |          |
//   FT: sum of rows of 256 int16, plus a bias            incremental, one row per input
//        |          |        clipped to 0..127
//        +----++----+        512 uint8
//             ||
//   affine 512 -> 32 int8 with int32 bias, >> 6, clipped to 0..127
//   affine  32 -> 32 likewise
//   affine  32 -> 1  int32, divided by FV_SCALE (16): centipawns, side to move's view
//
// Inputs per view:
//   K-P     1,710: 1,548 pieces (bona_piece.h), 81 squares of the own king, 81 of the enemy king
//   HalfKP  125,388: 1,548 * own king's square + piece
// Squares are from the view's side.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "komadori/alphabeta/large_pages.h"
#include "komadori/alphabeta/material.h"
#include "komadori/linear/bona_piece.h"

namespace komadori::linear {

using alphabeta::Score;

enum class NnueInputs : std::uint8_t { K_P, HALF_KP };
constexpr const char* NNUE_NAMES[] = {"k-p", "halfkp"};

constexpr int NNUE_HALF = 256;   // outputs of the feature transformer per view
constexpr int NNUE_HIDDEN = 32;  // outputs of each of the two hidden layers
constexpr int NNUE_SHIFT = 6;    // hidden weights are in units of 1/64
constexpr int NNUE_ONE = 127;    // the integer activation for 1
constexpr int NNUE_FV_SCALE = 16;

constexpr int nnue_input_count(NnueInputs inputs) {
    return inputs == NnueInputs::K_P ? BONA_PIECES + 2 * SQUARES : BONA_PIECES * SQUARES;
}
constexpr int nnue_king_input(Color view, Color owner, Square s) {  // K-P only
    return BONA_PIECES + (view == owner ? 0 : SQUARES) + seen_from(view, s);
}
constexpr int nnue_half_kp_input(Color view, Square own_king, BonaPiece p) {
    return BONA_PIECES * seen_from(view, own_king) + p;
}

// The network in file order; weights are [output][input].
struct NnueParameters {
    NnueInputs inputs = NnueInputs::K_P;
    // Rows are aligned to cache lines.
    using Rows = std::vector<std::int16_t, alphabeta::LargePageAllocator<std::int16_t>>;
    Rows ft_biases;   // [NNUE_HALF]
    Rows ft_weights;  // [inputs][NNUE_HALF]
    std::array<std::int32_t, NNUE_HIDDEN> biases1{}, biases2{};
    std::array<std::int8_t, NNUE_HIDDEN * 2 * NNUE_HALF> weights1{};
    std::array<std::int8_t, NNUE_HIDDEN * NNUE_HIDDEN> weights2{};
    std::int32_t bias3 = 0;
    std::array<std::int8_t, NNUE_HIDDEN> weights3{};
};

// Reads and writes nn.bin (layout in nnue_file.cpp). Throws std::invalid_argument that says what is
// wrong and where.
NnueParameters read_nnue(std::span<const std::uint8_t> file);
std::vector<std::uint8_t> write_nnue(const NnueParameters& parameters);
std::string nnue_architecture(NnueInputs inputs);
std::uint32_t nnue_hash(NnueInputs inputs);

// The layers after the feature transformer, with weights in the order of the dot-product kernels:
// [input / 4][output][4].
struct alignas(64) NnueLayers {
    std::int8_t weights1[2 * NNUE_HALF * NNUE_HIDDEN];
    std::int8_t weights2[NNUE_HIDDEN * NNUE_HIDDEN];
    std::int32_t biases1[NNUE_HIDDEN];
    std::int32_t biases2[NNUE_HIDDEN];
    std::int8_t weights3[NNUE_HIDDEN];
    std::int32_t bias3;
};

// One implementation of the arithmetic; all give identical results.
struct NnueKernels {
    const char* name;
    bool (*is_supported)();
    // to = from - sum of removed rows + sum of added rows; NNUE_HALF each.
    void (*update)(std::int16_t* to, const std::int16_t* from, const std::int16_t* const* removed,
                   int n_removed, const std::int16_t* const* added, int n_added);
    std::int32_t (*propagate)(const NnueLayers& layers, const std::int16_t* own,
                              const std::int16_t* other);
};
// Fastest first; the last, "portable", is always supported.
std::span<const NnueKernels> nnue_kernels();
const NnueKernels& best_nnue_kernels();

class NnueWeights {
  public:
    explicit NnueWeights(NnueParameters parameters, int fv_scale = NNUE_FV_SCALE);

    const NnueParameters& parameters() const { return parameters_; }
    NnueInputs inputs() const { return parameters_.inputs; }
    const std::int16_t* bias() const { return parameters_.ft_biases.data(); }
    const std::int16_t* row(int input) const {
        return &parameters_.ft_weights[std::size_t(input) * NNUE_HALF];
    }
    const NnueLayers& layers() const { return *layers_; }
    int fv_scale() const { return fv_scale_; }

  private:
    NnueParameters parameters_;
    std::unique_ptr<NnueLayers> layers_;
    int fv_scale_;
};

// The active inputs.
std::vector<int> nnue_inputs(NnueInputs inputs, const Position& position, Color view);
// Full, non-incremental evaluation. Side to move's view.
Score evaluate(const NnueWeights& weights, const Position& position,
               const NnueKernels& kernels = best_nnue_kernels());

// An alphabeta::Evaluator. push records added and removed rows; value updates the sums from the
// nearest earlier frame with known sums.
class NnueEvaluator {
  public:
    using Weights = NnueWeights;

    explicit NnueEvaluator(const Weights& weights);
    void reset(const Position& position);
    void push(const Position& position, Move m);
    void push_null(const Position& position);
    void pop() { --top_; }
    Score value(const Position& position);

  private:
    static constexpr int MAX_CHANGES = 2;  // the captured piece and the moved one
    struct alignas(64) Sums {
        std::int16_t of[2][NNUE_HALF];  // [view]
    };
    struct Frame {
        bool is_known[2] = {};
        bool is_refreshed[2] = {};  // HalfKP: the view's king moved, so all inputs change
        std::uint8_t changes[2] = {};
        std::int32_t removed[2][MAX_CHANGES], added[2][MAX_CHANGES];  // inputs, [view]
    };

    void record_change(Frame& frame, BonaPiece before, BonaPiece after);  // Black's view
    void refresh(const Position& position, Color view);
    void update(const Position& position, Color view);

    const NnueWeights* weights_;
    const NnueKernels* kernels_;
    const bool is_half_kp_;
    std::unique_ptr<Sums[]> sums_;
    std::array<Frame, alphabeta::MAX_PUSHES + 1> frames_;
    Square king_[2] = {NO_SQUARE, NO_SQUARE};
    int top_ = 0;
};

static_assert(alphabeta::Evaluator<NnueEvaluator>);

}  // namespace komadori::linear
