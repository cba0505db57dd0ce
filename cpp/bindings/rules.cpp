#include "module.h"

void bind_rules(nb::module_&) {}
