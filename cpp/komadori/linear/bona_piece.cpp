#include "komadori/linear/bona_piece.h"

namespace komadori::linear {
namespace {

struct Images {
    std::array<BonaPiece, BONA_PIECES> turned{}, mirrored{};

    Images() {
        for (PieceType t : HAND_TYPES) {
            const int most = ENEMY_HAND_BLOCK[t] - OWN_HAND_BLOCK[t] - 1;
            for (int n = 1; n <= most; ++n) {
                const BonaPiece own = bona_in_hand(BLACK, BLACK, t, n);
                const BonaPiece enemy = bona_in_hand(BLACK, WHITE, t, n);
                turned[own] = enemy;
                turned[enemy] = own;
                mirrored[own] = own;
                mirrored[enemy] = enemy;
            }
        }
        for (PieceType t : {PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK, HORSE, DRAGON}) {
            for (int s = 0; s < SQUARES; ++s) {
                for (Color c : {BLACK, WHITE}) {
                    const BonaPiece p = bona_on_board(BLACK, c, t, Square(s));
                    turned[p] = bona_on_board(WHITE, c, t, Square(s));
                    mirrored[p] = bona_on_board(BLACK, c, t, mirror(Square(s)));
                }
            }
        }
    }
};
const Images IMAGES;

}  // namespace

BonaPiece bona_turned(BonaPiece p) { return IMAGES.turned[p]; }
BonaPiece bona_mirrored(BonaPiece p) { return IMAGES.mirrored[p]; }

BonaList bona_list(const Position& position, Color view) {
    BonaList list{};
    std::size_t n = 0;
    position.occupied().each([&](Square s) {
        const Piece p = position.piece_on(s);
        if (type_of(p) != KING) list[n++] = bona_on_board(view, color_of(p), type_of(p), s);
    });
    for (Color c : {BLACK, WHITE}) {
        for (PieceType t : HAND_TYPES) {
            for (int i = 1; i <= position.hand(c, t); ++i) list[n++] = bona_in_hand(view, c, t, i);
        }
    }
    return list;
}

}  // namespace komadori::linear
