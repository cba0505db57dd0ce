// Whole arrays of positions at once: hcp rows to planes, labels and masks.
//
// Rows are shared out evenly among `threads`. The first bad row (the lowest number) throws a
// RowError; what the outputs hold then is unspecified.
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

// plies: [count] moves made before each position, or null where the table doesn't ask.
// outs: one buffer an input, [count] rows.
void encode_planes(const FeatureTable& table, HcpRows hcps, const std::int32_t* plies,
                   PlaneType type, std::span<void* const> outs, int threads);

// The same of positions in memory; handicap games' too, which hcp can't hold.
void encode_planes(const FeatureTable& table, std::span<const Position* const> positions,
                   PlaneType type, std::span<void* const> outs);

// Packed rows of one input to dense ones.
template <class T>
void unpack_planes(const FeatureInput& input, const std::uint8_t* packed, std::size_t count, T* out,
                   int threads);

struct LabelOptions {
    bool check_legal = false;             // refuse moves that aren't legal in their position
    std::optional<std::int64_t> missing;  // the label of rows whose move is 0; else refused
    int threads = 1;
};
// labels: [count][heads]. Without check_legal a move is refused only where the scheme has no
// label for it, or (needs_piece) the mover has no such piece.
void encode_labels(const LabelScheme& scheme, HcpRows hcps, const std::uint16_t* moves,
                   const LabelOptions& options, std::int64_t* labels);

// mask: [count][scheme.size()], 1 at the labels of legal moves.
void legal_mask(const LabelScheme& scheme, HcpRows hcps, std::uint8_t* mask, int threads);

// The labels of position.legal_moves(), in their order: [count][heads].
std::vector<std::int64_t> legal_labels(const LabelScheme& scheme, const Position& position);

// Positions and moves mirrored left to right (file f to 10 - f). moves may be null; 0 stays 0.
void mirror_rows(HcpRows hcps, const std::uint16_t* moves, std::uint8_t* mirrored_hcps,
                 std::uint16_t* mirrored_moves, int threads);

// The legal move that has this label (one number a head). Throws LabelError if none or several.
Move decode_label(const LabelScheme& scheme, const Position& position,
                  std::span<const std::int64_t> label);

}  // namespace komadori
