// komadori._core.rules: Move and Position. komadori.rules.Board builds on Position.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <array>
#include <map>
#include <optional>
#include <variant>

#include "gil.h"
#include "komadori/rules/declaration.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/rules/perft.h"
#include "komadori/rules/position.h"
#include "module.h"

namespace komadori {
namespace {

// Python's Move: a move16, independent of the position.
struct PlainMove {
    std::uint16_t bits;
    bool operator==(const PlainMove&) const = default;
};

// One Python object per move: moves are immutable, and a lookup is cheaper than a new object.
std::array<PyObject*, 1 << 15> interned{};

nb::object move_object(std::uint16_t move16) {
    PyObject*& slot = interned[move16 & 0x7fff];
    if (!slot) slot = nb::cast(PlainMove{move16}).release().ptr();
    return nb::borrow(slot);
}

void clear_interned_moves() {
    for (PyObject*& slot : interned) Py_CLEAR(slot);
}

nb::object move_from_bits(int move16) {
    if (move16 < 0 || move16 > 0x7fff || !is_well_formed(std::uint16_t(move16))) {
        throw MoveError("move16 " + std::to_string(move16) + " is not a move");
    }
    return move_object(std::uint16_t(move16));
}

nb::list move_list(const Position& position) {
    Move moves[MAX_LEGAL_MOVES];
    int n = position.legal_moves(moves);
    PyObject* list = PyList_New(n);
    if (!list) throw nb::python_error();
    for (int i = 0; i < n; ++i) {
        NB_LIST_SET_ITEM(list, i, move_object(moves[i].move16()).release().ptr());
    }
    return nb::steal<nb::list>(list);
}

nb::object item_of(const nb::object& list, nb::handle key) {
    PyObject* item = PyObject_GetItem(list.ptr(), key.ptr());
    if (!item) throw nb::python_error();
    return nb::steal(item);
}

// board.legal_moves: a live view of the position.
struct LegalMoves {
    const Position* position;
};

// A move, or USI text.
using MoveOrText = std::variant<PlainMove, std::string_view>;

std::uint16_t bits_of(const MoveOrText& m) {
    if (const auto* text = std::get_if<std::string_view>(&m)) return parse_usi_move(*text);
    return std::get<PlainMove>(m).bits;
}

bool contains(const Position& position, const MoveOrText& m) {
    return !position.from_move16(bits_of(m)).is_none();
}

Square checked_square(int square) {
    if (square < 0 || square >= SQUARES) {
        throw nb::index_error("a square must be 0 to 80");
    }
    return Square(square);
}

Square last_square(std::optional<int> last) { return last ? checked_square(*last) : NO_SQUARE; }

Color checked_color(int color) {
    if (color != BLACK && color != WHITE) throw nb::value_error("a colour must be 0 or 1");
    return Color(color);
}

PackedView checked_bytes(const nb::bytes& bytes, const char* name) {
    if (bytes.size() != 32) {
        throw HcpError(std::string(name) + " must have 32 bytes, not " +
                       std::to_string(bytes.size()));
    }
    return PackedView(static_cast<const std::uint8_t*>(bytes.data()), 32);
}

nb::list squares(Bitboard set) {
    nb::list list;
    set.each([&](Square s) { list.append(int(s)); });
    return list;
}

std::uint16_t last_move(const Position& p) {
    if (p.path_length() == 0) throw nb::index_error("no move has been made");
    return p.path_move(p.path_length() - 1).move16();
}

nb::bytes to_bytes(const PackedBytes& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

void bind_errors(nb::module_& m) {
    // Translators are tried in reverse order of registration, so base classes come first.
    auto base = nb::exception<RulesError>(m, "RulesError", PyExc_ValueError);
    nb::exception<SfenError>(m, "SfenError", base.ptr());
    nb::exception<HcpError>(m, "HcpError", base.ptr());
    nb::exception<PositionError>(m, "PositionError", base.ptr());
    auto move = nb::exception<MoveError>(m, "MoveError", base.ptr());
    nb::exception<IllegalMoveError>(m, "IllegalMoveError", move.ptr());
}

void bind_move(nb::module_& m) {
    nb::class_<PlainMove>(m, "Move",
                          "A move, by its origin or dropped piece, destination and promotion.")
        .def(nb::new_([](std::string_view t) { return move_object(parse_usi_move(t)); }),
             nb::arg("usi"))
        .def_static(
            "from_usi", [](std::string_view t) { return move_object(parse_usi_move(t)); },
            nb::arg("text"), nb::sig("def from_usi(text: str) -> Move"))
        .def_static("from_move16", &move_from_bits, nb::arg("move16"),
                    nb::sig("def from_move16(move16: int) -> Move"))
        .def("usi", [](const PlainMove& m) { return to_usi(m.bits); })
        .def_prop_ro("move16", [](const PlainMove& m) { return int(m.bits); })
        .def_prop_ro("to_square", [](const PlainMove& m) { return int(Move(m.bits).to()); })
        .def_prop_ro(
            "from_square",
            [](const PlainMove& m) -> nb::object {
                if (Move(m.bits).is_drop()) return nb::none();
                return nb::int_(int(Move(m.bits).from()));
            },
            nb::sig("def from_square(self) -> int | None"))
        .def_prop_ro(
            "drop",
            [](const PlainMove& m) -> nb::object {
                if (!Move(m.bits).is_drop()) return nb::none();
                return nb::int_(int(Move(m.bits).dropped()));
            },
            nb::sig("def drop(self) -> int | None"))
        .def_prop_ro("promotion", [](const PlainMove& m) { return Move(m.bits).is_promotion(); })
        .def("__str__", [](const PlainMove& m) { return to_usi(m.bits); })
        .def("__repr__", [](const PlainMove& m) { return "Move('" + to_usi(m.bits) + "')"; })
        .def("__hash__", [](const PlainMove& m) { return Py_hash_t(m.bits); })
        .def(
            "__eq__",
            [](const PlainMove& a, nb::handle b) {
                PlainMove other{};
                return nb::try_cast(b, other) && a == other;
            },
            nb::arg("other").none())
        .def(
            "__reduce__",
            [](const PlainMove& move) {
                return nb::make_tuple(nb::type<PlainMove>(), nb::make_tuple(to_usi(move.bits)));
            },
            nb::sig("def __reduce__(self) -> tuple[type[Move], tuple[str]]"));
}

void bind_legal_moves(nb::module_& m) {
    nb::class_<LegalMoves>(m, "LegalMoves", "A live view of a board's legal moves.")
        .def(
            "__iter__", [](const LegalMoves& v) { return nb::iter(move_list(*v.position)); },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[Move]"))
        .def("__len__", [](const LegalMoves& v) { return v.position->count_legal_moves(); })
        .def("__bool__", [](const LegalMoves& v) { return v.position->has_legal_moves(); })
        .def(
            "__getitem__",
            [](const LegalMoves& v, const nb::int_& index) {
                return item_of(move_list(*v.position), index);
            },
            nb::sig("def __getitem__(self, index: int) -> Move"))
        .def(
            "__getitem__",
            [](const LegalMoves& v, const nb::slice& range) {
                return item_of(move_list(*v.position), range);
            },
            nb::sig("def __getitem__(self, range: slice) -> list[Move]"))
        .def("__contains__",
             [](const LegalMoves& v, const PlainMove& m) { return contains(*v.position, m); })
        .def("__contains__",
             [](const LegalMoves& v, std::string_view usi) {
                 try {
                     return contains(*v.position, usi);
                 } catch (const MoveError&) {
                     return false;
                 }
             })
        .def(
            "__contains__", [](const LegalMoves&, nb::handle) { return false; }, nb::arg().none())
        .def("__repr__", [](const LegalMoves& v) {
            std::string text = "<LegalMoves";
            for (nb::handle move : move_list(*v.position)) {
                text += ' ' + to_usi(nb::cast<PlainMove>(move).bits);
            }
            return text + '>';
        });
}

void bind_position(nb::module_& m) {
    nb::class_<Position> board(m, "Position",
                               "A position with its path: the core of komadori.rules.Board.");
    board.def(nb::init<>())
        .def(nb::init<const Position&>(), nb::arg("other"))
        .def("set_sfen", &Position::set_sfen, nb::arg("sfen"),
             "Set an SFEN and clear the path. On SfenError or PositionError, the board is "
             "unchanged.")
        .def(
            "set_hcp",
            [](Position& p, const nb::bytes& b, int ply) {
                p.set_hcp(checked_bytes(b, "hcp"), ply);
            },
            nb::arg("hcp"), nb::arg("ply") = 1, "Like set_sfen, from 32 bytes. Raises HcpError.")
        .def(
            "set_packed_sfen",
            [](Position& p, const nb::bytes& b, int ply) {
                p.set_packed_sfen(checked_bytes(b, "packed sfen"), ply);
            },
            nb::arg("packed"), nb::arg("ply") = 1, "Like set_sfen, from 32 bytes. Raises HcpError.")
        .def("sfen", &Position::sfen, "The position's SFEN, with the move number.")
        .def(
            "hcp", [](const Position& p) { return to_bytes(p.hcp()); },
            "HuffmanCodedPos of Apery and dlshogi, 32 bytes. Raises HcpError if a king is missing "
            "or a piece is in the box.")
        .def(
            "packed_sfen", [](const Position& p) { return to_bytes(p.packed_sfen()); },
            "PackedSfen of YaneuraOu, 32 bytes. Raises HcpError like hcp.")
        .def_prop_ro(
            "turn", [](const Position& p) { return int(p.turn()); },
            "The side to move: BLACK (0) or WHITE (1).")
        .def_prop_ro("ply", &Position::ply, "The number of the next move.")
        .def_prop_ro("key", &Position::key,
                     "64-bit hash of board, hands and side to move; the same in every build.")
        .def_prop_ro("board_key", &Position::board_key, "64-bit hash of board and side to move.")
        .def("has_same_position", &Position::has_same_position, nb::arg("other"),
             "Whether pieces, hands and side to move are equal.")
        .def(
            "king",
            [](const Position& p, int color) -> nb::object {
                Square s = p.king(checked_color(color));
                if (s == NO_SQUARE) return nb::none();
                return nb::int_(int(s));
            },
            nb::arg("color"), nb::sig("def king(self, color: int) -> int | None"),
            "The king's square, None if it is missing.")
        .def(
            "piece_code",
            [](const Position& p, int s) { return int(p.piece_on(checked_square(s))); },
            nb::arg("square"), "The piece type, plus 16 if White owns it; 0 for an empty square.")
        .def(
            "hand",
            [](const Position& p, int color, int t) {
                if (t < PAWN || t > GOLD) throw nb::value_error("not a piece type of a hand");
                return p.hand(checked_color(color), PieceType(t));
            },
            nb::arg("color"), nb::arg("piece_type"),
            "The number of a side's pieces of a type in hand.");

    board.def("is_check", &Position::in_check, "Whether the side to move is in check.")
        .def(
            "checkers", [](const Position& p) { return squares(p.checkers()); },
            nb::sig("def checkers(self) -> list[int]"), "The squares of the pieces giving check.")
        .def(
            "attackers",
            [](const Position& p, int color, int s) {
                return squares(p.attackers(checked_color(color), checked_square(s), p.occupied()));
            },
            nb::arg("color"), nb::arg("square"),
            nb::sig("def attackers(self, color: int, square: int) -> list[int]"),
            "The squares of a side's pieces that attack a square; pins are ignored.")
        .def(
            "is_attacked_by",
            [](const Position& p, int color, int s) {
                return p.is_attacked(checked_color(color), checked_square(s), p.occupied());
            },
            nb::arg("color"), nb::arg("square"))
        .def(
            "pinned",
            [](const Position& p, int color) {
                Color c = checked_color(color);
                return squares(p.blockers(c, c));
            },
            nb::arg("color"), nb::sig("def pinned(self, color: int) -> list[int]"),
            "The squares of a side's pieces that are pinned to its king.");

    board
        .def_prop_ro(
            "legal_moves", [](const Position& p) { return LegalMoves{&p}; }, nb::keep_alive<0, 1>(),
            "Every legal move, including non-promotions; supports iteration, len(), indices, "
            "slices, and `in` with a Move or USI text.")
        .def("is_legal", &contains, nb::arg("move"),
             "Whether a move, given as Move or USI text, is legal. Raises MoveError.")
        .def(
            "gives_check",
            [](const Position& p, const MoveOrText& move) {
                return p.gives_check(require_legal(p, bits_of(move)));
            },
            nb::arg("move"),
            "Whether a legal move, given as Move or USI text, gives check. Raises MoveError, "
            "IllegalMoveError.")
        .def(
            "push",
            [](Position& p, const PlainMove& move) { p.do_move(require_legal(p, move.bits)); },
            nb::arg("move"), "Make a move. On IllegalMoveError, the board is unchanged.")
        .def(
            "push",
            [](Position& p, std::string_view text) {
                p.do_move(require_legal(p, parse_usi_move(text)));
            },
            nb::arg("move"), "Make a move given as USI text. Raises MoveError, IllegalMoveError.")
        .def(
            "push_usi",
            [](Position& p, std::string_view text) {
                Move move = require_legal(p, parse_usi_move(text));
                p.do_move(move);
                return move_object(move.move16());
            },
            nb::arg("text"), nb::sig("def push_usi(self, text: str) -> Move"),
            "Make a move given as USI text, and return it. Raises MoveError or IllegalMoveError.")
        .def(
            "pop",
            [](Position& p) {
                std::uint16_t bits = last_move(p);
                p.undo_move();
                return move_object(bits);
            },
            nb::sig("def pop(self) -> Move"),
            "Undo the last move and return it. Raises IndexError if there is none.")
        .def(
            "peek", [](const Position& p) { return move_object(last_move(p)); },
            nb::sig("def peek(self) -> Move"), "The last move. Raises IndexError if there is none.")
        .def_prop_ro(
            "moves",
            [](const Position& p) {
                nb::list moves;
                for (int i = 0; i < p.path_length(); ++i) {
                    moves.append(move_object(p.path_move(i).move16()));
                }
                return moves;
            },
            nb::sig("def moves(self) -> list[Move]"), "The moves made since the position was set.")
        .def(
            "move_from_move16",
            [](const Position& p, int move16) {
                if (move16 < 0 || move16 > 0xffff) throw MoveError("a move16 must have 16 bits");
                return move_object(require_legal(p, std::uint16_t(move16)).move16());
            },
            nb::arg("move16"), nb::sig("def move_from_move16(self, move16: int) -> Move"),
            "The legal move of a move16. Raises MoveError or IllegalMoveError.");

    board
        .def(
            "parse_usi",
            [](const Position& p, std::string_view text) {
                return move_object(require_legal(p, parse_usi_move(text)).move16());
            },
            nb::arg("text"), nb::sig("def parse_usi(self, text: str) -> Move"),
            "The legal move of a USI text. Raises MoveError or IllegalMoveError.")
        .def(
            "csa",
            [](const Position& p, const MoveOrText& m) {
                return to_csa(p, require_legal(p, bits_of(m)));
            },
            nb::arg("move"),
            "A legal move, given as Move or USI text, in CSA: `+7776FU`. Raises MoveError, "
            "IllegalMoveError.")
        .def(
            "parse_csa",
            [](const Position& p, std::string_view text) {
                return move_object(parse_csa_move(p, text).move16());
            },
            nb::arg("text"), nb::sig("def parse_csa(self, text: str) -> Move"),
            "The legal move of a CSA text, with or without the side's sign. Raises MoveError or "
            "IllegalMoveError.")
        .def(
            "kif",
            [](const Position& p, const MoveOrText& m, std::optional<int> last) {
                return to_kif(p, require_legal(p, bits_of(m)), last_square(last));
            },
            nb::arg("move"), nb::arg("last") = nb::none(),
            "A legal move, given as Move or USI text, in KIF: `７六歩(77)`. With an empty "
            "path, 同 refers to the square `last`. Raises MoveError, IllegalMoveError.")
        .def(
            "ki2",
            [](const Position& p, const MoveOrText& m, std::optional<int> last) {
                return to_ki2(p, require_legal(p, bits_of(m)), last_square(last));
            },
            nb::arg("move"), nb::arg("last") = nb::none(),
            "A legal move, given as Move or USI text, in KI2: `７六歩`, `同銀右`. `last` "
            "and errors as in kif.")
        .def(
            "parse_kif",
            [](const Position& p, std::string_view text, std::optional<int> last) {
                return move_object(parse_kif_move(p, text, last_square(last)).move16());
            },
            nb::arg("text"), nb::arg("last") = nb::none(),
            nb::sig("def parse_kif(self, text: str, last: int | None = None) -> Move"),
            "The legal move of a KIF or KI2 text. Raises MoveError or IllegalMoveError.");

    board
        .def("repetition", &Position::repetition, nb::arg("occurrences") = 4,
             "How the position repeats an earlier one of the path. DRAW, WIN and LOSS need "
             "`occurrences` occurrences, including this one.")
        .def(
            "declaration_points",
            [](const Position& p) -> nb::object {
                int points = p.declaration_points();
                if (points < 0) return nb::none();
                return nb::int_(points);
            },
            nb::sig("def declaration_points(self) -> int | None"),
            "The side to move's points for an entering-king declaration; None unless its king and "
            "ten other pieces are in the zone and it is not in check.")
        .def(
            "can_declare_win",
            [](const Position& p, int black, int white) {
                return p.can_declare_win({black, white});
            },
            nb::arg("points_black") = POINTS_27[BLACK], nb::arg("points_white") = POINTS_27[WHITE],
            "Whether a declaration wins. Defaults: the 27-point rule; 24-point rule: 31, 31.")
        .def(
            "mate_in_one",
            [](const Position& p) -> nb::object {
                Move move = p.mate_in_one();
                if (move.is_none()) return nb::none();
                return move_object(move.move16());
            },
            nb::sig("def mate_in_one(self) -> Move | None"), "A mating move, or None.")
        .def("is_consistent", &Position::is_consistent,
             "Recomputes keys, checkers and piece sets from the board and compares; for tests.")
        .def(
            "perft",
            [](const Position& p, int depth) {
                if (depth < 0) throw nb::value_error("depth must be at least 0");
                Position copy = p;
                ReleaseGil release;
                return perft(copy, depth);
            },
            nb::arg("depth"),
            "The number of leaves of the legal move tree (bulk counting). Releases the GIL.\n\n"
            "Raises ValueError for a negative depth.");
}

}  // namespace
}  // namespace komadori

void bind_rules(nb::module_& m) {
    using namespace komadori;
    bind_errors(m);
    bind_move(m);
    bind_legal_moves(m);
    nb::enum_<Repetition>(m, "Repetition",
                          "How a position repeats an earlier one, from the side to move's view.")
        .value("NONE", Repetition::NONE)
        .value("DRAW", Repetition::DRAW)
        .value("WIN", Repetition::WIN)
        .value("LOSS", Repetition::LOSS)
        .value("SUPERIOR", Repetition::SUPERIOR)
        .value("INFERIOR", Repetition::INFERIOR);

    bind_position(m);
    m.def(
        "declaration_rules",
        [] {
            return std::map<std::string, std::pair<int, int>>{
                {"27", {POINTS_27[BLACK], POINTS_27[WHITE]}},
                {"24", {POINTS_24[BLACK], POINTS_24[WHITE]}},
                {"none", {NO_DECLARATION[BLACK], NO_DECLARATION[WHITE]}}};
        },
        "Points that Black and White need to declare a win, by the name of the rule.");

    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&clear_interned_moves));
}
