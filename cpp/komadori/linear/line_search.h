// A small alpha-beta search that returns the leaf of its principal variation, for training.
#pragma once

#include <algorithm>

#include "komadori/alphabeta/material.h"
#include "komadori/alphabeta/score.h"
#include "komadori/rules/position.h"
#include "komadori/rules/staged_moves.h"

namespace komadori::linear {

using alphabeta::Score;

// Captures by MVV-LVA first, then promotions, then the rest in generation order.
void sort_captures_first(ListedMove* begin, ListedMove* end);

template <alphabeta::Evaluator E>
class LineSearch {
  public:
    explicit LineSearch(const typename E::Weights& weights) : evaluator_(weights) {}

    void set_root(const Position& root) {
        position_ = root.without_path();
        evaluator_.reset(position_);
        lines_[0].length = 0;
    }
    // The value of a legal root move from the root side's view: `depth` plies including the move,
    // then quiescence. Keeps the principal variation.
    Score search_move(Move m, int depth, Score alpha, Score beta);
    // The value of the root by quiescence search. Keeps the principal variation.
    Score search_root() { return quiesce(0, 0, -alphabeta::INFINITE, alphabeta::INFINITE); }
    // Calls visit(position, evaluator) at the end of the principal variation.
    template <class Visit>
    void at_leaf(const Visit& visit) {
        const Line& line = lines_[0];
        for (int i = 0; i < line.length; ++i) make(line.moves[i]);
        visit(position_, evaluator_);
        for (int i = 0; i < line.length; ++i) unmake();
    }
    std::uint64_t nodes() const { return nodes_; }

  private:
    static constexpr int MAX_DEPTH = 2;
    static constexpr int MAX_QUIESCENCE = 10;
    static constexpr int MAX_LENGTH = MAX_DEPTH + MAX_QUIESCENCE + 1;
    static constexpr int RECAPTURES_FROM = 5;  // quiescence ply from which only recaptures count

    struct Line {
        int length = 0;
        Move moves[MAX_LENGTH];
    };

    Score search(int ply, int depth, Score alpha, Score beta);
    Score quiesce(int ply, int depth, Score alpha, Score beta);
    void make(Move m) {
        evaluator_.push(position_, m);
        position_.do_move(m);
        ++nodes_;
    }
    void unmake() {
        position_.undo_move();
        evaluator_.pop();
    }
    void keep(int ply, Move m) {
        Line& line = lines_[ply];
        const Line& rest = lines_[ply + 1];
        line.moves[0] = m;
        std::copy_n(rest.moves, rest.length, line.moves + 1);
        line.length = rest.length + 1;
    }

    Position position_;
    E evaluator_;
    Line lines_[MAX_LENGTH + 1];
    std::uint64_t nodes_ = 0;
};

template <alphabeta::Evaluator E>
Score LineSearch<E>::search_move(Move m, int depth, Score alpha, Score beta) {
    lines_[0].length = 0;
    make(m);
    const Score value = -search(1, depth - 1, -beta, -alpha);
    unmake();
    keep(0, m);
    return value;
}

template <alphabeta::Evaluator E>
Score LineSearch<E>::search(int ply, int depth, Score alpha, Score beta) {
    if (depth == 0) return quiesce(ply, 0, alpha, beta);
    lines_[ply].length = 0;
    Move legal[MAX_LEGAL_MOVES];
    const int n = position_.legal_moves(legal);
    if (n == 0) return alphabeta::mated_in(ply);
    ListedMove moves[MAX_LEGAL_MOVES];
    for (int i = 0; i < n; ++i) moves[i].raw = legal[i].raw();
    sort_captures_first(moves, moves + n);
    Score best = -alphabeta::INFINITE;
    for (int i = 0; i < n; ++i) {
        const Move m = moves[i].move();
        make(m);
        const Score value = -search(ply + 1, depth - 1, -beta, -std::max(alpha, best));
        unmake();
        if (value <= best) continue;
        best = value;
        if (best > alpha) keep(ply, m);
        if (best >= beta) break;
    }
    return best;
}

template <alphabeta::Evaluator E>
Score LineSearch<E>::quiesce(int ply, int depth, Score alpha, Score beta) {
    lines_[ply].length = 0;
    const bool in_check = position_.in_check();
    Score best = -alphabeta::INFINITE;
    if (!in_check || depth >= MAX_QUIESCENCE) {
        best = evaluator_.value(position_);
        if (best >= beta || depth >= MAX_QUIESCENCE) return best;
    }
    ListedMove moves[MAX_LEGAL_MOVES + 47];
    ListedMove* end =
        in_check ? generate_moves<MoveKind::EVASIONS>(position_, moves, false)
                 : generate_moves<MoveKind::CAPTURES_AND_PROMOTIONS>(position_, moves, false);
    sort_captures_first(moves, end);
    const Bitboard pinned = position_.blockers(position_.turn(), position_.turn());
    const int made = position_.path_length();
    const Square last = made > 0 ? position_.path_move(made - 1).to() : NO_SQUARE;
    bool has_moved = false;
    for (ListedMove* listed = moves; listed < end; ++listed) {
        const Move m = listed->move();
        if (!in_check && depth >= RECAPTURES_FROM && m.to() != last) continue;
        if (!is_legal_pseudo(position_, pinned, m)) continue;
        has_moved = true;
        make(m);
        const Score value = -quiesce(ply + 1, depth + 1, -beta, -std::max(alpha, best));
        unmake();
        if (value <= best) continue;
        best = value;
        if (best > alpha) keep(ply, m);
        if (best >= beta) break;
    }
    return in_check && !has_moved ? alphabeta::mated_in(ply) : best;
}

}  // namespace komadori::linear
