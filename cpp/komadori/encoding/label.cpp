#include "komadori/encoding/label.h"

#include <algorithm>
#include <array>
#include <span>

#include "komadori/encoding/piece_order.h"
#include "komadori/rules/setup.h"

namespace komadori {
namespace {

constexpr std::array<const char*, MOVE_DIRECTIONS> DIRECTION_NAMES = {
    "UP",   "UP_LEFT",   "UP_RIGHT",   "LEFT",     "RIGHT",
    "DOWN", "DOWN_LEFT", "DOWN_RIGHT", "UP2_LEFT", "UP2_RIGHT",
};
using Directions = std::vector<MoveDirection>;
const Directions DLSHOGI_DIRECTIONS = {UP,   UP_LEFT,   UP_RIGHT,   LEFT,     RIGHT,
                                       DOWN, DOWN_LEFT, DOWN_RIGHT, UP2_LEFT, UP2_RIGHT};
// not522/CNNShogi, shogi.py.
const Directions CNNSHOGI_DIRECTIONS = {LEFT,       RIGHT,    UP,        DOWN,     UP_LEFT,
                                        DOWN_RIGHT, UP_RIGHT, DOWN_LEFT, UP2_LEFT, UP2_RIGHT};

std::string letters(PieceType t) { return piece_name(make_piece(BLACK, t)); }

// The directions in which a type moves, in the order of MoveDirection.
Directions directions_of(PieceType t) {
    bool has[MOVE_DIRECTIONS] = {};
    for (std::size_t r = 0; r < DIRECTION_OF_RELATION.size(); ++r) {
        if (TABLES.reach[BLACK][t] >> r & 1) has[DIRECTION_OF_RELATION[r]] = true;
    }
    Directions directions;
    for (int d = 0; d < MOVE_DIRECTIONS; ++d) {
        if (has[d]) directions.push_back(MoveDirection(d));
    }
    return directions;
}

LabelHead empty_head(const char* name) {
    LabelHead head;
    head.name = name;
    for (auto& of_type : head.board) {
        for (auto& of_direction : of_type) std::fill_n(of_direction, 2, std::int16_t(-1));
    }
    std::fill_n(head.drop, 8, std::int16_t(-1));
    return head;
}

std::int16_t add_plane(LabelHead& head, std::string name) {
    head.planes.push_back(std::move(name));
    head.size = int(head.planes.size()) * SQUARES;
    return std::int16_t(head.planes.size() - 1);
}

void add_drops(LabelHead& head, std::span<const PieceType> types) {
    for (PieceType t : types) head.drop[t] = add_plane(head, "drop " + letters(t));
}

// Direction and promotion, independent of the piece.
LabelHead direction_head(const Directions& directions, std::span<const PieceType> drops) {
    LabelHead head = empty_head("move");
    for (int promotes = 0; promotes < 2; ++promotes) {
        for (MoveDirection d : directions) {
            const auto plane =
                add_plane(head, std::string(DIRECTION_NAMES[d]) + (promotes ? " promoting" : ""));
            for (auto& of_type : head.board) of_type[d][promotes] = plane;
        }
    }
    add_drops(head, drops);
    return head;
}

// Piece type and direction; a type's promotions follow its directions. Six planes for promotions of
// gold are unused but kept, since the diary counts them.
LabelHead piece_head() {
    LabelHead head = empty_head("move");
    for (int t = PAWN; t <= DRAGON; ++t) {
        for (int promotes = 0; promotes < (t <= GOLD ? 2 : 1); ++promotes) {
            for (MoveDirection d : directions_of(PieceType(t))) {
                head.board[t][d][promotes] =
                    add_plane(head, letters(PieceType(t)) + " " + DIRECTION_NAMES[d] +
                                        (promotes ? " promoting" : ""));
            }
        }
    }
    add_drops(head, APERY_HAND_ORDER);
    return head;
}

// Destination by the piece's type before or after the move. Drops share the planes.
LabelHead destination_head(const char* name, bool after) {
    LabelHead head = empty_head(name);
    for (PieceType t : PYTHON_SHOGI_ORDER) {
        const auto plane = add_plane(head, letters(t));
        for (auto& of_direction : head.board[t]) of_direction[0] = plane;
        if (t <= GOLD) head.drop[t] = plane;
        if (!after && can_promote(t)) {
            for (auto& of_direction : head.board[t]) of_direction[1] = plane;
        }
        if (after && t > KING) {
            for (auto& of_direction : head.board[base_type(t)]) of_direction[1] = plane;
        }
    }
    return head;
}

LabelHead origin_head() {
    LabelHead head = empty_head("from");
    head.size = SQUARES + 7;
    head.is_origin = true;
    return head;
}

// Keeps the labels that a legal move can have: on an empty board the piece reaches the square from
// some origin, promotes only where allowed, and could move again from its destination.
LabelHead reachable(LabelHead head) {
    std::vector<bool> reached(std::size_t(head.size));
    const auto mark = [&](int plane, Square to) {
        if (plane >= 0) reached[std::size_t(plane * SQUARES + to)] = true;
    };
    const auto is_stuck = [](PieceType t, Square s) {
        return attacks(BLACK, t, s, Bitboard{}).none();
    };
    for (int type = PAWN; type <= DRAGON; ++type) {
        const auto t = PieceType(type);
        for (int from = 0; from < SQUARES; ++from) {
            attacks(BLACK, t, Square(from), Bitboard{}).each([&](Square to) {
                const auto& planes = head.board[t][direction_between(Square(from), to)];
                if (!is_stuck(t, to)) mark(planes[0], to);
                const bool in_zone = rank_of(Square(from)) < 3 || rank_of(to) < 3;
                if (can_promote(t) && in_zone) mark(planes[1], to);
            });
        }
        for (int to = 0; t <= GOLD && to < SQUARES; ++to) {
            if (!is_stuck(t, Square(to))) mark(head.drop[t], Square(to));
        }
    }
    head.rank.assign(reached.size(), -1);
    head.size = 0;
    for (std::size_t label = 0; label < reached.size(); ++label) {
        if (reached[label]) head.rank[label] = std::int16_t(head.size++);
    }
    return head;
}

std::vector<LabelScheme> make_schemes() {
    return {
        {"2187",
         "direction and promotion x destination, drops P L N S B R G",
         "dlshogi, cppshogi; every published dlshogi model",
         {direction_head(DLSHOGI_DIRECTIONS, APERY_HAND_ORDER)}},
        {"2187-pydlshogi",
         "as 2187, drops P L N S G B R",
         "pydlshogi, common.py and features.py",
         {direction_head(DLSHOGI_DIRECTIONS, HAND_TYPES)}},
        {"2187-cnnshogi",
         "as 2187 with CNNShogi's order of directions, drops P L N S G B R",
         "not522/CNNShogi, shogi.py (squares in this package's order)",
         {direction_head(CNNSHOGI_DIRECTIONS, HAND_TYPES)}},
        {"1496",
         "the labels of 2187 that a legal move can have",
         "derived from 2187, numbered in ascending order",
         {reachable(direction_head(DLSHOGI_DIRECTIONS, APERY_HAND_ORDER))}},
        {"8181",
         "piece type, direction and promotion x destination, drops P L N S B R G",
         "Yamaoka's diary: deep learning for shogi, parts 8 and 46",
         {piece_head()},
         true},
        {"5839",
         "the labels of 8181 that a legal move can have",
         "Yamaoka's diary: deep learning for shogi, part 47; numbered in ascending order of 8181",
         {reachable(piece_head())},
         true},
        {"1134",
         "piece type before the move x destination; drops share the planes",
         "Yamaoka's diary: deep learning for shogi, parts 4 to 7",
         {destination_head("to", false)},
         true,
         false},
        {"from-to",
         "two heads: origin (81 squares, then the hand P L N S B R G), and piece type after the "
         "move x destination",
         "Yamaoka's diary: deep learning for shogi, part 8, after GANShogi (WCSC27)",
         {origin_head(), destination_head("to", true)},
         true},
    };
}

}  // namespace

int LabelScheme::size() const {
    int sum = 0;
    for (const LabelHead& head : heads) sum += head.size;
    return sum;
}

int LabelScheme::label(Move m, Color turn, std::size_t h) const {
    const LabelHead& head = heads[h];
    const Square from = m.is_drop() || turn == BLACK ? m.from() : rotate(m.from());
    if (head.is_origin) return from;  // a drop's move16 origin is 81 + drop index
    const Square to = turn == BLACK ? m.to() : rotate(m.to());
    int plane = -1;
    if (m.is_drop()) {
        plane = head.drop[m.dropped()];
    } else if (const auto d = direction_between(from, to); d != NO_DIRECTION) {
        plane = head.board[m.moved()][d][m.is_promotion()];
    }
    if (plane < 0) return -1;
    const int label = plane * SQUARES + to;
    return head.rank.empty() ? label : head.rank[std::size_t(label)];
}

const std::vector<LabelScheme>& label_schemes() {
    // Never destroyed: a thread may still use it while the process exits.
    static const auto& schemes = *new std::vector<LabelScheme>(make_schemes());
    return schemes;
}

const LabelScheme* find_label_scheme(std::string_view name) {
    for (const LabelScheme& scheme : label_schemes()) {
        if (scheme.name == name) return &scheme;
    }
    return nullptr;
}

}  // namespace komadori
