// Which instruction-set level this processor has. Kept apart from the core so that
// asking does not load any variant of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace {

std::string level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")) {
        return "x86_64_v3";
    }
    return "x86_64_v2";
#else
    return "plain";
#endif
}

}  // namespace

NB_MODULE(_cpu_probe, m) {
    m.def("level", &level, "The best core variant this processor can run.");
}
