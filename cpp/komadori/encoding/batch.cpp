#include "komadori/encoding/batch.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "komadori/encoding/errors.h"
#include "komadori/rules/errors.h"
#include "komadori/rules/notation.h"
#include "komadori/threads/parallel.h"

namespace komadori {
namespace {

// Larger batches don't fit in the caches until they are read.
constexpr std::size_t LARGE_OUTPUT_BYTES = 8 << 20;

// Calls work(begin, end) on consecutive ranges of the rows, one per thread.
template <class Work>
void for_row_ranges(std::size_t count, int threads, const Work& work) {
    const auto useful = int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), count));
    parallel_for(count, useful,
                 [&](std::size_t, std::size_t begin, std::size_t end) { work(begin, end); });
}

PieceList list_of(HcpRows hcps, std::size_t row) {
    try {
        return list_hcp(hcps[row]);
    } catch (const RulesError& e) {
        throw RowPositionError(row, e.what());
    }
}

Placement placement_of(HcpRows hcps, std::size_t row) { return Placement(list_of(hcps, row)); }

void set_position(Position& position, HcpRows hcps, std::size_t row) {
    try {
        position.set_hcp(hcps[row]);
    } catch (const RulesError& e) {
        throw RowPositionError(row, e.what());
    }
}

std::string move_text(std::uint16_t move) { return "move16 " + std::to_string(move); }

// Writes rows of consecutive outputs.
class RowWriter {
  public:
    RowWriter(const FeatureTable& table, PlaneType type, std::span<void* const> outs,
              std::size_t rows)
        : table_(table), type_(type), outs_(outs) {
        std::size_t bytes = 0;
        for (const FeatureInput& input : table.inputs) {
            row_bytes_.push_back(input.row_bytes(type));
            bytes += rows * row_bytes_.back();
        }
        stores_ = bytes > LARGE_OUTPUT_BYTES ? Stores::PAST_CACHE : Stores::CACHED;
    }
    void write(std::size_t row, const Placement& placement, int plies) const {
        void* at[MAX_INPUTS];
        for (std::size_t i = 0; i < outs_.size(); ++i) {
            at[i] = static_cast<char*>(outs_[i]) + row * row_bytes_[i];
        }
        write_planes(table_, placement, plies, type_, at, stores_);
    }

  private:
    const FeatureTable& table_;
    PlaneType type_;
    std::span<void* const> outs_;
    std::vector<std::size_t> row_bytes_;
    Stores stores_;
};

// The Move of a move16 for label schemes that need the moved piece; captures are not filled in.
Move move_by_piece(HcpRows hcps, std::size_t row, std::uint16_t move16) {
    const Move move(move16);
    const Placement placement = placement_of(hcps, row);
    if (move.is_drop()) {
        if (placement.hand[OWN][move.dropped()] > 0) return move;
        throw RowMoveError(row, move_text(move16) + " drops a piece that isn't in hand");
    }
    const Piece piece = placement.piece_on(move.from());
    if (piece == NO_PIECE || color_of(piece) != placement.turn) {
        throw RowMoveError(row, move_text(move16) + " starts from " + square_name(move.from()) +
                                    ", where the side to move has no piece");
    }
    return Move::board(move.from(), move.to(), move.is_promotion(), type_of(piece), NO_PIECE_TYPE);
}

}  // namespace

void encode_planes(const FeatureTable& table, HcpRows hcps, const std::int32_t* plies,
                   PlaneType type, std::span<void* const> outs, int threads) {
    const RowWriter writer(table, type, outs, hcps.count);
    for_row_ranges(hcps.count, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
            writer.write(row, placement_of(hcps, row), plies ? plies[row] : 0);
        }
    });
}

void encode_planes(const FeatureTable& table, std::span<const Position* const> positions,
                   PlaneType type, std::span<void* const> outs) {
    const RowWriter writer(table, type, outs, positions.size());
    for (std::size_t row = 0; row < positions.size(); ++row) {
        writer.write(row, Placement(*positions[row]), positions[row]->ply() - 1);
    }
}

template <class T>
void unpack_planes(const FeatureInput& input, const std::uint8_t* packed, std::size_t count, T* out,
                   int threads) {
    const auto values = std::size_t(input.planes() * input.cells());
    const auto bytes = std::size_t(input.packed_bytes());
    for_row_ranges(count, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
            expand(input, packed + row * bytes, {}, out + row * values);
        }
    });
}
template void unpack_planes(const FeatureInput&, const std::uint8_t*, std::size_t, float*, int);
template void unpack_planes(const FeatureInput&, const std::uint8_t*, std::size_t, std::uint8_t*,
                            int);

void encode_labels(const LabelScheme& scheme, HcpRows hcps, const std::uint16_t* moves,
                   const LabelOptions& options, std::int64_t* labels) {
    const std::size_t heads = scheme.heads.size();
    for_row_ranges(hcps.count, options.threads, [&](std::size_t begin, std::size_t end) {
        Position position;
        for (std::size_t row = begin; row < end; ++row) {
            const std::uint16_t move16 = moves[row];
            if (move16 == 0 && options.missing) {
                std::fill_n(labels + row * heads, heads, *options.missing);
                continue;
            }
            if (move16 == 0) throw RowMoveError(row, "no move (move16 0)");
            if (!is_well_formed(move16)) {
                throw RowMoveError(row, move_text(move16) + " is not a move");
            }
            Move move(move16);
            Color turn;
            if (options.check_legal) {
                set_position(position, hcps, row);
                turn = position.turn();
                move = position.from_move16(move16);
                if (move.is_none()) throw RowMoveError(row, move_text(move16) + " is not legal");
            } else {
                turn = hcp_turn(hcps[row]);
                if (scheme.needs_piece) move = move_by_piece(hcps, row, move16);
            }
            for (std::size_t h = 0; h < heads; ++h) {
                const int label = scheme.label(move, turn, h);
                if (label < 0) {
                    throw RowMoveError(row, move_text(move16) + " has no label in " + scheme.name);
                }
                labels[row * heads + h] = label;
            }
        }
    });
}

void legal_mask(const LabelScheme& scheme, HcpRows hcps, std::uint8_t* mask, int threads) {
    const auto size = std::size_t(scheme.size());
    for_row_ranges(hcps.count, threads, [&](std::size_t begin, std::size_t end) {
        Position position;
        Move moves[MAX_LEGAL_MOVES];
        for (std::size_t row = begin; row < end; ++row) {
            set_position(position, hcps, row);
            std::uint8_t* out = mask + row * size;
            std::memset(out, 0, size);
            const int count = position.legal_moves(moves);
            for (std::size_t h = 0; h < scheme.heads.size(); ++h) {
                for (int i = 0; i < count; ++i) out[scheme.label(moves[i], position.turn(), h)] = 1;
                out += scheme.heads[h].size;
            }
        }
    });
}

void mirror_rows(HcpRows hcps, const std::uint16_t* moves, std::uint8_t* mirrored_hcps,
                 std::uint16_t* mirrored_moves, int threads) {
    for_row_ranges(hcps.count, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
            const PieceList list = list_of(hcps, row);
            Setup setup;
            setup.turn = list.turn;
            setup.hand = list.hand;
            for (int i = 0; i < list.pieces; ++i) {
                const auto [square, piece] = list.board[std::size_t(i)];
                setup.board[mirror(square)] = piece;
            }
            const PackedBytes bytes = encode_hcp(setup);
            std::memcpy(mirrored_hcps + 32 * row, bytes.data(), bytes.size());
            if (!moves) continue;
            const std::uint16_t move16 = moves[row];
            if (move16 != 0 && !is_well_formed(move16)) {
                throw RowMoveError(row, move_text(move16) + " is not a move");
            }
            const Move move(move16);
            mirrored_moves[row] =
                move16 == 0      ? 0
                : move.is_drop() ? Move::drop(move.dropped(), mirror(move.to())).move16()
                                 : Move::board(mirror(move.from()), mirror(move.to()),
                                               move.is_promotion(), NO_PIECE_TYPE, NO_PIECE_TYPE)
                                       .move16();
        }
    });
}

std::vector<std::int64_t> legal_labels(const LabelScheme& scheme, const Position& position) {
    Move moves[MAX_LEGAL_MOVES];
    const int count = position.legal_moves(moves);
    std::vector<std::int64_t> labels;
    labels.reserve(std::size_t(count) * scheme.heads.size());
    for (int i = 0; i < count; ++i) {
        for (std::size_t h = 0; h < scheme.heads.size(); ++h) {
            labels.push_back(scheme.label(moves[i], position.turn(), h));
        }
    }
    return labels;
}

Move decode_label(const LabelScheme& scheme, const Position& position,
                  std::span<const std::int64_t> label) {
    Move moves[MAX_LEGAL_MOVES];
    const int count = position.legal_moves(moves);
    const std::vector<std::int64_t> labels = legal_labels(scheme, position);
    std::string text;
    for (std::int64_t part : label) text += (text.empty() ? "" : ", ") + std::to_string(part);
    Move found;
    for (int i = 0; i < count; ++i) {
        if (!std::equal(label.begin(), label.end(), labels.begin() + i * std::ssize(label)))
            continue;
        if (!found.is_none()) {
            throw LabelError("label " + text + " of " + scheme.name + " is that of several moves");
        }
        found = moves[i];
    }
    if (found.is_none()) {
        throw LabelError("no legal move has label " + text + " of " + scheme.name);
    }
    return found;
}

}  // namespace komadori
