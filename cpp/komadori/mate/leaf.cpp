#include "komadori/mate/leaf.h"

#include "komadori/mate/checks.h"

namespace komadori {
namespace {

bool is_mated_within(Position& p, int plies);  // the side to move is in check

Move find_mate(Position& p, int plies) {
    Move moves[MAX_LEGAL_MOVES];
    int n = checking_moves(p, moves);
    for (int i = 0; i < n; ++i) {
        p.do_move(moves[i]);
        bool mated = is_mated_within(p, plies - 1);
        p.undo_move();
        if (mated) return moves[i];
    }
    return {};
}

bool is_mated_within(Position& p, int plies) {
    Move moves[MAX_LEGAL_MOVES];
    int n = p.legal_moves(moves);
    if (n == 0) return true;
    if (plies < 2) return false;
    for (int i = 0; i < n; ++i) {
        p.do_move(moves[i]);
        bool mated = !find_mate(p, plies - 1).is_none();
        p.undo_move();
        if (!mated) return false;
    }
    return true;
}

}  // namespace

Move mate_within(Position& position, int plies) {
    return plies < 1 ? Move() : find_mate(position, plies);
}

}  // namespace komadori
