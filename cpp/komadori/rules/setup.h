// A placement of pieces as plain arrays: what the text and byte codecs read and write, and what
// a Position is set from.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "komadori/rules/types.h"

namespace komadori {

// How many pieces of each base type a set has, by PieceType; kings: one per side.
constexpr int PIECES_IN_SET[9] = {0, 18, 4, 4, 4, 2, 2, 4, 2};
constexpr PieceType HAND_TYPES[7] = {PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK};
constexpr int MAX_PLY = 1'000'000;

struct Setup {
    std::array<Piece, SQUARES> board{};
    std::array<std::array<std::uint8_t, 8>, 2> hand{};  // [colour][PAWN..GOLD]
    Color turn = BLACK;
    int ply = 1;

    // Throws PositionError unless: no more pieces than a set has, at most one king a side, no two
    // unpromoted pawns of a side on a file, no piece that could never move. (That the side not
    // to move isn't in check is seen by Position.)
    void validate() const;
    // Pieces of each base type that are neither on the board nor in a hand.
    std::array<int, 9> in_box() const;

    bool operator==(const Setup&) const = default;
};

// The pieces alone, without a board: the quick way through many positions.
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
// 256 bits, each throws HcpError: when decoding, for a bit pattern that isn't a whole set of
// pieces on a board and in the hands; when encoding, if a king is missing or (hcp) a piece is in
// the box.
PieceList list_hcp(PackedView bytes);
Setup decode_hcp(PackedView bytes);
PackedBytes encode_hcp(const Setup& setup);
PieceList list_packed_sfen(PackedView bytes);
Setup decode_packed_sfen(PackedView bytes);
PackedBytes encode_packed_sfen(const Setup& setup);

}  // namespace komadori
