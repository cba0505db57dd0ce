// The CSA format (V1 to V3): text, one or more statements per line, separated by commas.
//
// Supported: N+ N- $KEY: headers; PI, P1..P9, P+ P- placements; moves; T times; % ends; 'comments.
// Comments: `'*text` belongs to the game; `'** cp pv` after a move is the mover's evaluation, from
// Black's view, and its principal variation (floodgate); `'summary:`, `'black_rate:`,
// `'white_rate:` and `'KEY:value` before the moves are headers (shogi-server). Other comments are
// ignored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "komadori/records/game.h"

namespace komadori {

// Reads up to `max_games` games from byte `begin` on. Games are separated by "/" lines or start
// with a version, name or placement line. Every move is checked; an unknown statement or an
// illegal move is a fault: the game ends before it, without a result unless it had ended, and is
// left out if it has no move by then. An illegal last move before %ILLEGAL_MOVE or
// %+-ILLEGAL_ACTION is dropped: it is the reason for that end. Accepts any encoding in which ASCII
// bytes are ASCII within lines (UTF-8 with or without a BOM, Shift-JIS). Texts: headers under the
// keys of HEADER_NAMES, comments under "", principal variations under "pv", in USI.
GameTable read_csa(std::span<const std::uint8_t> bytes, std::size_t begin = 0,
                   std::size_t max_games = ALL);

// Appends one game of the table as CSA V2.2, UTF-8, without the "/" between games.
// Throws RulesError for an illegal move.
void write_csa(const GameTable& table, std::size_t game, std::string& out);

}  // namespace komadori
