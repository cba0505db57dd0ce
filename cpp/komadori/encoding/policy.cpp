#include "komadori/encoding/policy.h"

#include <algorithm>
#include <cmath>

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
    // Such a scheme has one head.
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

}  // namespace komadori
