// Scores of the alpha-beta search: centipawns (a pawn is 90) from the side to move's view.
#pragma once

#include <cstdint>

namespace komadori::alphabeta {

using Score = int;

constexpr int MAX_PLIES = 200;  // maximum length of a line

//   -MATE .. -MATE_BOUND        mated in MATE + score plies
//   -DOMINATED                  repeats a position with less in hand
//   -EVAL_LIMIT .. EVAL_LIMIT   evaluation
//   DOMINATED                   the same for the opponent
//   MATE_BOUND .. MATE          mates in MATE - score plies
constexpr Score INFINITE = 32001;
constexpr Score MATE = 32000;
constexpr Score MATE_BOUND = MATE - 2 * MAX_PLIES;
constexpr Score DOMINATED = 28000;
constexpr Score EVAL_LIMIT = 27000;
constexpr Score NO_SCORE = 32002;

constexpr Score mate_in(int plies) { return MATE - plies; }
constexpr Score mated_in(int plies) { return -MATE + plies; }
constexpr bool is_mate(Score s) { return s >= MATE_BOUND || s <= -MATE_BOUND; }
// Outside the range of evaluations: mates, superior and inferior repetitions.
constexpr bool is_decisive(Score s) { return s > EVAL_LIMIT || s < -EVAL_LIMIT; }

enum class Bound : std::uint8_t { NONE = 0, UPPER = 1, LOWER = 2, EXACT = 3 };
constexpr bool allows(Bound b, Bound needed) { return (int(b) & int(needed)) != 0; }

}  // namespace komadori::alphabeta
