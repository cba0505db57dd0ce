// Feature tables: which planes a network reads, in which order, and how they are packed.
//
// A table is data. Everything that writes planes walks its blocks, and the documentation and
// the tests are derived from it.
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
    PLACEMENT,      // one per piece type: where a side's pieces stand
    ATTACKS,        // one per piece type: what a side's pieces of the type attack
    ATTACK_COUNTS,  // attacked by at least 1, 2, 3 of a side's pieces
    // A whole board as 81 vectors of 64: PLACEMENT, ATTACKS and ATTACK_COUNTS of both sides in
    // dlshogi's order, then two zeros.
    SQUARE_TOKENS,
    // Planes that are constant over the board, made of one number n.
    THERMOMETER,  // plane i is 1 where n > i
    ONE_HOT,      // plane i is 1 where n == i
    FRACTION,     // planes of n / unit, in [0, 1]: the only values that are not 0 or 1
};

enum class Quantity : std::uint8_t {
    NONE,
    HAND,          // pieces of a type in a side's hand
    IN_CHECK,      // 1 where the side to move is in check
    KING_IN_ZONE,  // 1 where a side's king is in its promotion zone
    // How many pieces (no king) and points a side's declaration lacks of 10, and of 28 (Black) or
    // 27 (White). Below 0 where it has more than it needs; no plane is set then: dlshogi compares
    // the difference with an unsigned number, and its models were trained so.
    ZONE_REMAINING,
    POINTS_REMAINING,
    PLIES,          // moves made before this position, in units; the last plane has the rest
    BLACK_TO_MOVE,  // 1 where Black is to move
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
    int cells() const { return is_tokens ? TOKEN_SIZE : SQUARES; }  // values a plane
    // The packed form is the dense tensor in its order, the first value in the lowest bit of the
    // first byte, except that a constant plane (or hand slot) takes one bit. For dlshogi's two
    // inputs these are dlshogi's packed_features1_t and packed_features2_t.
    int bits() const;
    int packed_bytes() const { return (bits() + 7) / 8; }
    std::size_t row_bytes(PlaneType type) const;
    bool is_constant() const;  // every plane is
};

// Sizes of fixed buffers. feature_tables() refuses a table that exceeds one of them.
constexpr std::size_t MAX_INPUTS = 2;                  // of a table
constexpr std::size_t MAX_PACKED_WORDS = 96;           // of 64 bits, of an input
constexpr std::size_t MAX_ROW_VALUES = 119 * SQUARES;  // of an input, dense
constexpr std::size_t MAX_FRACTIONS = 4;               // FRACTION blocks of an input

struct FeatureTable {
    std::string name;
    std::string summary;
    std::string source;
    std::vector<FeatureInput> inputs;

    bool is_binary() const;  // every value is 0 or 1; only then a packed or uint8 form exists
    bool needs_plies() const;
    bool needs_attacks() const;
};

// Throws std::logic_error where a table is too large for a fixed buffer.
void check_sizes(const FeatureTable& table);

const std::vector<FeatureTable>& feature_tables();
const FeatureTable* find_feature_table(std::string_view name);  // null where there is none

}  // namespace komadori
