// Samples as numpy arrays.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.h"
#include "komadori/records/samples.h"

template <typename Enum>
nb::ndarray<nb::numpy, std::uint8_t> enums_to_numpy(const std::vector<Enum>& values) {
    std::vector<std::uint8_t> out(values.size());
    std::transform(values.begin(), values.end(), out.begin(),
                   [](Enum e) { return std::uint8_t(e); });
    return to_numpy(std::move(out));
}

inline nb::dict to_dict(komadori::SampleTable&& samples) {
    nb::dict out;
    out["end"] = enums_to_numpy(samples.end);
    out["hcp"] = owning_array<nb::ndarray<nb::numpy, std::uint8_t>>(std::move(samples.hcp),
                                                                    {samples.size(), 32});
    out["move16"] = to_numpy(std::move(samples.move16));
    out["score_cp"] = to_numpy(std::move(samples.score_cp));
    out["result"] = to_numpy(std::move(samples.result));
    out["game"] = to_numpy(std::move(samples.game));
    out["ply"] = to_numpy(std::move(samples.ply));
    out["end_ply"] = to_numpy(std::move(samples.end_ply));
    return out;
}
