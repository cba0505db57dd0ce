#include "komadori/alphabeta/picker.h"

#include <algorithm>

#include "komadori/alphabeta/exchange.h"
#include "komadori/alphabeta/material.h"

namespace komadori::alphabeta {
MovePicker::MovePicker(const Position& position, const Histories& histories,
                       const OrderingHints& hints, Aim aim, bool all_moves, Square square)
    : position_(position),
      histories_(histories),
      hints_(hints),
      aim_(aim),
      all_moves_(all_moves),
      square_(square) {
    if (hints_.priors) {
        stage_ = POLICY_TABLE;
    } else if (position.in_check()) {
        stage_ = EVASION_TABLE;
    } else if (aim == Aim::SEARCH) {
        stage_ = TABLE;
    } else {
        stage_ = QUIESCE_TABLE;
        if (aim == Aim::RECAPTURES && hints_.table_move.to() != square) hints_.table_move = Move();
    }
    if (hints_.table_move.is_none()) stage_ = Stage(stage_ + 1);
}

MovePicker::MovePicker(const Position& position, const Histories& histories, Move table_move,
                       Score threshold)
    : position_(position),
      histories_(histories),
      aim_(Aim::PROBE),
      threshold_(threshold),
      stage_(PROBE_TABLE) {
    if (!table_move.is_none() && table_move.captured() &&
        exchange_gains(position, table_move, threshold)) {
        hints_.table_move = table_move;
    } else {
        stage_ = PROBE_INIT;
    }
}

void MovePicker::score_captures() {
    Color us = position_.turn();
    for (ListedMove* m = at_; m < end_; ++m) {
        Move move = m->move();
        m->score =
            8 * gain(move) - PIECE_VALUE[move.moved()] / 4 +
            histories_.capture(piece_after(us, move), move.to())[base_type(move.captured())] / 8;
    }
}

int MovePicker::history_of(Move m) const {
    Piece p = piece_after(position_.turn(), m);
    return 2 * histories_.butterfly[position_.turn()][Histories::butterfly_index(m)] +
           2 * (*hints_.rows[0])(p, m.to()) + (*hints_.rows[1])(p, m.to()) +
           (*hints_.rows[2])(p, m.to());
}

void MovePicker::score_quiets() {
    for (ListedMove* m = at_; m < end_; ++m) m->score = history_of(m->move());
}

void MovePicker::score_evasions() {
    for (ListedMove* m = at_; m < end_; ++m) {
        Move move = m->move();
        if (move.captured()) {
            m->score = (1 << 24) + 8 * gain(move) - PIECE_VALUE[move.moved()];
        } else {
            m->score = history_of(move);
        }
    }
}

// Priors are log probabilities: a factor of 2.7 counts as much as 3,000 of history, and what a
// capture wins or loses outright as much as a factor of 28.
void MovePicker::score_by_policy() {
    constexpr float PRIOR_WEIGHT = 3000;
    constexpr int EXCHANGE_WEIGHT = 10000;
    for (ListedMove* m = at_; m < end_; ++m) {
        const Move move = m->move();
        m->score = int(PRIOR_WEIGHT * hints_.priors->of(move));
        if (move.captured()) {
            m->score += exchange_gains(position_, move, 0) ? EXCHANGE_WEIGHT : -EXCHANGE_WEIGHT;
        } else {
            m->score += history_of(move);
        }
    }
}

// The best of what is left, taken out; not for an empty list. Most nodes end after few moves, so
// that putting all in order would cost more. No branch depends on a score but the last.
Move MovePicker::take_best() {
    std::int64_t best = at_->rank();
    for (const ListedMove* m = at_ + 1; m < end_; ++m) best = std::max(best, m->rank());
    ListedMove* found = at_;
    while (found->rank() != best) ++found;
    std::swap(*at_, *found);
    return (at_++)->move();
}

bool MovePicker::is_refutation(Move m) const {
    return m == refutations_[0] || m == refutations_[1] || m == refutations_[2];
}

void MovePicker::skip_to_checks() {
    if (stage_ == QUIETS) {
        end_ = std::partition(at_, end_,
                              [&](const ListedMove& m) { return position_.gives_check(m.move()); });
    }
}

Move MovePicker::next(bool skip_quiets) {
    while (true) {
        switch (stage_) {
            case TABLE:
            case EVASION_TABLE:
            case QUIESCE_TABLE:
            case PROBE_TABLE:
            case POLICY_TABLE:
                stage_ = Stage(stage_ + 1);
                if (aim_ == Aim::SEARCH) history_ = history_of(hints_.table_move);
                return hints_.table_move;

            case CAPTURE_INIT:
            case QUIESCE_INIT:
            case PROBE_INIT:
                at_ = bad_end_ = moves_;
                end_ = generate_moves<MoveKind::CAPTURES>(position_, moves_, all_moves_);
                score_captures();
                stage_ = Stage(stage_ + 1);
                break;

            case GOOD_CAPTURES:
                while (at_ < end_) {
                    Move m = take_best();
                    if (m == hints_.table_move) continue;
                    if (exchange_gains(position_, m, 0)) return m;
                    (bad_end_++)->raw = m.raw();
                }
                if (!skip_quiets) {
                    std::uint16_t wanted[3] = {hints_.killers[0], hints_.killers[1],
                                               hints_.counter};
                    for (int i = 0; i < 3; ++i) {
                        if (!wanted[i] || (i > 0 && wanted[i] == wanted[0]) ||
                            (i > 1 && wanted[i] == wanted[1])) {
                            continue;
                        }
                        Move m = position_.from_move16(wanted[i]);
                        bool is_capture = m.captured() || (m.is_promotion() && m.moved() == PAWN);
                        if (m != hints_.table_move && !is_capture) refutations_[i] = m;
                    }
                }
                stage_ = REFUTATIONS;
                break;

            case REFUTATIONS:
                while (refutation_ < 3) {
                    Move m = refutations_[refutation_++];
                    if (m.is_none()) continue;
                    history_ = history_of(m);
                    return m;
                }
                stage_ = QUIET_INIT;
                break;

            case QUIET_INIT:
                at_ = end_ = bad_end_;
                if (!skip_quiets) {
                    end_ = generate_moves<MoveKind::QUIETS>(position_, at_, all_moves_);
                    score_quiets();
                }
                stage_ = QUIETS;
                break;

            case QUIETS:
                while (at_ < end_ && !skip_quiets) {
                    Move m = take_best();
                    history_ = (at_ - 1)->score;
                    if (m != hints_.table_move && !is_refutation(m)) return m;
                }
                at_ = moves_;
                stage_ = BAD_CAPTURES;
                break;

            case BAD_CAPTURES:
                if (at_ < bad_end_) return (at_++)->move();
                stage_ = DONE;
                break;

            case EVASION_INIT:
                at_ = moves_;
                end_ = generate_moves<MoveKind::EVASIONS>(position_, moves_, all_moves_);
                score_evasions();
                stage_ = EVASIONS;
                break;

            case EVASIONS:
            case CHECKS:
                while (at_ < end_) {
                    Move m = stage_ == EVASIONS ? take_best() : (at_++)->move();
                    if (m == hints_.table_move) continue;
                    history_ = (at_ - 1)->score;
                    return m;
                }
                stage_ = DONE;
                break;

            case QUIESCE_CAPTURES:
                while (at_ < end_) {
                    Move m = take_best();
                    if (m == hints_.table_move) continue;
                    if (aim_ == Aim::RECAPTURES && m.to() != square_) continue;
                    return m;
                }
                stage_ = aim_ == Aim::CAPTURES_AND_CHECKS ? CHECK_INIT : DONE;
                break;

            case CHECK_INIT:
                at_ = moves_;
                end_ = generate_moves<MoveKind::QUIET_CHECKS>(position_, moves_, all_moves_);
                stage_ = CHECKS;
                break;

            case PROBE_CAPTURES:
                while (at_ < end_) {
                    Move m = take_best();
                    if (m != hints_.table_move && exchange_gains(position_, m, threshold_))
                        return m;
                }
                stage_ = DONE;
                break;

            case POLICY_INIT:
                at_ = end_ = moves_;
                if (position_.in_check()) {
                    end_ = generate_moves<MoveKind::EVASIONS>(position_, end_, all_moves_);
                } else {
                    end_ = generate_moves<MoveKind::CAPTURES>(position_, end_, all_moves_);
                    end_ = generate_moves<MoveKind::QUIETS>(position_, end_, all_moves_);
                }
                score_by_policy();
                stage_ = POLICY;
                break;

            case POLICY:
                while (at_ < end_) {
                    const Move m = take_best();
                    const bool is_quiet = !m.captured() && !(m.is_promotion() && m.moved() == PAWN);
                    if (m == hints_.table_move || (skip_quiets && is_quiet)) continue;
                    history_ = history_of(m);
                    return m;
                }
                stage_ = DONE;
                break;

            case DONE:
                return {};
        }
    }
}

}  // namespace komadori::alphabeta
