#include "komadori/encoding/features.h"

#include <algorithm>
#include <stdexcept>

namespace komadori {
namespace {

constexpr int HAND_CAPS_DLSHOGI[9] = {0, 8, 4, 4, 4, 2, 2, 4, 0};  // by PieceType
constexpr const char* SIDE_NAMES[2] = {"own", "opponent"};

std::string letters(PieceType t) { return piece_name(make_piece(BLACK, t)); }
std::string of_side(Side side, const char* what) {
    return std::string(SIDE_NAMES[side]) + " " + what;
}

FeatureBlock placement(Side side, const std::array<PieceType, 14>& order) {
    return {of_side(side, "pieces"), BlockKind::PLACEMENT, 14, side, &order};
}
FeatureBlock flag(std::string name, Quantity quantity, Side side = OWN) {
    return {std::move(name), BlockKind::THERMOMETER, 1, side, nullptr, quantity};
}
FeatureBlock plies(BlockKind kind, int planes, int unit) {
    return {"plies played", kind, planes, OWN, nullptr, Quantity::PLIES, NO_PIECE_TYPE, unit};
}

// Thermometers of one side's hand in the order P L N S G B R.
void add_hand(FeatureInput& input, Side side, const int (&caps)[9]) {
    for (PieceType t : HAND_TYPES) {
        input.blocks.push_back({of_side(side, "hand ") + letters(t), BlockKind::THERMOMETER,
                                caps[t], side, nullptr, Quantity::HAND, t});
    }
}

FeatureInput dlshogi_board() {
    FeatureInput input{"features1", {}};
    for (Side side : {OWN, OPPONENT}) {
        input.blocks.push_back(placement(side, APERY_ORDER));
        input.blocks.push_back(
            {of_side(side, "attacks"), BlockKind::ATTACKS, 14, side, &APERY_ORDER});
        input.blocks.push_back({of_side(side, "attack count"), BlockKind::ATTACK_COUNTS, 3, side});
    }
    return input;
}

FeatureInput dlshogi_hands(bool declaration) {
    FeatureInput input{"features2", {}};
    for (Side side : {OWN, OPPONENT}) add_hand(input, side, HAND_CAPS_DLSHOGI);
    input.blocks.push_back(flag("in check", Quantity::IN_CHECK));
    for (Side side : {OWN, OPPONENT}) {
        if (!declaration) break;
        input.blocks.push_back(flag(of_side(side, "king in zone"), Quantity::KING_IN_ZONE, side));
        input.blocks.push_back({of_side(side, "pieces lacking in zone"), BlockKind::ONE_HOT, 10,
                                side, nullptr, Quantity::ZONE_REMAINING});
        input.blocks.push_back({of_side(side, "points lacking"), BlockKind::ONE_HOT, 20, side,
                                nullptr, Quantity::POINTS_REMAINING});
    }
    return input;
}

FeatureTable pydlshogi() {
    FeatureInput input{"features", {}};
    for (Side side : {OWN, OPPONENT}) {
        input.blocks.push_back(placement(side, PYTHON_SHOGI_ORDER));
        add_hand(input, side, PIECES_IN_SET);
    }
    return {
        "pydlshogi", "placement and full hands in one tensor", "pydlshogi, features.py", {input}};
}

FeatureTable attention() {
    FeatureInput input{"tokens", {}, true};
    input.blocks.push_back({"square", BlockKind::SQUARE_TOKENS, SQUARES});
    for (Side side : {OWN, OPPONENT}) add_hand(input, side, HAND_CAPS_DLSHOGI);
    return {"attention",
            "81 square tokens (dlshogi's features1 of the square, two zeros) and 56 hand slots "
            "(all ones where held)",
            "Yamaoka's diary: multi-head self-attention",
            {input}};
}

// The policy network of the diary's first parts: placement and hands as two inputs. `extra` is
// appended to the second.
FeatureTable diary(const char* suffix, const char* summary, const char* part,
                   const std::vector<FeatureBlock>& extra) {
    FeatureInput board{
        "board", {placement(OWN, PYTHON_SHOGI_ORDER), placement(OPPONENT, PYTHON_SHOGI_ORDER)}};
    FeatureInput hands{"hands", {}};
    for (Side side : {OWN, OPPONENT}) add_hand(hands, side, PIECES_IN_SET);
    hands.blocks.insert(hands.blocks.end(), extra.begin(), extra.end());
    return {std::string("diary") + suffix,
            summary,
            std::string("Yamaoka's diary: deep learning for shogi, part ") + part,
            {board, hands}};
}

std::vector<FeatureTable> make_tables() {
    return {
        {"dlshogi",
         "placement, attacks by type, attack counts; hands, check",
         "dlshogi, cppshogi (make_input_features)",
         {dlshogi_board(), dlshogi_hands(false)}},
        {"dlshogi-119",
         "dlshogi with the entering-king planes in the second input",
         "dlshogi, cppshogi with NYUGYOKU_FEATURES",
         {dlshogi_board(), dlshogi_hands(true)}},
        pydlshogi(),
        attention(),
        diary("", "placement; full hands", "4", {}),
        diary("-turn10", "diary with the turn number by 10 plies", "5",
              {plies(BlockKind::ONE_HOT, 8, 10)}),
        diary("-turn15", "diary with the turn number by 15 plies", "5",
              {plies(BlockKind::ONE_HOT, 8, 15)}),
        diary("-turn20", "diary with the turn number by 20 plies", "5",
              {plies(BlockKind::ONE_HOT, 8, 20)}),
        diary("-turn", "diary with the turn number as one number (of 256 plies)", "5",
              {plies(BlockKind::FRACTION, 1, 256)}),
        diary("-color", "diary with the colour of the side to move", "5",
              {flag("Black to move", Quantity::BLACK_TO_MOVE)}),
        diary("-check", "diary with the in-check plane", "9",
              {flag("in check", Quantity::IN_CHECK)}),
    };
}

bool any_block(const FeatureTable& table, auto predicate) {
    return std::ranges::any_of(table.inputs, [&](const FeatureInput& input) {
        return std::ranges::any_of(input.blocks, predicate);
    });
}

}  // namespace

int FeatureBlock::bits() const {
    switch (kind) {
        case BlockKind::SQUARE_TOKENS:
            return planes * TOKEN_SIZE;
        case BlockKind::FRACTION:
            return 0;
        default:
            return is_constant() ? planes : planes * SQUARES;
    }
}

std::vector<std::string> FeatureBlock::plane_names() const {
    std::vector<std::string> names;
    for (int i = 0; i < planes; ++i) {
        switch (kind) {
            case BlockKind::PLACEMENT:
            case BlockKind::ATTACKS:
                names.push_back(name + " " + letters((*order)[std::size_t(i)]));
                break;
            case BlockKind::ATTACK_COUNTS:
                names.push_back(name + " >= " + std::to_string(i + 1));
                break;
            case BlockKind::SQUARE_TOKENS:
                names.push_back(name + " " + square_name(Square(i)));
                break;
            case BlockKind::THERMOMETER:
                names.push_back(planes == 1 ? name : name + " >= " + std::to_string(i + 1));
                break;
            case BlockKind::ONE_HOT:
                if (quantity != Quantity::PLIES) {
                    names.push_back(name + " = " + std::to_string(i));
                } else if (i + 1 < planes) {
                    names.push_back(name + " " + std::to_string(i * unit) + "-" +
                                    std::to_string((i + 1) * unit - 1));
                } else {
                    names.push_back(name + " >= " + std::to_string(i * unit));
                }
                break;
            case BlockKind::FRACTION:
                names.push_back(name + " / " + std::to_string(unit));
                break;
        }
    }
    return names;
}

int FeatureInput::planes() const {
    int sum = 0;
    for (const FeatureBlock& block : blocks) sum += block.planes;
    return sum;
}

int FeatureInput::bits() const {
    int sum = 0;
    for (const FeatureBlock& block : blocks) sum += block.bits();
    return sum;
}

std::size_t FeatureInput::row_bytes(PlaneType type) const {
    if (type == PlaneType::PACKED) return std::size_t(packed_bytes());
    return std::size_t(planes() * cells()) * (type == PlaneType::FLOAT32 ? sizeof(float) : 1);
}

bool FeatureInput::is_constant() const {
    return std::ranges::all_of(blocks, [](const FeatureBlock& b) { return b.is_constant(); });
}

bool FeatureTable::is_binary() const {
    return !any_block(*this, [](const FeatureBlock& b) { return b.kind == BlockKind::FRACTION; });
}

bool FeatureTable::needs_plies() const {
    return any_block(*this, [](const FeatureBlock& b) { return b.quantity == Quantity::PLIES; });
}

bool FeatureTable::needs_attacks() const {
    return any_block(*this, [](const FeatureBlock& b) {
        return b.kind == BlockKind::ATTACKS || b.kind == BlockKind::ATTACK_COUNTS ||
               b.kind == BlockKind::SQUARE_TOKENS || b.quantity == Quantity::IN_CHECK;
    });
}

void check_sizes(const FeatureTable& table) {
    const auto require = [&](std::size_t size, std::size_t most, const std::string& what) {
        if (size <= most) return;
        throw std::logic_error("feature table " + table.name + ": " + std::to_string(size) + " " +
                               what + ", the buffers hold " + std::to_string(most));
    };
    require(table.inputs.size(), MAX_INPUTS, "inputs (MAX_INPUTS)");
    for (const FeatureInput& input : table.inputs) {
        const auto fractions = std::ranges::count_if(
            input.blocks, [](const FeatureBlock& b) { return b.kind == BlockKind::FRACTION; });
        require(std::size_t(input.bits() + 63) / 64, MAX_PACKED_WORDS,
                "packed words in " + input.name + " (MAX_PACKED_WORDS)");
        require(std::size_t(input.planes() * input.cells()), MAX_ROW_VALUES,
                "values in " + input.name + " (MAX_ROW_VALUES)");
        require(std::size_t(fractions), MAX_FRACTIONS,
                "fractions in " + input.name + " (MAX_FRACTIONS)");
    }
}

const std::vector<FeatureTable>& feature_tables() {
    // Never destroyed: a thread may still use it while the process exits.
    static const auto& tables = *[] {
        auto* made = new std::vector<FeatureTable>(make_tables());
        std::ranges::for_each(*made, check_sizes);
        return made;
    }();
    return tables;
}

const FeatureTable* find_feature_table(std::string_view name) {
    for (const FeatureTable& table : feature_tables()) {
        if (table.name == name) return &table;
    }
    return nullptr;
}

}  // namespace komadori
