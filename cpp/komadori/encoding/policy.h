// From a row of a policy network's outputs to probabilities of moves.
//
// A softmax over the legal moves. Several outputs (from-to) multiply: their logits add up. Moves
// that share a label (schemes that aren't invertible) share its probability in equal parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "komadori/encoding/batch.h"
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

// Moves of many positions, those of row i after those of row i - 1: how many each row has, the
// moves, and their probabilities as whole numbers.
struct PolicyCandidates {
    std::vector<std::uint16_t> count;
    std::vector<std::uint16_t> move16;
    std::vector<std::uint16_t> visits;
};

// Which moves of a row are kept, and in what numbers.
struct CandidateOptions {
    float temperature = 1;
    float least = 0;    // probability from which on a move is kept; the best one always is
    int total = 10000;  // visits = probability * total, at least 1
};

// Of the rows hcps[count][32] and logits[count][scheme.size()]. The move in keep[i], if it is legal
// there and not 0, is kept whatever its probability. Throws RowPositionError; a row whose logits
// aren't finite has no candidates.
void policy_candidates(const LabelScheme& scheme, HcpRows hcps, const float* logits,
                       const std::uint16_t* keep, const CandidateOptions& options,
                       PolicyCandidates& out);

}  // namespace komadori
