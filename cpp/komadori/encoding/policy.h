// Policy outputs to move probabilities: a softmax over the legal moves.
//
// The probabilities of several heads (from-to) are multiplied, that is, their logits are added.
// Moves with the same label (schemes that aren't invertible) get equal parts of its probability.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "komadori/encoding/batch.h"
#include "komadori/encoding/label.h"
#include "komadori/rules/position.h"

namespace komadori {

// A move's columns in a policy row of concatenated heads, one per head. The move must be legal,
// with moved() filled in if scheme.needs_piece.
void policy_columns(const LabelScheme& scheme, Move m, Color turn, std::uint16_t* columns);

// columns: [moves][heads] of all legal moves of a position. logits: [moves]; their softmax with
// `temperature` gives the probabilities.
void move_logits(const LabelScheme& scheme, std::span<const std::uint16_t> columns,
                 const float* row, float temperature, std::span<float> logits);

// Logits to probabilities, in place; -inf gives 0. If one is NaN or inf, or all are -inf, makes
// them uniform and returns false.
bool softmax(std::span<float> logits, float temperature);

// The probabilities of position.legal_moves(), in order. row: [scheme.size()] logits.
std::vector<float> move_probabilities(const LabelScheme& scheme, const Position& position,
                                      const float* row, float temperature);

// Candidate moves of many positions, concatenated: their number per row, the moves, and their
// probabilities as integers.
struct PolicyCandidates {
    std::vector<std::uint16_t> count;
    std::vector<std::uint16_t> move16;
    std::vector<std::uint16_t> visits;
};

struct CandidateOptions {
    float temperature = 1;
    float least = 0;    // minimum probability of a candidate; the best move is always kept
    int total = 10000;  // visits = probability * total, at least 1
};

// Appends the candidates of the rows hcps[count][32] with logits[count][scheme.size()]. The move
// keep[i] is always kept if it is legal. A row that softmax refuses has no candidates.
// Throws RowPositionError.
void policy_candidates(const LabelScheme& scheme, HcpRows hcps, const float* logits,
                       const std::uint16_t* keep, const CandidateOptions& options,
                       PolicyCandidates& out);

}  // namespace komadori
