// Win probabilities of scores.
#pragma once

#include <cmath>

namespace komadori {

// Coefficients of engines: the score in centipawns at which the odds are e to 1.
constexpr double ELMO_COEF = 600;                   // elmo, Apery, pydlshogi
constexpr double DLSHOGI_COEF = 756.0864962951762;  // dlshogi's training data (hcpe_decoder)

// log_odds: a score divided by its coefficient.
inline double win_rate(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

}  // namespace komadori
