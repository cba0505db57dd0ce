// From a row of a policy network's outputs to probabilities of moves.
//
// A softmax over the legal moves. Several outputs (from-to) multiply: their logits add up. Moves
// that share a label (schemes that aren't invertible) share its probability in equal parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "komadori/encoding/label.h"
#include "komadori/rules/position.h"

namespace komadori {

// Where a move's labels lie in a policy row, whose outputs lie one after another: one column per
// head. The move is legal, with its piece type where scheme.needs_piece.
void policy_columns(const LabelScheme& scheme, Move m, Color turn, std::uint16_t* columns);

// columns: [moves][heads] of all legal moves of a position. logits: [moves]; their softmax at the
// temperature gives the probabilities.
void move_logits(const LabelScheme& scheme, std::span<const std::uint16_t> columns,
                 const float* row, float temperature, std::span<float> logits);

// Logits to probabilities, in place. Returns false, and makes them uniform, if one isn't finite.
bool softmax(std::span<float> logits, float temperature);

// The probabilities of position.legal_moves(), in their order. row: [scheme.size()] logits.
std::vector<float> move_probabilities(const LabelScheme& scheme, const Position& position,
                                      const float* row, float temperature);

}  // namespace komadori
