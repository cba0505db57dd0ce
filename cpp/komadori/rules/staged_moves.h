// Pseudo-legal moves by kind, for staged move generation.
//
// A pseudo-legal move may leave its own king in check or be a mating pawn drop. is_legal_pseudo()
// tests a move just before it is searched; most moves are never searched.
#pragma once

#include "komadori/rules/position.h"

namespace komadori {

// A scored move. Trivial, so that an array of them needs no initialisation.
struct ListedMove {
    std::uint32_t raw;
    std::int32_t score;
    Move move() const { return Move(raw); }
    // Orders by score, then by move; distinct for every move.
    std::int64_t rank() const {
        if constexpr (std::endian::native == std::endian::little) {
            return std::bit_cast<std::int64_t>(*this);
        }
        return std::int64_t(score) * (std::int64_t(1) << 32) + raw;
    }
};

enum class MoveKind {
    CAPTURES,                 // not in check
    QUIETS,                   // all other moves; not in check
    CAPTURES_AND_PROMOTIONS,  // captures and pawn promotions; not in check
    EVASIONS,                 // all moves; in check
};

// Writes to `out`, which must have room for more than MAX_LEGAL_MOVES, and returns the end. Unless
// `all`, omits non-promotions that matter only for avoiding mate by a dropped pawn: of pawns,
// bishops and rooks, and of lances on the last two ranks.
template <MoveKind KIND>
ListedMove* generate_moves(const Position& position, ListedMove* out, bool all);

// Whether a pseudo-legal move is legal; `pinned` is blockers(turn, turn).
bool is_legal_pseudo(const Position& position, const Bitboard& pinned, Move m);

}  // namespace komadori
