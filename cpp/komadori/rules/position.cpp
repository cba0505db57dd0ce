#include "komadori/rules/position.h"

#include <algorithm>

#include "komadori/rules/errors.h"
#include "komadori/rules/zobrist.h"

namespace komadori {
namespace {

constexpr std::string_view START =
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

constexpr std::uint64_t side_key(Color turn) { return turn == WHITE ? ZOBRIST.white_to_move : 0; }

}  // namespace

Position::Position() {
    // Never destroyed: a thread may still use it while the process exits.
    static const Position& start = *[] {
        auto* position = new Position(std::vector<State>());
        position->set_sfen(START);
        return position;
    }();
    *this = start;
}

void Position::put(Square s, Piece p) {
    const Bitboard& bit = square_set(s);
    board_[s] = p;
    by_color_[color_of(p)] |= bit;
    by_type_[type_of(p)] |= bit;
    if (type_of(p) == KING) king_[color_of(p)] = s;
}

// Fast check from the piece sets; where it fails, Setup::validate decides and throws. Stricter than
// validate, which allows two pawns on a file.
bool Position::is_valid_board(const PieceList& list) const {
    int left[9];
    std::copy(std::begin(PIECES_IN_SET), std::end(PIECES_IN_SET), left);
    for (Color c : {BLACK, WHITE}) {
        if (pieces(c, KING).more_than_one()) return false;
        unsigned files = 0;
        int pawns = 0;
        pieces(c, PAWN).each([&](Square s) {
            files |= 1u << file_of(s);
            ++pawns;
        });
        if (std::popcount(files) != pawns) return false;
        Bitboard stuck =
            (pieces(PAWN, LANCE) & far_ranks(c, 1)) | (by_type_[KNIGHT] & far_ranks(c, 2));
        if ((stuck & by_color_[c]).any()) return false;
        for (PieceType t : HAND_TYPES) left[t] -= list.hand[c][t];
    }
    for (PieceType t : HAND_TYPES) {
        left[t] -= by_type_[t].count();
        if (t != GOLD) left[t] -= by_type_[promoted_type(t)].count();
        if (left[t] < 0) return false;
    }
    return true;
}

void Position::set(const PieceList& list, int ply) {
    Position fresh{std::vector<State>()};
    State state;
    fresh.turn_ = list.turn;
    fresh.first_ply_ = ply;
    for (int i = 0; i < list.pieces; ++i) {
        auto [square, piece] = list.board[std::size_t(i)];
        fresh.put(square, piece);
        state.board_key ^= ZOBRIST.piece[piece][square];
    }
    state.board_key ^= side_key(list.turn);
    if (!fresh.is_valid_board(list) || ply < 1 || ply > MAX_PLY) {
        Setup setup = to_setup(list);
        setup.ply = ply;
        setup.validate();
    }
    for (Color c : {BLACK, WHITE}) {
        for (PieceType t : HAND_TYPES) {
            int n = list.hand[c][t];
            state.hand[c].add(t, n);
            state.hand_key += std::uint64_t(n) * ZOBRIST.hand[c][t];
        }
    }
    Color us = list.turn, them = opponent(us);
    if (fresh.king_[them] != NO_SQUARE) {
        Bitboard checking = fresh.attackers(us, fresh.king_[them], fresh.occupied());
        if (checking.any()) {
            Square from = checking.first();
            throw PositionError(std::string(us == BLACK ? "White" : "Black") + "'s king on " +
                                square_name(fresh.king_[them]) + " is in check from " +
                                square_name(from) + " though it is the other side's move");
        }
    }
    if (fresh.king_[us] != NO_SQUARE) {
        state.checkers = fresh.attackers(them, fresh.king_[us], fresh.occupied());
    }
    states_.clear();  // keeps its capacity
    states_.push_back(state);
    fresh.states_.swap(states_);
    *this = std::move(fresh);
}

void Position::set(const Setup& setup) {
    setup.validate();  // before the copy: there may be too many pieces for a list
    PieceList list;
    list.turn = setup.turn;
    list.pieces = 0;
    list.hand = setup.hand;
    for (Square s = 0; s < SQUARES; ++s) {
        if (setup.board[s] != NO_PIECE) {
            list.board[std::size_t(list.pieces++)] = {s, setup.board[s]};
        }
    }
    set(list, setup.ply);
}

void Position::set_sfen(std::string_view sfen) { set(parse_sfen(sfen)); }
void Position::set_hcp(PackedView bytes, int ply) { set(list_hcp(bytes), ply); }

void Position::set_packed_sfen(PackedView bytes, int ply) { set(list_packed_sfen(bytes), ply); }

Setup Position::setup() const {
    Setup setup;
    for (Square s = 0; s < SQUARES; ++s) setup.board[s] = piece_on(s);
    for (Color c : {BLACK, WHITE}) {
        for (PieceType t : HAND_TYPES) setup.hand[c][t] = std::uint8_t(hand(c, t));
    }
    setup.turn = turn_;
    setup.ply = ply();
    return setup;
}

std::string Position::sfen() const { return to_sfen(setup()); }
PackedBytes Position::hcp() const { return encode_hcp(setup()); }
PackedBytes Position::packed_sfen() const { return encode_packed_sfen(setup()); }

Bitboard Position::attackers(Color c, Square s, const Bitboard& occupied) const {
    Color from =
        opponent(c);  // a piece of c attacks s if the opponent's same piece on s attacks it
    const Bitboard& own = by_color_[c];
    Bitboard found = (step_attacks(from, PAWN, s) & by_type_[PAWN]) |
                     (step_attacks(from, KNIGHT, s) & by_type_[KNIGHT]) |
                     (step_attacks(from, SILVER, s) & by_type_[SILVER]) |
                     (gold_attacks(from, s) & golds()) |
                     (king_attacks(s) & pieces(KING, HORSE, DRAGON));
    if (Bitboard sliders = own & TABLES.lines[s] & pieces(LANCE, BISHOP, HORSE, ROOK, DRAGON);
        sliders.any()) {
        found |= lance_attacks(from, s, occupied) & by_type_[LANCE];
        found |= bishop_attacks(s, occupied) & pieces(BISHOP, HORSE);
        found |= rook_attacks(s, occupied) & pieces(ROOK, DRAGON);
    }
    return found & own;
}

Bitboard Position::blockers(Color c, Color king_color) const {
    Bitboard found;
    Square king = king_[king_color];
    if (king == NO_SQUARE) return found;
    Bitboard sliders = by_color_[opponent(king_color)] & TABLES.lines[king] &
                       pieces(LANCE, BISHOP, HORSE, ROOK, DRAGON);
    Bitboard all = occupied();
    sliders.each([&](Square s) {
        Relation r = relation(s, king);
        // Tests the sliding direction, also for a slider that is adjacent to the king.
        Relation far = Relation(9 + direction_of(r));
        if (!(TABLES.reach[opponent(king_color)][type_of(piece_on(s))] >> far & 1)) return;
        Bitboard inside = between(s, king, direction_of(r)) & all;
        if (inside.any() && !inside.more_than_one()) found |= inside;
    });
    return found & by_color_[c];
}

bool Position::gives_check(Move m) const {
    Square king = king_[opponent(turn_)];
    if (king == NO_SQUARE) return false;
    Square to = m.to();
    Bitboard all = occupied() | square_set(to);
    if (!m.is_drop()) {
        all ^= square_set(m.from());
        Relation r = relation(king, m.from());
        if (is_line(r)) {
            Direction d = direction_of(r);
            Bitboard hit =
                TABLES.ray[d][king] & by_color_[turn_] & pieces(LANCE, BISHOP, HORSE, ROOK, DRAGON);
            if (hit.any() && r != relation(king, to)) {
                Bitboard seen = ray_attacks(d, king, all) & hit;
                seen = seen.without(square_set(m.from()));
                if (seen.any()) {
                    Relation far = Relation(9 + reverse(d));
                    if (TABLES.reach[turn_][type_of(piece_on(seen.first()))] >> far & 1) {
                        return true;
                    }
                }
            }
        }
    }
    PieceType after = m.is_promotion() ? promoted_type(m.moved()) : m.moved();
    Relation r = relation(to, king);
    if (!(TABLES.reach[turn_][after] >> r & 1)) return false;
    return !is_far(r) || (between(to, king, direction_of(r)) & all).none();
}

void Position::do_move(Move m) {
    Color us = turn_, them = opponent(us);
    Square to = m.to(), king = king_[them];
    states_.push_back(states_.back());
    State& state = states_.back();
    state.move = m;
    state.checkers = Bitboard{};
    PieceType after = m.moved();
    if (m.is_drop()) {
        const Bitboard& bit = square_set(to);
        by_color_[us] ^= bit;
        by_type_[after] ^= bit;
        board_[to] = make_piece(us, after);
        state.hand[us].take(after);
        state.hand_key -= ZOBRIST.hand[us][after];
        state.board_key ^= ZOBRIST.piece[make_piece(us, after)][to];
    } else {
        Square from = m.from();
        const Bitboard &from_bit = square_set(from), &to_bit = square_set(to);
        if (PieceType captured = m.captured()) {
            by_color_[them] ^= to_bit;
            by_type_[captured] ^= to_bit;
            state.board_key ^= ZOBRIST.piece[make_piece(them, captured)][to];
            PieceType base = base_type(captured);
            state.hand[us].add(base);
            state.hand_key += ZOBRIST.hand[us][base];
        }
        by_color_[us] ^= from_bit | to_bit;
        by_type_[after] ^= from_bit;
        state.board_key ^= ZOBRIST.piece[make_piece(us, after)][from];
        if (after == KING) king_[us] = to;
        if (m.is_promotion()) after = promoted_type(after);
        by_type_[after] ^= to_bit;
        state.board_key ^= ZOBRIST.piece[make_piece(us, after)][to];
        board_[from] = NO_PIECE;
        board_[to] = make_piece(us, after);
        if (king != NO_SQUARE) {
            Relation r = relation(king, from);
            if (is_line(r)) {
                Direction d = direction_of(r);
                Bitboard sliders = TABLES.ray[d][king] & by_color_[us] &
                                   pieces(LANCE, BISHOP, HORSE, ROOK, DRAGON);
                if (sliders.any()) {
                    Bitboard seen = ray_attacks(d, king, occupied()) & sliders;
                    if (seen.any()) {
                        Relation far = Relation(9 + reverse(d));
                        PieceType t = type_of(piece_on(seen.first()));
                        if (TABLES.reach[us][t] >> far & 1) state.checkers |= seen;
                    }
                }
            }
        }
    }
    if (king != NO_SQUARE) {
        Relation r = relation(to, king);
        if (TABLES.reach[us][after] >> r & 1) {
            if (!is_far(r) || (between(to, king, direction_of(r)) & occupied()).none()) {
                state.checkers |= square_set(to);
            }
        }
    }
    state.board_key ^= ZOBRIST.white_to_move;
    state.check_plies[us] =
        state.checkers.any() ? std::uint16_t(state.check_plies[us] + 2) : std::uint16_t(0);
    turn_ = them;
}

std::uint64_t Position::key_after(Move m) const {
    Color us = turn_, them = opponent(us);
    std::uint64_t board = states_.back().board_key ^ ZOBRIST.white_to_move;
    std::uint64_t held = states_.back().hand_key;
    PieceType after = m.moved();
    if (m.is_drop()) {
        held -= ZOBRIST.hand[us][after];
    } else {
        board ^= ZOBRIST.piece[make_piece(us, after)][m.from()];
        if (PieceType captured = m.captured()) {
            board ^= ZOBRIST.piece[make_piece(them, captured)][m.to()];
            held += ZOBRIST.hand[us][base_type(captured)];
        }
        if (m.is_promotion()) after = promoted_type(after);
    }
    board ^= ZOBRIST.piece[make_piece(us, after)][m.to()];
    return board ^ held;
}

void Position::undo_move() {
    Move m = states_.back().move;
    states_.pop_back();
    Color them = turn_, us = opponent(them);
    turn_ = us;
    Square to = m.to();
    const Bitboard& to_bit = square_set(to);
    PieceType moved = m.moved();
    if (m.is_drop()) {
        by_color_[us] ^= to_bit;
        by_type_[moved] ^= to_bit;
        board_[to] = NO_PIECE;
        return;
    }
    Square from = m.from();
    const Bitboard& from_bit = square_set(from);
    by_color_[us] ^= from_bit | to_bit;
    by_type_[m.is_promotion() ? promoted_type(moved) : moved] ^= to_bit;
    by_type_[moved] ^= from_bit;
    board_[from] = make_piece(us, moved);
    if (moved == KING) king_[us] = from;
    if (PieceType captured = m.captured()) {
        by_color_[them] ^= to_bit;
        by_type_[captured] ^= to_bit;
        board_[to] = make_piece(them, captured);
    } else {
        board_[to] = NO_PIECE;
    }
}

bool Position::has_same_position(const Position& other) const {
    return turn_ == other.turn_ && hand(BLACK) == other.hand(BLACK) &&
           hand(WHITE) == other.hand(WHITE) && std::equal(board_, board_ + SQUARES, other.board_);
}

void Position::do_null_move() {
    states_.push_back(states_.back());
    State& state = states_.back();
    state.move = Move();
    state.board_key ^= ZOBRIST.white_to_move;
    state.checkers = Bitboard{};
    state.check_plies[BLACK] = state.check_plies[WHITE] = 0;
    state.first_comparable = path_length();
    turn_ = opponent(turn_);
}

void Position::undo_null_move() {
    states_.pop_back();
    turn_ = opponent(turn_);
}

bool Position::is_consistent() const {
    Position fresh;
    fresh.set(setup());
    const State &a = states_.back(), &b = fresh.states_.back();
    return a.board_key == b.board_key && a.hand_key == b.hand_key && a.checkers == b.checkers &&
           a.hand[0] == b.hand[0] && a.hand[1] == b.hand[1] &&
           std::equal(by_color_, by_color_ + 2, fresh.by_color_) &&
           std::equal(by_type_, by_type_ + 16, fresh.by_type_) && king_[0] == fresh.king_[0] &&
           king_[1] == fresh.king_[1];
}

// As in Apery, dlshogi and YaneuraOu: compares with every second earlier position of the path. A
// side has given perpetual check if each of its moves since the earliest counted occurrence was a
// check.
Repetition Position::repetition(int occurrences) const {
    const State& now = states_.back();
    Repetition dominance = Repetition::NONE;
    int seen = 1;
    Color us = turn_, them = opponent(us);
    int last = path_length(), reach = last - now.first_comparable;
    for (int back = 4; back <= reach; back += 2) {
        const State& then = states_[std::size_t(last - back)];
        if (then.board_key != now.board_key) continue;
        if (then.hand_key == now.hand_key) {
            if (++seen < occurrences) continue;
            if (back <= now.check_plies[us]) return Repetition::LOSS;
            if (back <= now.check_plies[them]) return Repetition::WIN;
            return Repetition::DRAW;
        }
        if (dominance == Repetition::NONE && seen == 1) {
            if (now.hand[us].holds_all_of(then.hand[us])) {
                dominance = Repetition::SUPERIOR;
            } else if (then.hand[us].holds_all_of(now.hand[us])) {
                dominance = Repetition::INFERIOR;
            }
            if (dominance != Repetition::NONE && occurrences <= 2) return dominance;
        }
    }
    return dominance;
}

int Position::declaration_points() const {
    Color us = turn_;
    if (king_[us] == NO_SQUARE || in_check()) return -1;
    Bitboard zone = us == BLACK ? far_ranks(BLACK, 3) : far_ranks(WHITE, 3);
    if (!zone.has(king_[us])) return -1;
    Bitboard inside = by_color_[us] & zone;
    int number = inside.count() - 1;
    if (number < 10) return -1;
    Bitboard large = inside & pieces(BISHOP, ROOK, HORSE, DRAGON);
    int points = number + 4 * large.count();
    for (PieceType t : HAND_TYPES) {
        points += hand(us, t) * (t == BISHOP || t == ROOK ? 5 : 1);
    }
    return points;
}

}  // namespace komadori
