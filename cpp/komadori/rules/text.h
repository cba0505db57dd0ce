// Errors shared by the parsers of move text.
#pragma once

#include <string>
#include <string_view>

#include "komadori/rules/position.h"

namespace komadori {

// Quotes untrusted text for a message: truncated, without control characters.
std::string quoted(std::string_view text);
// Throw MoveError and IllegalMoveError.
[[noreturn]] void fail_move(const char* what, std::string_view text, std::size_t where,
                            const std::string& expected);
[[noreturn]] void fail_illegal(const Position& position, std::string_view text,
                               const std::string& why);

}  // namespace komadori
