// Corrects the network's values by its errors in similar positions of the same search, as KataGo's
// subtree value bias correction does: docs/sources.md#programs. Positions are similar if the last
// two moves are the same. The error of a value is the mean of what was backed up through its node,
// less the value. KataGo corrects old values again whenever an error changes; here a value is
// corrected once, when it is computed, so that sums stay exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "komadori/base/hash.h"
#include "komadori/rules/position.h"

namespace komadori {

class ValueBias {
  public:
    static constexpr int BUCKETS = 1 << 16;

    // The bucket of a position. The path before its last two moves doesn't count.
    static std::uint16_t bucket(const Position& position) {
        const int plies = position.path_length();
        std::uint64_t hash = position.turn();
        for (int i = std::max(0, plies - 2); i < plies; ++i) {
            hash = mix64(hash * GOLDEN_64 + position.path_move(i).raw());
        }
        return std::uint16_t(hash >> 48);
    }

    // The mean error of the bucket's values, 0 if none is known.
    double error(std::uint16_t bucket) const {
        if (sums_.empty() || sums_[bucket].weight == 0.0) return 0.0;
        return sums_[bucket].error / sums_[bucket].weight;
    }
    // Learns the error of a value from one of the values backed up through its node, the n-th. A
    // node's weight is about n^0.85 (KataGo).
    void learn(std::uint16_t bucket, double error, std::uint32_t n) {
        if (sums_.empty()) sums_.resize(BUCKETS);
        const double weight = std::pow(double(n), -0.15);
        sums_[bucket].error += weight * error;
        sums_[bucket].weight += weight;
    }
    void clear() { sums_.clear(); }

  private:
    struct Sums {
        double error = 0.0;
        double weight = 0.0;
    };
    std::vector<Sums> sums_;
};

}  // namespace komadori
