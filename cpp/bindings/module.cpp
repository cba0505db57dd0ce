// The extension module: one submodule for each folder of the core.
#include "module.h"

NB_MODULE(KOMADORI_MODULE, m) {
    nb::module_ rules = m.def_submodule("rules");
    bind_rules(rules);
}
