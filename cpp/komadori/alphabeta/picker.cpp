#include "komadori/alphabeta/picker.h"

#include <algorithm>

#include "komadori/alphabeta/exchange.h"
#include "komadori/alphabeta/material.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace komadori::alphabeta {
namespace {

// The move with the highest rank; the list must not be empty. No branch depends on a score.
ListedMove* best_of(ListedMove* first, ListedMove* end) {
#if defined(__AVX2__)
    // Four moves at a time, with the best rank and its index per lane; the last four may overlap
    // the four before.
    if (const std::int64_t n = end - first; n >= 8) {
        const auto ranks_at = [first](std::int64_t i) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + i));
        };
        const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
        __m256i best = ranks_at(0), where = lanes;
        for (std::int64_t i = 4; i < n + 3; i += 4) {
            const std::int64_t at = std::min(i, n - 4);
            const __m256i ranks = ranks_at(at);
            const __m256i higher = _mm256_cmpgt_epi64(ranks, best);
            best = _mm256_blendv_epi8(best, ranks, higher);
            where =
                _mm256_blendv_epi8(where, _mm256_add_epi64(lanes, _mm256_set1_epi64x(at)), higher);
        }
        alignas(32) std::int64_t rank[4], index[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(rank), best);
        _mm256_store_si256(reinterpret_cast<__m256i*>(index), where);
        const int a = rank[1] > rank[0] ? 1 : 0, b = rank[3] > rank[2] ? 3 : 2;
        return first + index[rank[b] > rank[a] ? b : a];
    }
#endif
    std::int64_t best = first->rank();
    ListedMove* found = first;
    for (ListedMove* m = first + 1; m < end; ++m) {
        const std::int64_t rank = m->rank();
        found = rank > best ? m : found;
        best = std::max(best, rank);
    }
    return found;
}

}  // namespace

MovePicker::MovePicker(const Position& position, const Histories& histories,
                       const Constants& constants, const OrderingHints& hints, Aim aim,
                       bool all_moves)
    : position_(position),
      histories_(histories),
      c_(constants),
      hints_(hints),
      aim_(aim),
      all_moves_(all_moves) {
    if (hints_.priors) {
        stage_ = POLICY_TABLE;
    } else if (position.in_check()) {
        stage_ = EVASION_TABLE;
    } else {
        stage_ = aim == Aim::SEARCH ? TABLE : QUIESCE_TABLE;
    }
    if (hints_.table_move.is_none()) stage_ = Stage(stage_ + 1);
}

MovePicker::MovePicker(const Position& position, const Histories& histories,
                       const Constants& constants, Move table_move, Score threshold)
    : position_(position),
      histories_(histories),
      c_(constants),
      aim_(Aim::PROBE),
      threshold_(threshold),
      stage_(PROBE_TABLE) {
    if (!table_move.is_none() && table_move.captured()) {
        hints_.table_move = table_move;
    } else {
        stage_ = PROBE_INIT;
    }
}

void MovePicker::score_captures() {
    const Color us = position_.turn();
    for (ListedMove* m = at_; m < end_; ++m) {
        const Move move = m->move();
        m->score =
            histories_.capture(piece_after(us, move), move.to())[base_type(move.captured())] +
            c_.order_gain * single_gain(move);
    }
}

int MovePicker::history_of(Move m) const {
    const Piece p = piece_after(position_.turn(), m);
    const Square to = m.to();
    const int index = Histories::butterfly_index(m);
    int sum = c_.order_butterfly * histories_.butterfly[position_.turn()][index] +
              c_.order_pawns * (*hints_.pawns)(p, to);
    for (const ContinuationRow* row : hints_.rows) sum += (*row)(p, to);
    if (hints_.low_ply) sum += c_.order_low_ply * hints_.low_ply[index] / hints_.low_ply_divisor;
    return sum;
}

// A direct check that loses little counts as a high history.
void MovePicker::score_quiets() {
    const Color us = position_.turn(), them = opponent(us);
    const Square king = position_.king(them);
    Bitboard checks[PIECE_TYPES] = {};
    if (king != NO_SQUARE) {
        const Bitboard occupied = position_.occupied();
        const Bitboard steps = king_attacks(king);
        for (PieceType t : {PAWN, KNIGHT, SILVER, GOLD}) checks[t] = step_attacks(them, t, king);
        for (PieceType t : {PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER}) checks[t] = checks[GOLD];
        checks[LANCE] = lance_attacks(them, king, occupied);
        checks[BISHOP] = bishop_attacks(king, occupied);
        checks[ROOK] = rook_attacks(king, occupied);
        checks[HORSE] = checks[BISHOP] | steps;
        checks[DRAGON] = checks[ROOK] | steps;
    }
    for (ListedMove* m = at_; m < end_; ++m) {
        const Move move = m->move();
        m->score = history_of(move);
        const PieceType after = move.is_promotion() ? promoted_type(move.moved()) : move.moved();
        if (checks[after].has(move.to()) && exchange_gains(position_, move, -c_.order_check_loss)) {
            m->score += c_.order_check;
        }
    }
}

void MovePicker::score_evasions() {
    const Color us = position_.turn();
    for (ListedMove* m = at_; m < end_; ++m) {
        const Move move = m->move();
        if (move.captured()) {
            m->score = (1 << 28) + PIECE_VALUE[move.captured()];
        } else {
            m->score = histories_.butterfly[us][Histories::butterfly_index(move)] +
                       (*hints_.rows[0])(piece_after(us, move), move.to());
        }
    }
}

// Priors are log probabilities: a factor of e counts as much as 3,000 of history. A capture that
// wins (or loses) its exchange counts as much as a factor of 28.
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

// Partial selection sort: moves the best remaining move to the front. Most nodes end after few
// moves, so sorting the list would cost more. The list must not be empty.
void MovePicker::bring_best() {
    if (is_best_first_) return;
    std::swap(*at_, *best_of(at_, end_));
    is_best_first_ = true;
}

Move MovePicker::take_best() {
    bring_best();
    is_best_first_ = false;
    return (at_++)->move();
}

Move MovePicker::expected() {
    switch (stage_) {
        case GOOD_CAPTURES:
        case QUIETS:
        case BAD_QUIETS:
        case EVASIONS:
        case QUIESCE_CAPTURES:
            if (at_ == end_) return {};
            bring_best();
            return at_->move();
        default:
            return {};
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
                    if (exchange_gains(position_, m, -(at_ - 1)->score / c_.order_good_capture))
                        return m;
                    (bad_end_++)->raw = m.raw();
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
                    bring_best();
                    if (at_->score <= -c_.order_good_quiet) break;
                    Move m = take_best();
                    if (m != hints_.table_move) return m;
                }
                is_best_first_ = false;
                quiet_at_ = at_;
                quiet_end_ = end_;
                at_ = moves_;
                stage_ = BAD_CAPTURES;
                break;

            case BAD_CAPTURES:
                if (at_ < bad_end_) return (at_++)->move();
                at_ = quiet_at_;
                end_ = quiet_end_;
                stage_ = BAD_QUIETS;
                break;

            case BAD_QUIETS:
                while (at_ < end_ && !skip_quiets) {
                    Move m = take_best();
                    if (m != hints_.table_move) return m;
                }
                stage_ = DONE;
                break;

            case EVASION_INIT:
                at_ = moves_;
                end_ = generate_moves<MoveKind::EVASIONS>(position_, moves_, all_moves_);
                score_evasions();
                stage_ = EVASIONS;
                break;

            case EVASIONS:
                while (at_ < end_) {
                    Move m = take_best();
                    if (m == hints_.table_move) continue;
                    return m;
                }
                stage_ = DONE;
                break;

            case QUIESCE_CAPTURES:
                while (at_ < end_) {
                    Move m = take_best();
                    if (m == hints_.table_move) continue;
                    return m;
                }
                stage_ = DONE;
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
                    if (m == hints_.table_move || (skip_quiets && !m.captured())) continue;
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
