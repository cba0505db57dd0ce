// Little-endian integers in byte strings, independent of the machine's byte order and alignment.
#pragma once

#include <cstdint>
#include <string>

namespace komadori {

inline std::uint16_t read_u16(const std::uint8_t* p) { return std::uint16_t(p[0] | p[1] << 8); }
inline std::int16_t read_s16(const std::uint8_t* p) { return std::int16_t(read_u16(p)); }

inline void write_u16(char* p, int value) {
    p[0] = char(value & 0xff);
    p[1] = char(value >> 8 & 0xff);
}

inline void append_u8(std::string& out, int value) { out.push_back(char(value & 0xff)); }
inline void append_u16(std::string& out, int value) {
    append_u8(out, value);
    append_u8(out, value >> 8);
}

}  // namespace komadori
