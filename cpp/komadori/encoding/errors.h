// Errors of the encoders. Each becomes a ValueError subclass in Python.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace komadori {

struct EncodingError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};
// A bad row of a batch: invalid hcp bytes, or a move without a label.
struct RowError : EncodingError {
    RowError(std::size_t at, const std::string& reason)
        : EncodingError("row " + std::to_string(at) + ": " + reason), row(at) {}
    std::size_t row;
};
struct RowPositionError : RowError {
    using RowError::RowError;
};
struct RowMoveError : RowError {
    using RowError::RowError;
};
// A label of no legal move, or of several.
struct LabelError : EncodingError {
    using EncodingError::EncodingError;
};

}  // namespace komadori
