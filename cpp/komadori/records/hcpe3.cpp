#include "komadori/records/hcpe3.h"

#include <algorithm>
#include <array>
#include <limits>

#include "komadori/records/bytes.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/rules/position.h"

namespace komadori {
namespace {

constexpr std::uint8_t SENNICHITE_BIT = 4;
constexpr std::uint8_t DECLARATION_BIT = 8;
constexpr std::uint8_t MAX_MOVES_BIT = 16;

using Bytes = std::span<const std::uint8_t>;

std::span<const std::uint8_t, 32> hcp_at(Bytes bytes, std::size_t at) {
    return bytes.subspan(at).first<32>();
}

// A cheap necessary test for a header, for searching in arbitrary bytes. The kings' squares, in the
// bits after the first, tell it from a gap of zeros, which hcp would refuse byte by byte.
bool may_be_header(Bytes bytes, std::size_t at) {
    if (at + HCPE3_HEADER > bytes.size()) return false;
    const int bits = read_u16(&bytes[at]) >> 1;
    return (bits & 127) != (bits >> 7 & 127) && read_u16(&bytes[at + 32]) <= HCPE3_MAX_PLIES &&
           is_result_byte(bytes[at + 34]) && bytes[at + 35] <= 2;
}

class Hcpe3Reader {
  public:
    explicit Hcpe3Reader(Bytes bytes) : bytes_(bytes) {}

    GameTable read(std::size_t at, std::size_t max_games) {
        while (at < bytes_.size() && table_.games() < max_games) {
            const std::size_t begin = at;
            if (read_game(at)) continue;
            at = next_header(begin);
            table_.faults.push_back(
                {begin, at, std::min(fault_offset_, at), std::move(fault_reason_)});
        }
        table_.next = at;
        return std::move(table_);
    }

  private:
    bool fail(std::size_t offset, std::string reason) {
        fault_offset_ = offset;
        fault_reason_ = std::move(reason);
        return false;
    }

    // Whether there is a valid position whose first move, if any, is legal.
    bool is_header(std::size_t at) {
        if (!may_be_header(bytes_, at)) return false;
        try {
            position_.set_hcp(hcp_at(bytes_, at));
        } catch (const RulesError&) {
            return false;
        }
        const int plies = read_u16(&bytes_[at + 32]);
        const std::size_t first = at + HCPE3_HEADER;
        return plies == 0 || (first + 6 <= bytes_.size() &&
                              !position_.from_move16(read_u16(&bytes_[first])).is_none());
    }

    // The offset at which to resume after the damaged game at `begin`: its end by the counts if a
    // game starts there, else the next header.
    std::size_t next_header(std::size_t begin) {
        if (structural_end_ > begin &&
            (structural_end_ == bytes_.size() || is_header(structural_end_)))
            return structural_end_;
        for (std::size_t at = begin + 1; at + HCPE3_HEADER <= bytes_.size(); ++at)
            if (is_header(at)) return at;
        return bytes_.size();
    }

    // The end of the game by its counts; 0 if the file ends before.
    std::size_t end_by_counts(std::size_t begin) const {
        if (begin + HCPE3_HEADER > bytes_.size()) return 0;
        const int plies = read_u16(&bytes_[begin + 32]);
        std::size_t at = begin + HCPE3_HEADER;
        for (int i = 0; i < plies; ++i) {
            if (at + 6 > bytes_.size()) return 0;
            at += 6 + 4 * std::size_t(read_u16(&bytes_[at + 4]));
        }
        return at <= bytes_.size() ? at : 0;
    }

    // Adds the game to the table and moves `at` to its end; on an error calls fail() and returns
    // false.
    bool read_game(std::size_t& at) {
        const std::size_t begin = at;
        structural_end_ = end_by_counts(begin);
        if (begin + HCPE3_HEADER > bytes_.size())
            return fail(begin, "the file ends within a game's header");
        const int plies = read_u16(&bytes_[begin + 32]);
        if (plies > HCPE3_MAX_PLIES)
            return fail(begin + 32, "a game of " + std::to_string(plies) + " plies");
        if (!is_result_byte(bytes_[begin + 34]))
            return fail(begin + 34, "unknown result " + std::to_string(bytes_[begin + 34]));
        if (bytes_[begin + 35] > 2)
            return fail(begin + 35, "unknown opponent " + std::to_string(bytes_[begin + 35]));
        try {
            position_.set_hcp(hcp_at(bytes_, begin));
        } catch (const RulesError& error) {
            return fail(begin, error.what());
        }
        if (structural_end_ == 0) return fail(begin, "the file ends within the game");

        std::string sfen = position_.sfen();
        const std::size_t old_plies = table_.plies();
        const std::size_t old_candidates = table_.candidate_move16.size();
        std::size_t from = begin + HCPE3_HEADER;
        for (int i = 0; i < plies; ++i) {
            if (!read_ply(from, i + 1)) {
                drop_plies(old_plies, old_candidates);
                return false;
            }
        }
        Winner winner;
        End end;
        from_result_byte(bytes_[begin + 34], winner, end);
        table_.offset.push_back(begin);
        table_.sfen.push_back(std::move(sfen));
        table_.winner.push_back(winner);
        table_.end.push_back(end);
        table_.opponent.push_back(bytes_[begin + 35]);
        table_.end_time_ms.push_back(NO_TIME);
        table_.first_ply.push_back(std::uint32_t(table_.plies()));
        at = from;
        return true;
    }

    bool read_ply(std::size_t& at, int ply) {
        const std::uint16_t move16 = read_u16(&bytes_[at]);
        const Move move = position_.from_move16(move16);
        if (move.is_none()) return fail(at, "illegal move at ply " + std::to_string(ply));
        const int n = read_u16(&bytes_[at + 4]);
        if (n > MAX_LEGAL_MOVES)
            return fail(at + 4, std::to_string(n) + " candidates at ply " + std::to_string(ply));
        const std::int16_t score = read_s16(&bytes_[at + 2]);
        at += 6;
        for (int i = 0; i < n; ++i, at += 4) {
            const std::uint16_t candidate = read_u16(&bytes_[at]);
            if (candidate != move16 && position_.from_move16(candidate).is_none())
                return fail(at, "illegal candidate at ply " + std::to_string(ply));
            table_.candidate_move16.push_back(candidate);
            table_.candidate_visits.push_back(read_u16(&bytes_[at + 2]));
        }
        table_.move16.push_back(move16);
        table_.score_cp.push_back(score);
        table_.time_ms.push_back(NO_TIME);
        table_.candidates.push_back(std::uint16_t(n));
        table_.first_candidate.push_back(std::uint32_t(table_.candidate_move16.size()));
        position_.do_move(move);
        return true;
    }

    void drop_plies(std::size_t plies, std::size_t candidates) {
        table_.move16.resize(plies);
        table_.score_cp.resize(plies);
        table_.time_ms.resize(plies);
        table_.candidates.resize(plies);
        table_.first_candidate.resize(plies + 1);
        table_.candidate_move16.resize(candidates);
        table_.candidate_visits.resize(candidates);
    }

    Bytes bytes_;
    Position position_;
    GameTable table_;
    std::size_t structural_end_ = 0;
    std::size_t fault_offset_ = 0;
    std::string fault_reason_;
};

int clip_s16(std::int32_t score) {
    if (score == NO_SCORE) return 0;
    return std::clamp<std::int32_t>(score, -32767, 32767);
}

void append_header(std::string& out, std::span<const std::uint8_t, 32> hcp, std::size_t plies,
                   Winner winner, End end, int opponent) {
    if (plies > HCPE3_MAX_PLIES)
        throw RecordError("hcpe3 holds at most " + std::to_string(HCPE3_MAX_PLIES) +
                          " plies per game, this one has " + std::to_string(plies));
    out.append(reinterpret_cast<const char*>(hcp.data()), hcp.size());
    append_u16(out, int(plies));
    append_u8(out, to_result_byte(winner, end));
    append_u8(out, opponent);
}

void append_ply(std::string& out, std::uint16_t move16, int score_cp,
                std::span<const std::uint16_t> candidates, std::span<const std::uint16_t> visits) {
    append_u16(out, move16);
    append_u16(out, score_cp);
    append_u16(out, int(candidates.size()));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        append_u16(out, candidates[i]);
        append_u16(out, visits[i]);
    }
}

}  // namespace

std::uint8_t to_result_byte(Winner winner, End end) {
    const auto byte = std::uint8_t(winner);
    switch (end) {
        case End::SENNICHITE:
        case End::PERPETUAL_CHECK:
            return byte | SENNICHITE_BIT;
        case End::DECLARATION:
        case End::IMPASSE:
            return byte | DECLARATION_BIT;
        case End::MAX_MOVES:
            return byte | MAX_MOVES_BIT;
        default:
            return byte;
    }
}

bool is_result_byte(std::uint8_t byte) {
    const int reason = byte & ~3;
    return (byte & 3) <= 2 && (reason == 0 || reason == SENNICHITE_BIT ||
                               reason == DECLARATION_BIT || reason == MAX_MOVES_BIT);
}

void from_result_byte(std::uint8_t byte, Winner& winner, End& end) {
    winner = Winner(byte & 3);
    const bool drawn = winner == Winner::DRAW;
    if (byte & SENNICHITE_BIT)
        end = drawn ? End::SENNICHITE : End::PERPETUAL_CHECK;
    else if (byte & DECLARATION_BIT)
        end = drawn ? End::IMPASSE : End::DECLARATION;
    else if (byte & MAX_MOVES_BIT)
        end = End::MAX_MOVES;
    else
        end = End::UNKNOWN;
}

GameTable read_hcpe3(std::span<const std::uint8_t> bytes, std::size_t begin,
                     std::size_t max_games) {
    return Hcpe3Reader(bytes).read(begin, max_games);
}

void write_hcpe3(const GameTable& table, std::size_t game, std::string& out) {
    const std::size_t first = table.first_ply[game], last = table.first_ply[game + 1];
    if (table.winner[game] == Winner::UNKNOWN)
        throw RecordError("hcpe3 needs a result, this game has none");
    Position position;
    position.set_sfen(table.sfen[game]);
    append_header(out, position.hcp(), last - first, table.winner[game], table.end[game],
                  table.opponent[game]);
    constexpr std::uint16_t ONE = 1;
    for (std::size_t p = first; p < last; ++p) {
        position.do_move(require_legal(position, table.move16[p]));
        const int score_cp = clip_s16(table.score_cp[p]);
        if (table.candidates[p] == NO_CANDIDATES) {
            append_ply(out, table.move16[p], score_cp, {&table.move16[p], 1}, {&ONE, 1});
            continue;
        }
        const std::size_t at = table.first_candidate[p], n = table.first_candidate[p + 1] - at;
        append_ply(out, table.move16[p], score_cp, std::span(table.candidate_move16).subspan(at, n),
                   std::span(table.candidate_visits).subspan(at, n));
    }
}

void write_hcpe3(const SampleTable& samples, const SampleMoveTable& moves, std::string& out) {
    const std::span all(samples.hcp);
    for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
        while (end < samples.size() && samples.game[end] == samples.game[begin]) ++end;
        const auto hcp = all.subspan(begin * 32).first<32>();
        append_header(out, hcp, end - begin, winner_of(samples.result[begin], turn_of(hcp.data())),
                      samples.end[begin], 0);
        for (std::size_t i = begin; i < end; ++i) {
            const auto at = std::size_t(moves.first[i]), n = std::size_t(moves.first[i + 1]) - at;
            append_ply(out, moves.played[i], samples.score_cp[i],
                       std::span(moves.move16).subspan(at, n),
                       std::span(moves.visits).subspan(at, n));
        }
    }
}

}  // namespace komadori
