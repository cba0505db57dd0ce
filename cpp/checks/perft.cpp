// A program without Python: counts the start position's leaves, for cross-compiled builds of
// the core. Ends with status 1 if a count is wrong.
#include "komadori/rules/perft.h"

#include <array>
#include <cstdint>
#include <cstdio>

int main() {
    // Source: tests/rules/perft.json, start position.
    constexpr std::array<std::uint64_t, 4> expected{30, 900, 25470, 719731};
    komadori::Position position;
    bool is_right = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::uint64_t leaves = komadori::perft(position, int(i) + 1);
        std::printf("perft(%zu) = %llu\n", i + 1, static_cast<unsigned long long>(leaves));
        is_right = is_right && leaves == expected[i];
    }
    return is_right ? 0 : 1;
}
