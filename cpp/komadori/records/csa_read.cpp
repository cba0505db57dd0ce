#include <algorithm>
#include <cmath>
#include <optional>

#include "komadori/records/csa.h"
#include "komadori/records/csa_names.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/rules/position.h"
#include "komadori/rules/text.h"

namespace komadori {
namespace {

using csa::Outcome;
using std::string_view;

constexpr string_view BYTE_ORDER_MARK = "\xef\xbb\xbf";
constexpr int MAX_LINE_MOVES = 128;  // of a `'** cp pv`; the rest is ignored
// Of one game, as in kif.py: a small archive that unpacks to gigabytes doesn't take the memory.
constexpr std::size_t MAX_BYTES = 1 << 24, MAX_LINES = 200'000;
constexpr const char* TOO_MANY_BYTES = "a game of more than 16 MB";
constexpr const char* TOO_MANY_LINES = "a game of more than 200,000 lines";

// An error that makes the game a fault; `at` points into the text.
struct BadStatement {
    const char* at;
    std::string reason;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

string_view trimmed(string_view s) {
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r'))
        s.remove_suffix(1);
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    return s;
}

// Removes a decimal number ("+12", "-3.5") from the front of s; nullopt if there is none.
std::optional<double> take_number(string_view& s) {
    string_view rest = s;
    const bool negative = rest.starts_with('-');
    if (negative || rest.starts_with('+')) rest.remove_prefix(1);
    double value = 0, unit = 1;
    std::size_t digits = 0;
    for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), ++digits)
        value = 10 * value + (rest[0] - '0');
    if (rest.size() > 1 && rest[0] == '.' && is_digit(rest[1]))
        for (rest.remove_prefix(1); !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1))
            value += (rest[0] - '0') * (unit /= 10);
    if (digits == 0 || digits > 12) return std::nullopt;
    s = rest;
    return negative ? -value : value;
}

// "77" -> 7g; "00" and anything else is NO_SQUARE.
Square square_at(string_view s) {
    const int file = s[0] - '1', rank = s[1] - '1';
    return file >= 0 && file < 9 && rank >= 0 && rank < 9 ? make_square(file, rank) : NO_SQUARE;
}

class CsaReader {
  public:
    explicit CsaReader(string_view text) : text_(text) {}

    GameTable read(std::size_t begin, std::size_t max_games) {
        next_ = std::min(begin, text_.size());
        max_games_ = max_games;
        begin_game(next_);
        while (next_ < text_.size() && table_.games() < max_games_) read_line();
        if (table_.games() < max_games_) finish_game(text_.size());
        table_.next = next_;
        return std::move(table_);
    }

  private:
    enum class State { HEADER, PLACEMENT, MOVES, ENDED, DAMAGED };

    // --- lines and games ---

    void read_line() {
        const std::size_t begin = next_;
        const std::size_t newline = std::min(text_.find('\n', begin), text_.size());
        next_ = std::min(newline + 1, text_.size());
        string_view line = trimmed(text_.substr(begin, newline - begin));
        // At the start of the file, or inside it if files were concatenated.
        if (line.starts_with(BYTE_ORDER_MARK)) line.remove_prefix(BYTE_ORDER_MARK.size());
        if (line.empty()) return;
        if (line == "/") {
            finish_game(begin);
            begin_game(next_);
            return;
        }
        if (begins_game(line)) {
            finish_game(begin);
            if (table_.games() == max_games_) {
                next_ = begin;
                return;
            }
            begin_game(begin);
        }
        if (state_ == State::DAMAGED) return;
        if (newline - begin_ > MAX_BYTES) return damage(line.data(), TOO_MANY_BYTES);
        if (++lines_ > MAX_LINES) return damage(line.data(), TOO_MANY_LINES);
        try {
            read_statements(line);
        } catch (const BadStatement& bad) {
            if (is_above_moves(line))
                first_bad_ = first_bad_.value_or(bad);
            else
                damage(bad.at, bad.reason);
        } catch (const RulesError& error) {
            damage(line.data(), error.what());
        }
    }

    // Whether a bad line says nothing about the position or a move, and no move precedes it.
    bool is_above_moves(string_view line) const {
        if (state_ == State::PLACEMENT) return line[0] != 'P';
        if (state_ != State::MOVES) return state_ == State::HEADER;
        const bool is_turn = line == "+" || line == "-";
        return plies() == 0 && !pending_illegal_ &&
               (is_turn || string_view{"+-%P"}.find(line[0]) == string_view::npos);
    }

    // Whether a line after a game's header, or after a bad line of it, can only start another game.
    bool begins_game(string_view line) const {
        const bool is_version = line[0] == 'V' && line.size() > 1 && is_digit(line[1]);
        if (state_ == State::HEADER || state_ == State::PLACEMENT) return is_version && first_bad_;
        return is_version || line.starts_with("N+") || line.starts_with("PI") ||
               line.starts_with("P1");
    }

    void begin_game(std::size_t begin) {
        begin_ = begin;
        lines_ = 0;
        state_ = State::HEADER;
        setup_ = Setup{};
        all_in_hand_.reset();
        seen_ = false;
        pending_illegal_ = false;
        winner_ = Winner::UNKNOWN;
        end_ = End::UNKNOWN;
        end_time_ms_ = NO_TIME;
        summary_ = false;
        first_ply_ = table_.plies();
        first_text_ = table_.texts.size();
        first_bad_.reset();
        fault_at_ = 0;
        fault_reason_.clear();
    }

    void damage(const char* at, std::string reason) {
        has_ended_ = state_ == State::ENDED && !pending_illegal_;
        state_ = State::DAMAGED;
        if (first_bad_ && plies() == 0) {
            at = first_bad_->at;
            reason = first_bad_->reason;
        }
        fault_at_ = std::size_t(at - text_.data());
        fault_reason_ = std::move(reason);
    }

    void finish_game(std::size_t end) {
        if (!seen_) return;  // nothing but comments and blank lines
        if (pending_illegal_ && state_ != State::DAMAGED) damage(pending_at_, pending_reason_);
        if (state_ == State::HEADER || state_ == State::PLACEMENT)
            damage(text_.data() + begin_, "no initial position and no moves");
        if (first_bad_ && (state_ != State::DAMAGED || plies() > 0)) {
            const std::size_t at = std::size_t(first_bad_->at - text_.data());
            const std::size_t line_end = std::min(text_.find('\n', at), end);
            table_.faults.push_back(
                {at, line_end, at, first_bad_->reason + "; the rest of the game is kept"});
        }
        if (state_ == State::DAMAGED && plies() > 0) {
            const char* const kept =
                has_ended_ ? "; the game before it is kept" : "; the moves before it are kept";
            table_.faults.push_back({fault_at_, end, fault_at_, fault_reason_ + kept});
            if (!has_ended_) {
                winner_ = Winner::UNKNOWN;
                end_ = End::UNKNOWN;
            }
        } else if (state_ == State::DAMAGED) {
            table_.move16.resize(first_ply_);
            table_.score_cp.resize(first_ply_);
            table_.time_ms.resize(first_ply_);
            table_.candidates.resize(first_ply_);
            table_.first_candidate.resize(first_ply_ + 1);
            table_.texts.resize(first_text_);
            table_.faults.push_back({begin_, end, fault_at_, std::move(fault_reason_)});
            seen_ = false;
            return;
        }
        if (state_ != State::DAMAGED && end_ == End::UNKNOWN && winner_ == Winner::UNKNOWN &&
            position_.in_check() && position_.count_legal_moves() == 0) {
            end_ = End::MATE;
            winner_ = winner_for(Outcome::LOSS, position_.turn());
        }
        table_.offset.push_back(begin_);
        table_.sfen.push_back(std::move(sfen_));
        table_.winner.push_back(winner_);
        table_.end.push_back(end_);
        table_.opponent.push_back(0);
        table_.end_time_ms.push_back(end_time_ms_);
        table_.first_ply.push_back(std::uint32_t(table_.plies()));
        seen_ = false;
    }

    std::size_t plies() const { return table_.plies() - first_ply_; }

    // --- statements ---

    void read_statements(string_view line) {
        switch (line[0]) {
            case '\'':
                return read_comment(line.substr(1));
            case '$':
            case 'N':
                seen_ = true;
                return read_header(line);
            default:
                break;
        }
        seen_ = true;
        while (!line.empty()) {
            const std::size_t comma = std::min(line.find(','), line.size());
            const string_view statement = trimmed(line.substr(0, comma));
            line.remove_prefix(std::min(comma + 1, line.size()));
            if (statement.empty()) continue;
            if (statement[0] == '\'') return;                   // a comment after a statement
            if (table_.texts.size() - first_text_ > MAX_LINES)  // bad times become comments
                throw BadStatement{statement.data(), TOO_MANY_LINES};
            read_statement(statement);
        }
    }

    void read_statement(string_view s) {
        if (pending_illegal_ && s[0] != 'T' && s[0] != '%') throw illegal_move();
        switch (s[0]) {
            case '+':
            case '-':
                if (s.size() == 1) return read_turn(s);
                if (s[0] == '-' && is_rule(s)) return;
                return read_move(s);
            case 'T':
                return read_time(s);
            case '%':
                return read_end(s);
            case 'P':
                return read_placement(s);
            case 'V':
                if (s.size() > 1 && is_digit(s[1])) return;
                break;
            default:
                break;
        }
        throw BadStatement{s.data(), "not a CSA statement: " + quoted(s)};
    }

    // A line of dashes, which some programs write between games.
    static bool is_rule(string_view s) { return s.find_first_not_of('-') == string_view::npos; }

    void add_text(int ply, string_view key, string_view text) {
        table_.texts.push_back(
            {std::uint32_t(table_.games()), ply, std::string(key), std::string(text)});
    }

    void read_header(string_view line) {
        for (const csa::HeaderName& name : csa::HEADER_NAMES)
            if (line.starts_with(name.csa))
                return add_text(-1, name.key, trimmed(line.substr(name.csa.size())));
        const std::size_t colon = line.find(':');
        if (line[0] != '$' || colon == string_view::npos)
            throw BadStatement{line.data(), "not a CSA statement: " + quoted(line)};
        add_text(-1, line.substr(1, colon - 1), trimmed(line.substr(colon + 1)));
    }

    void read_comment(string_view s) {
        if (s.starts_with("** ") && read_evaluation(s.substr(3))) return;
        if (s.starts_with("*")) {
            if (state_ != State::DAMAGED) add_text(int(plies()), "", s.substr(1));
            return;
        }
        const std::size_t colon = s.find(':');
        if (colon == string_view::npos) return;
        const string_view key = s.substr(0, colon), value = trimmed(s.substr(colon + 1));
        if (key == "summary") return read_summary(value);
        if (key == "black_rate" || key == "white_rate") {
            const std::size_t last = value.rfind(':');
            return add_text(-1, key == "black_rate" ? "black_rating" : "white_rating",
                            last == string_view::npos ? value : value.substr(last + 1));
        }
        const bool is_name = key.find_first_not_of(
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz_") == key.npos;
        if (is_name && !key.empty() && state_ != State::MOVES && state_ != State::ENDED)
            add_text(-1, key, value);
    }

    // "cp pv": the evaluation by the mover of the last move, from Black's view. Returns whether it
    // is one.
    bool read_evaluation(string_view s) {
        if (plies() == 0 || state_ != State::MOVES || pending_illegal_) return false;
        string_view rest = trimmed(s);
        const std::optional<double> score = take_number(rest);
        if (!score) return false;
        const int black_cp = int(std::lround(std::clamp(*score, -1e6, 1e6)));
        const bool black_moved = position_.turn() == WHITE;
        table_.score_cp.back() = black_moved ? black_cp : -black_cp;
        read_line_moves(rest);
        return true;
    }

    void read_line_moves(string_view s) {
        std::string usi;
        int made = 0;
        for (s = trimmed(s); !s.empty() && made < MAX_LINE_MOVES; s = trimmed(s)) {
            const std::size_t space = std::min(s.find(' '), s.size());
            try {
                const Move move = parse_csa_move(position_, s.substr(0, space));
                if (made++) usi += ' ';
                usi += to_usi(move.move16());
                position_.do_move(move);
            } catch (const MoveError&) {
                break;
            }
            s.remove_prefix(space);
        }
        for (; made > 0; --made) position_.undo_move();
        if (!usi.empty()) add_text(int(plies()), "pv", usi);
    }

    // "toryo:A lose:B win": names may contain anything, so only White's result at the end is read.
    void read_summary(string_view s) {
        for (const csa::SummaryName& name : csa::SUMMARY_NAMES) {
            if (!s.starts_with(name.name) || s.substr(name.name.size(), 1) != ":") continue;
            if (s.ends_with(" win"))
                winner_ = Winner::WHITE;
            else if (s.ends_with(" draw"))
                winner_ = Winner::DRAW;
            else if (s.ends_with(" lose"))
                winner_ = Winner::BLACK;
            else
                return;
            end_ = name.end;
            summary_ = true;
        }
    }

    // --- the initial position ---

    void read_placement(string_view s) {
        if (state_ == State::MOVES || state_ == State::ENDED)
            throw BadStatement{s.data(), "a placement after the moves: " + quoted(s)};
        if (s.size() < 2) throw BadStatement{s.data(), "not a CSA statement: " + quoted(s)};
        state_ = State::PLACEMENT;
        if (s[1] == 'I') return read_hirate(s);
        if (s[1] >= '1' && s[1] <= '9') return read_rank(s);
        if (s[1] == '+' || s[1] == '-') return read_pieces(s);
        throw BadStatement{s.data(), "not a CSA statement: " + quoted(s)};
    }

    // "PI", then squares and the pieces to remove from them: "PI82HI22KA".
    void read_hirate(string_view s) {
        setup_ = hirate_;
        for (std::size_t i = 2; i < s.size(); i += 4) {
            if (s.size() < i + 4)
                throw BadStatement{s.data() + i, "incomplete piece: " + quoted(s)};
            const Square square = square_at(s.substr(i));
            const PieceType type = csa::piece_type(s.substr(i + 2, 2));
            if (square == NO_SQUARE || type == NO_PIECE_TYPE ||
                type_of(setup_.board[square]) != type)
                throw BadStatement{s.data() + i, "no such piece to remove: " + quoted(s)};
            setup_.board[square] = NO_PIECE;
        }
    }

    // "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY", from file 9; an empty square is " * ".
    void read_rank(string_view s) {
        const int rank = s[1] - '1';
        for (int column = 0; column < 9; ++column) {
            const std::size_t i = 2 + 3 * std::size_t(column);
            const string_view cell = i < s.size() ? s.substr(i, 3) : string_view();
            Piece piece = NO_PIECE;
            if (cell.size() == 3 && (cell[0] == '+' || cell[0] == '-')) {
                const PieceType type = csa::piece_type(cell.substr(1));
                if (type == NO_PIECE_TYPE)
                    throw BadStatement{cell.data(), "unknown piece " + quoted(cell)};
                piece = make_piece(cell[0] == '+' ? BLACK : WHITE, type);
            } else if (cell.find_first_not_of(" *") != string_view::npos) {
                throw BadStatement{cell.data(), "unknown piece " + quoted(cell)};
            }
            setup_.board[make_square(8 - column, rank)] = piece;
        }
    }

    // "P+77FU00KI": pieces on squares or in hand ("00"); "00AL": all remaining pieces in hand.
    void read_pieces(string_view s) {
        const Color color = s[1] == '+' ? BLACK : WHITE;
        for (std::size_t i = 2; i < s.size(); i += 4) {
            if (s.size() < i + 4)
                throw BadStatement{s.data() + i, "incomplete piece: " + quoted(s)};
            const string_view where = s.substr(i, 2), name = s.substr(i + 2, 2);
            if (where == "00" && name == "AL") {
                all_in_hand_ = color;
                continue;
            }
            const PieceType type = csa::piece_type(name);
            const Square square = square_at(where);
            if (type == NO_PIECE_TYPE || (square == NO_SQUARE && where != "00") ||
                (square == NO_SQUARE && type > GOLD))
                throw BadStatement{s.data() + i, "not a piece: " + quoted(s.substr(i, 4))};
            if (square != NO_SQUARE)
                setup_.board[square] = make_piece(color, type);
            else if (++setup_.hand[color][type] > PIECES_IN_SET[type])
                throw BadStatement{s.data() + i, "too many in hand: " + quoted(s.substr(i, 4))};
        }
    }

    void read_turn(string_view s) {
        if (state_ == State::MOVES && plies() == 0)
            throw BadStatement{s.data(), "a second side to move: " + quoted(s)};
        if (state_ == State::MOVES || state_ == State::ENDED)
            throw BadStatement{s.data(), "a side to move after the moves"};
        start(s[0] == '+' ? BLACK : WHITE);
    }

    void start(Color turn) {
        if (state_ == State::HEADER) setup_ = hirate_;
        setup_.turn = turn;
        if (all_in_hand_) {
            const std::array<int, 9> left = setup_.in_box();
            for (int t = PAWN; t <= GOLD; ++t)
                setup_.hand[*all_in_hand_][std::size_t(t)] = std::uint8_t(
                    setup_.hand[*all_in_hand_][std::size_t(t)] + std::max(left[std::size_t(t)], 0));
        }
        position_.set(setup_);
        sfen_ = to_sfen(setup_);
        state_ = State::MOVES;
    }

    // --- moves ---

    void read_move(string_view s) {
        if (state_ == State::HEADER || state_ == State::PLACEMENT)
            start(s[0] == '+' ? BLACK : WHITE);
        if (state_ == State::ENDED) throw BadStatement{s.data(), "a move after the end"};
        Move move;
        try {
            move = parse_csa_move(position_, s);
        } catch (const MoveError& error) {
            pending_illegal_ = true;
            pending_at_ = s.data();
            pending_reason_ = "ply " + std::to_string(plies() + 1) + ": " + error.what();
            return;
        }
        table_.move16.push_back(move.move16());
        table_.score_cp.push_back(NO_SCORE);
        table_.time_ms.push_back(NO_TIME);
        table_.candidates.push_back(NO_CANDIDATES);
        table_.first_candidate.push_back(std::uint32_t(table_.candidate_move16.size()));
        position_.do_move(move);
    }

    BadStatement illegal_move() const { return {pending_at_, pending_reason_}; }

    // After a move, what isn't a time becomes a comment: it says nothing about the moves.
    void read_time(string_view s) {
        string_view rest = s.substr(1);
        const std::optional<double> seconds = take_number(rest);
        const bool is_valid = seconds && *seconds >= 0 && *seconds <= 1e6 && rest.empty();
        if (!is_valid && (state_ == State::HEADER || state_ == State::PLACEMENT))
            throw BadStatement{s.data(), "not a time: " + quoted(s)};
        if (state_ == State::ENDED && is_valid)
            end_time_ms_ = std::int32_t(std::lround(*seconds * 1000));
        if (state_ != State::MOVES || pending_illegal_ || plies() == 0) return;
        if (is_valid)
            table_.time_ms.back() = std::int32_t(std::lround(*seconds * 1000));
        else
            add_text(int(plies()), "", s);
    }

    void read_end(string_view s) {
        if (state_ == State::HEADER || state_ == State::PLACEMENT) start(BLACK);
        if (state_ == State::ENDED) return;
        state_ = State::ENDED;
        const bool by_black = s == "%+ILLEGAL_ACTION", by_white = s == "%-ILLEGAL_ACTION";
        if (pending_illegal_) {
            if (s != "%ILLEGAL_MOVE" && !by_black && !by_white) throw illegal_move();
            pending_illegal_ = false;  // its mover, the side to move, loses
        }
        if (summary_) return;
        if (by_black || by_white) {
            end_ = End::ILLEGAL_MOVE;
            winner_ = by_black ? Winner::WHITE : Winner::BLACK;
            return;
        }
        for (const csa::EndName& name : csa::END_NAMES) {
            if (s != name.name) continue;
            end_ = name.end;
            winner_ = winner_for(name.outcome, position_.turn());
            return;
        }
    }

    string_view text_;
    std::size_t next_ = 0;  // offset of the next line
    std::size_t max_games_ = ALL;
    GameTable table_;

    // The game being read.
    State state_ = State::HEADER;
    bool seen_ = false;  // any statement was read
    std::size_t begin_ = 0;
    std::size_t lines_ = 0;
    std::size_t first_ply_ = 0;
    std::size_t first_text_ = 0;
    const Setup hirate_ = Position().setup();
    Setup setup_;
    std::optional<Color> all_in_hand_;
    Position position_;
    std::string sfen_;
    Winner winner_ = Winner::UNKNOWN;
    End end_ = End::UNKNOWN;
    std::int32_t end_time_ms_ = NO_TIME;
    bool summary_ = false;  // winner_ and end_ are from a summary comment
    bool pending_illegal_ = false;
    const char* pending_at_ = nullptr;
    std::optional<BadStatement> first_bad_;  // read over before the moves
    bool has_ended_ = false;                 // the damage is after the end
    std::string pending_reason_;
    std::size_t fault_at_ = 0;
    std::string fault_reason_;
};

}  // namespace

GameTable read_csa(std::span<const std::uint8_t> bytes, std::size_t begin, std::size_t max_games) {
    return CsaReader({reinterpret_cast<const char*>(bytes.data()), bytes.size()})
        .read(begin, max_games);
}

}  // namespace komadori
