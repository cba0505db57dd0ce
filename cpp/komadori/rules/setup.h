// A placement of pieces as plain arrays: the common form of the text and byte codecs and of
// Position.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "komadori/rules/types.h"

namespace komadori {

// The number of pieces of each base type in a set, by PieceType; one king per side.
constexpr int PIECES_IN_SET[9] = {0, 18, 4, 4, 4, 2, 2, 4, 2};
constexpr PieceType HAND_TYPES[7] = {PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK};
constexpr int MAX_PLY = 1'000'000;

struct Setup {
    std::array<Piece, SQUARES> board{};
    std::array<std::array<std::uint8_t, 8>, 2> hand{};  // [colour][PAWN..GOLD]
    Color turn = BLACK;
    int ply = 1;

    // Throws PositionError if there are more pieces than a set has, two kings of a side, or a piece
    // that could never move. Accepts two pawns on a file. (Position rejects a check on the side not
    // to move.)
    void validate() const;
    // The number of pieces of each base type neither on the board nor in hand.
    std::array<int, 9> in_box() const;

    bool operator==(const Setup&) const = default;
};

// The list of pieces without a board; faster than Setup when decoding many positions.
struct PieceList {
    static constexpr int MAX_PIECES = 40;
    struct Entry {
        Square square;
        Piece piece;
    };
    Color turn;
    int pieces;  // entries of `board`, in no particular order
    std::array<Entry, MAX_PIECES> board;
    std::array<std::array<std::uint8_t, 8>, 2> hand{};  // [colour][PAWN..GOLD]
};

Setup to_setup(const PieceList& list);

std::string square_name(Square s);  // "7g"
std::string piece_name(Piece p);    // "+P", "k"

Setup parse_sfen(std::string_view text);
std::string to_sfen(const Setup& setup);

using PackedBytes = std::array<std::uint8_t, 32>;
using PackedView = std::span<const std::uint8_t, 32>;
// The 256-bit codes. Decoding throws HcpError for bits that aren't a full set of pieces on the
// board and in hand; encoding throws it if a king is missing or a piece is in the box.
PieceList list_hcp(PackedView bytes);
PackedBytes encode_hcp(const Setup& setup);
PieceList list_packed_sfen(PackedView bytes);
PackedBytes encode_packed_sfen(const Setup& setup);

}  // namespace komadori
