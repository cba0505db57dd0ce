// elmo's loss against the game result and a deeper search's score (elmo's appeal document for
// WCSC27; docs/sources.md), and Apery's squared error.
//
//   q = sigma(value / scale), p = sigma(teacher / scale), t = the result, all from the same side
//   cross entropy   result_weight * CE(t, q) + lambda * CE(p, q),
//                   CE(a, b) = -a ln b - (1-a) ln(1-b)
//   squared error   result_weight * (q - t)^2 + lambda * (q - p)^2
//
// Apery's loss is the squared error with result_weight = 0 and lambda = 1. The floor is the minimum
// of the cross entropy: the entropy of p or t.
#pragma once

#include <algorithm>
#include <cmath>

#include "komadori/base/win_rate.h"

namespace komadori::linear {

struct LossSettings {
    double scale_cp = ELMO_COEF;
    double result_weight = 1;
    double lambda = 0.5;  // the teacher's weight
    bool is_squared = false;
};

struct LossTerms {
    double result, teacher;  // unweighted
    double result_floor, teacher_floor;
    double slope;  // d weighted sum / d (value / scale)
};

inline double cross_entropy(double a, double logit) {
    // -ln sigma(x) = ln(1 + exp(-x)), without overflow.
    const double tail = std::log1p(std::exp(-std::abs(logit)));
    return a * (std::max(-logit, 0.0) + tail) + (1 - a) * (std::max(logit, 0.0) + tail);
}

inline double entropy(double a) {
    return a <= 0 || a >= 1 ? 0 : -a * std::log(a) - (1 - a) * std::log1p(-a);
}

inline LossTerms loss_terms(double value_cp, double teacher_cp, double result,
                            const LossSettings& settings) {
    const double logit = value_cp / settings.scale_cp;
    const double q = win_rate(logit);
    const double p = win_rate(teacher_cp / settings.scale_cp);
    const double slope = settings.result_weight * (q - result) + settings.lambda * (q - p);
    if (settings.is_squared) {
        return {(q - result) * (q - result), (q - p) * (q - p), 0, 0, 2 * q * (1 - q) * slope};
    }
    return {cross_entropy(result, logit), cross_entropy(p, logit), entropy(result), entropy(p),
            slope};
}

}  // namespace komadori::linear
