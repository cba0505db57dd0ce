// Samples as numpy arrays.
#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "komadori/records/samples.h"
#include "module.h"

// A numpy array that owns the vector's memory.
template <typename T, typename... Inner>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, Inner... inner) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const std::size_t rows = owned->size() / (std::size_t(1) * ... * std::size_t(inner));
    nb::capsule owner(owned.release(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(data, {rows, std::size_t(inner)...}, owner);
}

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
    out["hcp"] = to_numpy(std::move(samples.hcp), 32);
    out["move16"] = to_numpy(std::move(samples.move16));
    out["score_cp"] = to_numpy(std::move(samples.score_cp));
    out["result"] = to_numpy(std::move(samples.result));
    out["game"] = to_numpy(std::move(samples.game));
    out["ply"] = to_numpy(std::move(samples.ply));
    out["end_ply"] = to_numpy(std::move(samples.end_ply));
    return out;
}
