// Moves by kind, for a search that generates and tries them in stages.
//
// What is generated is pseudo-legal: a move may leave the own king attacked or drop a pawn that
// mates. is_legal_pseudo() settles that when the move's turn comes, most never come to it.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

// A move in a list to be ordered. Trivial, so that a list of them costs nothing to set up.
struct ListedMove {
    std::uint32_t raw;
    std::int32_t score;
    Move move() const { return Move(raw); }
    // Higher for a higher score, and different for every move.
    std::int64_t rank() const {
        if constexpr (std::endian::native == std::endian::little) {
            return std::bit_cast<std::int64_t>(*this);
        }
        return std::int64_t(score) * (std::int64_t(1) << 32) + raw;
    }
};

enum class MoveKind {
    CAPTURES,      // captures and promotions of pawns; not in check
    QUIETS,        // every other move; not in check
    QUIET_CHECKS,  // those of QUIETS that give check; not in check
    EVASIONS,      // every move; in check
};

// Appends to `out`, which has room for MAX_LEGAL_MOVES and more; returns the end. Unless `all`, it
// leaves out the non-promotions that only serve to avoid mate by a dropped pawn: of pawns, bishops
// and rooks, and of lances going to the last rank but one.
template <MoveKind KIND>
ListedMove* generate_moves(const Position& position, ListedMove* out, bool all);

// Whether a pseudo-legal move is legal; `pinned` is blockers(turn, turn).
bool is_legal_pseudo(const Position& position, const Bitboard& pinned, Move m);

}  // namespace komadori
