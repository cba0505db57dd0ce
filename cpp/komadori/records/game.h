// Games as columns: one row per game, per ply and per candidate move. The common table of all
// readers and writers of game formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace komadori {

// The values are frozen: Python's enums and files use them.
enum class Winner : std::uint8_t { DRAW, BLACK, WHITE, UNKNOWN };

enum class End : std::uint8_t {
    UNKNOWN,
    RESIGN,
    MATE,
    SENNICHITE,
    PERPETUAL_CHECK,
    ILLEGAL_MOVE,
    DECLARATION,
    IMPASSE,
    TIME_UP,
    MAX_MOVES,
    INTERRUPTED,
    ADJUDICATION,
};

constexpr std::size_t ALL = std::numeric_limits<std::size_t>::max();
constexpr std::int32_t NO_SCORE = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t MATE_CP = 30000;  // the score of a mate for the mating side
constexpr std::int32_t NO_TIME = -1;
constexpr std::uint16_t NO_CANDIDATES = 0xffff;  // the format has no candidates

// A text of a game, in the encoding of its file: a header (ply -1) or a comment after `ply` moves.
struct GameText {
    std::uint32_t game;
    std::int32_t ply;
    std::string key;  // of a header, or "pv"; "" for comments
    std::string text;
};

// A game that a format can't represent; komadori.records.RecordError in Python.
struct RecordError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// A skipped part of a file: `count` games or records in the bytes [begin, end), and the offset of
// the error.
struct Fault {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;
    std::string reason;
    std::uint64_t count = 1;
};

// Rows of game g: plies first_ply[g] .. first_ply[g + 1]; of ply p: candidates
// first_candidate[p] .. first_candidate[p + 1].
struct GameTable {
    std::vector<std::uint64_t> offset;  // of the game's first byte
    std::vector<std::string> sfen;      // the initial position
    std::vector<Winner> winner;
    std::vector<End> end;
    std::vector<std::uint8_t> opponent;     // hcpe3: 0 self-play, 1 Black / 2 White another engine
    std::vector<std::int32_t> end_time_ms;  // spent before the end; or NO_TIME
    std::vector<std::uint32_t> first_ply{0};

    std::vector<std::uint16_t> move16;      // the played move
    std::vector<std::int32_t> score_cp;     // side to move's view, before the move; or NO_SCORE
    std::vector<std::int32_t> time_ms;      // spent on the move; or NO_TIME
    std::vector<std::uint16_t> candidates;  // number of candidates; or NO_CANDIDATES
    std::vector<std::uint32_t> first_candidate{0};

    std::vector<std::uint16_t> candidate_move16;
    std::vector<std::uint16_t> candidate_visits;

    std::vector<GameText> texts;  // ordered by game
    std::vector<Fault> faults;
    std::uint64_t next = 0;  // offset at which to continue reading

    std::size_t games() const { return sfen.size(); }
    std::size_t plies() const { return move16.size(); }
};

}  // namespace komadori
