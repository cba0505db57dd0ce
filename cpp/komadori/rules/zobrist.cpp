#include "komadori/rules/zobrist.h"

namespace komadori {
namespace {

constexpr ZobristTables make_zobrist() {
    std::uint64_t state = 0x6b6f6d61'64'6f7269;
    auto next = [&state] {
        std::uint64_t z = (state += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    };
    ZobristTables t{};
    for (int p = 0; p < 32; ++p) {
        for (int s = 0; s < SQUARES; ++s) t.piece[p][s] = next();
    }
    for (auto& side : t.hand) {
        for (auto& number : side) number = next();
    }
    t.white_to_move = next();
    return t;
}

}  // namespace

constinit const ZobristTables ZOBRIST = make_zobrist();

}  // namespace komadori
