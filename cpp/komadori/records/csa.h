// The CSA format (V1 to V3): text, one statement a line or several parted by commas.
//
// Read and written here: N+ N- $KEY: headers; PI, P1..P9, P+ P- placements; moves; T times;
// % ends; 'comments. Of comments: `'*text` is the game's; `'** cp pv` after a move is the mover's
// evaluation, in Black's view, and its line (floodgate); `'summary:`, `'black_rate:`,
// `'white_rate:` and `'KEY:value` before the moves are headers (shogi-server). Other comments are
// passed over.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "komadori/records/game.h"

namespace komadori {

// Reads games from byte `begin` on until `max_games` are read or the bytes end; they are parted by
// lines of "/" or each begun by a version, name or placement line. Every move is checked; a game
// with a statement that isn't understood or a move that isn't legal becomes a fault. A last move
// that isn't legal is taken for the reason of the %ILLEGAL_MOVE or %+-ILLEGAL_ACTION behind it, and
// dropped. Any encoding that keeps ASCII bytes ASCII in lines (UTF-8, with or without a mark,
// Shift-JIS). Texts: headers under the keys of header_key(); comments under ""; lines under "pv",
// in USI.
GameTable read_csa(std::span<const std::uint8_t> bytes, std::size_t begin = 0,
                   std::size_t max_games = ALL);

// Appends one game of the table as CSA V2.2, UTF-8, without the "/" between games.
// Throws RecordError where a move isn't legal.
void write_csa(const GameTable& table, std::size_t game, std::string& out);

}  // namespace komadori
