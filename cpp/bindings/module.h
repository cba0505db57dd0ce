// Entry points of the binding files, one per folder of the core.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

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
