// SFEN text, and validation of a placement.
#include <cctype>

#include "komadori/rules/errors.h"
#include "komadori/rules/setup.h"

namespace komadori {
namespace {

constexpr std::string_view LETTERS = ".PLNSBRGK";  // by PieceType
// The order in which hands are written (YaneuraOu, ShogiGUI, cshogi): R B G S N L P.
constexpr PieceType SFEN_HAND[7] = {ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN};

Piece piece_of_letter(char letter) {
    std::size_t t = LETTERS.find(char(std::toupper(static_cast<unsigned char>(letter))));
    if (t == std::string_view::npos || t == 0) return NO_PIECE;
    bool white = letter >= 'a' && letter <= 'z';
    return make_piece(white ? WHITE : BLACK, PieceType(t));
}

std::string quoted(char c) {
    if (c >= ' ' && c < 127) return std::string("'") + c + "'";
    constexpr char digits[] = "0123456789abcdef";
    auto byte = static_cast<unsigned char>(c);
    return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Setup parse() {
        Setup setup;
        board(setup);
        space("the board");
        turn(setup);
        space("the side to move");
        hands(setup);
        ply(setup);
        if (at_ < text_.size()) fail(at_, "nothing more after the move number, but " + here());
        return setup;
    }

  private:
    [[noreturn]] void fail(std::size_t where, const std::string& what) const {
        throw SfenError("SFEN, character " + std::to_string(where + 1) + ": expected " + what);
    }
    bool done() const { return at_ == text_.size(); }
    std::string here() const { return done() ? "found the end" : "found " + quoted(text_[at_]); }

    void space(const char* after) {
        if (done() || text_[at_] != ' ')
            fail(at_, std::string("a space after ") + after + ", " + here());
        ++at_;
    }

    void board(Setup& setup) {
        for (int rank = 0; rank < 9; ++rank) {
            if (rank > 0) {
                if (done() || text_[at_] != '/') {
                    fail(at_, "'/' after rank " + std::to_string(rank) + ", " + here());
                }
                ++at_;
            }
            std::string where = "rank " + std::to_string(rank + 1);
            for (int column = 0; column < 9;) {
                if (done()) fail(at_, "nine squares in " + where + ", found the end");
                char c = text_[at_];
                if (c >= '1' && c <= '9') {
                    if (column + (c - '0') > 9)
                        fail(at_, "nine squares in " + where + ", found more");
                    column += c - '0';
                    ++at_;
                    continue;
                }
                std::size_t start = at_;
                bool promoted = c == '+';
                if (promoted) c = ++at_ < text_.size() ? text_[at_] : '\0';
                Piece piece = done() ? NO_PIECE : piece_of_letter(c);
                if (piece == NO_PIECE) {
                    fail(at_, "a piece or a number of empty squares in " + where + ", " + here());
                }
                if (promoted && !can_promote(type_of(piece))) {
                    fail(start, "a piece that can promote, found '+" + std::string(1, c) + "'");
                }
                ++at_;
                setup.board[make_square(8 - column, rank)] = Piece(piece | (promoted ? 8 : 0));
                ++column;
            }
        }
    }

    void turn(Setup& setup) {
        if (done() || (text_[at_] != 'b' && text_[at_] != 'w')) {
            fail(at_, "'b' or 'w' for the side to move, " + here());
        }
        setup.turn = text_[at_++] == 'b' ? BLACK : WHITE;
    }

    void hands(Setup& setup) {
        if (!done() && text_[at_] == '-') {
            ++at_;
            return;
        }
        std::size_t start = at_;
        while (!done() && text_[at_] != ' ') {
            int n = 1;
            std::size_t number = at_;
            if (text_[at_] >= '0' && text_[at_] <= '9') {
                n = 0;
                for (; !done() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - number < 3;
                     ++at_) {
                    n = 10 * n + (text_[at_] - '0');
                }
                if (n < 1 || n > 18 || text_[number] == '0') {
                    fail(number, "a number of pieces from 1 to 18, found " + std::to_string(n));
                }
            }
            Piece piece = done() ? NO_PIECE : piece_of_letter(text_[at_]);
            if (piece == NO_PIECE || type_of(piece) == KING) {
                fail(at_, "a piece in hand (RBGSNLP), " + here());
            }
            auto& held = setup.hand[color_of(piece)][type_of(piece)];
            if (held)
                fail(at_, "each piece once in the hands, found " + quoted(text_[at_]) + " again");
            held = std::uint8_t(n);
            ++at_;
        }
        if (at_ == start) fail(at_, "the hands ('-' if empty), " + here());
    }

    // The move number is optional: some programs omit it.
    void ply(Setup& setup) {
        if (done()) return;
        space("the hands");
        std::size_t start = at_;
        int n = 0;
        for (; !done() && text_[at_] >= '0' && text_[at_] <= '9' && n <= MAX_PLY; ++at_) {
            n = 10 * n + (text_[at_] - '0');
        }
        if (at_ == start) fail(at_, "a move number, " + here());
        if (n > MAX_PLY) fail(start, "a move number up to " + std::to_string(MAX_PLY));
        setup.ply = n < 1 ? 1 : n;  // some programs write 0
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

const char* owner(Color c) { return c == BLACK ? "Black" : "White"; }

}  // namespace

std::string square_name(Square s) { return {char('1' + file_of(s)), char('a' + rank_of(s))}; }

std::string piece_name(Piece p) {
    PieceType t = type_of(p);
    char letter = LETTERS[base_type(t)];
    if (color_of(p) == WHITE) letter = char(std::tolower(static_cast<unsigned char>(letter)));
    return t > KING ? std::string{'+', letter} : std::string(1, letter);
}

std::array<int, 9> Setup::in_box() const {
    std::array<int, 9> left;
    for (int t = 0; t < 9; ++t) left[std::size_t(t)] = PIECES_IN_SET[t];
    for (Piece p : board) {
        if (p != NO_PIECE) --left[base_type(type_of(p))];
    }
    for (const auto& side : hand) {
        for (PieceType t : HAND_TYPES) left[t] -= side[t];
    }
    return left;
}

void Setup::validate() const {
    int kings[2] = {};
    // Two pawns on a file are accepted: collections of mate problems contain such positions, and
    // no other code depends on the rule.
    for (Square s = 0; s < SQUARES; ++s) {
        Piece p = board[s];
        if (p == NO_PIECE) continue;
        Color c = color_of(p);
        PieceType t = type_of(p);
        std::string_view name = owner(c);
        if (t == KING && ++kings[c] > 1) {
            throw PositionError(std::string(name) + " has a second king on " + square_name(s));
        }
        int advance = c == BLACK ? rank_of(s) : 8 - rank_of(s);
        if (((t == PAWN || t == LANCE) && advance < 1) || (t == KNIGHT && advance < 2)) {
            throw PositionError(std::string(name) + "'s " + piece_name(p) + " on " +
                                square_name(s) + " could never move");
        }
    }
    std::array<int, 9> left = in_box();
    for (PieceType t : HAND_TYPES) {
        if (left[t] < 0) {
            throw PositionError("too many pieces of type " + std::string(1, LETTERS[t]) + ": " +
                                std::to_string(PIECES_IN_SET[t] - left[t]) + " of " +
                                std::to_string(PIECES_IN_SET[t]));
        }
    }
    if (ply < 1 || ply > MAX_PLY) {
        throw PositionError("move number " + std::to_string(ply) + " is not from 1 to " +
                            std::to_string(MAX_PLY));
    }
}

Setup parse_sfen(std::string_view text) { return Parser(text).parse(); }

std::string to_sfen(const Setup& setup) {
    std::string text;
    for (int rank = 0; rank < 9; ++rank) {
        if (rank > 0) text += '/';
        int empty = 0;
        for (int column = 0; column < 9; ++column) {
            Piece p = setup.board[make_square(8 - column, rank)];
            if (p == NO_PIECE) {
                ++empty;
                continue;
            }
            if (empty) text += char('0' + empty);
            empty = 0;
            text += piece_name(p);
        }
        if (empty) text += char('0' + empty);
    }
    text += setup.turn == BLACK ? " b " : " w ";
    std::size_t before = text.size();
    for (Color c : {BLACK, WHITE}) {
        for (PieceType t : SFEN_HAND) {
            int n = setup.hand[c][t];
            if (n == 0) continue;
            if (n > 1) text += std::to_string(n);
            text += piece_name(make_piece(c, t));
        }
    }
    if (text.size() == before) text += '-';
    return text + ' ' + std::to_string(setup.ply);
}

}  // namespace komadori
