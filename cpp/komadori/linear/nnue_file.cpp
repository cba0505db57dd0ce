// nn.bin, the network file of YaneuraOu-family engines. Little-endian:
//
//   uint32 version (0x7af32f16), uint32 hash of the architecture, uint32 length and text of the
//   description
//   uint32 hash of the feature transformer, int16 biases [256], int16 weights [input][256]
//   uint32 hash of the other layers, then per layer int32 biases [output], int8 weights
//   [output][input], rows padded to a multiple of 32 inputs (not needed at these sizes)
//
// A hash combines the types and sizes of the layers, not their weights: a constant per feature set
// and per layer type plus the outputs, mixed with the hash of the previous layer. Layout, hashes
// and description follow YaneuraOu (source/eval/nnue) and tanuki- (Nasu 2018), where they come
// from; Stockfish's first networks share them.
#include <bit>
#include <cstring>
#include <stdexcept>

#include "komadori/linear/nnue.h"

namespace komadori::linear {
namespace {

constexpr std::uint32_t VERSION = 0x7af32f16;
constexpr std::uint32_t MAX_DESCRIPTION = 4096;

constexpr std::uint32_t inputs_hash(NnueInputs inputs) {
    constexpr std::uint32_t HALF_KP_OWN = 0x5d69d5b9 ^ 1, K = 0xd3cee169, P = 0x764cfb4b;
    return inputs == NnueInputs::HALF_KP ? HALF_KP_OWN : K ^ std::rotl(P, 1);
}
constexpr std::uint32_t transformer_hash(NnueInputs inputs) {
    return inputs_hash(inputs) ^ (2 * NNUE_HALF);
}
constexpr std::uint32_t layers_hash() {
    std::uint32_t hash = 0xec42e90d ^ (2 * NNUE_HALF);  // InputSlice of all inputs
    for (std::uint32_t outputs : {NNUE_HIDDEN, NNUE_HIDDEN, 1}) {
        hash = (0xcc03dae4 + outputs) ^ std::rotr(hash, 1);
        if (outputs > 1) hash += 0x538d24c7;  // ClippedReLU
    }
    return hash;
}
static_assert(layers_hash() == 0x63337156);
static_assert((transformer_hash(NnueInputs::HALF_KP) ^ layers_hash()) == 0x3e5aa6ee);

std::string hex(std::uint32_t value) {
    constexpr char DIGITS[] = "0123456789abcdef";
    std::string text = "0x00000000";
    for (int i = 9; i >= 2; --i, value >>= 4) text[std::size_t(i)] = DIGITS[value & 15];
    return text;
}

class Reader {
  public:
    explicit Reader(std::span<const std::uint8_t> file) : file_(file) {}

    std::size_t at() const { return at_; }
    std::size_t left() const { return file_.size() - at_; }

    void need(std::size_t bytes, const char* what) const {
        if (left() < bytes) {
            throw std::invalid_argument("the file ends in " + std::string(what) + ": " +
                                        std::to_string(bytes) + " bytes are needed at byte " +
                                        std::to_string(at_) + ", " + std::to_string(left()) +
                                        (left() == 1 ? " is there" : " are there"));
        }
    }
    template <class T>
    void read(T* to, std::size_t count, const char* what) {
        need(count * sizeof(T), what);
        for (std::size_t i = 0; i < count; ++i) {
            std::make_unsigned_t<T> value = 0;
            for (std::size_t b = 0; b < sizeof(T); ++b) {
                value = std::make_unsigned_t<T>(value | std::make_unsigned_t<T>(file_[at_ + b])
                                                            << (8 * b));
            }
            to[i] = T(value);
            at_ += sizeof(T);
        }
    }
    std::uint32_t number(const char* what) {
        std::uint32_t value;
        read(&value, 1, what);
        return value;
    }
    void expect(std::uint32_t expected, const char* what) {
        const std::size_t where = at_;
        if (const std::uint32_t found = number(what); found != expected) {
            throw std::invalid_argument(std::string(what) + " at byte " + std::to_string(where) +
                                        " is " + hex(found) + ", not " + hex(expected));
        }
    }

  private:
    std::span<const std::uint8_t> file_;
    std::size_t at_ = 0;
};

template <class T>
void append(std::vector<std::uint8_t>& file, const T* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto bits = std::make_unsigned_t<T>(values[i]);
        for (std::size_t b = 0; b < sizeof(T); ++b) file.push_back(std::uint8_t(bits >> (8 * b)));
    }
}
void append(std::vector<std::uint8_t>& file, std::uint32_t value) { append(file, &value, 1); }

}  // namespace

std::uint32_t nnue_hash(NnueInputs inputs) { return transformer_hash(inputs) ^ layers_hash(); }

std::string nnue_architecture(NnueInputs inputs) {
    return std::string("Features=") + (inputs == NnueInputs::K_P ? "K+P" : "HalfKP(Friend)") + "[" +
           std::to_string(nnue_input_count(inputs)) +
           "->256x2],Network=AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-32]"
           "(ClippedReLU[32](AffineTransform[32<-512](InputSlice[512(0:512)])))))";
}

NnueParameters read_nnue(std::span<const std::uint8_t> file) {
    Reader reader(file);
    reader.expect(VERSION, "the version");
    const std::uint32_t hash = reader.number("the hash");
    NnueParameters p;
    if (hash == nnue_hash(NnueInputs::K_P)) {
        p.inputs = NnueInputs::K_P;
    } else if (hash == nnue_hash(NnueInputs::HALF_KP)) {
        p.inputs = NnueInputs::HALF_KP;
    } else {
        throw std::invalid_argument(
            "the hash at byte 4 is " + hex(hash) + ", neither that of K-P-256x2-32-32 (" +
            hex(nnue_hash(NnueInputs::K_P)) + ") nor of HalfKP-256x2-32-32 (" +
            hex(nnue_hash(NnueInputs::HALF_KP)) + ")");
    }
    const std::uint32_t length = reader.number("the description's length");
    if (length > MAX_DESCRIPTION) {
        throw std::invalid_argument("the description's length at byte 8 is " +
                                    std::to_string(length) + ", at most " +
                                    std::to_string(MAX_DESCRIPTION) + " is understood");
    }
    std::string description(length, ' ');
    reader.read(description.data(), length, "the description");  // informative only

    reader.expect(transformer_hash(p.inputs), "the feature transformer's hash");
    p.ft_biases.resize(NNUE_HALF);
    reader.read(p.ft_biases.data(), NNUE_HALF, "the feature transformer's biases");
    const std::size_t rows = std::size_t(nnue_input_count(p.inputs)) * NNUE_HALF;
    reader.need(rows * sizeof(std::int16_t), "the feature transformer's weights");
    p.ft_weights.resize(rows);
    reader.read(p.ft_weights.data(), rows, "the feature transformer's weights");

    reader.expect(layers_hash(), "the layers' hash");
    reader.read(p.biases1.data(), p.biases1.size(), "the first layer's biases");
    reader.read(p.weights1.data(), p.weights1.size(), "the first layer's weights");
    reader.read(p.biases2.data(), p.biases2.size(), "the second layer's biases");
    reader.read(p.weights2.data(), p.weights2.size(), "the second layer's weights");
    reader.read(&p.bias3, 1, "the last layer's bias");
    reader.read(p.weights3.data(), p.weights3.size(), "the last layer's weights");
    if (reader.left() > 0) {
        throw std::invalid_argument(std::to_string(reader.left()) +
                                    (reader.left() == 1 ? " byte follows" : " bytes follow") +
                                    " the last layer at byte " + std::to_string(reader.at()));
    }
    return p;
}

std::vector<std::uint8_t> write_nnue(const NnueParameters& p) {
    std::vector<std::uint8_t> file;
    file.reserve(p.ft_weights.size() * sizeof(std::int16_t) + (1 << 16));
    append(file, VERSION);
    append(file, nnue_hash(p.inputs));
    const std::string description = nnue_architecture(p.inputs);
    append(file, std::uint32_t(description.size()));
    append(file, description.data(), description.size());
    append(file, transformer_hash(p.inputs));
    append(file, p.ft_biases.data(), p.ft_biases.size());
    append(file, p.ft_weights.data(), p.ft_weights.size());
    append(file, layers_hash());
    append(file, p.biases1.data(), p.biases1.size());
    append(file, p.weights1.data(), p.weights1.size());
    append(file, p.biases2.data(), p.biases2.size());
    append(file, p.weights2.data(), p.weights2.size());
    append(file, &p.bias3, 1);
    append(file, p.weights3.data(), p.weights3.size());
    return file;
}

}  // namespace komadori::linear
