#include "komadori/rules/zobrist.h"

#include "komadori/base/hash.h"

namespace komadori {
namespace {

constexpr ZobristTables make_zobrist() {
    std::uint64_t state = 0x6b6f6d61'64'6f7269;
    auto next = [&state] {
        state += GOLDEN_64;
        return mix64(state);
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
