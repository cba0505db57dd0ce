#include "komadori/rules/notation.h"

#include "komadori/rules/errors.h"

namespace komadori {
namespace {

constexpr std::string_view LETTERS = ".PLNSBRGK";  // by PieceType

// Text of unknown origin, for a message: short, and without control characters.
std::string shown(std::string_view text) {
    std::string out = "'";
    for (char c : text.substr(0, 24)) out += c >= ' ' && c != 127 ? c : '?';
    out += text.size() > 24 ? "...'" : "'";
    return out;
}

[[noreturn]] void fail(std::string_view text, std::size_t where, const char* expected) {
    throw MoveError("USI move " + shown(text) + ", character " + std::to_string(where + 1) +
                    ": expected " + expected);
}

Square parse_square(std::string_view text, std::size_t at) {
    if (at >= text.size() || text[at] < '1' || text[at] > '9') {
        fail(text, at, "a file from 1 to 9");
    }
    if (at + 1 >= text.size() || text[at + 1] < 'a' || text[at + 1] > 'i') {
        fail(text, at + 1, "a rank from a to i");
    }
    return make_square(text[at] - '1', text[at + 1] - 'a');
}

}  // namespace

bool is_well_formed(std::uint16_t move16) {
    unsigned to = move16 & 127, from = move16 >> 7 & 127;
    if (to >= SQUARES || move16 >> 15) return false;
    if (from < SQUARES) return from != to;
    return from <= 80 + GOLD && !(move16 >> 14);
}

std::string to_usi(std::uint16_t move16) {
    Move m{move16};
    if (m.is_drop()) return std::string{LETTERS[m.dropped()], '*'} + square_name(m.to());
    std::string text = square_name(m.from()) + square_name(m.to());
    if (m.is_promotion()) text += '+';
    return text;
}

std::uint16_t parse_usi_move(std::string_view text) {
    if (text.size() >= 2 && text[1] == '*') {
        std::size_t t = LETTERS.find(text[0]);
        if (t == std::string_view::npos || t < PAWN || t > GOLD) fail(text, 0, "a piece to drop");
        Square to = parse_square(text, 2);
        if (text.size() > 4) fail(text, 4, "the end");
        return Move::drop(PieceType(t), to).move16();
    }
    Square from = parse_square(text, 0), to = parse_square(text, 2);
    if (from == to) fail(text, 2, "another square than the first");
    bool promote = text.size() > 4 && text[4] == '+';
    if (text.size() > 4u + promote)
        fail(text, 4u + promote, promote ? "the end" : "'+' or the end");
    return Move::board(from, to, promote, NO_PIECE_TYPE, NO_PIECE_TYPE).move16();
}

Move require_legal(const Position& position, std::uint16_t move16) {
    if (!is_well_formed(move16)) {
        throw MoveError("move16 " + std::to_string(move16) + " names no move");
    }
    Move m = position.from_move16(move16);
    if (m.is_none()) {
        throw IllegalMoveError(to_usi(move16) + " is not legal in " + position.sfen());
    }
    return m;
}

}  // namespace komadori
