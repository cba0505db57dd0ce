// The extension module: one submodule for each folder of the core.
#include "module.h"

#include "komadori/threads/parallel.h"

NB_MODULE(KOMADORI_MODULE, m) {
    komadori::prepare_to_throw();  // in the main thread, while there is memory
    nb::set_leak_warnings(false);  // objects alive at interpreter exit are not leaks
    // Types are named komadori._core.*, independent of the variant.
    m.attr("__name__") = "komadori._core";
    nb::module_ rules = m.def_submodule("rules");
    bind_rules(rules);
    nb::module_ encoding = m.def_submodule("encoding");
    bind_encoding(encoding);
    nb::module_ records = m.def_submodule("records");
    bind_records(records);
    nb::module_ tree = m.def_submodule("tree");
    bind_tree(tree);
    nb::module_ mate = m.def_submodule("mate");
    bind_mate(mate);
    nb::module_ alphabeta = m.def_submodule("alphabeta");
    bind_alphabeta(alphabeta);
    nb::module_ attention = m.def_submodule("attention");
    bind_attention(attention);
    nb::module_ linear = m.def_submodule("linear");
    bind_linear(linear);
    bind_linear_loss(linear);
    bind_linear_nnue(linear);
    bind_linear_kpp(linear);
    bind_linear_nnue_model(linear);
    nb::module_ generate = m.def_submodule("generate");
    bind_generate(generate);
}
