// Vectors as numpy arrays.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "module.h"

// Moves the vector into an array that owns its memory. `Array` may have another element type of the
// same layout.
template <class Array, class T>
Array owning_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    nb::capsule owner(owned.release(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array(data, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values) {
    const std::size_t n = values.size();
    return owning_array<nb::ndarray<nb::numpy, T>>(std::move(values), {n});
}
