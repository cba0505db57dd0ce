// USI and CSA text of moves; the Japanese notations are in kif.cpp.
#include "komadori/rules/notation.h"

#include "komadori/rules/errors.h"
#include "komadori/rules/text.h"

namespace komadori {
namespace {

constexpr std::string_view LETTERS = ".PLNSBRGK";  // by PieceType

Square usi_square(std::string_view text, std::size_t at) {
    if (at >= text.size() || text[at] < '1' || text[at] > '9') {
        fail_move("USI move", text, at, "a file from 1 to 9");
    }
    if (at + 1 >= text.size() || text[at + 1] < 'a' || text[at + 1] > 'i') {
        fail_move("USI move", text, at + 1, "a rank from a to i");
    }
    return make_square(text[at] - '1', text[at + 1] - 'a');
}

Square csa_square(std::string_view text, std::size_t at) {
    if (text[at] == '0' && text[at + 1] == '0') return NO_SQUARE;
    for (std::size_t i : {at, at + 1}) {
        if (text[i] < '1' || text[i] > '9') fail_move("CSA move", text, i, "a digit from 1 to 9");
    }
    return make_square(text[at] - '1', text[at + 1] - '1');
}

}  // namespace

std::string quoted(std::string_view text) {
    constexpr std::size_t MAX_SHOWN = 24;
    std::string out = "'";
    for (char c : text.substr(0, MAX_SHOWN)) {
        if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
        out += c;
    }
    // Never cuts a UTF-8 sequence.
    if (text.size() > MAX_SHOWN) {
        while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) {
            out.pop_back();
        }
        if (static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
        out += "...";
    }
    return out + "'";
}

void fail_move(const char* what, std::string_view text, std::size_t where,
               const std::string& expected) {
    throw MoveError(std::string(what) + " " + quoted(text) + ", character " +
                    std::to_string(where + 1) + ": expected " + expected);
}

void fail_illegal(const Position& position, std::string_view text, const std::string& why) {
    std::string message(text);
    message += " is not legal in " + position.sfen();
    if (!why.empty()) message += ": " + why;
    throw IllegalMoveError(message);
}

bool is_well_formed(std::uint16_t move16) {
    unsigned to = move16 & 127, from = move16 >> 7 & 127;
    if (to >= SQUARES || move16 >> 15) return false;
    if (from < SQUARES) return from != to;
    return from <= 80 + GOLD && !(move16 >> 14);
}

Move require_legal(const Position& position, std::uint16_t move16) {
    if (!is_well_formed(move16)) {
        throw MoveError("move16 " + std::to_string(move16) + " is not a move");
    }
    Move m = position.from_move16(move16);
    if (m.is_none()) fail_illegal(position, to_usi(move16), "");
    return m;
}

std::string to_usi(std::uint16_t move16) {
    Move m{move16};
    if (m.is_drop()) return std::string{LETTERS[m.dropped()], '*'} + square_name(m.to());
    std::string text = square_name(m.from()) + square_name(m.to());
    if (m.is_promotion()) text += '+';
    return text;
}

std::uint16_t parse_usi_move(std::string_view text) {
    constexpr const char* WHAT = "USI move";
    if (text.size() >= 2 && text[1] == '*') {
        std::size_t t = LETTERS.find(text[0]);
        if (t == std::string_view::npos || t < PAWN || t > GOLD) {
            fail_move(WHAT, text, 0, "a piece to drop (PLNSBRG)");
        }
        Square to = usi_square(text, 2);
        if (text.size() > 4) fail_move(WHAT, text, 4, "the end");
        return Move::drop(PieceType(t), to).move16();
    }
    Square from = usi_square(text, 0), to = usi_square(text, 2);
    if (from == to) fail_move(WHAT, text, 2, "another square than the first");
    bool promote = text.size() > 4 && text[4] == '+';
    if (text.size() > 4u + promote) {
        fail_move(WHAT, text, 4u + promote, promote ? "the end" : "'+' or the end");
    }
    return Move::board(from, to, promote, NO_PIECE_TYPE, NO_PIECE_TYPE).move16();
}

std::string to_csa(const Position& position, Move m) {
    PieceType after = m.is_promotion() ? promoted_type(m.moved()) : m.moved();
    std::string text(1, position.turn() == BLACK ? '+' : '-');
    if (m.is_drop()) {
        text += "00";
    } else {
        text += char('1' + file_of(m.from()));
        text += char('1' + rank_of(m.from()));
    }
    text += char('1' + file_of(m.to()));
    text += char('1' + rank_of(m.to()));
    text += CSA_NAMES[after];
    return text;
}

Move parse_csa_move(const Position& position, std::string_view text) {
    constexpr const char* WHAT = "CSA move";
    bool has_sign = !text.empty() && (text[0] == '+' || text[0] == '-');
    std::size_t at = has_sign ? 1 : 0;
    if (text.size() != at + 6) {
        fail_move(WHAT, text, text.size() < at + 6 ? text.size() : at + 6,
                  "four digits and two letters after the sign");
    }
    if (has_sign && (text[0] == '+') != (position.turn() == BLACK)) {
        fail_illegal(position, text, "it is the other side's move");
    }
    Square from = csa_square(text, at), to = csa_square(text, at + 2);
    if (to == NO_SQUARE) fail_move(WHAT, text, at + 2, "a destination");
    PieceType after = NO_PIECE_TYPE;
    for (int t = PAWN; t <= DRAGON; ++t) {
        if (CSA_NAMES[t] == text.substr(at + 4)) after = PieceType(t);
    }
    if (after == NO_PIECE_TYPE) fail_move(WHAT, text, at + 4, "a piece's name");
    if (from == NO_SQUARE) {
        if (after > GOLD) fail_move(WHAT, text, at + 4, "a piece that can be dropped");
        Move m = position.from_move16(Move::drop(after, to).move16());
        if (m.is_none()) fail_illegal(position, text, "");
        return m;
    }
    if (from == to) fail_move(WHAT, text, at + 2, "another square than the first");
    PieceType before = type_of(position.piece_on(from));
    bool promote = before != after;
    if (promote && !(before && can_promote(before) && promoted_type(before) == after)) {
        fail_illegal(position, text, "no such piece on " + square_name(from));
    }
    Move m = position.from_move16(Move::board(from, to, promote, before, NO_PIECE_TYPE).move16());
    if (m.is_none()) fail_illegal(position, text, "");
    return m;
}

}  // namespace komadori
