#include "komadori/linear/line_search.h"

#include <algorithm>

#include "komadori/rules/staged_moves.h"

namespace komadori::linear {
namespace {

using alphabeta::mated_in;
using alphabeta::PIECE_VALUE;

// Takers of much by little first, then promotions; others as they come.
int promise(Move m) {
    if (m.is_drop()) return 0;
    int value = m.is_promotion() ? 50 : 0;
    if (m.captured()) value += 10 * PIECE_VALUE[m.captured()] - PIECE_VALUE[m.moved()] + 10000;
    return value;
}

void sort(ListedMove* begin, ListedMove* end) {
    for (ListedMove* m = begin; m < end; ++m) m->score = promise(m->move());
    std::stable_sort(begin, end,
                     [](const ListedMove& a, const ListedMove& b) { return a.score > b.score; });
}

}  // namespace

void LineSearch::set_root(const Position& root) {
    position_ = root.without_path();
    evaluator_.reset(position_);
}

void LineSearch::make(Move m) {
    evaluator_.push(position_, m);
    position_.do_move(m);
    ++nodes_;
}

void LineSearch::unmake() {
    position_.undo_move();
    evaluator_.pop();
}

void LineSearch::keep(int ply, Move m) {
    Line& line = lines_[ply];
    const Line& rest = lines_[ply + 1];
    line.moves[0] = m;
    std::copy_n(rest.moves, rest.length, line.moves + 1);
    line.length = rest.length + 1;
}

Score LineSearch::search_move(Move m, int depth, Score alpha, Score beta) {
    lines_[0].length = 0;
    make(m);
    const Score value = -search(1, depth - 1, -beta, -alpha);
    unmake();
    keep(0, m);
    return value;
}

const FeatureList& LineSearch::leaf() {
    const Line& line = lines_[0];
    for (int i = 0; i < line.length; ++i) make(line.moves[i]);
    leaf_ = evaluator_.list();
    pieces_.fill(0);
    position_.occupied().each([&](Square s) {
        const Piece p = position_.piece_on(s);
        pieces_[type_of(p)] = std::int8_t(pieces_[type_of(p)] + (color_of(p) == BLACK ? 1 : -1));
    });
    for (PieceType t : HAND_TYPES) {
        pieces_[t] = std::int8_t(pieces_[t] + position_.hand(BLACK, t) - position_.hand(WHITE, t));
    }
    for (int i = 0; i < line.length; ++i) unmake();
    return leaf_;
}

Score LineSearch::search(int ply, int depth, Score alpha, Score beta) {
    if (depth == 0) return quiesce(ply, 0, alpha, beta);
    lines_[ply].length = 0;
    Move legal[MAX_LEGAL_MOVES];
    const int n = position_.legal_moves(legal);
    if (n == 0) return mated_in(ply);
    ListedMove moves[MAX_LEGAL_MOVES];
    for (int i = 0; i < n; ++i) moves[i].raw = legal[i].raw();
    sort(moves, moves + n);
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

Score LineSearch::quiesce(int ply, int depth, Score alpha, Score beta) {
    lines_[ply].length = 0;
    const bool in_check = position_.in_check();
    Score best = -alphabeta::INFINITE;
    if (!in_check || depth >= MAX_QUIESCENCE) {
        best = evaluator_.value(position_);
        if (best >= beta || depth >= MAX_QUIESCENCE) return best;
    }
    ListedMove moves[MAX_LEGAL_MOVES + 47];
    ListedMove* end = in_check ? generate_moves<MoveKind::EVASIONS>(position_, moves, false)
                               : generate_moves<MoveKind::CAPTURES>(position_, moves, false);
    sort(moves, end);
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
    return in_check && !has_moved ? mated_in(ply) : best;
}

}  // namespace komadori::linear
