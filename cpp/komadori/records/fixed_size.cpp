#include "komadori/records/fixed_size.h"

#include <algorithm>
#include <array>
#include <utility>

#include "komadori/records/bytes.h"
#include "komadori/records/hcpe3.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/position.h"

namespace komadori {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint16_t PSV_DROP = 1 << 14;
constexpr std::uint16_t PSV_PROMOTION = 1 << 15;
constexpr std::uint16_t PROMOTION = 1 << 14;
constexpr std::uint16_t NOT_A_MOVE = 0xffff;  // illegal in every position

std::uint16_t from_psv_move(std::uint16_t move) {
    const int to = move & 127, from = move >> 7 & 127;
    if (move & PSV_DROP) {
        const bool is_drop = !(move & PSV_PROMOTION) && from >= PAWN && from <= GOLD;
        return is_drop ? std::uint16_t(to | (80 + from) << 7) : NOT_A_MOVE;
    }
    return std::uint16_t(to | from << 7 | (move & PSV_PROMOTION ? PROMOTION : 0));
}

std::uint16_t to_psv_move(std::uint16_t move16) {
    const int to = move16 & 127, from = move16 >> 7 & 127;
    if (from >= SQUARES) return std::uint16_t(to | (from - 80) << 7 | PSV_DROP);
    return std::uint16_t(to | from << 7 | (move16 & PROMOTION ? PSV_PROMOTION : 0));
}

// The field offsets of a format.
struct Offsets {
    std::size_t score = 0, move = 0, ply = 0, end_ply = 0, result = 0;

    constexpr explicit Offsets(FixedFormat format) {
        for (const FixedField& field : fields_of(format)) {
            if (field.role == FieldRole::SCORE) score = field.offset;
            if (field.role == FieldRole::MOVE) move = field.offset;
            if (field.role == FieldRole::PLY) ply = field.offset;
            if (field.role == FieldRole::END_PLY) end_ply = field.offset;
            if (field.role == FieldRole::RESULT) result = field.offset;
        }
    }
};

// The fields of a record, except the position.
struct Record {
    int score = 0;
    std::uint16_t move16 = 0;
    int ply = 0;
    int end_ply = 0;
    Winner winner = Winner::DRAW;
    End end = End::UNKNOWN;
};

// Reads the fields and checks them as far as possible without the position. Returns the error, or
// nullptr.
const char* read_fields(FixedFormat format, const std::uint8_t* p, Record& out) {
    int result;
    switch (format) {
        case FixedFormat::APERY: {
            constexpr Offsets AT(FixedFormat::APERY);
            out = {read_s16(p + AT.score), read_u16(p + AT.move), read_s16(p + AT.ply),
                   read_s16(p + AT.end_ply)};
            result = p[AT.result];
            break;
        }
        case FixedFormat::PSV: {
            constexpr Offsets AT(FixedFormat::PSV);
            out = {read_s16(p + AT.score), from_psv_move(read_u16(p + AT.move)),
                   read_u16(p + AT.ply)};
            const int own = std::int8_t(p[AT.result]);
            if (own < -1 || own > 1) return "unknown result";
            const bool black = (own == 1) == (turn_of(p) == BLACK);
            result = own == 0 ? 0 : black ? 1 : 2;
            if (out.ply > 32767) return "ply above 32767";
            break;
        }
        default: {  // HCPE2 has the layout of HCPE with another result byte
            constexpr Offsets AT(FixedFormat::HCPE);
            out = {read_s16(p + AT.score), read_u16(p + AT.move)};
            result = p[AT.result];
            break;
        }
    }
    if (format == FixedFormat::HCPE2) {
        if (!is_result_byte(std::uint8_t(result))) return "unknown result";
        from_result_byte(std::uint8_t(result), out.winner, out.end);
        return nullptr;
    }
    if (result > 2) return "unknown result";
    out.winner = Winner(result);
    if (out.ply < 0 || out.end_ply < 0) return "negative ply";
    return nullptr;
}

// A cheap necessary test: the kings' squares are valid.
bool may_be_position(const std::uint8_t* p) {
    const int kings = read_u16(p) >> 1;
    const int black = kings & 127, white = kings >> 7 & 127;
    return black < SQUARES && white < SQUARES && black != white;
}

// Sets the position and checks the move. Returns the error, or "".
std::string set_position(FixedFormat format, const std::uint8_t* p, const Record& record,
                         Position& position) {
    const std::span<const std::uint8_t, 32> bytes(p, 32);
    try {
        if (format == FixedFormat::PSV)
            position.set_packed_sfen(bytes);
        else
            position.set_hcp(bytes);
    } catch (const RulesError& error) {
        return error.what();
    }
    if (record.move16 != 0 && position.from_move16(record.move16).is_none()) return "illegal move";
    return {};
}

bool is_valid_record(FixedFormat format, const std::uint8_t* p, Position& position) {
    Record record;
    return may_be_position(p) && read_fields(format, p, record) == nullptr &&
           set_position(format, p, record, position).empty();
}

// The only move that could lead from a to b, by the squares that differ; Move() if there is none.
Move move_between(const Position& a, const Position& b) {
    if (a.turn() == b.turn()) return Move();
    Square from = NO_SQUARE, to = NO_SQUARE;
    for (int i = 0; i < SQUARES; ++i) {
        const auto s = Square(i);
        if (a.piece_on(s) == b.piece_on(s)) continue;
        Square& slot = b.piece_on(s) == NO_PIECE ? from : to;
        if (slot != NO_SQUARE) return Move();
        slot = s;
    }
    if (to == NO_SQUARE) return Move();
    const PieceType after = type_of(b.piece_on(to));
    if (from == NO_SQUARE) {
        if (after > GOLD) return Move();
        return a.from_move16(Move::drop(after, to).move16());
    }
    const bool promote = type_of(a.piece_on(from)) != after;
    return a.from_move16(Move::board(from, to, promote, NO_PIECE_TYPE, NO_PIECE_TYPE).move16());
}

bool follows(Position& before, const Position& after) {
    const Move move = move_between(before, after);
    if (move.is_none()) return false;
    before.do_move(move);
    const bool same = before.key() == after.key();
    before.undo_move();
    return same;
}

class FixedReader {
  public:
    FixedReader(FixedFormat format, Bytes bytes)
        : format_(format), size_(record_size(format)), bytes_(bytes) {}

    FixedRead read(std::size_t at, std::size_t max_records) {
        while (at + size_ <= bytes_.size() && out_.size() < max_records) {
            std::string reason = read_record(at);
            if (reason.empty()) {
                at += size_;
                continue;
            }
            has_last_ = false;
            const std::size_t next = next_record(at);
            add_fault(at, next, std::move(reason));
            at = next;
        }
        if (at < bytes_.size() && at + size_ > bytes_.size()) {
            add_fault(at, bytes_.size(), "the file ends within a record");
            at = bytes_.size();
        }
        return {std::move(out_), std::move(faults_), at};
    }

  private:
    // Adds the record to the table. Returns the error, or "".
    std::string read_record(std::size_t at) {
        const std::uint8_t* p = &bytes_[at];
        Record record;
        if (const char* reason = read_fields(format_, p, record)) return reason;
        if (std::string reason = set_position(format_, p, record, position_); !reason.empty())
            return reason;
        std::array<std::uint8_t, 32> hcp;
        try {
            hcp = position_.hcp();
        } catch (const RulesError& error) {  // PackedSfen may leave pieces in the box
            return error.what();
        }
        out_.hcp.insert(out_.hcp.end(), hcp.begin(), hcp.end());
        out_.move16.push_back(record.move16);
        out_.score_cp.push_back(std::int16_t(record.score));
        out_.result.push_back(result_for(record.winner, position_.turn()));
        const bool same_game = has_last_ && record.winner == last_record_.winner &&
                               (record.ply == 0 || record.ply == last_record_.ply + 1) &&
                               follows(last_, position_);
        if (!same_game && out_.size() > 1) ++game_;
        out_.game.push_back(game_);
        out_.ply.push_back(std::int16_t(record.ply));
        out_.end_ply.push_back(std::int16_t(record.end_ply));
        out_.end.push_back(record.end);
        std::swap(last_, position_);
        last_record_ = record;
        has_last_ = true;
        return {};
    }

    // The offset at which to resume after the damaged record at `at`: the next record if it is
    // valid, else the nearest two consecutive valid records, else the next record.
    std::size_t next_record(std::size_t at) {
        const std::size_t next = at + size_;
        if (next + size_ > bytes_.size() || is_valid_at(next)) return next;
        for (std::size_t shift = 1; shift < 2 * size_; ++shift) {
            const std::size_t first = at + shift, second = first + size_;
            if (second + size_ > bytes_.size()) break;
            if (shift != size_ && is_valid_at(first) && is_valid_at(second)) return first;
        }
        return next;
    }

    bool is_valid_at(std::size_t at) { return is_valid_record(format_, &bytes_[at], position_); }

    void add_fault(std::size_t begin, std::size_t end, std::string reason) {
        if (!faults_.empty() && faults_.back().end == begin && faults_.back().reason == reason) {
            faults_.back().end = end;
            ++faults_.back().count;
            return;
        }
        faults_.push_back({begin, end, begin, std::move(reason)});
    }

    FixedFormat format_;
    std::size_t size_;
    Bytes bytes_;
    std::vector<Fault> faults_;
    SampleTable out_;
    Position position_;
    Position last_;  // of the previous record, if has_last_
    Record last_record_;
    bool has_last_ = false;
    std::int32_t game_ = 0;
};

}  // namespace

FixedRead read_fixed(FixedFormat format, std::span<const std::uint8_t> bytes, std::size_t begin,
                     std::size_t max_records) {
    return FixedReader(format, bytes).read(std::min(begin, bytes.size()), max_records);
}

std::size_t count_valid(FixedFormat format, std::span<const std::uint8_t> bytes,
                        std::size_t limit) {
    Position position;
    std::size_t valid = 0;
    const std::size_t size = record_size(format);
    for (std::size_t i = 0; i < limit && (i + 1) * size <= bytes.size(); ++i)
        valid += is_valid_record(format, &bytes[i * size], position);
    return valid;
}

void write_fixed(FixedFormat format, const SampleTable& table, std::string& out) {
    const std::size_t size = record_size(format);
    const Offsets at(format);
    std::size_t begin = out.size();
    out.resize(begin + table.size() * size);  // zeroed
    Position position;
    for (std::size_t i = 0; i < table.size(); ++i, begin += size) {
        char* p = &out[begin];
        const std::span<const std::uint8_t, 32> hcp(&table.hcp[i * 32], 32);
        const Winner winner = winner_of(table.result[i], turn_of(hcp.data()));
        std::ranges::copy(hcp, p);
        write_u16(p + at.score, table.score_cp[i]);
        write_u16(p + at.move, table.move16[i]);
        switch (format) {
            case FixedFormat::HCPE:
                p[at.result] = char(winner);
                break;
            case FixedFormat::HCPE2:
                p[at.result] = char(to_result_byte(winner, table.end[i]));
                break;
            case FixedFormat::APERY:
                write_u16(p + at.ply, table.ply[i]);
                write_u16(p + at.end_ply, table.end_ply[i]);
                p[at.result] = char(winner);
                break;
            case FixedFormat::PSV:
                position.set_hcp(hcp);
                std::ranges::copy(position.packed_sfen(), p);
                write_u16(p + at.move, to_psv_move(table.move16[i]));
                write_u16(p + at.ply, table.ply[i]);
                p[at.result] = winner == Winner::DRAW ? 0 : table.result[i] > 0.5f ? 1 : -1;
                break;
        }
    }
}

}  // namespace komadori
