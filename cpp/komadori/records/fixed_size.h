// Formats of one position a record, all little-endian, each record of one size:
//
//   HCPE   38  hcp[32]     s16 score  u16 move16  s8 winner           pad
//   HCPE2  38  hcp[32]     s16 score  u16 move16  u8 result byte      pad
//   APERY  42  hcp[32]     s16 ply    s16 score   u16 move16  s16 end ply  u8 winner  pad
//   PSV    40  packed[32]  s16 score  u16 move    u16 ply     s8 side to move's result  pad
//
// score: centipawns, side to move. winner: 0 draw, 1 Black, 2 White. Result byte: as in hcpe3.
// PSV's move is YaneuraOu's: bits 0-6 to, 7-13 from or the type dropped, 14 drop, 15 promotes.
// A move of 0 is none. Sources: Apery and dlshogi (HuffmanCodedPosAndEval), YaneuraOu
// (PackedSfenValue).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "komadori/records/samples.h"

namespace komadori {

enum class FixedFormat : std::uint8_t { HCPE, HCPE2, APERY, PSV };

constexpr std::size_t record_size(FixedFormat format) {
    switch (format) {
        case FixedFormat::APERY:
            return 42;
        case FixedFormat::PSV:
            return 40;
        default:
            return 38;
    }
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

// How many of the first `limit` records are sound: the measure to tell formats apart.
std::size_t count_sound(FixedFormat format, std::span<const std::uint8_t> bytes, std::size_t limit);

// Appends rows of the table. Moves aren't checked; throws RulesError where hcp is no position.
void write_fixed(FixedFormat format, const SampleTable& table, std::string& out);

}  // namespace komadori
