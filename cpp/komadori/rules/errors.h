// Errors in a caller's input. Each becomes a ValueError subclass in Python.
#pragma once

#include <stdexcept>

namespace komadori {

struct RulesError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};
struct SfenError : RulesError {  // SFEN text; the message gives the character's position
    using RulesError::RulesError;
};
struct HcpError : RulesError {  // hcp or PackedSfen bytes
    using RulesError::RulesError;
};
struct PositionError : RulesError {  // a placement that the rules exclude
    using RulesError::RulesError;
};
struct MoveError : RulesError {  // move text or a move16 that isn't well formed
    using RulesError::RulesError;
};
struct IllegalMoveError : MoveError {  // a well formed move that isn't legal here
    using MoveError::MoveError;
};

}  // namespace komadori
