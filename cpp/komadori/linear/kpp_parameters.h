// The trainable parameters of KPP: the tables of kpp.h, with weights shared under the symmetries,
// plus lower-dimensional terms that generalise to unseen features.
//
//   KPP  [FOLDED_KINGS][BONA_PAIRS]   king, two pieces; mirrored with the king
//   PP   [BONA_PAIRS]                 two pieces, any king; a pair and its mirror image are one
//   RPP  [RELATIVE_PAIRS]             two pieces by kind and displacement, or hand and kind
//   KKP  [81][81][BONA_PIECES][2]     two kings and a piece; board and turn
//   KK   [81][81][2]
//   KP   [FOLDED_KINGS][BONA_PIECES][2]  a king and a piece
//   RKP  [RELATIVE_TO_KING][2]        the same by kind and displacement
//   P    [BONA_PIECES][2]             a piece
//
// The evaluation's KPP is KPP + PP + RPP and its KKP is KKP +- KP +- RKP +- P of either king, so
// the lower terms cost nothing in play. All tables lie in one float array in this order, in units
// of 1/32 centipawn. KKP and KK use one entry per orbit under the mirror image and the exchange of
// colours (which negates board); KPP with a king on file 5, PP, KP and P use one entry per pair of
// mirror images.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "komadori/linear/kpp.h"

namespace komadori::linear {

constexpr int BONA_BLOCKS = 18;  // kinds on the board, own and enemy alternating
constexpr int RELATIVE_ON_BOARD = BONA_BLOCKS * BONA_BLOCKS * 9 * 17;
constexpr int RELATIVE_PAIRS = RELATIVE_ON_BOARD + FIRST_BONA_ON_BOARD * BONA_BLOCKS;
constexpr int RELATIVE_TO_KING = BONA_BLOCKS * 9 * 17;

enum KppTable { TABLE_KPP, TABLE_PP, TABLE_RPP, TABLE_KKP, TABLE_KK, TABLE_KP, TABLE_RKP, TABLE_P };
constexpr int KPP_TABLES = 8;
constexpr const char* KPP_TABLE_NAMES[KPP_TABLES] = {"KPP", "PP", "RPP", "KKP",
                                                     "KK",  "KP", "RKP", "P"};
constexpr std::size_t KPP_TABLE_SIZES[KPP_TABLES] = {
    KppWeights::PAIRS,    BONA_PAIRS,     RELATIVE_PAIRS,
    KppWeights::KKP,      KppWeights::KK, FOLDED_KINGS * BONA_PIECES * 2,
    RELATIVE_TO_KING * 2, BONA_PIECES * 2};
constexpr std::size_t table_start(int table) {
    std::size_t start = 0;
    for (int t = 0; t < table; ++t) start += KPP_TABLE_SIZES[t];
    return start;
}
constexpr std::size_t KPP_PARAMETERS = table_start(KPP_TABLES);
constexpr std::uint32_t NO_PLACE = UINT32_MAX;

// By pair_place(): the index of the pair's representative in PP, and in KPP with a king on file 5.
std::span<const std::uint32_t> pp_places();
// By pair_place(): the pair's index in RPP; NO_PLACE for two pieces in hand.
std::span<const std::uint32_t> rpp_places();
// The index of the board component in KP (turn follows); the king's square from its side's view.
std::size_t kp_place(Square king, BonaPiece p);
std::size_t p_place(BonaPiece p);
// Likewise in RKP; NO_PLACE for a piece in hand.
std::size_t rkp_place(Square king, BonaPiece p);

// The representative of a king pair's orbit, and the images that map the pair to it. If several
// images do, kkp_place() picks one by the piece.
struct KingPair {
    struct Image {
        bool mirrored, swapped;
    };
    Square black, white;  // the representative
    int images = 0;
    Image image[4];

    bool is_its_own_negative() const;  // then KK's board weight is 0
    std::size_t pair() const { return std::size_t(black) * SQUARES + white; }
};
KingPair king_pair(Square black, Square white);
struct SignedPlace {
    std::uint32_t piece;  // BonaPiece index with the representative
    float sign;           // of board; turn doesn't change sign
};
SignedPlace kkp_place(const KingPair& kings, BonaPiece p);

// The evaluation's rounded tables: kpp [PAIRS], kkp [KKP], kk [KK].
struct Quantised {
    std::span<std::int16_t> kpp, kkp;
    std::span<std::int32_t> kk;
};
void quantise(std::span<const float> parameters, const Quantised& out, int threads);

// The unrounded evaluation of a position: centipawns, the side to move's view.
double evaluate(std::span<const float> parameters, const Position& position);

}  // namespace komadori::linear
