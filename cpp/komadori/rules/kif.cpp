// KIF and KI2 text of moves. Disambiguation follows the Japan Shogi Association's page on notation
// ("棋譜の表記方法", https://www.shogi.or.jp/faq/kihuhyouki.html).
#include <algorithm>
#include <vector>

#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/rules/text.h"

namespace komadori {
namespace {

constexpr std::string_view FILES[9] = {"１", "２", "３", "４", "５", "６", "７", "８", "９"};
constexpr std::string_view RANKS[9] = {"一", "二", "三", "四", "五", "六", "七", "八", "九"};
constexpr std::string_view SAME = "同", PROMOTES = "成", STAYS = "不成", DROPPED = "打";
constexpr std::string_view NAMES[PIECE_TYPES] = {
    "", "歩", "香", "桂", "銀", "角", "飛", "金", "玉", "と", "成香", "成桂", "成銀", "馬", "龍"};
struct Name {
    std::string_view text;
    PieceType type;
};
// Longer names first.
constexpr Name READ_NAMES[] = {
    {"成香", PRO_LANCE}, {"成桂", PRO_KNIGHT}, {"成銀", PRO_SILVER}, {"歩", PAWN},
    {"香", LANCE},       {"桂", KNIGHT},       {"銀", SILVER},       {"金", GOLD},
    {"角", BISHOP},      {"飛", ROOK},         {"玉", KING},         {"王", KING},
    {"と", PRO_PAWN},    {"杏", PRO_LANCE},    {"圭", PRO_KNIGHT},   {"全", PRO_SILVER},
    {"馬", HORSE},       {"龍", DRAGON},       {"竜", DRAGON},
};

// The direction of a move from its owner's side.
enum Motion : std::uint8_t { FORWARD, SIDEWAYS, BACKWARD };
constexpr std::string_view MOTION_WORDS[3] = {"上", "寄", "引"};
constexpr std::string_view LEFT = "左", RIGHT = "右", STRAIGHT = "直";

Motion motion(Color c, Square from, Square to) {
    int ranks = rank_of(to) - rank_of(from);
    if (c == WHITE) ranks = -ranks;
    return ranks < 0 ? FORWARD : ranks == 0 ? SIDEWAYS : BACKWARD;
}
// Grows toward the owner's left.
int leftness(Color c, Square s) { return c == BLACK ? file_of(s) : -file_of(s); }

bool goes_straight(Color c, PieceType t, Square from, Square to) {
    return t != HORSE && t != DRAGON && file_of(from) == file_of(to) &&
           motion(c, from, to) == FORWARD;
}

Square last_square(const Position& position, Square last) {
    int n = position.path_length();
    return n > 0 ? position.path_move(n - 1).to() : last;
}

bool may_promote(const Position& position, Move m) {
    if (m.is_drop() || !can_promote(m.moved())) return false;
    Color us = position.turn();
    auto in_zone = [us](Square s) { return us == BLACK ? rank_of(s) < 3 : rank_of(s) > 5; };
    return in_zone(m.from()) || in_zone(m.to());
}

std::string destination(Square to, Square last, std::string_view same) {
    if (to == last) return std::string(same);
    return std::string(FILES[file_of(to)]) + std::string(RANKS[rank_of(to)]);
}

// The words that disambiguate m from moves of other pieces of its type to m.to().
std::string disambiguation(const Position& position, Move m) {
    Color us = position.turn();
    Square to = m.to(), from = m.from();
    PieceType t = m.moved();
    Bitboard others = position.attackers(us, to, position.occupied()) & position.pieces(t);
    if (!m.is_drop()) others = others.without(square_set(from));
    if (others.none()) return "";
    if (m.is_drop()) return std::string(DROPPED);
    Motion mine = motion(us, from, to);
    bool alone_in_motion = true, leftmost = true, rightmost = true;
    others.each([&](Square s) {
        if (motion(us, s, to) == mine) alone_in_motion = false;
        if (leftness(us, s) >= leftness(us, from)) leftmost = false;
        if (leftness(us, s) <= leftness(us, from)) rightmost = false;
    });
    std::string word(MOTION_WORDS[mine]);
    if (alone_in_motion) return word;
    if (goes_straight(us, t, from, to)) return std::string(STRAIGHT);
    if (leftmost) return std::string(LEFT);
    if (rightmost) return std::string(RIGHT);
    bool left = true;  // among those of the same motion
    others.each([&](Square s) {
        if (motion(us, s, to) == mine && leftness(us, s) >= leftness(us, from)) left = false;
    });
    return std::string(left ? LEFT : RIGHT) + word;
}

class Reader {
  public:
    Reader(const Position& position, std::string_view text, Square last)
        : position_(position), text_(text), last_(last_square(position, last)) {}

    Move read() {
        for (std::string_view mark : {"▲", "△", "☗", "☖", "▼", "▽"}) {
            if (skip(mark)) break;
        }
        to_ = destination();
        while (skip("　") || skip(" ")) {
        }
        std::size_t named_at = at_;
        PieceType type = NO_PIECE_TYPE;
        for (const Name& name : READ_NAMES) {
            if (skip(name.text)) {
                type = name.type;
                break;
            }
        }
        if (type == NO_PIECE_TYPE) fail(named_at, "a piece's name");
        for (bool more = true; more;) {
            more = false;
            if (skip(LEFT)) more = left_ = true;
            if (skip(RIGHT)) more = right_ = true;
            if (skip(STRAIGHT)) more = straight_ = true;
            if (skip(MOTION_WORDS[FORWARD]) || skip("行") || skip("入")) more = set_motion(FORWARD);
            if (skip(MOTION_WORDS[SIDEWAYS])) more = set_motion(SIDEWAYS);
            if (skip(MOTION_WORDS[BACKWARD])) more = set_motion(BACKWARD);
        }
        bool dropped = skip(DROPPED);
        bool stays = skip(STAYS) || skip("生");
        bool promotes = !stays && skip(PROMOTES);
        Square from = origin();
        while (skip("　") || skip(" ")) {
        }
        if (at_ < text_.size()) fail(at_, "the end of the move");
        if (dropped) {
            if (promotes || from != NO_SQUARE || type > GOLD)
                fail(named_at, "a plain piece before 打");
            return legal(Move::drop(type, to_));
        }
        if (from != NO_SQUARE) {
            if (position_.piece_on(from) != make_piece(position_.turn(), type)) {
                fail_illegal(position_, text_, "no such piece on " + square_name(from));
            }
            return legal(Move::board(from, to_, promotes, type, NO_PIECE_TYPE));
        }
        return choose(type, promotes);
    }

  private:
    [[noreturn]] void fail(std::size_t where, const char* expected) {
        fail_move("KIF move", text_, where, expected);
    }
    bool skip(std::string_view token) {
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    bool set_motion(Motion m) {
        motion_ = m;
        has_motion_ = true;
        return true;
    }
    int digit(const std::string_view* names) {
        for (int i = 0; i < 9; ++i) {
            if (skip(names[i])) return i;
        }
        if (at_ < text_.size() && text_[at_] >= '1' && text_[at_] <= '9') return text_[at_++] - '1';
        return -1;
    }
    Square destination() {
        if (skip(SAME)) {
            if (last_ == NO_SQUARE) fail(0, "a square, as there is no move before");
            return last_;
        }
        int file = digit(FILES);
        if (file < 0) fail(at_, "a file from １ to ９ or 同");
        int rank = digit(RANKS);
        if (rank < 0) rank = digit(FILES);
        if (rank < 0) fail(at_, "a rank from 一 to 九");
        return make_square(file, rank);
    }
    Square origin() {
        if (!skip("(")) return NO_SQUARE;
        int digits[2];
        for (int& d : digits) {
            if (at_ >= text_.size() || text_[at_] < '1' || text_[at_] > '9') {
                fail(at_, "a digit from 1 to 9");
            }
            d = text_[at_++] - '1';
        }
        if (!skip(")")) fail(at_, "')'");
        return make_square(digits[0], digits[1]);
    }
    Move legal(Move m) {
        Move found = is_well_formed(m.move16()) ? position_.from_move16(m.move16()) : Move();
        if (found.is_none()) fail_illegal(position_, text_, "");
        return found;
    }

    // The only legal move that matches the words.
    Move choose(PieceType type, bool promotes) {
        Color us = position_.turn();
        Move all[MAX_LEGAL_MOVES];
        int n = position_.legal_moves(all);
        std::vector<Move> found;
        Move drop;
        for (int i = 0; i < n; ++i) {
            Move m = all[i];
            if (m.to() != to_ || m.moved() != type || m.is_promotion() != promotes) continue;
            if (m.is_drop()) {
                drop = m;
                continue;
            }
            if (has_motion_ && motion(us, m.from(), to_) != motion_) continue;
            if (straight_ && !goes_straight(us, type, m.from(), to_)) continue;
            found.push_back(m);
        }
        if (left_ || right_) {
            int sign = left_ ? 1 : -1, most = -100;
            for (Move m : found) most = std::max(most, sign * leftness(us, m.from()));
            std::erase_if(found, [&](Move m) { return sign * leftness(us, m.from()) != most; });
        }
        bool words = left_ || right_ || straight_ || has_motion_;
        if (found.empty() && !words && !drop.is_none()) return drop;
        if (found.empty()) fail_illegal(position_, text_, "");
        if (found.size() > 1) {
            fail_illegal(
                position_, text_,
                "it could mean " + to_usi(found[0].move16()) + " or " + to_usi(found[1].move16()));
        }
        return found[0];
    }

    const Position& position_;
    std::string_view text_;
    Square last_;
    Square to_ = NO_SQUARE;
    std::size_t at_ = 0;
    bool left_ = false, right_ = false, straight_ = false, has_motion_ = false;
    Motion motion_ = FORWARD;
};

}  // namespace

std::string to_kif(const Position& position, Move m, Square last) {
    std::string text = destination(m.to(), last_square(position, last), "同　");
    text += NAMES[m.moved()];
    if (m.is_drop()) return text + std::string(DROPPED);
    if (m.is_promotion()) text += PROMOTES;
    text += '(';
    text += char('1' + file_of(m.from()));
    text += char('1' + rank_of(m.from()));
    return text + ')';
}

std::string to_ki2(const Position& position, Move m, Square last) {
    std::string text = destination(m.to(), last_square(position, last), SAME);
    text += NAMES[m.moved()];
    text += disambiguation(position, m);
    if (may_promote(position, m)) text += m.is_promotion() ? PROMOTES : STAYS;
    return text;
}

Move parse_kif_move(const Position& position, std::string_view text, Square last) {
    return Reader(position, text, last).read();
}

}  // namespace komadori
