// Instruction sets of this CPU. A separate module, so that probing loads no variant of the core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace {

#if defined(__x86_64__)
// AMX by CPUID leaf 7 (Intel SDM vol. 2A, CPUID): EDX bits 22 to 25.
void add_amx(std::vector<std::string>& found) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return;
    if (edx >> 24 & 1) found.emplace_back("amx-tile");
    if (edx >> 22 & 1) found.emplace_back("amx-bf16");
    if (edx >> 25 & 1) found.emplace_back("amx-int8");
}
#endif

std::vector<std::string> features() {
    std::vector<std::string> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("popcnt")) found.emplace_back("popcnt");
    if (__builtin_cpu_supports("sse4.2")) found.emplace_back("sse4.2");
    if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2");
    if (__builtin_cpu_supports("bmi2")) found.emplace_back("bmi2");
    if (__builtin_cpu_supports("fma")) found.emplace_back("fma");
    if (__builtin_cpu_supports("avx512f")) found.emplace_back("avx512f");
    if (__builtin_cpu_supports("avx512bw")) found.emplace_back("avx512bw");
    if (__builtin_cpu_supports("avx512vnni")) found.emplace_back("avx512-vnni");
    if (__builtin_cpu_supports("avx512bf16")) found.emplace_back("avx512-bf16");
    add_amx(found);
#elif defined(__aarch64__)
    found.emplace_back("neon");
#endif
    return found;
}

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
    m.def("level", &level, "The best core variant this CPU can run.");
    m.def("features", &features, "Names of the instruction sets that the kernels can use.");
}
