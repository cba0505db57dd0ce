// Formats of one position per record, all little-endian, each record of one size.
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

// A field under cshogi's name, with numpy's type of its items.
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
    return fields_of(format).back().offset + 1;  // the padding's
}

// Reads records from byte `begin` on until `max_records` are read or the bytes end, every one
// whose position is sound and whose move is legal or none. Damaged records
// become faults, neighbours one. Where bytes are missing or surplus, reading goes on at the next
// place where two sound records stand in a row.
// `game`: a record that one legal move makes out of the record before it, with the same result
// (and the next ply, where plies are given), belongs to the same game; any other begins one.
struct FixedRead {
    SampleTable samples;
    std::vector<Fault> faults;
    std::uint64_t next = 0;  // where in the file reading goes on
};
FixedRead read_fixed(FixedFormat format, std::span<const std::uint8_t> bytes, std::size_t begin = 0,
                     std::size_t max_records = ALL);

// Number of sound records among the first `limit`, to distinguish formats.
std::size_t count_sound(FixedFormat format, std::span<const std::uint8_t> bytes, std::size_t limit);

// Appends rows of the table. Moves aren't checked; throws RulesError where hcp is no position.
void write_fixed(FixedFormat format, const SampleTable& table, std::string& out);

}  // namespace komadori
