// A shogi position with do/undo. THE CONTRACT the upper folders are written against;
// names and meanings below are fixed, representation is free.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "komadori/rules/types.h"

namespace komadori {

// How the current position repeats an earlier one of the path (always the side to move's view).
enum class Repetition : std::uint8_t {
    NONE,
    DRAW,      // sennichite: fourth occurrence of board, hands and side to move
    WIN,       // the opponent has given perpetual check
    LOSS,      // the side to move has given perpetual check
    SUPERIOR,  // same board, the side to move holds more than then
    INFERIOR,  // same board, the side to move holds less than then
};

class Position {
  public:
    Position();  // the start position (hirate)

    // Setting a position forgets the history. All throw rules errors (errors.h) that name what
    // is wrong and where, and leave the object unchanged.
    void set_sfen(std::string_view sfen);  // "sfen ..." prefix not included
    void set_hcp(std::span<const std::uint8_t, 32> hcp, int ply = 1);
    void set_packed_sfen(std::span<const std::uint8_t, 32> packed, int ply = 1);
    std::string sfen() const;
    std::array<std::uint8_t, 32> hcp() const;          // throws if pieces are in the box
    std::array<std::uint8_t, 32> packed_sfen() const;  // likewise

    Color turn() const;
    int ply() const;  // the number of the move to be made, 1 at the start position
    Piece piece_on(Square s) const;
    int hand(Color c, PieceType t) const;
    Square king(Color c) const;       // NO_SQUARE where there is none
    std::uint64_t key() const;        // board, hands and side to move
    std::uint64_t board_key() const;  // board and side to move
    bool in_check() const;

    // moves must have room for MAX_LEGAL_MOVES; returns how many. Every legal move,
    // non-promotions included.
    int legal_moves(Move* moves) const;
    int count_legal_moves() const;
    bool is_legal(Move m) const;              // any bits accepted
    Move from_move16(std::uint16_t m) const;  // fills in piece types; Move() unless legal
    bool gives_check(Move m) const;           // m is legal

    void do_move(Move m);     // m is legal
    void undo_move();         // takes back the last do_move
    int path_length() const;  // moves made since set_*

    // Counted within the moves done since set_*. `occurrences`: how often the position must have
    // occurred for DRAW/WIN/LOSS (4 by the rules; a tree search uses 2).
    Repetition repetition(int occurrences = 4) const;
    bool can_declare_win(int points_black = 28,
                         int points_white = 27) const;  // 24-point rule: 31, 31
    Move mate_in_one() const;  // Move() if there is none; not called in check
};

}  // namespace komadori
