// The two 256-bit position codes: hcp (Apery, dlshogi, cshogi) and PackedSfen (YaneuraOu).
//
// Both start at the lowest bit of byte 0: side to move (1 bit), black king (7), white king (7),
// the other 79 squares from 1a to 9i, then Black's and White's pieces in hand in the order P L N S
// G B R; the total is 256 bits. They differ in the prefix codes and in the bits after the prefix.
#include <algorithm>
#include <bit>
#include <cstring>

#include "komadori/rules/errors.h"
#include "komadori/rules/setup.h"

namespace komadori {
namespace {

struct Prefix {
    std::uint8_t bits;  // lowest first
    std::uint8_t length;
};
struct Layout {
    const char* name;
    Prefix board[8];  // by base type, NO_PIECE_TYPE an empty square
    Prefix hand[8];
    bool promotion_first;  // on the board, the promotion bit precedes the colour bit
    bool hand_has_promotion;
};

// Prefix codes of Apery's HuffmanCodedPos.
constexpr Layout HCP = {
    "hcp",
    {{0, 1}, {1, 2}, {3, 4}, {7, 4}, {11, 4}, {31, 6}, {63, 6}, {15, 5}},
    {{0, 0}, {0, 2}, {1, 4}, {3, 4}, {5, 4}, {31, 6}, {63, 6}, {7, 4}},
    false,
    false,
};
// YaneuraOu's sfen_packer: a hand's code is the board's without its first bit.
constexpr Layout PACKED_SFEN = {
    "packed sfen",
    {{0, 1}, {1, 2}, {3, 4}, {11, 4}, {7, 4}, {31, 6}, {63, 6}, {15, 5}},
    {{0, 0}, {0, 1}, {1, 3}, {5, 3}, {3, 3}, {15, 5}, {31, 5}, {7, 4}},
    true,
    true,
};

struct Symbol {
    std::uint8_t piece = 0;
    std::uint8_t length = 0;  // 0: not a valid code
};
// Lookup tables by the next eight bits.
constexpr unsigned MAX_SYMBOL_BITS = 8;
struct Decoder {
    Symbol board[256];
    Symbol hand[256];
};
struct Code {
    std::uint8_t bits = 0;
    std::uint8_t length = 0;
};
struct Encoder {
    Code board[32];
    Code hand[32];
};

constexpr Encoder make_encoder(const Layout& layout) {
    Encoder e;
    e.board[NO_PIECE] = {layout.board[0].bits, layout.board[0].length};
    for (int t = PAWN; t <= GOLD; ++t) {
        for (int white = 0; white < 2; ++white) {
            Prefix p = layout.board[t];
            for (int promoted = 0; promoted < (t == GOLD ? 1 : 2); ++promoted) {
                int first = layout.promotion_first ? promoted : white;
                int second = layout.promotion_first ? white : promoted;
                Code& code = e.board[make_piece(Color(white), PieceType(t + 8 * promoted))];
                if (t == GOLD) {
                    code = {std::uint8_t(p.bits | white << p.length), std::uint8_t(p.length + 1)};
                } else {
                    code = {std::uint8_t(p.bits | first << p.length | second << (p.length + 1)),
                            std::uint8_t(p.length + 2)};
                }
            }
            Prefix h = layout.hand[t];
            int colour_at = h.length + (layout.hand_has_promotion && t != GOLD);
            e.hand[make_piece(Color(white), PieceType(t))] = {
                std::uint8_t(h.bits | white << colour_at), std::uint8_t(colour_at + 1)};
        }
    }
    return e;
}

constexpr Decoder make_decoder(const Encoder& encoder) {
    Decoder d{};
    for (int p = 0; p < 32; ++p) {
        for (int bits = 0; bits < 256; ++bits) {
            Code board = encoder.board[p], hand = encoder.hand[p];
            if (board.length && (bits & ((1 << board.length) - 1)) == board.bits) {
                d.board[bits] = {std::uint8_t(p), board.length};
            }
            if (hand.length && (bits & ((1 << hand.length) - 1)) == hand.bits) {
                d.hand[bits] = {std::uint8_t(p), hand.length};
            }
        }
    }
    return d;
}

struct Codec {
    Layout layout;
    Encoder encoder = make_encoder(layout);
    Decoder decoder = make_decoder(encoder);
};
constexpr Codec HCP_CODEC{HCP}, PACKED_CODEC{PACKED_SFEN};

// Reads bits from the lowest up through a 64-bit window, so that a symbol costs one shift.
class BitReader {
  public:
    explicit BitReader(PackedView bytes) {
        for (std::size_t i = 0; i < 32; ++i) {
            words_[i / 8] |= std::uint64_t(bytes[i]) << (8 * (i % 8));
        }
        fill();
    }
    unsigned at() const { return at_; }
    unsigned held() const { return held_; }           // bits in the window
    std::uint64_t window() const { return window_; }  // the next bits, then zeros
    void fill() {                                     // refills the window to 64 bits
        const unsigned word = at_ / 64, bit = at_ % 64;
        window_ = words_[word] >> bit | words_[word + 1] << 1 << (63 - bit);
        held_ = 64;
    }
    void skip(unsigned n) {  // at most held() and 63
        window_ >>= n;
        held_ -= n;
        at_ += n;
    }
    void jump(unsigned n) {
        at_ += n;
        fill();
    }
    unsigned take(unsigned n) {
        const unsigned bits = unsigned(window_) & ((1u << n) - 1);
        skip(n);
        return bits;
    }

  private:
    std::uint64_t words_[6] = {};
    std::uint64_t window_ = 0;
    unsigned held_ = 0;
    unsigned at_ = 0;
};

class BitWriter {
  public:
    void write(std::uint64_t bits, unsigned n) {
        unsigned word = at_ / 64, bit = at_ % 64;
        words_[word] |= bits << bit;
        if (bit + n > 64) words_[word + 1] |= bits >> (64 - bit);
        at_ += n;
    }
    PackedBytes bytes() const {
        PackedBytes out;
        for (std::size_t i = 0; i < 32; ++i) out[i] = std::uint8_t(words_[i / 8] >> (8 * (i % 8)));
        return out;
    }

  private:
    std::uint64_t words_[6] = {};
    unsigned at_ = 0;
};

[[noreturn]] void fail(const Layout& layout, unsigned bit, const std::string& what) {
    throw HcpError(std::string(layout.name) + ", bit " + std::to_string(bit) + ": " + what);
}

// Piece counts without kings, one byte per base type.
constexpr std::uint64_t one_of(int base) { return std::uint64_t(1) << (8 * (base - PAWN)); }
constexpr std::uint64_t FULL_SET = [] {
    std::uint64_t set = 0;
    for (int t = PAWN; t <= GOLD; ++t) set += PIECES_IN_SET[t] * one_of(t);
    return set;
}();

[[noreturn]] void fail_count(const Layout& layout, std::uint64_t counts) {
    for (PieceType t : HAND_TYPES) {
        int n = int(counts / one_of(t) & 255);
        if (n == PIECES_IN_SET[t]) continue;
        fail(layout, 0,
             std::string(n < PIECES_IN_SET[t] ? "too few" : "too many") + " pieces of type " +
                 piece_name(make_piece(BLACK, t)) + ": " + std::to_string(n));
    }
    fail(layout, 0, "not a whole set of pieces");
}

PieceList decode(const Codec& codec, PackedView bytes) {
    const Layout& layout = codec.layout;
    BitReader in(bytes);
    PieceList list;
    list.turn = Color(in.take(1));
    unsigned black = in.take(7), white = in.take(7);
    if (black >= SQUARES) fail(layout, 1, "the black king is on square " + std::to_string(black));
    if (white >= SQUARES) fail(layout, 8, "the white king is on square " + std::to_string(white));
    if (black == white) fail(layout, 8, "both kings are on " + square_name(Square(black)));
    list.board[0] = {Square(black), make_piece(BLACK, KING)};
    list.board[1] = {Square(white), make_piece(WHITE, KING)};
    int placed = 2;

    // `seen` counts the squares decoded, kings excluded. An empty square is a single 0 bit, so a
    // run of empty squares is skipped at once.
    const unsigned low = std::min(black, white), high = std::max(black, white);
    const unsigned others = SQUARES - 2;
    const auto square_of = [&](unsigned seen) {
        const unsigned s = seen + (seen >= low);
        return Square(s + (s >= high));
    };
    std::uint64_t counts = 0;
    for (unsigned seen = 0;; ++seen) {
        unsigned empty = unsigned(std::countr_zero(in.window()));
        if (empty + MAX_SYMBOL_BITS > in.held()) {  // the symbol may end outside the window
            in.fill();
            empty = unsigned(std::countr_zero(in.window()));
            if (empty + MAX_SYMBOL_BITS > 64 && seen + empty < others) {
                in.jump(empty);
                seen += empty;
                empty = unsigned(std::countr_zero(in.window()));
            }
        }
        if (seen + empty >= others) {
            in.jump(others - seen);
            break;
        }
        in.skip(empty);
        seen += empty;
        const Symbol symbol = codec.decoder.board[in.window() & 255];
        if (symbol.length == 0)
            fail(layout, in.at(), "no piece code on " + square_name(square_of(seen)));
        if (placed == PieceList::MAX_PIECES) fail(layout, in.at(), "more pieces than a set has");
        list.board[placed++] = {square_of(seen), Piece(symbol.piece)};
        counts += one_of(base_type(type_of(Piece(symbol.piece))));
        in.skip(symbol.length);
    }
    if (in.at() > 256) fail(layout, 256, "the bits end before the last square");
    list.pieces = placed;

    while (in.at() < 256) {
        if (in.held() < MAX_SYMBOL_BITS) in.fill();
        const Symbol symbol = codec.decoder.hand[in.window() & 255];
        if (symbol.length == 0) fail(layout, in.at(), "no code of a piece in hand");
        const Piece p = Piece(symbol.piece);
        in.skip(symbol.length);
        ++list.hand[color_of(p)][type_of(p)];
        counts += one_of(type_of(p));
    }
    if (in.at() > 256) fail(layout, 256, "the bits end within a piece in hand");
    if (counts != FULL_SET) fail_count(layout, counts);
    return list;
}

PackedBytes encode(const Codec& codec, const Setup& setup) {
    const Layout& layout = codec.layout;
    Square king[2] = {NO_SQUARE, NO_SQUARE};
    for (Square s = 0; s < SQUARES; ++s) {
        if (type_of(setup.board[s]) == KING) king[color_of(setup.board[s])] = s;
    }
    for (Color c : {BLACK, WHITE}) {
        if (king[c] == NO_SQUARE) {
            throw HcpError(std::string(layout.name) + " can't hold a position without " +
                           (c == BLACK ? "Black" : "White") + "'s king");
        }
    }
    auto left = setup.in_box();
    for (PieceType t : HAND_TYPES) {
        if (left[t] != 0) {
            throw HcpError(std::string(layout.name) +
                           " can't hold a position with pieces in the "
                           "box (of type " +
                           piece_name(make_piece(BLACK, t)) + ": " + std::to_string(left[t]) + ")");
        }
    }
    BitWriter out;
    out.write(setup.turn, 1);
    out.write(king[BLACK], 7);
    out.write(king[WHITE], 7);
    for (Square s = 0; s < SQUARES; ++s) {
        if (s == king[BLACK] || s == king[WHITE]) continue;
        Code code = codec.encoder.board[setup.board[s]];
        out.write(code.bits, code.length);
    }
    for (Color c : {BLACK, WHITE}) {
        for (PieceType t : HAND_TYPES) {
            Code code = codec.encoder.hand[make_piece(c, t)];
            for (int i = 0; i < setup.hand[c][t]; ++i) out.write(code.bits, code.length);
        }
    }
    return out.bytes();
}

}  // namespace

Setup to_setup(const PieceList& list) {
    Setup setup;
    setup.turn = list.turn;
    setup.hand = list.hand;
    for (int i = 0; i < list.pieces; ++i) setup.board[list.board[i].square] = list.board[i].piece;
    return setup;
}

PieceList list_hcp(PackedView bytes) { return decode(HCP_CODEC, bytes); }
PackedBytes encode_hcp(const Setup& setup) { return encode(HCP_CODEC, setup); }
PieceList list_packed_sfen(PackedView bytes) { return decode(PACKED_CODEC, bytes); }
PackedBytes encode_packed_sfen(const Setup& setup) { return encode(PACKED_CODEC, setup); }

}  // namespace komadori
