#include "komadori/linear/kpp_parameters.h"

#include <algorithm>
#include <cmath>

#include "komadori/threads/parallel.h"

namespace komadori::linear {
namespace {

constexpr int PLACES = 9 * 17;  // displacements: files apart, ranks -8 to 8

bool is_on_board(int p) { return p >= FIRST_BONA_ON_BOARD; }
int block_of(int p) { return (p - FIRST_BONA_ON_BOARD) / SQUARES; }
Square square_of_bona(int p) { return Square((p - FIRST_BONA_ON_BOARD) % SQUARES); }

int displacement(Square from, Square to) {
    const int files = std::abs(file_of(to) - file_of(from));
    return files * 17 + rank_of(to) - rank_of(from) + 8;
}

std::uint32_t rpp_place(int a, int b) {  // a <= b
    if (!is_on_board(b)) return NO_PLACE;
    if (!is_on_board(a)) return std::uint32_t(RELATIVE_ON_BOARD + a * BONA_BLOCKS + block_of(b));
    const Square from = square_of_bona(a), to = square_of_bona(b);
    int apart = displacement(from, to);
    // Two pieces of a kind are interchangeable.
    if (block_of(a) == block_of(b)) apart = std::min(apart, displacement(to, from));
    return std::uint32_t((block_of(a) * BONA_BLOCKS + block_of(b)) * PLACES + apart);
}

struct Places {
    std::vector<std::uint32_t> pp, rpp;

    Places() : pp(BONA_PAIRS), rpp(BONA_PAIRS) {
        for (int a = 0; a < BONA_PIECES; ++a) {
            for (int b = a; b < BONA_PIECES; ++b) {
                const std::uint32_t place = pair_place(a, b);
                pp[place] = std::min(
                    place, pair_place(bona_mirrored(BonaPiece(a)), bona_mirrored(BonaPiece(b))));
                rpp[place] = rpp_place(a, b);
            }
        }
    }
};

const Places& places() {
    // Never destroyed: a thread may still use it while the process exits.
    static const Places& PLACES_OF_PAIRS = *new Places;
    return PLACES_OF_PAIRS;
}

std::int16_t rounded(float w) {
    return std::int16_t(std::lrint(std::clamp(w, -32767.0f, 32767.0f)));
}

const float* table(std::span<const float> parameters, KppTable t) {
    return parameters.data() + table_start(t);
}

// The weight of a king and a piece, both from that side's view; component 0 is board, 1 turn.
float beside_king(std::span<const float> parameters, Square king, BonaPiece p, std::size_t part) {
    float w = table(parameters, TABLE_KP)[kp_place(king, p) + part] +
              table(parameters, TABLE_P)[p_place(p) + part];
    if (const std::size_t place = rkp_place(king, p); place != NO_PLACE) {
        w += table(parameters, TABLE_RKP)[place + part];
    }
    return w;
}

struct BoardAndTurn {
    float board, turn;
};

BoardAndTurn beside_king(std::span<const float> parameters, Square king, BonaPiece p) {
    return {beside_king(parameters, king, p, 0), beside_king(parameters, king, p, 1)};
}

// black, white: the piece's beside_king() with either king, from that side's view.
BoardAndTurn whole_kkp(std::span<const float> parameters, const KingPair& kings, BonaPiece p,
                       BoardAndTurn black, BoardAndTurn white) {
    const SignedPlace place = kkp_place(kings, p);
    const float* own =
        table(parameters, TABLE_KKP) + (kings.pair() * BONA_PIECES + place.piece) * 2;
    return {place.sign * own[0] + black.board - white.board, own[1] + black.turn + white.turn};
}

BoardAndTurn whole_kk(std::span<const float> parameters, const KingPair& kings) {
    const float* own = table(parameters, TABLE_KK) + kings.pair() * 2;
    const float sign = kings.image[0].swapped ? -1.0f : 1.0f;
    return {kings.is_its_own_negative() ? 0.0f : sign * own[0], own[1]};
}

}  // namespace

std::span<const std::uint32_t> pp_places() { return places().pp; }
std::span<const std::uint32_t> rpp_places() { return places().rpp; }

std::size_t kp_place(Square king, BonaPiece p) {
    const BonaPiece image = bona_mirrored(p);
    if (is_folded(king)) p = image;
    if (file_of(king) == 4) p = std::min(p, image);
    return (std::size_t(folded_king(king)) * BONA_PIECES + p) * 2;
}

std::size_t p_place(BonaPiece p) { return std::size_t(std::min(p, bona_mirrored(p))) * 2; }

std::size_t rkp_place(Square king, BonaPiece p) {
    if (!is_on_board(p)) return NO_PLACE;
    return std::size_t(block_of(p) * PLACES + displacement(king, square_of_bona(p))) * 2;
}

bool KingPair::is_its_own_negative() const {
    return std::any_of(image, image + images,
                       [&](const Image& i) { return i.swapped != image[0].swapped; });
}

KingPair king_pair(Square black, Square white) {
    KingPair best;
    for (bool swapped : {false, true}) {
        for (bool mirrored : {false, true}) {
            Square b = swapped ? rotate(white) : black, w = swapped ? rotate(black) : white;
            if (mirrored) {
                b = mirror(b);
                w = mirror(w);
            }
            const std::size_t pair = std::size_t(b) * SQUARES + w;
            if (best.images > 0 && pair > best.pair()) continue;
            if (best.images == 0 || pair < best.pair()) best.images = 0;
            best.black = b;
            best.white = w;
            best.image[best.images++] = {mirrored, swapped};
        }
    }
    return best;
}

SignedPlace kkp_place(const KingPair& kings, BonaPiece p) {
    SignedPlace best{BONA_PIECES, 0};
    for (int i = 0; i < kings.images; ++i) {
        BonaPiece image = kings.image[i].swapped ? bona_turned(p) : p;
        if (kings.image[i].mirrored) image = bona_mirrored(image);
        if (image < best.piece) best = {image, kings.image[i].swapped ? -1.0f : 1.0f};
    }
    return best;
}

void quantise(std::span<const float> parameters, const Quantised& out, int threads) {
    const Places& at = places();
    std::vector<float> any_king(BONA_PAIRS);  // PP and RPP
    for (std::size_t i = 0; i < BONA_PAIRS; ++i) {
        any_king[i] = table(parameters, TABLE_PP)[at.pp[i]];
        if (at.rpp[i] != NO_PLACE) any_king[i] += table(parameters, TABLE_RPP)[at.rpp[i]];
    }
    parallel_queue(FOLDED_KINGS, threads, [&](std::size_t, const auto& next) {
        for (std::size_t king; (king = next()) < FOLDED_KINGS;) {
            const float* own = table(parameters, TABLE_KPP) + king * BONA_PAIRS;
            std::int16_t* to = &out.kpp[king * BONA_PAIRS];
            const bool is_middle = file_of(Square(king)) == 4;
            for (std::size_t i = 0; i < BONA_PAIRS; ++i) {
                to[i] = rounded(any_king[i] + own[is_middle ? at.pp[i] : i]);
            }
        }
    });
    std::vector<BoardAndTurn> beside(std::size_t(SQUARES) * BONA_PIECES);
    for (std::size_t i = 0; i < beside.size(); ++i) {
        beside[i] = beside_king(parameters, Square(i / BONA_PIECES), BonaPiece(i % BONA_PIECES));
    }
    parallel_queue(SQUARES, threads, [&](std::size_t, const auto& next) {
        for (std::size_t black; (black = next()) < SQUARES;) {
            const BoardAndTurn* of_black = &beside[black * BONA_PIECES];
            for (std::size_t white = 0; white < SQUARES; ++white) {
                const std::size_t pair = black * SQUARES + white;
                const KingPair kings = king_pair(Square(black), Square(white));
                const BoardAndTurn kk = whole_kk(parameters, kings);
                out.kk[2 * pair] = std::int32_t(std::lrint(kk.board));
                out.kk[2 * pair + 1] = std::int32_t(std::lrint(kk.turn));
                if (kings.pair() != pair) continue;
                const BoardAndTurn* of_white = &beside[(SQUARES - 1 - white) * BONA_PIECES];
                for (int i = 0; i < BONA_PIECES; ++i) {
                    const auto p = BonaPiece(i);
                    BoardAndTurn w{0, 0};
                    if (bona_turned(p) != NO_BONA_PIECE) {
                        w = whole_kkp(parameters, kings, p, of_black[p], of_white[bona_turned(p)]);
                    }
                    std::int16_t* to = &out.kkp[(pair * BONA_PIECES + p) * 2];
                    to[0] = rounded(w.board);
                    to[1] = rounded(w.turn);
                }
            }
        }
    });
    // The other images of an orbit have the rounded weight of its representative. Rounding each
    // would make some differ by 1, as float sums depend on their order.
    parallel_queue(SQUARES, threads, [&](std::size_t, const auto& next) {
        for (std::size_t black; (black = next()) < SQUARES;) {
            for (std::size_t white = 0; white < SQUARES; ++white) {
                const std::size_t pair = black * SQUARES + white;
                const KingPair kings = king_pair(Square(black), Square(white));
                for (int i = 0; i < BONA_PIECES; ++i) {
                    const auto p = BonaPiece(i);
                    std::int16_t* to = &out.kkp[(pair * BONA_PIECES + p) * 2];
                    if (bona_turned(p) == NO_BONA_PIECE) {
                        to[0] = to[1] = 0;
                        continue;
                    }
                    const SignedPlace place = kkp_place(kings, p);
                    const std::int16_t* from =
                        &out.kkp[(kings.pair() * BONA_PIECES + place.piece) * 2];
                    if (from == to) continue;
                    to[0] = std::int16_t(place.sign < 0 ? -from[0] : from[0]);
                    to[1] = from[1];
                }
            }
        }
    });
}

double evaluate(std::span<const float> parameters, const Position& position) {
    const Places& at = places();
    const Square black = king_or_home(position, BLACK);
    const Square white = king_or_home(position, WHITE);
    const KingPair kings = king_pair(black, white);
    const BoardAndTurn kk = whole_kk(parameters, kings);
    double board = kk.board, turn = kk.turn;
    for (BonaPiece p : bona_list(position, BLACK)) {
        if (p == NO_BONA_PIECE) continue;
        const BoardAndTurn w = whole_kkp(parameters, kings, p, beside_king(parameters, black, p),
                                         beside_king(parameters, rotate(white), bona_turned(p)));
        board += double(w.board);
        turn += double(w.turn);
    }
    for (Color c : {BLACK, WHITE}) {
        const Square king = seen_from(c, c == BLACK ? black : white);
        const float* own =
            table(parameters, TABLE_KPP) + folded_king(king) * std::size_t(BONA_PAIRS);
        BonaList list = bona_list(position, c);
        if (is_folded(king)) std::transform(list.begin(), list.end(), list.begin(), bona_mirrored);
        double sum = 0;
        for (std::size_t i = 0; i < BONA_LIST; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (list[i] == NO_BONA_PIECE || list[j] == NO_BONA_PIECE) continue;
                const std::uint32_t place = pair_place(list[i], list[j]);
                sum += double(own[file_of(king) == 4 ? at.pp[place] : place]);
                sum += double(table(parameters, TABLE_PP)[at.pp[place]]);
                if (at.rpp[place] != NO_PLACE) {
                    sum += double(table(parameters, TABLE_RPP)[at.rpp[place]]);
                }
            }
        }
        board += c == BLACK ? sum : -sum;
    }
    board += KPP_UNITS * alphabeta::material(position);
    return ((position.turn() == BLACK ? board : -board) + turn) / KPP_UNITS;
}

}  // namespace komadori::linear
