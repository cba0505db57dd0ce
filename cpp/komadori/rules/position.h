// A shogi position with do/undo.
//
// Copyable and self-contained. No method allocates, except do_move when the path outgrows its
// capacity. Const methods are thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "komadori/rules/attacks.h"
#include "komadori/rules/bitboard.h"
#include "komadori/rules/declaration.h"
#include "komadori/rules/hand.h"
#include "komadori/rules/setup.h"
#include "komadori/rules/types.h"

namespace komadori {

// How the current position repeats an earlier one of the path, from the side to move's view.
enum class Repetition : std::uint8_t {
    NONE,
    DRAW,      // sennichite: fourth occurrence of board, hands and side to move
    WIN,       // the opponent has given perpetual check
    LOSS,      // the side to move has given perpetual check
    SUPERIOR,  // same board, the side to move now has more in hand
    INFERIOR,  // same board, the side to move now has less in hand
};

class Position {
  public:
    Position();  // the start position (hirate)

    // The setters clear the path. All throw rules errors (errors.h) that say what is wrong and
    // where, and leave the object unchanged.
    void set(const Setup& setup);
    void set(const PieceList& list, int ply = 1);
    void set_sfen(std::string_view sfen);  // "sfen ..." prefix not included
    void set_hcp(std::span<const std::uint8_t, 32> hcp, int ply = 1);
    void set_packed_sfen(std::span<const std::uint8_t, 32> packed, int ply = 1);
    Setup setup() const;
    std::string sfen() const;
    std::array<std::uint8_t, 32> hcp() const;          // throws if pieces are in the box
    std::array<std::uint8_t, 32> packed_sfen() const;  // likewise

    Color turn() const { return turn_; }
    int ply() const { return first_ply_ + path_length(); }  // number of the next move
    Piece piece_on(Square s) const { return Piece(board_[s]); }
    Hand hand(Color c) const { return states_.back().hand[c]; }
    int hand(Color c, PieceType t) const { return hand(c).count(t); }
    Square king(Color c) const { return king_[c]; }  // NO_SQUARE where there is none
    std::uint64_t key() const {                      // board, hands and side to move
        return states_.back().board_key ^ states_.back().hand_key;
    }
    std::uint64_t board_key() const { return states_.back().board_key; }  // board, side to move
    bool in_check() const { return states_.back().checkers.any(); }
    // Compares pieces, hands and side to move; the path and the ply may differ.
    bool has_same_position(const Position& other) const;
    // Recomputes the keys, checkers and piece sets from the board and compares; for tests.
    bool is_consistent() const;

    const Bitboard& pieces(Color c) const { return by_color_[c]; }
    const Bitboard& pieces(PieceType t) const { return by_type_[t]; }  // of both colours
    Bitboard pieces(Color c, PieceType t) const { return by_color_[c] & by_type_[t]; }
    Bitboard pieces(PieceType t, auto... more) const {
        return (by_type_[t] | ... | by_type_[more]);
    }
    Bitboard golds() const {  // of both colours, all pieces that move like a gold
        return pieces(GOLD, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER);
    }
    Bitboard occupied() const { return by_color_[BLACK] | by_color_[WHITE]; }
    const Bitboard& checkers() const { return states_.back().checkers; }
    // The pieces of side c that attack s; `occupied` blocks sliders.
    Bitboard attackers(Color c, Square s, const Bitboard& occupied) const;
    bool is_attacked(Color c, Square s, const Bitboard& occupied) const {
        return attackers(c, s, occupied).any();
    }
    // The pieces of side c that are alone between the king of `king_color` and a slider of its
    // opponent: pinned where c is king_color, giving discovered check otherwise.
    Bitboard blockers(Color c, Color king_color) const;

    // Writes every legal move, non-promotions included, and returns the number. `moves` must have
    // room for MAX_LEGAL_MOVES.
    int legal_moves(Move* moves) const;
    int count_legal_moves() const;
    bool has_legal_moves() const;
    bool is_legal(Move m) const;              // accepts any bits
    Move from_move16(std::uint16_t m) const;  // fills in piece types; Move() unless legal
    bool gives_check(Move m) const;           // m must be legal
    // Whether a pawn of the side to move, dropped on `to` in front of the opponent's king, mates.
    bool is_pawn_drop_mate(Square to) const;

    void do_move(Move m);                   // m must be legal
    void undo_move();                       // undoes the last do_move
    std::uint64_t key_after(Move m) const;  // key() after the legal move m
    // Passes the turn; not while in check. Undone by undo_null_move. A null move is part of the
    // path: ply() counts it, path_move() is Move(), and repetition doesn't look past it.
    void do_null_move();
    void undo_null_move();
    int path_length() const { return int(states_.size()) - 1; }               // moves since set_*
    Move path_move(int i) const { return states_[std::size_t(i) + 1].move; }  // 0 is the oldest

    // Looks at the moves since set_*. `occurrences`: how often the position must have occurred for
    // DRAW, WIN or LOSS (4 by the rules; a tree search uses 2). SUPERIOR and INFERIOR compare with
    // the nearest earlier position with the same board and side to move.
    Repetition repetition(int occurrences = 4) const;
    // The side to move's points for the entering-king declaration (major pieces 5, others 1, in
    // the zone and in hand); -1 if in check or unless its king and ten other pieces are in the
    // zone.
    int declaration_points() const;
    bool can_declare_win(const DeclarationPoints& needed = POINTS_27) const {
        return needed[turn_] > 0 && declaration_points() >= needed[turn_];
    }
    // A mating move, or Move(). Fastest when not in check.
    Move mate_in_one() const;
    Position without_path() const;  // a copy with an empty path

  private:
    struct State {
        std::uint64_t board_key = 0;
        std::uint64_t hand_key = 0;
        Bitboard checkers;  // pieces giving check to the side to move
        Hand hand[2];
        Move move;                          // the move that led here
        std::uint16_t check_plies[2] = {};  // plies spanned by the side's latest run of checks
        int first_comparable = 0;           // path index after the last null move
    };

    explicit Position(std::vector<State> path) : states_(std::move(path)) {}
    void put(Square s, Piece p);
    bool is_valid_board(const PieceList& list) const;

    template <Color US>
    int generate(Move* moves) const;
    template <Color C>
    Bitboard safe_for_king(Square king, Bitboard candidates, const Bitboard& occupied) const;
    template <Color US>
    Bitboard king_targets() const;
    template <Color US>
    int count() const;
    template <Color US>
    bool has_reply_to_check() const;
    template <Color US>
    Move find_mate() const;
    template <Color US>
    bool is_legal_drop(Move m) const;
    template <Color US>
    bool is_legal_board_move(Move m) const;
    template <Color US>
    bool pawn_drop_mates(Square to) const;
    template <Color US>
    Bitboard pawn_drop_squares(const Bitboard& squares) const;

    Bitboard by_color_[2];
    Bitboard by_type_[16];
    std::uint8_t board_[SQUARES + 1] = {};
    Square king_[2] = {NO_SQUARE, NO_SQUARE};
    Color turn_ = BLACK;
    int first_ply_ = 1;
    std::vector<State> states_;  // the path; the last is the current position's
};

}  // namespace komadori
