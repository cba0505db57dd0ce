// Mate in one.
#include "komadori/rules/king_safety.h"

namespace komadori {

Move Position::mate_in_one() const {
    Move moves[MAX_LEGAL_MOVES];
    int n = legal_moves(moves);
    for (int i = 0; i < n; ++i) {
        if (!gives_check(moves[i])) continue;
        Position after = *this;
        after.do_move(moves[i]);
        if (after.count_legal_moves() == 0) return moves[i];
    }
    return {};
}

}  // namespace komadori
