// Formats of one position per fixed-size record, little-endian.
//
// Position: hcp, in PSV a PackedSfen. Score: centipawns, side to move. Result: 0 draw, 1 Black,
// 2 White; in HCPE2 the result byte of hcpe3; in PSV the side to move's, -1 to 1.
// PSV's move is YaneuraOu's: bits 0-6 to, 7-13 from or the type dropped, 14 drop, 15 promotes.
// A move of 0 is none. Sources: Apery and dlshogi (HuffmanCodedPosAndEval), YaneuraOu
// (PackedSfenValue).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "komadori/records/samples.h"

namespace komadori {

enum class FixedFormat : std::uint8_t { HCPE, HCPE2, APERY, PSV };

enum class FieldRole : std::uint8_t { POSITION, SCORE, MOVE, PLY, END_PLY, RESULT, PADDING };

// A field with cshogi's name and its items' numpy type.
struct FixedField {
    FieldRole role;
    std::string_view name, type;
    std::size_t offset, count = 1;
};

constexpr std::array HCPE_FIELDS{
    FixedField{FieldRole::POSITION, "hcp", "u1", 0, 32},
    FixedField{FieldRole::SCORE, "eval", "<i2", 32},
    FixedField{FieldRole::MOVE, "bestMove16", "<u2", 34},
    FixedField{FieldRole::RESULT, "gameResult", "i1", 36},
    FixedField{FieldRole::PADDING, "dummy", "u1", 37},
};
constexpr std::array HCPE2_FIELDS{
    FixedField{FieldRole::POSITION, "hcp", "u1", 0, 32},
    FixedField{FieldRole::SCORE, "eval", "<i2", 32},
    FixedField{FieldRole::MOVE, "bestMove16", "<u2", 34},
    FixedField{FieldRole::RESULT, "result", "u1", 36},
    FixedField{FieldRole::PADDING, "dummy", "u1", 37},
};
constexpr std::array APERY_FIELDS{
    FixedField{FieldRole::POSITION, "hcp", "u1", 0, 32},
    FixedField{FieldRole::PLY, "ply", "<i2", 32},
    FixedField{FieldRole::SCORE, "eval", "<i2", 34},
    FixedField{FieldRole::MOVE, "bestMove16", "<u2", 36},
    FixedField{FieldRole::END_PLY, "endPly", "<i2", 38},
    FixedField{FieldRole::RESULT, "gameResult", "u1", 40},
    FixedField{FieldRole::PADDING, "dummy", "u1", 41},
};
constexpr std::array PSV_FIELDS{
    FixedField{FieldRole::POSITION, "sfen", "u1", 0, 32},
    FixedField{FieldRole::SCORE, "score", "<i2", 32},
    FixedField{FieldRole::MOVE, "move", "<u2", 34},
    FixedField{FieldRole::PLY, "gamePly", "<u2", 36},
    FixedField{FieldRole::RESULT, "game_result", "i1", 38},
    FixedField{FieldRole::PADDING, "padding", "u1", 39},
};

constexpr std::span<const FixedField> fields_of(FixedFormat format) {
    switch (format) {
        case FixedFormat::HCPE2:
            return HCPE2_FIELDS;
        case FixedFormat::APERY:
            return APERY_FIELDS;
        case FixedFormat::PSV:
            return PSV_FIELDS;
        default:
            return HCPE_FIELDS;
    }
}

constexpr std::size_t record_size(FixedFormat format) {
    return fields_of(format).back().offset + 1;  // the last field is one byte of padding
}

// Reads up to `max_records` records from byte `begin` on. A valid record has a valid position and a
// legal move or none. Consecutive damaged records become one fault. If bytes are missing or
// inserted, resumes at the next two consecutive valid records.
// `game`: a record belongs to the game of the previous record if one legal move leads from that to
// its position, with the same result (and the next ply, if plies are given).
struct FixedRead {
    SampleTable samples;
    std::vector<Fault> faults;
    std::uint64_t next = 0;  // offset at which to continue reading
};
FixedRead read_fixed(FixedFormat format, std::span<const std::uint8_t> bytes, std::size_t begin = 0,
                     std::size_t max_records = ALL);

// The number of valid records among the first `limit`, to distinguish formats.
std::size_t count_valid(FixedFormat format, std::span<const std::uint8_t> bytes, std::size_t limit);

// Appends the rows of the table. Doesn't check moves; throws RulesError for an invalid hcp.
void write_fixed(FixedFormat format, const SampleTable& table, std::string& out);

}  // namespace komadori
