// Feature tables: the input planes of a network, their order and their packing.
//
// A table is data: the encoders iterate over its blocks, and documentation and tests are derived
// from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "komadori/encoding/piece_order.h"
#include "komadori/encoding/placement.h"

namespace komadori {

enum class BlockKind : std::uint8_t {
    // Planes of squares.
    PLACEMENT,      // one per piece type: squares of a side's pieces
    ATTACKS,        // one per piece type: squares attacked by a side's pieces of the type
    ATTACK_COUNTS,  // attacked by at least 1, 2, 3 of a side's pieces
    // The board as 81 vectors of 64: PLACEMENT, ATTACKS and ATTACK_COUNTS of both sides in
    // dlshogi's order, then two zeros.
    SQUARE_TOKENS,
    // Planes that are constant over the board and encode a number n.
    THERMOMETER,  // plane i is 1 if n > i
    ONE_HOT,      // plane i is 1 if n == i
    FRACTION,     // n / unit, in [0, 1]: the only values other than 0 and 1
};

enum class Quantity : std::uint8_t {
    NONE,
    HAND,          // pieces of a type in a side's hand
    IN_CHECK,      // 1 if the side to move is in check
    KING_IN_ZONE,  // 1 if a side's king is in its promotion zone
    // The pieces (without the king) and points that a side still needs to declare a win: 10 minus
    // its pieces in the zone, 28 (Black) or 27 (White) minus its points. Negative if it has more
    // than enough; then no plane is set, since dlshogi compares with an unsigned number and its
    // models were trained that way.
    ZONE_REMAINING,
    POINTS_REMAINING,
    PLIES,          // moves made before this position, in units; the last plane covers the rest
    BLACK_TO_MOVE,  // 1 if Black is to move
};

constexpr int TOKEN_SIZE = 64;

enum class PlaneType : std::uint8_t { FLOAT32, UINT8, PACKED };

struct FeatureBlock {
    std::string name;
    BlockKind kind;
    int planes;  // tokens for SQUARE_TOKENS
    Side side = OWN;
    const std::array<PieceType, 14>* order = nullptr;  // of PLACEMENT and ATTACKS
    Quantity quantity = Quantity::NONE;
    PieceType hand_type = NO_PIECE_TYPE;
    int unit = 1;

    bool is_constant() const { return kind >= BlockKind::THERMOMETER; }
    int bits() const;  // in the packed form
    std::vector<std::string> plane_names() const;
};

// One tensor: [planes][9 files][9 ranks], or [tokens][64].
struct FeatureInput {
    std::string name;
    std::vector<FeatureBlock> blocks;
    bool is_tokens = false;

    int planes() const;                                             // or tokens
    int cells() const { return is_tokens ? TOKEN_SIZE : SQUARES; }  // values per plane
    // The packed form is the dense tensor as bits, the first value in the lowest bit of the first
    // byte; a constant plane (or hand slot) takes one bit. For dlshogi's two inputs this is
    // dlshogi's packed_features1_t and packed_features2_t.
    int bits() const;
    int packed_bytes() const { return (bits() + 7) / 8; }
    std::size_t row_bytes(PlaneType type) const;
    bool is_constant() const;  // whether every plane is
};

// Sizes of fixed buffers. feature_tables() rejects a table that exceeds one of them.
constexpr std::size_t MAX_INPUTS = 2;                  // per table
constexpr std::size_t MAX_PACKED_WORDS = 96;           // 64-bit words per input
constexpr std::size_t MAX_ROW_VALUES = 119 * SQUARES;  // dense values per input
constexpr std::size_t MAX_FRACTIONS = 4;               // FRACTION blocks per input

struct FeatureTable {
    std::string name;
    std::string summary;
    std::string source;
    std::vector<FeatureInput> inputs;

    bool is_binary() const;  // all values are 0 or 1, so packed and uint8 forms exist
    bool needs_plies() const;
    bool needs_attacks() const;
};

// Throws std::logic_error if a table is too large for a fixed buffer.
void check_sizes(const FeatureTable& table);

const std::vector<FeatureTable>& feature_tables();
const FeatureTable* find_feature_table(std::string_view name);  // null if unknown

}  // namespace komadori
