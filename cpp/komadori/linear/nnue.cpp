#include "komadori/linear/nnue.h"

#include <algorithm>
#include <stdexcept>

namespace komadori::linear {
namespace {

// [output][input] to [input / 4][output][4].
void reorder(const std::int8_t* from, int inputs, std::int8_t* to) {
    for (int o = 0; o < NNUE_HIDDEN; ++o) {
        for (int i = 0; i < inputs; ++i) {
            to[(i / 4 * NNUE_HIDDEN + o) * 4 + i % 4] = from[o * inputs + i];
        }
    }
}

Score in_range(std::int32_t score) {
    return std::clamp(score, -alphabeta::EVAL_LIMIT, alphabeta::EVAL_LIMIT);
}

}  // namespace

NnueWeights::NnueWeights(NnueParameters parameters, int fv_scale)
    : parameters_(std::move(parameters)), layers_(new NnueLayers), fv_scale_(fv_scale) {
    const auto inputs = std::size_t(nnue_input_count(parameters_.inputs));
    if (parameters_.ft_biases.size() != NNUE_HALF ||
        parameters_.ft_weights.size() != inputs * NNUE_HALF) {
        throw std::invalid_argument("the feature transformer's size isn't " +
                                    std::to_string(inputs) + " x " + std::to_string(NNUE_HALF));
    }
    if (fv_scale < 1) throw std::invalid_argument("FV_SCALE is less than 1");
    reorder(parameters_.weights1.data(), 2 * NNUE_HALF, layers_->weights1);
    reorder(parameters_.weights2.data(), NNUE_HIDDEN, layers_->weights2);
    std::ranges::copy(parameters_.biases1, layers_->biases1);
    std::ranges::copy(parameters_.biases2, layers_->biases2);
    std::ranges::copy(parameters_.weights3, layers_->weights3);
    layers_->bias3 = parameters_.bias3;
}

std::vector<int> nnue_inputs(NnueInputs inputs, const Position& position, Color view) {
    std::vector<int> active;
    for (BonaPiece p : bona_list(position, view)) {
        if (p == NO_BONA_PIECE) continue;
        active.push_back(inputs == NnueInputs::K_P
                             ? p
                             : nnue_half_kp_input(view, king_or_home(position, view), p));
    }
    if (inputs == NnueInputs::K_P) {
        for (Color c : {BLACK, WHITE}) {
            active.push_back(nnue_king_input(view, c, king_or_home(position, c)));
        }
    }
    return active;
}

Score evaluate(const NnueWeights& weights, const Position& position, const NnueKernels& kernels) {
    alignas(64) std::int16_t sums[2][NNUE_HALF];
    for (Color view : {BLACK, WHITE}) {
        std::copy_n(weights.bias(), NNUE_HALF, sums[view]);
        for (int input : nnue_inputs(weights.inputs(), position, view)) {
            const std::int16_t* row = weights.row(input);
            for (int i = 0; i < NNUE_HALF; ++i) {
                sums[view][i] = std::int16_t(sums[view][i] + row[i]);
            }
        }
    }
    const Color us = position.turn();
    return in_range(kernels.propagate(weights.layers(), sums[us], sums[opponent(us)]) /
                    weights.fv_scale());
}

NnueEvaluator::NnueEvaluator(const Weights& weights)
    : weights_(&weights),
      kernels_(&best_nnue_kernels()),
      is_half_kp_(weights.inputs() == NnueInputs::HALF_KP),
      sums_(new Sums[alphabeta::MAX_PUSHES + 1]) {}

void NnueEvaluator::reset(const Position& position) {
    top_ = 0;
    frames_[0] = {};
    king_[BLACK] = king_or_home(position, BLACK);
    king_[WHITE] = king_or_home(position, WHITE);
    for (Color view : {BLACK, WHITE}) refresh(position, view);
}

void NnueEvaluator::refresh(const Position& position, Color view) {
    constexpr int ROWS_PER_UPDATE = 8;
    std::int16_t* sums = sums_[std::size_t(top_)].of[view];
    const std::int16_t* from = weights_->bias();
    const std::int16_t* rows[ROWS_PER_UPDATE];
    int n = 0;
    const auto add = [&](int input) {
        rows[n++] = weights_->row(input);
        if (n < ROWS_PER_UPDATE) return;
        kernels_->update(sums, from, nullptr, 0, rows, n);
        from = sums;
        n = 0;
    };
    for (BonaPiece p : bona_list(position, view)) {
        if (p == NO_BONA_PIECE) continue;
        add(is_half_kp_ ? nnue_half_kp_input(view, king_or_home(position, view), p) : p);
    }
    if (!is_half_kp_) {
        for (Color c : {BLACK, WHITE}) add(nnue_king_input(view, c, king_or_home(position, c)));
    }
    kernels_->update(sums, from, nullptr, 0, rows, n);
    frames_[std::size_t(top_)].is_known[view] = true;
}

void NnueEvaluator::record_change(Frame& frame, BonaPiece before, BonaPiece after) {
    const BonaPiece pieces[2][2] = {{before, after}, {bona_turned(before), bona_turned(after)}};
    for (Color view : {BLACK, WHITE}) {
        const int base = is_half_kp_ ? nnue_half_kp_input(view, king_[view], 0) : 0;
        const int i = frame.changes[view]++;
        frame.removed[view][i] = base + pieces[view][0];
        frame.added[view][i] = base + pieces[view][1];
    }
}

void NnueEvaluator::push(const Position& position, Move m) {
    const Color us = position.turn(), them = opponent(us);
    king_[BLACK] = king_or_home(position, BLACK);
    king_[WHITE] = king_or_home(position, WHITE);
    Frame& frame = frames_[std::size_t(++top_)];
    for (Color view : {BLACK, WHITE}) {
        frame.is_known[view] = frame.is_refreshed[view] = false;
        frame.changes[view] = 0;
    }
    if (m.is_drop()) {
        const PieceType t = m.dropped();
        record_change(frame, bona_in_hand(BLACK, us, t, position.hand(us, t)),
                      bona_on_board(BLACK, us, t, m.to()));
        return;
    }
    if (const PieceType taken = m.captured(); taken != NO_PIECE_TYPE) {
        const PieceType held = base_type(taken);
        record_change(frame, bona_on_board(BLACK, them, taken, m.to()),
                      bona_in_hand(BLACK, us, held, position.hand(us, held) + 1));
    }
    const PieceType before = m.moved();
    if (before == KING) {
        if (is_half_kp_) {
            frame.is_refreshed[us] = true;
            return;
        }
        for (Color view : {BLACK, WHITE}) {
            const int i = frame.changes[view]++;
            frame.removed[view][i] = nnue_king_input(view, us, m.from());
            frame.added[view][i] = nnue_king_input(view, us, m.to());
        }
        return;
    }
    const PieceType after = m.is_promotion() ? promoted_type(before) : before;
    record_change(frame, bona_on_board(BLACK, us, before, m.from()),
                  bona_on_board(BLACK, us, after, m.to()));
}

void NnueEvaluator::push_null(const Position&) {
    Frame& frame = frames_[std::size_t(++top_)];
    for (Color view : {BLACK, WHITE}) {
        frame.is_known[view] = frame.is_refreshed[view] = false;
        frame.changes[view] = 0;
    }
}

void NnueEvaluator::update(const Position& position, Color view) {
    int known = top_;
    while (!frames_[std::size_t(known)].is_known[view]) {
        if (frames_[std::size_t(known)].is_refreshed[view]) return refresh(position, view);
        --known;
    }
    for (int f = known + 1; f <= top_; ++f) {
        Frame& frame = frames_[std::size_t(f)];
        const std::int16_t *removed[MAX_CHANGES], *added[MAX_CHANGES];
        const int n = frame.changes[view];
        for (int i = 0; i < n; ++i) {
            removed[i] = weights_->row(frame.removed[view][i]);
            added[i] = weights_->row(frame.added[view][i]);
        }
        kernels_->update(sums_[std::size_t(f)].of[view], sums_[std::size_t(f - 1)].of[view],
                         removed, n, added, n);
        frame.is_known[view] = true;
    }
}

Score NnueEvaluator::value(const Position& position) {
    for (Color view : {BLACK, WHITE}) update(position, view);
    const Sums& sums = sums_[std::size_t(top_)];
    const Color us = position.turn();
    return in_range(kernels_->propagate(weights_->layers(), sums.of[us], sums.of[opponent(us)]) /
                    weights_->fv_scale());
}

}  // namespace komadori::linear
