// One teacher game as a state machine: it requests searches and takes their results.
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
    int plies = 0;      // all of them
    int scored = 0;     // those to be learnt from
    int differing = 0;  // those of them whose played move isn't the best
    int with_candidates = 0;
    // Whom the resignation rule would have declared the winner in a game that was played on.
    Winner foreseen = Winner::UNKNOWN;
    std::uint64_t nodes = 0;
};

class TeacherGame {
  public:
    // Draws what is drawn per game and makes the moves of its opening.
    TeacherGame(const Settings& settings, const Openings& openings, std::uint64_t number);

    bool is_over() const { return winner_ != Winner::UNKNOWN; }
    const Position& position() const { return position_; }
    const std::string& initial_sfen() const { return initial_sfen_; }
    Request request();
    // What the search found, the best first. Nothing found: the side to move has resigned.
    void answer(std::vector<ScoredMove> lines, std::uint64_t nodes, bool declares_win);

    // A position inside the search just answered, where this ply has one drawn for it: it is to be
    // searched like the ply, and what is found is a game of one ply with this game's result.
    std::optional<Position> inner_position(auto&& was_searched);
    void add_inner(const Position& position, const ScoredMove& best, std::uint64_t nodes);

    GameFacts facts() const;  // is_over()
    // One game in hcpe3; empty where nothing is to be learnt from it. Of the inner positions as
    // many games as there are.
    std::string to_hcpe3() const;
    std::string inner_to_hcpe3() const;

  private:
    bool begin(const Openings& openings);
    void play(Move move);
    void end(Winner winner, End how);
    void end_by_rules();
    Move choose(const std::vector<ScoredMove>& lines);
    void note_candidates(const std::vector<ScoredMove>& lines);
    void weigh_resignation(int score_cp);

    const Settings& settings_;
    const std::uint64_t number_;
    Random random_;
    Position position_;
    std::string initial_sfen_;
    SearchBounds bounds_, opponent_bounds_;
    int opponent_ = -1;  // its colour
    int sampled_left_ = 0;
    bool resigns_ = true;
    bool keeps_candidates_ = false;  // at this ply
    int hopeless_plies_ = 0;         // in a row; positive: White's

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

// Down from the position by random moves as long as the position they lead to was searched.
std::optional<Position> TeacherGame::inner_position(auto&& was_searched) {
    if (is_over() || !random_.chance(settings_.inner_share)) return std::nullopt;
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
    // One that ends the game there has nothing to be searched.
    if (made == 0 || !inner.has_legal_moves() || inner.repetition(2) != Repetition::NONE) {
        return std::nullopt;
    }
    return inner;
}

}  // namespace komadori::generate
