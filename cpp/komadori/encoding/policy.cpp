#include "komadori/encoding/policy.h"

#include <algorithm>
#include <cmath>

#include "komadori/encoding/errors.h"
#include "komadori/rules/errors.h"

namespace komadori {

void policy_columns(const LabelScheme& scheme, Move m, Color turn, std::uint16_t* columns) {
    int first = 0;
    for (std::size_t h = 0; h < scheme.heads.size(); ++h) {
        columns[h] = std::uint16_t(first + scheme.label(m, turn, h));
        first += scheme.heads[h].size;
    }
}

void move_logits(const LabelScheme& scheme, std::span<const std::uint16_t> columns,
                 const float* row, float temperature, std::span<float> logits) {
    const std::size_t heads = scheme.heads.size();
    for (std::size_t i = 0; i < logits.size(); ++i) {
        logits[i] = 0;
        for (std::size_t h = 0; h < heads; ++h) logits[i] += row[columns[i * heads + h]];
    }
    if (scheme.is_invertible) return;
    // Schemes that aren't invertible have one head.
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const auto sharing = std::ranges::count(columns, columns[i]);
        if (sharing > 1) logits[i] -= temperature * std::log(float(sharing));
    }
}

bool softmax(std::span<float> logits, float temperature) {
    const float largest = std::ranges::max(logits);
    const float scale = 1.0f / temperature;
    float sum = 0;
    for (float& x : logits) {
        x = std::exp((x - largest) * scale);
        sum += x;
    }
    const bool valid = std::isfinite(sum);
    const float norm = 1.0f / sum;
    const float uniform = 1.0f / float(logits.size());
    for (float& x : logits) x = valid ? x * norm : uniform;
    return valid;
}

std::vector<float> move_probabilities(const LabelScheme& scheme, const Position& position,
                                      const float* row, float temperature) {
    Move moves[MAX_LEGAL_MOVES];
    const auto count = std::size_t(position.legal_moves(moves));
    const std::size_t heads = scheme.heads.size();
    std::vector<std::uint16_t> columns(count * heads);
    for (std::size_t i = 0; i < count; ++i) {
        policy_columns(scheme, moves[i], position.turn(), &columns[i * heads]);
    }
    std::vector<float> probabilities(count);
    if (count == 0) return probabilities;
    move_logits(scheme, columns, row, temperature, probabilities);
    softmax(probabilities, temperature);
    return probabilities;
}

void policy_candidates(const LabelScheme& scheme, HcpRows hcps, const float* logits,
                       const std::uint16_t* keep, const CandidateOptions& options,
                       PolicyCandidates& out) {
    const std::size_t heads = scheme.heads.size();
    Position position;
    Move moves[MAX_LEGAL_MOVES];
    std::vector<std::uint16_t> columns(MAX_LEGAL_MOVES * heads);
    std::vector<float> probabilities(MAX_LEGAL_MOVES);
    for (std::size_t row = 0; row < hcps.count; ++row) {
        try {
            position.set_hcp(hcps[row]);
        } catch (const RulesError& e) {
            throw RowPositionError(row, e.what());
        }
        const auto count = std::size_t(position.legal_moves(moves));
        for (std::size_t i = 0; i < count; ++i) {
            policy_columns(scheme, moves[i], position.turn(), &columns[i * heads]);
        }
        const std::span<float> found(probabilities.data(), count);
        std::uint16_t kept = 0;
        if (count > 0) {
            move_logits(scheme, {columns.data(), count * heads},
                        logits + row * std::size_t(scheme.size()), options.temperature, found);
        }
        if (count > 0 && softmax(found, options.temperature)) {
            const float best = std::ranges::max(found);
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint16_t move16 = moves[i].move16();
                if (found[i] < std::min(options.least, best) && move16 != keep[row]) continue;
                const long visits = std::lround(found[i] * float(options.total));
                out.move16.push_back(move16);
                out.visits.push_back(std::uint16_t(std::clamp(visits, 1L, 0xffffL)));
                ++kept;
            }
        }
        out.count.push_back(kept);
    }
}

}  // namespace komadori
