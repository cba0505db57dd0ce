// KPP, the evaluation of Bonanza, Apery and elmo: weights of a king and two pieces
// (docs/sources.md, elmo).
//
//   board = KK[bk][wk] + sum_i KKP[bk][wk][i]
//           + sum_{i<j} KPP[bk][i][j] - sum_{i<j} KPP[wk'][i'][j'] + 32 * material
//   turn  = the same sum over the turn components of KK and KKP
//   E     = (board + turn) / 32 with Black to move, (-board + turn) / 32 with White
//
// in centipawns, the side to move's view. i, j are the indices of the 38 other pieces from Black's
// view (bona_piece.h), i', j' from White's view, wk' is the square of White's king from White's
// view. KPP has no turn component. Piece values are fixed (alphabeta::PIECE_VALUE).
//
// Mirror images have equal weights, so KPP is stored for kings on five files; for a king on the
// other four the pieces are mirrored. The full matrix of pairs is stored, KPP[k][i][j] =
// KPP[k][j][i], so that a moved piece reads one row: 216 MB. KKP takes 41 MB.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "komadori/alphabeta/large_pages.h"
#include "komadori/alphabeta/material.h"
#include "komadori/linear/bona_piece.h"

namespace komadori::linear {

using alphabeta::Score;

constexpr int KPP_UNITS = 32;     // units per centipawn
constexpr int FOLDED_KINGS = 45;  // squares of files 1 to 5
constexpr int BONA_PAIRS = BONA_PIECES * (BONA_PIECES + 1) / 2;

// Whether pieces are mirrored for a king on this square (its side's view).
constexpr bool is_folded(Square king) { return king >= FOLDED_KINGS; }
constexpr Square folded_king(Square king) { return is_folded(king) ? mirror(king) : king; }

// Index of the pair a <= b in the upper triangle.
constexpr std::uint32_t pair_row(int a) {  // add b
    return std::uint32_t(a * BONA_PIECES - a * (a + 1) / 2);
}
constexpr std::uint32_t pair_place(int a, int b) {
    return a <= b ? pair_row(a) + std::uint32_t(b) : pair_row(b) + std::uint32_t(a);
}

class KppWeights {
  public:
    KppWeights();  // all 0

    static constexpr std::size_t PAIRS = std::size_t(FOLDED_KINGS) * BONA_PAIRS;
    static constexpr std::size_t KKP = std::size_t(SQUARES) * SQUARES * BONA_PIECES * 2;
    static constexpr std::size_t KK = std::size_t(SQUARES) * SQUARES * 2;
    // kpp: [FOLDED_KINGS][BONA_PAIRS], where for a king on file 5 a pair and its mirror image must
    // be equal; kkp: [81][81][BONA_PIECES][board, turn]; kk: [81][81][board, turn].
    // Throws std::invalid_argument for a wrong size or an asymmetric pair.
    static void check(std::span<const std::int16_t> kpp, std::span<const std::int16_t> kkp,
                      std::span<const std::int32_t> kk, int threads);
    void assign(std::span<const std::int16_t> kpp, std::span<const std::int16_t> kkp,
                std::span<const std::int32_t> kk, int threads);

    const std::int16_t* row(Square folded, BonaPiece a) const {
        return &kpp_[(std::size_t(folded) * BONA_PIECES + a) * BONA_PIECES];
    }
    // [BONA_PIECES][board, turn]
    const std::int16_t* kkp(Square black, Square white) const {
        return &kkp_[(std::size_t(black) * SQUARES + white) * BONA_PIECES * 2];
    }
    const std::int32_t* kk(Square black, Square white) const {
        return &kk_[(std::size_t(black) * SQUARES + white) * 2];
    }
    static constexpr std::size_t BYTES =
        sizeof(std::int16_t) * (std::size_t(FOLDED_KINGS) * BONA_PIECES * BONA_PIECES + KKP) +
        sizeof(std::int32_t) * KK;

  private:
    alphabeta::LargePages<std::int16_t[]> kpp_, kkp_;
    alphabeta::LargePages<std::int32_t[]> kk_;
};

// An alphabeta::Evaluator. push only records which pieces change; value updates the sums from the
// nearest earlier frame with known sums. A king move recomputes that king's KPP and all of KKP.
class KppEvaluator {
  public:
    using Weights = KppWeights;

    explicit KppEvaluator(const Weights& weights) : weights_(&weights) {}
    void reset(const Position& position);
    void push(const Position& position, Move m);
    void push_null(const Position& position);
    void pop();
    Score value(const Position& position);

  private:
    static constexpr std::int32_t UNKNOWN = INT32_MIN;
    struct Change {
        std::uint8_t slot;        // index in the lists
        BonaPiece before, after;  // Black's view
    };
    struct Frame {
        std::int32_t kpp[2] = {UNKNOWN, UNKNOWN};  // of each side's king
        std::int32_t board = UNKNOWN, turn = 0;    // of KK and KKP
        Score material = 0;
        Square king[2];
        bool king_moved[2] = {false, false};
        int changes = 0;
        Change change[2] = {};  // relative to the previous frame
    };
    using List = std::array<BonaPiece, BONA_LIST>;

    // A piece's index from `view`'s side, mirrored if its king is.
    BonaPiece seen(Color view, BonaPiece p) const { return maps_[view][p]; }
    void record_change(Frame& frame, int slot, BonaPiece after);
    void set_maps(Color view, Square king);
    void map_list(Color view);
    std::int32_t whole_kpp(Color view, Square king) const;
    void find_kpp(Color view);
    void find_kkp();

    const KppWeights* weights_;
    List black_{};                                   // indices from Black's view
    List views_[2]{};                                // seen() of each side
    const BonaPiece* maps_[2]{};                     // from black_ to views_
    std::array<std::uint8_t, BONA_PIECES> slots_{};  // index in the lists by Black's piece index
    std::array<Frame, alphabeta::MAX_PUSHES + 1> frames_;
    int top_ = 0;
};

static_assert(alphabeta::Evaluator<KppEvaluator>);

}  // namespace komadori::linear
