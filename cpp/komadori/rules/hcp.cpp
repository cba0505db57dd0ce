// The two 256-bit position codes: hcp (Apery, dlshogi, cshogi) and PackedSfen (YaneuraOu).
//
// Both run from the lowest bit of byte 0: side to move (1), black king (7), white king (7), the
// other 79 squares from 1a to 9i, then Black's and White's pieces in hand in the order P L N S G B
// R, which fill the 256 bits. They differ in the prefix codes and in the bits that follow them.
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
// Bits that follow a prefix, from the lowest.
struct Layout {
    const char* name;
    Prefix board[8];  // by base type, NO_PIECE_TYPE an empty square
    Prefix hand[8];
    bool promotion_first;  // on the board: the promotion bit before the colour bit
    bool hand_has_promotion;
};

// hcp.cpp of Apery; the prefixes as in the table of encodings in docs.
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
    std::uint8_t length = 0;  // 0: no symbol begins with these bits
};
// A symbol has at most eight bits: the next eight name it.
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

class BitReader {
  public:
    explicit BitReader(PackedView bytes) {
        for (std::size_t i = 0; i < 32; ++i) {
            words_[i / 8] |= std::uint64_t(bytes[i]) << (8 * (i % 8));
        }
    }
    unsigned at() const { return at_; }
    std::uint8_t peek() const {  // the next eight bits, zeros behind the end
        unsigned word = at_ / 64, bit = at_ % 64;
        std::uint64_t low = words_[word] >> bit;
        return std::uint8_t(bit > 56 ? low | words_[word + 1] << (64 - bit) : low);
    }
    void skip(unsigned n) { at_ += n; }
    unsigned take(unsigned n) {
        unsigned bits = peek() & ((1u << n) - 1);
        at_ += n;
        return bits;
    }

  private:
    std::uint64_t words_[6] = {};
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

Setup decode(const Codec& codec, PackedView bytes) {
    const Layout& layout = codec.layout;
    BitReader in(bytes);
    Setup setup;
    setup.turn = Color(in.take(1));
    unsigned black = in.take(7), white = in.take(7);
    if (black >= SQUARES) fail(layout, 1, "the black king is on square " + std::to_string(black));
    if (white >= SQUARES) fail(layout, 8, "the white king is on square " + std::to_string(white));
    if (black == white) fail(layout, 8, "both kings are on " + square_name(Square(black)));
    setup.board[black] = make_piece(BLACK, KING);
    setup.board[white] = make_piece(WHITE, KING);
    for (Square s = 0; s < SQUARES; ++s) {
        if (s == black || s == white) continue;
        Symbol symbol = codec.decoder.board[in.peek()];
        if (symbol.length == 0) fail(layout, in.at(), "no piece code on " + square_name(s));
        if (in.at() + symbol.length > 256) {
            fail(layout, in.at(), "the bits end before " + square_name(s));
        }
        setup.board[s] = Piece(symbol.piece);
        in.skip(symbol.length);
    }
    while (in.at() < 256) {
        Symbol symbol = codec.decoder.hand[in.peek()];
        if (symbol.length == 0) fail(layout, in.at(), "no code of a piece in hand");
        if (in.at() + symbol.length > 256)
            fail(layout, in.at(), "the bits end within a piece in hand");
        Piece p = Piece(symbol.piece);
        auto& held = setup.hand[color_of(p)][type_of(p)];
        if (++held > PIECES_IN_SET[type_of(p)]) {
            fail(layout, in.at(),
                 "too many pieces of type " + piece_name(make_piece(BLACK, type_of(p))));
        }
        in.skip(symbol.length);
    }
    return setup;
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

Setup decode_hcp(PackedView bytes) { return decode(HCP_CODEC, bytes); }
PackedBytes encode_hcp(const Setup& setup) { return encode(HCP_CODEC, setup); }
Setup decode_packed_sfen(PackedView bytes) { return decode(PACKED_CODEC, bytes); }
PackedBytes encode_packed_sfen(const Setup& setup) { return encode(PACKED_CODEC, setup); }

}  // namespace komadori
