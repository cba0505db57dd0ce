// Staged move ordering: moves are generated only when their stage is reached.
#pragma once

#include "komadori/alphabeta/history.h"
#include "komadori/alphabeta/policy_queue.h"
#include "komadori/alphabeta/score.h"
#include "komadori/rules/staged_moves.h"

namespace komadori::alphabeta {

// A node's information for move ordering.
struct OrderingHints {
    Move table_move;                      // pseudo-legal here, or Move()
    std::uint16_t killers[2] = {};        // move16
    std::uint16_t counter = 0;            // move16
    const ContinuationRow* rows[3] = {};  // of the moves 1, 2 and 4 plies ago; like killers and
                                          // counter, used for quiet moves and evasions only
    const ContinuationRow* pawns = nullptr;
    const HistoryScore<HISTORY_LIMIT>* low_ply = nullptr;
    const Priors* priors = nullptr;  // of a policy network, for Aim::SEARCH
};

// Returns every pseudo-legal move once, in the stages
//   out of check:  table move, captures that don't lose material, killers and counter move,
//                  quiet moves by history, captures that lose material
//   in check:      table move, all others
//   quiescence:    table move, captures, optionally quiet checks
//   ProbCut:       table move, captures that gain at least a threshold
//   with priors:   table move, all others by prior, history and static exchange
// The caller checks legality.
class MovePicker {
  public:
    enum class Aim { SEARCH, CAPTURES, CAPTURES_AND_CHECKS, RECAPTURES, PROBE };

    // `all_moves` as in generate_moves. RECAPTURES captures on `square` only.
    MovePicker(const Position& position, const Histories& histories, const OrderingHints& hints,
               Aim aim, bool all_moves, Square square = NO_SQUARE);
    // For ProbCut: captures only, not in check.
    MovePicker(const Position& position, const Histories& histories, Move table_move,
               Score threshold);

    Move next(bool skip_quiets = false);  // Move() at the end
    // The likely next move, for prefetching while the last one is searched; Move() if unknown.
    // next() may return another one.
    Move expected();
    // Whether the last move is a capture that doesn't lose material by static exchange.
    bool gave_good_capture() const { return stage_ == GOOD_CAPTURES; }
    // Skips the remaining quiet moves except checks.
    void skip_to_checks();
    // The history score of the last quiet move, for Aim::SEARCH.
    int quiet_history() const { return history_; }

  private:
    enum Stage : std::uint8_t {
        TABLE,
        CAPTURE_INIT,
        GOOD_CAPTURES,
        REFUTATIONS,
        QUIET_INIT,
        QUIETS,
        BAD_CAPTURES,
        EVASION_TABLE,
        EVASION_INIT,
        EVASIONS,
        QUIESCE_TABLE,
        QUIESCE_INIT,
        QUIESCE_CAPTURES,
        CHECK_INIT,
        CHECKS,
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
    bool is_refutation(Move m) const;

    const Position& position_;
    const Histories& histories_;
    OrderingHints hints_;
    Aim aim_ = Aim::SEARCH;
    bool all_moves_ = false;
    Square square_ = NO_SQUARE;
    Score threshold_ = 0;
    Stage stage_;
    Move refutations_[3];
    int refutation_ = 0;
    int history_ = 0;
    bool is_best_first_ = false;  // whether *at_ is the best remaining move
    ListedMove *at_, *end_, *bad_end_;
    ListedMove moves_[MAX_LEGAL_MOVES + 47];  // uninitialised
};

}  // namespace komadori::alphabeta
