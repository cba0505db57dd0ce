#include "komadori/rules/perft.h"

namespace komadori {

std::uint64_t perft(Position& position, int depth) {
    if (depth <= 0) return 1;
    if (depth == 1) return std::uint64_t(position.count_legal_moves());
    Move moves[MAX_LEGAL_MOVES];
    int n = position.legal_moves(moves);
    std::uint64_t leaves = 0;
    for (int i = 0; i < n; ++i) {
        position.do_move(moves[i]);
        leaves += perft(position, depth - 1);
        position.undo_move();
    }
    return leaves;
}

}  // namespace komadori
