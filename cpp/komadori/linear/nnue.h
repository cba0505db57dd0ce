// NNUE (Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions for Computer
// Shogi", 2018): a small network over the pieces' places whose first layer is kept by increments.
//
//   own view, other's view   of the inputs: the side to move's pieces are "own" in the first
//        |          |
//   FT: rows of 256 int16 added up, and a bias           kept incrementally, one row per feature
//        |          |        clipped to 0..127
//        +----++----+        512 uint8
//             ||
//   affine 512 -> 32 int8 with int32 bias, >> 6, clipped to 0..127
//   affine  32 -> 32 likewise
//   affine  32 -> 1  int32, divided by FV_SCALE (16): centipawns, side to move's view
//
// Inputs of a view (1 where the piece is there):
//   K-P     1,710: 1,548 pieces (bona_piece.h), then the own king's square, then 81 later the
//           enemy king's
//   HalfKP  125,388: 1,548 * own king's square + piece
// Squares are those that the view's side sees.
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

constexpr int NNUE_HALF = 256;   // of the feature transformer, one view
constexpr int NNUE_HIDDEN = 32;  // of each of the two layers behind
constexpr int NNUE_SHIFT = 6;    // a hidden layer's weights are in units of 1/64
constexpr int NNUE_ONE = 127;    // an activation of 1
constexpr int NNUE_FV_SCALE = 16;

constexpr int nnue_input_count(NnueInputs inputs) {
    return inputs == NnueInputs::K_P ? BONA_PIECES + 2 * SQUARES : BONA_PIECES * SQUARES;
}
constexpr int nnue_king_input(Color view, Color owner, Square s) {  // of K-P
    return BONA_PIECES + (view == owner ? 0 : SQUARES) + seen_from(view, s);
}
constexpr int nnue_half_kp_input(Color view, Square own_king, BonaPiece p) {
    return BONA_PIECES * seen_from(view, own_king) + p;
}

// The network as its file has it; [output][input].
struct NnueParameters {
    NnueInputs inputs = NnueInputs::K_P;
    // A row fills whole cache lines.
    using Rows = std::vector<std::int16_t, alphabeta::LargePageAllocator<std::int16_t>>;
    Rows ft_biases;   // [NNUE_HALF]
    Rows ft_weights;  // [inputs][NNUE_HALF]
    std::array<std::int32_t, NNUE_HIDDEN> biases1{}, biases2{};
    std::array<std::int8_t, NNUE_HIDDEN * 2 * NNUE_HALF> weights1{};
    std::array<std::int8_t, NNUE_HIDDEN * NNUE_HIDDEN> weights2{};
    std::int32_t bias3 = 0;
    std::array<std::int8_t, NNUE_HIDDEN> weights3{};
};

// Reads and writes nn.bin (nnue_file.cpp says how it is laid out). Throws std::invalid_argument
// that names what is wrong and where.
NnueParameters read_nnue(std::span<const std::uint8_t> file);
std::vector<std::uint8_t> write_nnue(const NnueParameters& parameters);
std::string nnue_architecture(NnueInputs inputs);
std::uint32_t nnue_hash(NnueInputs inputs);

// The layers behind the feature transformer, weights in the order in which they are used: four
// inputs of one output lie together, and the outputs of four inputs, [input / 4][output][4].
struct alignas(64) NnueLayers {
    std::int8_t weights1[2 * NNUE_HALF * NNUE_HIDDEN];
    std::int8_t weights2[NNUE_HIDDEN * NNUE_HIDDEN];
    std::int32_t biases1[NNUE_HIDDEN];
    std::int32_t biases2[NNUE_HIDDEN];
    std::int8_t weights3[NNUE_HIDDEN];
    std::int32_t bias3;
};

// One way to do the arithmetic; all give the same results.
struct NnueKernels {
    const char* name;
    bool (*is_supported)();
    // to = from - sum of the rows removed + sum of the rows added; NNUE_HALF each.
    void (*update)(std::int16_t* to, const std::int16_t* from, const std::int16_t* const* removed,
                   int n_removed, const std::int16_t* const* added, int n_added);
    std::int32_t (*propagate)(const NnueLayers& layers, const std::int16_t* own,
                              const std::int16_t* other);
};
// The fastest first; "portable" is the last and always supported.
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

// All the inputs that are 1.
std::vector<int> nnue_inputs(NnueInputs inputs, const Position& position, Color view);
// Worked out from nothing. Side to move's view.
Score evaluate(const NnueWeights& weights, const Position& position,
               const NnueKernels& kernels = best_nnue_kernels());

// An alphabeta::Evaluator. push notes which rows come and go; value brings the sums up to date,
// from the nearest position behind where they are known.
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
    static constexpr int MOST_CHANGES = 2;  // the piece captured, the one moved
    struct alignas(64) Sums {
        std::int16_t of[2][NNUE_HALF];  // [view]
    };
    struct Frame {
        bool is_known[2] = {};
        bool is_refreshed[2] = {};  // HalfKP: the view's king moved, every row is another
        std::uint8_t changes[2] = {};
        std::int32_t removed[2][MOST_CHANGES], added[2][MOST_CHANGES];  // inputs, [view]
    };

    void note(Frame& frame, BonaPiece before, BonaPiece after);  // as Black sees them
    void refresh(const Position& position, Color view);
    void bring_up_to_date(const Position& position, Color view);

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
