#include "komadori/linear/kpp.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "komadori/threads/parallel.h"

namespace komadori::linear {
namespace {

// Maps from Black's piece indices to those of a side, mirrored or not.
struct Maps {
    std::array<BonaPiece, BONA_PIECES> map[2][2];  // [view][folded]

    Maps() {
        for (int p = 0; p < BONA_PIECES; ++p) {
            const auto place = std::size_t(p);
            map[BLACK][0][place] = BonaPiece(p);
            map[BLACK][1][place] = bona_mirrored(BonaPiece(p));
            map[WHITE][0][place] = bona_turned(BonaPiece(p));
            map[WHITE][1][place] = bona_mirrored(bona_turned(BonaPiece(p)));
        }
    }
};

const BonaPiece* map_of(Color view, bool folded) {
    static const Maps MAPS;
    return MAPS.map[view][folded].data();
}

void require_size(const char* name, std::size_t size, std::size_t expected) {
    if (size == expected) return;
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) +
                                " weights, not " + std::to_string(expected));
}

template <class T>
alphabeta::LargePages<T[]> zeros(std::size_t count) {
    auto memory = alphabeta::allocate_large<T[]>(count);
    std::fill_n(memory.get(), count, T(0));
    return memory;
}

}  // namespace

KppWeights::KppWeights()
    : kpp_(zeros<std::int16_t>(std::size_t(FOLDED_KINGS) * BONA_PIECES * BONA_PIECES)),
      kkp_(zeros<std::int16_t>(KKP)),
      kk_(zeros<std::int32_t>(KK)) {}

void KppWeights::check(std::span<const std::int16_t> kpp, std::span<const std::int16_t> kkp,
                       std::span<const std::int32_t> kk, int threads) {
    require_size("KPP", kpp.size(), PAIRS);
    require_size("KKP", kkp.size(), KKP);
    require_size("KK", kk.size(), KK);
    constexpr int FIRST = 4 * 9;  // the kings on file 5
    static_assert(file_of(Square(FIRST)) == 4 && FIRST + 9 == FOLDED_KINGS);
    parallel_queue(9, threads, [&](std::size_t, const auto& next) {
        for (std::size_t king; (king = FIRST + next()) < FOLDED_KINGS;) {
            const std::int16_t* triangle = &kpp[king * BONA_PAIRS];
            for (int a = 1; a < BONA_PIECES; ++a) {
                for (int b = a + 1; b < BONA_PIECES; ++b) {
                    const BonaPiece image_a = bona_mirrored(BonaPiece(a));
                    const BonaPiece image_b = bona_mirrored(BonaPiece(b));
                    // The start index of a hand block is unused.
                    if (image_a == NO_BONA_PIECE || image_b == NO_BONA_PIECE) continue;
                    const std::uint32_t image = pair_place(image_a, image_b);
                    if (triangle[pair_row(a) + std::uint32_t(b)] != triangle[image]) {
                        throw std::invalid_argument("KPP[" + std::to_string(king) + "][" +
                                                    std::to_string(a) + "][" + std::to_string(b) +
                                                    "] and its mirror image differ");
                    }
                }
            }
        }
    });
}

void KppWeights::assign(std::span<const std::int16_t> kpp, std::span<const std::int16_t> kkp,
                        std::span<const std::int32_t> kk, int threads) {
    check(kpp, kkp, kk, threads);
    std::copy(kkp.begin(), kkp.end(), kkp_.get());
    std::copy(kk.begin(), kk.end(), kk_.get());
    parallel_queue(FOLDED_KINGS, threads, [&](std::size_t, const auto& next) {
        for (std::size_t king; (king = next()) < FOLDED_KINGS;) {
            const std::int16_t* triangle = &kpp[king * BONA_PAIRS];
            std::int16_t* square = &kpp_[king * BONA_PIECES * BONA_PIECES];
            // Tiled, so that the transposed writes hit the cache.
            constexpr int TILE = 32;
            for (int tile_a = 0; tile_a < BONA_PIECES; tile_a += TILE) {
                for (int tile_b = tile_a; tile_b < BONA_PIECES; tile_b += TILE) {
                    for (int a = tile_a; a < std::min(tile_a + TILE, BONA_PIECES); ++a) {
                        for (int b = std::max(a, tile_b); b < std::min(tile_b + TILE, BONA_PIECES);
                             ++b) {
                            const bool counts = a != b && a != NO_BONA_PIECE;
                            const std::int16_t w =
                                counts ? triangle[pair_row(a) + std::uint32_t(b)] : std::int16_t(0);
                            square[std::size_t(a) * BONA_PIECES + std::size_t(b)] = w;
                            square[std::size_t(b) * BONA_PIECES + std::size_t(a)] = w;
                        }
                    }
                }
            }
        }
    });
}

void KppEvaluator::set_maps(Color view, Square king) {
    maps_[view] = map_of(view, is_folded(seen_from(view, king)));
}

void KppEvaluator::map_list(Color view) {
    for (std::size_t i = 0; i < BONA_LIST; ++i) views_[view][i] = seen(view, black_[i]);
}

void KppEvaluator::reset(const Position& position) {
    black_ = bona_list(position, BLACK);
    for (std::size_t i = 0; i < BONA_LIST; ++i) slots_[black_[i]] = std::uint8_t(i);
    top_ = 0;
    Frame& frame = frames_[0] = Frame();
    for (Color c : {BLACK, WHITE}) {
        frame.king[c] = king_or_home(position, c);
        set_maps(c, frame.king[c]);
        map_list(c);
        frame.kpp[c] = whole_kpp(c, frame.king[c]);
    }
    frame.king_moved[BLACK] = true;  // forces a full KKP sum
    find_kkp();
    frame.king_moved[BLACK] = false;
    frame.material = alphabeta::material(position);
}

void KppEvaluator::record_change(Frame& frame, int slot, BonaPiece after) {
    const auto place = std::size_t(slot);
    frame.change[frame.changes++] = {std::uint8_t(slot), black_[place], after};
    black_[place] = after;
    slots_[after] = std::uint8_t(slot);
    for (Color c : {BLACK, WHITE}) views_[c][place] = seen(c, after);
}

void KppEvaluator::push(const Position& position, Move m) {
    const Color us = position.turn();
    const Frame& before = frames_[std::size_t(top_)];
    Frame& frame = frames_[std::size_t(++top_)];
    frame.kpp[BLACK] = frame.kpp[WHITE] = frame.board = UNKNOWN;
    frame.king[BLACK] = before.king[BLACK];
    frame.king[WHITE] = before.king[WHITE];
    frame.king_moved[BLACK] = frame.king_moved[WHITE] = false;
    frame.changes = 0;
    const Score gain = alphabeta::gain(m);
    frame.material = before.material + (us == BLACK ? gain : -gain);
    if (m.is_drop()) {
        const PieceType t = m.dropped();
        record_change(frame, slots_[bona_in_hand(BLACK, us, t, position.hand(us, t))],
                      bona_on_board(BLACK, us, t, m.to()));
        return;
    }
    if (const PieceType taken = m.captured(); taken != NO_PIECE_TYPE) {
        const PieceType held = base_type(taken);
        record_change(frame, slots_[bona_on_board(BLACK, opponent(us), taken, m.to())],
                      bona_in_hand(BLACK, us, held, position.hand(us, held) + 1));
    }
    if (m.moved() == KING) {
        frame.king[us] = m.to();
        frame.king_moved[us] = true;
        if (is_folded(seen_from(us, m.from())) != is_folded(seen_from(us, m.to()))) {
            set_maps(us, m.to());
            map_list(us);
        }
        return;
    }
    const PieceType after = m.is_promotion() ? promoted_type(m.moved()) : m.moved();
    record_change(frame, slots_[bona_on_board(BLACK, us, m.moved(), m.from())],
                  bona_on_board(BLACK, us, after, m.to()));
}

void KppEvaluator::push_null(const Position&) {
    frames_[std::size_t(top_ + 1)] = frames_[std::size_t(top_)];
    Frame& frame = frames_[std::size_t(++top_)];
    frame.changes = 0;
    frame.king_moved[BLACK] = frame.king_moved[WHITE] = false;
}

void KppEvaluator::pop() {
    const Frame& frame = frames_[std::size_t(top_--)];
    for (Color c : {BLACK, WHITE}) {
        if (frame.king_moved[c]) set_maps(c, frames_[std::size_t(top_)].king[c]);
    }
    for (int i = frame.changes; i-- > 0;) {
        const Change& change = frame.change[i];
        black_[change.slot] = change.before;
        slots_[change.before] = change.slot;
        for (Color c : {BLACK, WHITE}) views_[c][change.slot] = seen(c, change.before);
    }
    for (Color c : {BLACK, WHITE}) {
        const Square now = frames_[std::size_t(top_)].king[c];
        if (frame.king_moved[c] &&
            is_folded(seen_from(c, frame.king[c])) != is_folded(seen_from(c, now))) {
            map_list(c);
        }
    }
}

std::int32_t KppEvaluator::whole_kpp(Color view, Square king) const {
    const Square folded = folded_king(seen_from(view, king));
    const List& list = views_[view];
    std::int32_t sum = 0;
    for (std::size_t i = 1; i < BONA_LIST; ++i) {
        const std::int16_t* row = weights_->row(folded, list[i]);
        for (std::size_t j = 0; j < i; ++j) sum += row[list[j]];
    }
    return sum;
}

void KppEvaluator::find_kpp(Color view) {
    int known = top_;
    while (frames_[std::size_t(known)].kpp[view] == UNKNOWN) {
        if (frames_[std::size_t(known)].king_moved[view]) {
            Frame& frame = frames_[std::size_t(top_)];
            frame.kpp[view] = whole_kpp(view, frame.king[view]);
            return;
        }
        --known;
    }
    List& list = views_[view];
    // Rewinds the list to frame `known`, then updates forward.
    for (int f = top_; f > known; --f) {
        const Frame& frame = frames_[std::size_t(f)];
        for (int i = frame.changes; i-- > 0;) {
            list[frame.change[i].slot] = seen(view, frame.change[i].before);
        }
    }
    for (int f = known + 1; f <= top_; ++f) {
        Frame& frame = frames_[std::size_t(f)];
        const Square folded = folded_king(seen_from(view, frame.king[view]));
        std::int32_t sum = frames_[std::size_t(f - 1)].kpp[view];
        for (int i = 0; i < frame.changes; ++i) {
            const Change& change = frame.change[i];
            const BonaPiece after = seen(view, change.after);
            const std::int16_t* lost = weights_->row(folded, list[change.slot]);
            const std::int16_t* gained = weights_->row(folded, after);
            list[change.slot] = NO_BONA_PIECE;
            std::int32_t gain = 0;
            for (BonaPiece p : list) gain += gained[p] - lost[p];
            sum += gain;
            list[change.slot] = after;
        }
        frame.kpp[view] = sum;
    }
}

void KppEvaluator::find_kkp() {
    Frame& top = frames_[std::size_t(top_)];
    const std::int16_t* kkp = weights_->kkp(top.king[BLACK], top.king[WHITE]);
    int known = top_;
    while (frames_[std::size_t(known)].board == UNKNOWN) {
        const Frame& frame = frames_[std::size_t(known)];
        if (frame.king_moved[BLACK] || frame.king_moved[WHITE]) {
            const std::int32_t* kk = weights_->kk(top.king[BLACK], top.king[WHITE]);
            top.board = kk[0];
            top.turn = kk[1];
            for (BonaPiece p : black_) {
                top.board += kkp[2 * p];
                top.turn += kkp[2 * p + 1];
            }
            return;
        }
        --known;
    }
    for (int f = known + 1; f <= top_; ++f) {
        const Frame& below = frames_[std::size_t(f - 1)];
        Frame& frame = frames_[std::size_t(f)];
        frame.board = below.board;
        frame.turn = below.turn;
        for (int i = 0; i < frame.changes; ++i) {
            const Change& change = frame.change[i];
            frame.board += kkp[2 * change.after] - kkp[2 * change.before];
            frame.turn += kkp[2 * change.after + 1] - kkp[2 * change.before + 1];
        }
    }
}

Score KppEvaluator::value(const Position& position) {
    find_kpp(BLACK);
    find_kpp(WHITE);
    find_kkp();
    const Frame& frame = frames_[std::size_t(top_)];
    const std::int32_t board =
        frame.board + frame.kpp[BLACK] - frame.kpp[WHITE] + KPP_UNITS * frame.material;
    return ((position.turn() == BLACK ? board : -board) + frame.turn) / KPP_UNITS;
}

}  // namespace komadori::linear
