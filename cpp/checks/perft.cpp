// Checks perft of the start position without Python, for cross-compiled builds of the core. Exits
// with status 1 if a count is wrong.
#include "komadori/rules/perft.h"

#include <array>
#include <cstdint>
#include <cstdio>

int main() {
    // Source: tests/rules/perft.toml, start position.
    constexpr std::array<std::uint64_t, 4> expected{30, 900, 25470, 719731};
    komadori::Position position;
    bool is_correct = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::uint64_t leaves = komadori::perft(position, int(i) + 1);
        std::printf("perft(%zu) = %llu\n", i + 1, static_cast<unsigned long long>(leaves));
        is_correct = is_correct && leaves == expected[i];
    }
    return is_correct ? 0 : 1;
}
