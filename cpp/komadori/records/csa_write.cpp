#include <algorithm>
#include <array>

#include "komadori/records/csa.h"
#include "komadori/records/csa_names.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/rules/position.h"

namespace komadori {
namespace {

using csa::Outcome;
using std::string_view;

char sign(Color c) { return c == BLACK ? '+' : '-'; }

void append_placement(std::string& out, const Setup& setup) {
    for (int rank = 0; rank < 9; ++rank) {
        out += 'P';
        out += char('1' + rank);
        for (int file = 8; file >= 0; --file) {
            const Piece piece = setup.board[make_square(file, rank)];
            if (piece == NO_PIECE) {
                out += " * ";
            } else {
                out += sign(color_of(piece));
                out += CSA_NAMES[type_of(piece)];
            }
        }
        out += '\n';
    }
    for (Color c : {BLACK, WHITE}) {
        std::string held;
        for (PieceType t : HAND_TYPES)
            for (int i = 0; i < setup.hand[c][t]; ++i) held.append("00").append(CSA_NAMES[t]);
        if (held.empty()) continue;
        out += 'P';
        out += sign(c);
        out += held + '\n';
    }
}

// Replaces line breaks by spaces, for use in one statement.
std::string one_line(string_view text) {
    std::string out(text);
    std::replace_if(out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return out;
}

// Whether `'*` and a comment's line would be read as an evaluation, `'** cp`.
bool is_evaluation(string_view line) {
    if (!line.starts_with("* ")) return false;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", 1), line.size()));
    if (line.starts_with('+') || line.starts_with('-')) line.remove_prefix(1);
    return !line.empty() && line[0] >= '0' && line[0] <= '9';
}

class CsaWriter {
  public:
    CsaWriter(const GameTable& table, std::size_t game, std::string& out)
        : table_(table), game_(game), out_(out) {
        // The texts of a table are ordered by game.
        const auto by_game = [](const GameText& text, std::size_t g) { return text.game < g; };
        const auto first = std::lower_bound(table.texts.begin(), table.texts.end(), game, by_game);
        for (auto it = first; it != table.texts.end() && it->game == game; ++it)
            texts_.push_back(&*it);
        std::stable_sort(texts_.begin(), texts_.end(),
                         [](const GameText* a, const GameText* b) { return a->ply < b->ply; });
    }

    void write() {
        const std::size_t first = table_.first_ply[game_], last = table_.first_ply[game_ + 1];
        const auto is_fraction = [](std::int32_t ms) { return ms > 0 && ms % 1000 != 0; };
        fractions_ = std::any_of(table_.time_ms.begin() + std::ptrdiff_t(first),
                                 table_.time_ms.begin() + std::ptrdiff_t(last), is_fraction) ||
                     is_fraction(table_.end_time_ms[game_]);
        out_ += fractions_ ? "'CSA encoding=UTF-8\nV3.0\n" : "V2.2\n";
        write_headers();
        const Setup setup = parse_sfen(table_.sfen[game_]);
        position_.set(setup);
        if (position_.key() == Position().key())
            out_ += "PI\n";
        else
            append_placement(out_, setup);
        out_ += sign(setup.turn);
        out_ += '\n';
        write_comments(0);
        for (std::size_t p = first; p < last; ++p) write_ply(p, int(p - first) + 1);
        write_end();
    }

  private:
    string_view header(string_view key) const {
        for (const GameText* text : texts_)
            if (text->ply < 0 && text->key == key) return text->text;
        return {};
    }

    void write_headers() {
        for (const csa::HeaderName& name : csa::HEADER_NAMES)
            if (!header(name.key).empty())
                out_.append(name.csa).append(one_line(header(name.key))) += '\n';
        for (const GameText* text : texts_) {
            const bool named =
                std::any_of(std::begin(csa::HEADER_NAMES), std::end(csa::HEADER_NAMES),
                            [&](const csa::HeaderName& name) { return name.key == text->key; });
            if (text->ply >= 0 || named || text->text.empty()) continue;
            if (text->key == "black_rating" || text->key == "white_rating") {
                const bool black = text->key == "black_rating";
                out_ += black ? "'black_rate:" : "'white_rate:";
                out_ += one_line(header(black ? "black" : "white")) + ':';
            } else {
                out_ += '$' + one_line(text->key) + ':';
            }
            out_ += one_line(text->text) + '\n';
        }
    }

    void write_comments(int ply) {
        for (const GameText* text : texts_) {
            if (text->ply != ply || !text->key.empty()) continue;
            string_view rest = text->text;
            while (true) {
                const std::size_t newline = std::min(rest.find('\n'), rest.size());
                const string_view line = rest.substr(0, newline);
                out_ += ply > 0 && is_evaluation(line) ? "'* " : "'*";
                out_ += one_line(line) + '\n';
                if (newline == rest.size()) break;
                rest.remove_prefix(newline + 1);
            }
        }
    }

    void write_ply(std::size_t row, int ply) {
        const Color turn = position_.turn();
        const Move move = require_legal(position_, table_.move16[row]);
        out_ += to_csa(position_, move);
        out_ += '\n';
        position_.do_move(move);
        if (table_.time_ms[row] >= 0) write_time(table_.time_ms[row]);
        if (table_.score_cp[row] != NO_SCORE) {
            const std::int32_t score = table_.score_cp[row];
            out_ += "'** " + std::to_string(turn == BLACK ? score : -score);
            write_line_moves(ply);
            out_ += '\n';
        }
        write_comments(ply);
    }

    void write_time(std::int32_t ms) {
        out_ += 'T' + std::to_string(ms / 1000);
        if (fractions_) {
            const std::string digits = std::to_string(1000 + ms % 1000);
            out_ += '.' + digits.substr(1);
        }
        out_ += '\n';
    }

    Move legal_move(string_view usi) const {
        try {
            return position_.from_move16(parse_usi_move(usi));
        } catch (const MoveError&) {
            return Move();
        }
    }

    void write_line_moves(int ply) {
        for (const GameText* text : texts_) {
            if (text->ply != ply || text->key != "pv") continue;
            int made = 0;
            for (string_view s = text->text; !s.empty();) {
                const std::size_t space = std::min(s.find(' '), s.size());
                const Move move = legal_move(s.substr(0, space));
                if (move.is_none()) break;
                out_ += ' ' + to_csa(position_, move);
                position_.do_move(move);
                ++made;
                s.remove_prefix(std::min(space + 1, s.size()));
            }
            for (; made > 0; --made) position_.undo_move();
        }
    }

    // Writes the end as one statement or, if there is none for it, the closest one and a summary
    // comment.
    void write_end() {
        const Winner winner = table_.winner[game_];
        const End end = table_.end[game_];
        if (end == End::UNKNOWN && winner == Winner::UNKNOWN) return;
        const string_view exact = exact_end(winner, end);
        out_.append(!exact.empty()                ? exact
                    : winner == Winner::UNKNOWN   ? "%CHUDAN"  // the others tell a result
                    : end == End::PERPETUAL_CHECK ? "%SENNICHITE"
                    : end == End::MAX_MOVES       ? "%MAX_MOVES"
                                                  : "%CHUDAN") += '\n';
        if (table_.end_time_ms[game_] >= 0) write_time(table_.end_time_ms[game_]);
        if (exact.empty() && winner != Winner::UNKNOWN) write_summary(winner, end);
    }

    // The statement that tells end and winner; "" if there is none.
    string_view exact_end(Winner winner, End end) const {
        const Color turn = position_.turn();
        if (end == End::UNKNOWN && winner == csa::winner_for(Outcome::LOSS, turn))
            return position_.in_check() && position_.count_legal_moves() == 0 ? "%TSUMI" : "%TORYO";
        for (const csa::EndName& name : csa::END_NAMES)
            if (name.end == end && csa::winner_for(name.outcome, turn) == winner) return name.name;
        if (end == End::ILLEGAL_MOVE && (winner == Winner::BLACK || winner == Winner::WHITE))
            return winner == Winner::BLACK ? "%-ILLEGAL_ACTION" : "%+ILLEGAL_ACTION";
        return {};
    }

    void write_summary(Winner winner, End end) {
        string_view name = "adjudication";
        for (const csa::SummaryName& row : csa::SUMMARY_NAMES)
            if (row.end == end) {
                name = row.name;
                break;
            }
        const auto result = [&](Winner own) {
            return winner == Winner::DRAW ? " draw" : winner == own ? " win" : " lose";
        };
        out_.append("'summary:").append(name) += ':';
        out_ += one_line(header("black")) + result(Winner::BLACK) + ':';
        out_ += one_line(header("white")) + result(Winner::WHITE) + '\n';
    }

    const GameTable& table_;
    std::size_t game_;
    std::string& out_;
    std::vector<const GameText*> texts_;
    Position position_;
    bool fractions_ = false;
};

}  // namespace

void write_csa(const GameTable& table, std::size_t game, std::string& out) {
    CsaWriter(table, game, out).write();
}

}  // namespace komadori
