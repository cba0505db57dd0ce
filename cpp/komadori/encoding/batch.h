// Batch encoders: arrays of hcp rows to planes, labels and masks.
//
// Rows are divided evenly among `threads`. The first bad row (lowest index) throws a RowError; the
// contents of the outputs are then unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "komadori/encoding/label.h"
#include "komadori/encoding/planes.h"

namespace komadori {

struct HcpRows {
    const std::uint8_t* data;  // [count][32]
    std::size_t count;

    PackedView operator[](std::size_t row) const { return PackedView(data + 32 * row, 32); }
};

// plies: [count] moves made before each position, or null if the table doesn't need them.
// outs: one buffer per input, [count] rows.
void encode_planes(const FeatureTable& table, HcpRows hcps, const std::int32_t* plies,
                   PlaneType type, std::span<void* const> outs, int threads);

// The same for Position objects, including handicap positions, which hcp can't represent.
void encode_planes(const FeatureTable& table, std::span<const Position* const> positions,
                   PlaneType type, std::span<void* const> outs);

// Unpacks rows of one input to dense values.
template <class T>
void unpack_planes(const FeatureInput& input, const std::uint8_t* packed, std::size_t count, T* out,
                   int threads);

struct LabelOptions {
    bool check_legal = false;             // reject illegal moves
    std::optional<std::int64_t> missing;  // label of rows whose move is 0; without it rejected
    int threads = 1;
};
// labels: [count][heads]. Without check_legal a move is rejected only if the scheme has no label
// for it or (needs_piece) the side to move has no such piece.
void encode_labels(const LabelScheme& scheme, HcpRows hcps, const std::uint16_t* moves,
                   const LabelOptions& options, std::int64_t* labels);

// mask: [count][scheme.size()], 1 at the labels of legal moves.
void legal_mask(const LabelScheme& scheme, HcpRows hcps, std::uint8_t* mask, int threads);

// The labels of position.legal_moves(), in their order: [count][heads].
std::vector<std::int64_t> legal_labels(const LabelScheme& scheme, const Position& position);

// Positions and moves mirrored left to right (file f to 10 - f). moves may be null; 0 stays 0.
void mirror_rows(HcpRows hcps, const std::uint16_t* moves, std::uint8_t* mirrored_hcps,
                 std::uint16_t* mirrored_moves, int threads);

// The legal move with this label (one number per head). Throws LabelError if none or several.
Move decode_label(const LabelScheme& scheme, const Position& position,
                  std::span<const std::int64_t> label);

}  // namespace komadori
