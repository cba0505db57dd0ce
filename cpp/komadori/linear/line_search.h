// A small alpha-beta search that tells where its best line ends, for learning.
#pragma once

#include <vector>

#include "komadori/linear/two_piece.h"

namespace komadori::linear {

class LineSearch {
  public:
    explicit LineSearch(const TwoPieceWeights& weights) : evaluator_(weights) {}

    void set_root(const Position& root);
    // The value of a legal move at the root, the root's side's view: its line searched `depth`
    // plies in all, then to quiet. The best line is kept.
    Score search_move(Move m, int depth, Score alpha, Score beta);
    // The features at the end of the line of the last search_move.
    const FeatureList& leaf();
    // Black's pieces less White's by type at that end.
    std::array<std::int8_t, 16> leaf_pieces() const { return pieces_; }
    std::uint64_t nodes() const { return nodes_; }

  private:
    static constexpr int MAX_DEPTH = 2;
    static constexpr int MAX_QUIESCENCE = 10;
    static constexpr int LONGEST = MAX_DEPTH + MAX_QUIESCENCE + 1;
    static constexpr int RECAPTURES_FROM = 5;  // plies of quiescence; then only taking back

    struct Line {
        int length = 0;
        Move moves[LONGEST];
    };

    Score search(int ply, int depth, Score alpha, Score beta);
    Score quiesce(int ply, int depth, Score alpha, Score beta);
    void make(Move m);
    void unmake();
    void keep(int ply, Move m);

    Position position_;
    TwoPieceEvaluator evaluator_;
    Line lines_[LONGEST + 1];
    FeatureList leaf_;
    std::array<std::int8_t, 16> pieces_{};
    std::uint64_t nodes_ = 0;
};

}  // namespace komadori::linear
