// The keywords of the CSA format.
#pragma once

#include <string_view>

#include "komadori/records/game.h"
#include "komadori/rules/notation.h"

namespace komadori::csa {

// NO_PIECE_TYPE for any other two letters.
constexpr PieceType piece_type(std::string_view name) {
    for (int t = 1; t < PIECE_TYPES; ++t)
        if (CSA_NAMES[t] == name) return PieceType(t);
    return NO_PIECE_TYPE;
}

// The result of an end for the side to move.
enum class Outcome : std::uint8_t { LOSS, WIN, DRAW, UNKNOWN };

constexpr Winner winner_for(Outcome outcome, Color turn) {
    if (outcome == Outcome::DRAW) return Winner::DRAW;
    if (outcome == Outcome::UNKNOWN) return Winner::UNKNOWN;
    return (outcome == Outcome::WIN) == (turn == BLACK) ? Winner::BLACK : Winner::WHITE;
}

struct EndName {
    std::string_view name;
    End end;
    Outcome outcome;
};

// The first row of an End is the one written.
constexpr EndName END_NAMES[] = {
    {"%TORYO", End::RESIGN, Outcome::LOSS},
    {"%TSUMI", End::MATE, Outcome::LOSS},
    {"%SENNICHITE", End::SENNICHITE, Outcome::DRAW},
    {"%ILLEGAL_MOVE", End::ILLEGAL_MOVE, Outcome::LOSS},
    {"%KACHI", End::DECLARATION, Outcome::WIN},
    {"%JISHOGI", End::IMPASSE, Outcome::DRAW},
    {"%HIKIWAKE", End::IMPASSE, Outcome::DRAW},
    {"%TIME_UP", End::TIME_UP, Outcome::LOSS},
    {"%MAX_MOVES", End::MAX_MOVES, Outcome::DRAW},
    {"%CHUDAN", End::INTERRUPTED, Outcome::UNKNOWN},
    {"%MATTA", End::INTERRUPTED, Outcome::UNKNOWN},
    {"%ERROR", End::INTERRUPTED, Outcome::UNKNOWN},
    {"%FUZUMI", End::UNKNOWN, Outcome::UNKNOWN},
};

struct SummaryName {
    std::string_view name;
    End end;
};

// shogi-server's `'summary:NAME:black's name win|lose|draw:white's name ...`, and adjudication,
// which is specific to komadori. The first row of an End is the one written.
constexpr SummaryName SUMMARY_NAMES[] = {
    {"toryo", End::RESIGN},
    {"mate", End::MATE},
    {"sennichite", End::SENNICHITE},
    {"oute_sennichite", End::PERPETUAL_CHECK},
    {"illegal move", End::ILLEGAL_MOVE},
    {"uchifuzume", End::ILLEGAL_MOVE},
    {"kachi", End::DECLARATION},
    {"jishogi", End::IMPASSE},
    {"time up", End::TIME_UP},
    {"max_moves", End::MAX_MOVES},
    {"chudan", End::INTERRUPTED},
    {"abnormal", End::INTERRUPTED},
    {"adjudication", End::ADJUDICATION},
};

struct HeaderName {
    std::string_view csa;  // everything before the value
    std::string_view key;
};

// Any other `$KEY:value` has the key KEY.
constexpr HeaderName HEADER_NAMES[] = {
    {"N+", "black"},
    {"N-", "white"},
    {"$EVENT:", "event"},
    {"$SITE:", "site"},
    {"$START_TIME:", "start_time"},
    {"$END_TIME:", "end_time"},
    {"$TIME_LIMIT:", "time_limit"},
    {"$TIME:", "time_control"},
    {"$OPENING:", "opening"},
    {"$MAX_MOVES:", "max_moves"},
};

}  // namespace komadori::csa
