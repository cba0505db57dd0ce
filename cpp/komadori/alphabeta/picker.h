// Staged move ordering: moves are generated only when their stage is reached.
#pragma once

#include "komadori/alphabeta/constants.h"
#include "komadori/alphabeta/history.h"
#include "komadori/alphabeta/policy_queue.h"
#include "komadori/alphabeta/score.h"
#include "komadori/rules/staged_moves.h"

namespace komadori::alphabeta {

// A node's information for move ordering.
struct OrderingHints {
    Move table_move;                      // pseudo-legal here, or Move()
    const ContinuationRow* rows[5] = {};  // of the moves 1, 2, 3, 4 and 6 plies ago
    const PawnRow* pawns = nullptr;
    int low_ply_divisor = 1;
    const HistoryScore<HISTORY_LIMIT>* low_ply = nullptr;
    const Priors* priors = nullptr;  // of a policy network, for Aim::SEARCH
};

// Returns every pseudo-legal move once, in the stages
//   out of check:  table move, captures that lose little, quiet moves with a good history, other
//                  captures, other quiet moves
//   in check:      table move, all others
//   quiescence:    table move, captures
//   ProbCut:       table move, captures that gain at least a threshold
//   with priors:   table move, all others by prior, history and static exchange
// The caller checks legality.
class MovePicker {
  public:
    enum class Aim { SEARCH, CAPTURES, PROBE };

    // `all_moves` as in generate_moves.
    MovePicker(const Position& position, const Histories& histories, const Constants& constants,
               const OrderingHints& hints, Aim aim, bool all_moves);
    // For ProbCut: captures only, not in check.
    MovePicker(const Position& position, const Histories& histories, const Constants& constants,
               Move table_move, Score threshold);

    Move next(bool skip_quiets = false);  // Move() at the end
    // The likely next move, for prefetching while the last one is searched; Move() if unknown.
    // next() may return another one.
    Move expected();

  private:
    enum Stage : std::uint8_t {
        TABLE,
        CAPTURE_INIT,
        GOOD_CAPTURES,
        QUIET_INIT,
        QUIETS,
        BAD_CAPTURES,
        BAD_QUIETS,
        EVASION_TABLE,
        EVASION_INIT,
        EVASIONS,
        QUIESCE_TABLE,
        QUIESCE_INIT,
        QUIESCE_CAPTURES,
        PROBE_TABLE,
        PROBE_INIT,
        PROBE_CAPTURES,
        POLICY_TABLE,
        POLICY_INIT,
        POLICY,
        DONE,
    };

    int history_of(Move m) const;
    void score_captures();
    void score_quiets();
    void score_evasions();
    void score_by_policy();
    void bring_best();
    Move take_best();

    const Position& position_;
    const Histories& histories_;
    const Constants& c_;
    OrderingHints hints_;
    Aim aim_ = Aim::SEARCH;
    bool all_moves_ = false;
    Score threshold_ = 0;
    Stage stage_;
    bool is_best_first_ = false;  // whether *at_ is the best remaining move
    ListedMove *at_, *end_, *bad_end_, *quiet_at_, *quiet_end_;
    ListedMove moves_[MAX_LEGAL_MOVES + 47];  // uninitialised
};

}  // namespace komadori::alphabeta
