// Entry points of the binding files, one per folder of the core.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <vector>

namespace nb = nanobind;

// Throws TypeError if a list from Python holds None, which nanobind makes a null pointer of.
template <class T>
const std::vector<T*>& without_none(const std::vector<T*>& objects) {
    if (std::find(objects.begin(), objects.end(), nullptr) != objects.end()) {
        throw nb::type_error("the list holds None");
    }
    return objects;
}

void bind_rules(nb::module_& m);
void bind_alphabeta(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_generate(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_linear_kpp(nb::module_& m);
void bind_linear_loss(nb::module_& m);
void bind_linear_nnue(nb::module_& m);
void bind_linear_nnue_model(nb::module_& m);
void bind_encoding(nb::module_& m);
void bind_records(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_mate(nb::module_& m);
