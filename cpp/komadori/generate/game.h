// A teacher game as a state machine: it requests searches and consumes their results.
#pragma once

#include <optional>

#include "komadori/generate/random.h"
#include "komadori/generate/settings.h"
#include "komadori/records/game.h"
#include "komadori/rules/position.h"

namespace komadori::generate {

// The search that a game waits for.
struct Request {
    SearchBounds bounds;
    int multi_pv = 1;
    bool by_opponent = false;
};

struct ScoredMove {
    Move move;
    int score_cp = 0;  // side to move's view
};

struct GameFacts {
    std::uint64_t number = 0;
    std::uint64_t digest = 0;  // of the initial position and the moves
    Winner winner = Winner::UNKNOWN;
    End end = End::UNKNOWN;
    int plies = 0;
    int scored = 0;     // plies to train on
    int differing = 0;  // scored plies whose played move isn't the best
    int with_candidates = 0;
    // The winner by the resignation rule, of a game played on without resignation.
    Winner foreseen = Winner::UNKNOWN;
    std::uint64_t nodes = 0;
};

class TeacherGame {
  public:
    // Makes the random choices of the game and plays its opening.
    TeacherGame(const Settings& settings, const Openings& openings, std::uint64_t number);

    bool is_over() const { return winner_ != Winner::UNKNOWN; }
    const Position& position() const { return position_; }
    const std::string& initial_sfen() const { return initial_sfen_; }
    Request request();
    // Takes the search's lines, best first. No lines: the side to move resigns.
    void answer(std::vector<ScoredMove> lines, std::uint64_t nodes, bool declares_win);

    // With probability inner_fraction, a position visited by this ply's search. It is searched with
    // the same bounds and stored as a game of one ply with this game's result.
    std::optional<Position> inner_position(auto&& was_searched);
    void add_inner(const Position& position, const ScoredMove& best, std::uint64_t nodes);

    GameFacts facts() const;  // is_over()
    // The game in hcpe3; empty if no ply is scored. inner_to_hcpe3(): one game per inner position.
    std::string to_hcpe3() const;
    std::string inner_to_hcpe3() const;

  private:
    bool begin(const Openings& openings);
    void play(Move move);
    void end(Winner winner, End how);
    void end_by_rules();
    Move choose(const std::vector<ScoredMove>& lines);
    void add_candidates(const std::vector<ScoredMove>& lines);
    long visits_of(double probability, double best) const;
    void check_resignation(int score_cp);

    const Settings& settings_;
    const std::uint64_t number_;
    Random random_;
    Position position_;
    std::string initial_sfen_;
    SearchBounds bounds_, opponent_bounds_;
    int opponent_ = -1;  // the opponent's colour
    int sampled_left_ = 0;
    bool resigns_ = true;
    bool keeps_candidates_ = false;  // at this ply
    int hopeless_plies_ = 0;         // consecutive; positive: White is losing

    std::vector<std::uint16_t> moves_, counts_, candidates_, visits_;
    std::vector<std::int32_t> scores_;
    struct Inner {
        std::array<std::uint8_t, 32> hcp;
        std::uint16_t move16;
        int score_cp;
    };
    std::vector<Inner> inner_;
    int scored_ = 0, differing_ = 0, with_candidates_ = 0;
    std::uint64_t nodes_ = 0;
    Winner winner_ = Winner::UNKNOWN, foreseen_ = Winner::UNKNOWN;
    End end_ = End::UNKNOWN;
};

// Plays random moves from the position while the positions reached were visited by the search.
std::optional<Position> TeacherGame::inner_position(auto&& was_searched) {
    if (is_over() || !random_.chance(settings_.inner_fraction)) return std::nullopt;
    const std::uint32_t depth = 1 + random_.below(std::uint32_t(settings_.inner_depth));
    Position inner = position_;
    std::uint32_t made = 0;
    Move moves[MAX_LEGAL_MOVES];
    for (; made < depth; ++made) {
        const int n = inner.legal_moves(moves);
        int known = 0;
        for (int i = 0; i < n; ++i) {
            if (was_searched(inner.key_after(moves[i]))) moves[known++] = moves[i];
        }
        if (known == 0) break;
        inner.do_move(moves[random_.below(std::uint32_t(known))]);
    }
    // Terminal positions can't be searched.
    if (made == 0 || !inner.has_legal_moves() || inner.repetition(2) != Repetition::NONE) {
        return std::nullopt;
    }
    return inner;
}

}  // namespace komadori::generate
