#include "komadori/records/samples.h"

#include <algorithm>

#include "komadori/rules/notation.h"
#include "komadori/rules/position.h"

namespace komadori {
namespace {

std::int16_t to_s16(int value) { return std::int16_t(std::clamp(value, -32767, 32767)); }

std::uint16_t target_move(const GameTable& table, std::size_t ply) {
    if (table.candidates[ply] == NO_CANDIDATES) return table.move16[ply];
    const auto first = table.candidate_visits.begin() + table.first_candidate[ply];
    const auto last = table.candidate_visits.begin() + table.first_candidate[ply + 1];
    return table.candidate_move16[std::max_element(first, last) - table.candidate_visits.begin()];
}

void add_moves(const GameTable& table, std::size_t ply, SampleMoveTable& out) {
    if (table.candidates[ply] == NO_CANDIDATES) {
        out.move16.push_back(table.move16[ply]);
        out.visits.push_back(1);
    } else {
        const auto first = table.first_candidate[ply], last = table.first_candidate[ply + 1];
        out.move16.insert(out.move16.end(), table.candidate_move16.begin() + first,
                          table.candidate_move16.begin() + last);
        out.visits.insert(out.visits.end(), table.candidate_visits.begin() + first,
                          table.candidate_visits.begin() + last);
    }
    out.first.push_back(std::int64_t(out.move16.size()));
    out.played.push_back(table.move16[ply]);
}

}  // namespace

SampleTable to_samples(const GameTable& table, SampleMoveTable* moves) {
    SampleTable out;
    out.hcp.reserve(table.plies() * 32);
    Position position;
    for (std::size_t g = 0; g < table.games(); ++g) {
        const Winner winner = table.winner[g];
        if (winner == Winner::UNKNOWN) continue;
        position.set_sfen(table.sfen[g]);
        const int plies = int(table.first_ply[g + 1] - table.first_ply[g]);
        const std::int16_t end_ply = to_s16(position.ply() + plies - 1);
        for (std::size_t p = table.first_ply[g]; p < table.first_ply[g + 1]; ++p) {
            if (table.candidates[p] != 0) {
                const auto hcp = position.hcp();
                const std::int32_t score = table.score_cp[p] == NO_SCORE ? 0 : table.score_cp[p];
                out.hcp.insert(out.hcp.end(), hcp.begin(), hcp.end());
                out.move16.push_back(target_move(table, p));
                out.score_cp.push_back(to_s16(score));
                out.result.push_back(result_for(winner, position.turn()));
                out.game.push_back(std::int32_t(g));
                out.ply.push_back(to_s16(position.ply()));
                out.end_ply.push_back(end_ply);
                out.end.push_back(table.end[g]);
                if (moves) add_moves(table, p, *moves);
            }
            position.do_move(require_legal(position, table.move16[p]));
        }
    }
    return out;
}

}  // namespace komadori
