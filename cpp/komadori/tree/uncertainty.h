// Weights playouts by the certainty of their leaves' values, as KataGo's uncertainty-weighted
// playouts do: docs/sources.md#programs. KataGo's network predicts its own error; here the
// uncertainty is how far the network's value of a leaf is from that of its LeafSearch. The weight
// is 1 / (FLOOR + uncertainty / mean uncertainty), divided by the mean of that, so that it is 1 on
// average.
#pragma once

#include <cstdint>

namespace komadori {

class Uncertainty {
  public:
    // A certain value weighs (FLOOR + 1) / FLOOR = 3 times as much as one of mean uncertainty.
    static constexpr double FLOOR = 0.5;

    // Learns the uncertainty of a leaf and returns its weight.
    double weight(double uncertainty) {
        ++leaves_;
        sum_ += uncertainty;
        const double weight = raw(uncertainty);
        weights_ += weight;
        return weight * double(leaves_) / weights_;
    }
    // The weight of a value that is certain: by the rules or proven.
    double certain() const { return leaves_ > 0 ? raw(0.0) * double(leaves_) / weights_ : 1.0; }
    void clear() { *this = {}; }

  private:
    double raw(double uncertainty) const {
        const double mean = leaves_ > 0 ? sum_ / double(leaves_) : 0.0;
        return 1.0 / (FLOOR + (mean > 0.0 ? uncertainty / mean : 1.0));
    }

    std::uint64_t leaves_ = 0;
    double sum_ = 0.0;
    double weights_ = 0.0;
};

}  // namespace komadori
