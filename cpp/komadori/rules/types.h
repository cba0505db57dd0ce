// Colours, pieces, squares, hands and moves.
//
// A square is 9*(file-1) + (rank-1), so 1a (11) is 0 and 9i (99) is 80: the order of
// dlshogi, cshogi, rsshogi and Apery. Black (sente) moves toward rank 1.
#pragma once

#include <cstdint>

namespace komadori {

enum Color : std::uint8_t { BLACK, WHITE };

constexpr Color opponent(Color c) { return Color(c ^ 1); }

using Square = std::uint8_t;  // 0..80
constexpr int SQUARES = 81;
constexpr Square NO_SQUARE = 81;

constexpr Square make_square(int file, int rank) { return Square(9 * file + rank); }  // both 0..8
constexpr int file_of(Square s) { return s / 9; }                                     // 0..8
constexpr int rank_of(Square s) { return s % 9; }                                     // 0..8
constexpr Square rotate(Square s) { return Square(80 - s); }                          // 180 degrees
constexpr Square mirror(Square s) { return make_square(8 - file_of(s), rank_of(s)); }

// Numbered as in cshogi and Apery; a promoted type is its base type + 8.
enum PieceType : std::uint8_t {
    NO_PIECE_TYPE,
    PAWN,
    LANCE,
    KNIGHT,
    SILVER,
    BISHOP,
    ROOK,
    GOLD,
    KING,
    PRO_PAWN,
    PRO_LANCE,
    PRO_KNIGHT,
    PRO_SILVER,
    HORSE,
    DRAGON,
};
constexpr int PIECE_TYPES = 15;

// A piece is its type, plus 16 when White owns it.
enum Piece : std::uint8_t { NO_PIECE = 0 };
constexpr Piece make_piece(Color c, PieceType t) { return Piece(t | (c << 4)); }
constexpr PieceType type_of(Piece p) { return PieceType(p & 15); }
constexpr Color color_of(Piece p) { return Color(p >> 4); }
constexpr PieceType base_type(PieceType t) { return t > KING ? PieceType(t - 8) : t; }
constexpr PieceType promoted_type(PieceType t) { return PieceType(t + 8); }
constexpr bool can_promote(PieceType t) { return t >= PAWN && t <= ROOK; }

// A move in 32 bits: the low 16 are move16 (bits 0-6 to, 7-13 from, or 81 + drop index for a
// drop, 14 promotes), 16-19 the type of the piece before it moves, 20-23 the type captured.
// The drop index counts P0 L1 N2 S3 B4 R5 G6, that is, piece type - 1.
class Move {
  public:
    constexpr Move() = default;
    constexpr explicit Move(std::uint32_t raw) : raw_(raw) {}
    static constexpr Move board(Square from, Square to, bool promote, PieceType moved,
                                PieceType captured) {
        return Move(std::uint32_t(to) | std::uint32_t(from) << 7 | std::uint32_t(promote) << 14 |
                    std::uint32_t(moved) << 16 | std::uint32_t(captured) << 20);
    }
    static constexpr Move drop(PieceType dropped, Square to) {
        return Move(std::uint32_t(to) | std::uint32_t(80 + dropped) << 7 |
                    std::uint32_t(dropped) << 16);
    }

    constexpr std::uint32_t raw() const { return raw_; }
    constexpr std::uint16_t move16() const { return std::uint16_t(raw_ & 0x7fff); }
    constexpr Square to() const { return Square(raw_ & 127); }
    constexpr Square from() const { return Square(raw_ >> 7 & 127); }  // board moves only
    constexpr bool is_drop() const { return from() >= SQUARES; }
    constexpr bool is_promotion() const { return raw_ >> 14 & 1; }
    constexpr PieceType moved() const { return PieceType(raw_ >> 16 & 15); }
    constexpr PieceType captured() const { return PieceType(raw_ >> 20 & 15); }
    constexpr PieceType dropped() const { return PieceType(from() - 80); }
    constexpr bool is_none() const { return raw_ == 0; }
    constexpr bool operator==(const Move&) const = default;

  private:
    std::uint32_t raw_ = 0;
};

constexpr int MAX_LEGAL_MOVES = 593;

}  // namespace komadori
