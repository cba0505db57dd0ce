#include "komadori/mate/leaf.h"

#include "komadori/mate/checks.h"

namespace komadori {
namespace {

Move find_mate(Position& p, int plies);

// Whether the side to move, in check, has no reply or is mated within `plies` after each.
bool is_mated_within(Position& p, int plies) {
    if (plies < 2) return !p.has_legal_moves();
    Move moves[MAX_LEGAL_MOVES];
    int n = p.legal_moves(moves);
    for (int i = 0; i < n; ++i) {
        p.do_move(moves[i]);
        bool mated = !find_mate(p, plies - 1).is_none();
        p.undo_move();
        if (!mated) return false;
    }
    return true;
}

Move find_mate(Position& p, int plies) {
    if (Move m = p.mate_in_one(); plies < 3 || !m.is_none()) return m;
    Move moves[MAX_LEGAL_MOVES];
    int n = checking_moves(p, moves);
    if (n == 0) return {};
    // Shorter mates first: they are more common and cheaper to find.
    for (int length = 3; length <= plies; length += 2) {
        for (int i = 0; i < n; ++i) {
            p.do_move(moves[i]);
            bool mated = is_mated_within(p, length - 1);
            p.undo_move();
            if (mated) return moves[i];
        }
    }
    return {};
}

}  // namespace

Move mate_within(Position& position, int plies) {
    if (plies < 1 || position.king(opponent(position.turn())) == NO_SQUARE) return {};
    return find_mate(position, plies);
}

}  // namespace komadori
