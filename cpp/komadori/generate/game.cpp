#include "komadori/generate/game.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "komadori/encoding/policy.h"
#include "komadori/records/hcpe3.h"
#include "komadori/rules/notation.h"

namespace komadori::generate {
namespace {

Winner won_by(Color side) { return side == BLACK ? Winner::BLACK : Winner::WHITE; }

// Draws an index in proportion to the weights; `fallback` if rounding leaves none.
std::size_t draw_index(const std::vector<double>& weights, Random& random, std::size_t fallback) {
    double total = 0;
    for (double w : weights) total += w;
    double point = random.uniform() * total;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (point < weights[i]) return i;
        point -= weights[i];
    }
    return fallback;
}

// The softmax of the scores, divided by the temperature.
std::vector<double> probabilities(const std::vector<ScoredMove>& lines, double temperature_cp) {
    std::vector<float> scores;
    for (const ScoredMove& line : lines) scores.push_back(float(line.score_cp));
    softmax(scores, float(temperature_cp));
    return {scores.begin(), scores.end()};
}

SearchBounds draw(const std::vector<SearchBounds>& choices, Random& random) {
    std::vector<double> weights;
    for (const SearchBounds& c : choices) weights.push_back(c.weight);
    return choices[draw_index(weights, random, choices.size() - 1)];
}

// Throws std::invalid_argument for settings with which no game can be played.
const Settings& checked(const Settings& settings) {
    if (settings.searches.empty()) throw std::invalid_argument("searches: at least one is needed");
    for (const int count : {settings.opening_min_plies, settings.random_moves,
                            settings.sampled_plies, settings.inner_depth}) {
        if (count < 0) throw std::invalid_argument("settings: a number of plies is negative");
    }
    if (settings.multi_pv < 1 || settings.repetitions < 2) {
        throw std::invalid_argument("settings: multi_pv is below 1 or repetitions below 2");
    }
    return settings;
}

std::uint64_t mix(std::uint64_t sum, std::uint64_t word) { return Random(sum ^ word, 0).next(); }

}  // namespace

TeacherGame::TeacherGame(const Settings& settings, const Openings& openings, std::uint64_t number)
    : settings_(checked(settings)), number_(number), random_(settings.seed, number) {
    bounds_ = draw(settings.searches, random_);
    if (random_.chance(settings.opponent_fraction)) {
        opponent_ = int(random_.below(2));
        opponent_bounds_ = settings.opponent_searches.empty()
                               ? bounds_
                               : draw(settings.opponent_searches, random_);
    }
    resigns_ = !random_.chance(settings.play_on_fraction);
    sampled_left_ = int(random_.below(std::uint32_t(settings.sampled_plies) + 1));
    for (int attempt = 0; attempt < 1000; ++attempt) {
        if (begin(openings)) return;
    }
    throw std::invalid_argument("every opening ends the game");
}

bool TeacherGame::begin(const Openings& openings) {
    moves_.clear();
    position_ = Position();
    const int most_random = settings_.random_moves;
    int least_random = (most_random + 1) / 2;
    if (openings.size() > 0 && random_.chance(settings_.opening_fraction)) {
        const std::size_t line = random_.below(std::uint32_t(openings.size()));
        const int length = int(openings.first[line + 1] - openings.first[line]);
        const int least = std::min(settings_.opening_min_plies, length);
        const int most = std::clamp(settings_.opening_max_plies, least, length);
        const int plies = least + int(random_.below(std::uint32_t(most - least + 1)));
        least_random = 0;
        position_.set_sfen(openings.sfen[line]);
        for (int i = 0; i < plies; ++i) {
            play(require_legal(position_, openings.moves[openings.first[line] + std::size_t(i)]));
        }
    }
    initial_sfen_ = [this] {
        Position start = position_;
        while (start.path_length() > 0) start.undo_move();
        return start.sfen();
    }();
    const int random_moves =
        least_random + int(random_.below(std::uint32_t(most_random - least_random + 1)));
    for (int i = 0; i < random_moves; ++i) {
        Move moves[MAX_LEGAL_MOVES];
        const int n = position_.legal_moves(moves);
        if (n == 0) return false;
        play(moves[random_.below(std::uint32_t(n))]);
    }
    scores_.assign(moves_.size(), NO_SCORE);
    counts_.assign(moves_.size(), 0);
    const Repetition repeats = position_.repetition(settings_.repetitions);
    return position_.has_legal_moves() && int(moves_.size()) < settings_.max_plies &&
           repeats != Repetition::DRAW && repeats != Repetition::WIN && repeats != Repetition::LOSS;
}

Request TeacherGame::request() {
    const bool by_opponent = int(position_.turn()) == opponent_;
    const bool sampled = sampled_left_ > 0;
    keeps_candidates_ = !by_opponent && settings_.multi_pv > 1 &&
                        (sampled || random_.chance(settings_.candidate_fraction));
    return {by_opponent ? opponent_bounds_ : bounds_,
            sampled || keeps_candidates_ ? settings_.multi_pv : 1, by_opponent};
}

void TeacherGame::answer(std::vector<ScoredMove> lines, std::uint64_t nodes, bool declares_win) {
    nodes_ += nodes;
    const Color turn = position_.turn();
    if (declares_win) return end(won_by(turn), End::DECLARATION);
    if (lines.empty()) return end(won_by(opponent(turn)), End::RESIGN);
    check_resignation(lines.front().score_cp);
    if (is_over()) return;

    const Move chosen = choose(lines);
    if (int(turn) == opponent_) {
        scores_.push_back(NO_SCORE);
        counts_.push_back(0);
    } else {
        scores_.push_back(rounded_score(lines.front().score_cp, settings_.score_step_cp));
        ++scored_;
        differing_ += !(chosen == lines.front().move);
        if (!keeps_candidates_) lines.resize(1);
        add_candidates(lines);
    }
    play(chosen);
    end_by_rules();
}

// If both sides' scores agree on the winner for resign_plies plies, the loser resigns on its turn.
void TeacherGame::check_resignation(int score_cp) {
    const Color turn = position_.turn();
    const int sign = score_cp >= settings_.resign_cp    ? 1
                     : score_cp <= -settings_.resign_cp ? -1
                                                        : 0;
    const int for_black = turn == BLACK ? sign : -sign;
    hopeless_plies_ = for_black == 0                    ? 0
                      : hopeless_plies_ * for_black > 0 ? hopeless_plies_ + for_black
                                                        : for_black;
    if (sign >= 0 || std::abs(hopeless_plies_) < settings_.resign_plies) return;
    if (resigns_) return end(won_by(opponent(turn)), End::RESIGN);
    if (foreseen_ == Winner::UNKNOWN) foreseen_ = won_by(opponent(turn));
}

Move TeacherGame::choose(const std::vector<ScoredMove>& lines) {
    if (sampled_left_ == 0) return lines.front().move;
    --sampled_left_;
    std::vector<double> weights = probabilities(lines, settings_.sample_temperature_cp);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const int behind = lines.front().score_cp - lines[i].score_cp;
        if (behind > settings_.sample_window_cp) weights[i] = 0;
    }
    return lines[draw_index(weights, random_, 0)].move;
}

void TeacherGame::add_candidates(const std::vector<ScoredMove>& lines) {
    if (lines.size() == 1) {
        counts_.push_back(1);
        candidates_.push_back(lines.front().move.move16());
        visits_.push_back(1);
        return;
    }
    ++with_candidates_;
    const std::vector<double> policy = probabilities(lines, settings_.candidate_temperature_cp);
    std::uint16_t kept = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0 && policy[i] < settings_.candidate_minimum) continue;
        const long visits = visits_of(policy[i], policy.front());
        if (visits == 0) continue;
        candidates_.push_back(lines[i].move.move16());
        visits_.push_back(std::uint16_t(visits));
        ++kept;
    }
    counts_.push_back(kept);
}

// Visits for a probability, where the best line's is `best`.
long TeacherGame::visits_of(double probability, double best) const {
    const int each = settings_.candidate_steps;
    if (each == 0) return std::lround(CANDIDATE_VISITS * probability);
    const double steps = std::round(std::log2(best / probability) * each);
    return std::lround(BEST_VISITS * std::exp2(-steps / each));
}

int rounded_score(int score_cp, int step_cp) {
    constexpr std::array SLOPE_HALVES{1058, 1580, 2067, 2476};  // 1200 acosh(sqrt(2^n))
    const int size = std::abs(score_cp);
    if (step_cp == 0 || size >= MATE_CP) return score_cp;
    for (const int limit : SLOPE_HALVES)
        if (size >= limit) step_cp *= 2;
    const int rounded = std::min((size + step_cp / 2) / step_cp * step_cp, MATE_CP - 1);
    return score_cp < 0 ? -rounded : rounded;
}

void TeacherGame::play(Move move) {
    moves_.push_back(move.move16());
    position_.do_move(move);
}

void TeacherGame::end(Winner winner, End how) {
    winner_ = winner;
    end_ = how;
}

void TeacherGame::end_by_rules() {
    const Color turn = position_.turn();
    if (!position_.has_legal_moves()) return end(won_by(opponent(turn)), End::MATE);
    switch (position_.repetition(settings_.repetitions)) {
        case Repetition::DRAW:
            return end(Winner::DRAW, End::SENNICHITE);
        case Repetition::WIN:
            return end(won_by(turn), End::PERPETUAL_CHECK);
        case Repetition::LOSS:
            return end(won_by(opponent(turn)), End::PERPETUAL_CHECK);
        default:
            break;
    }
    if (int(moves_.size()) >= settings_.max_plies) end(Winner::DRAW, End::MAX_MOVES);
}

void TeacherGame::add_inner(const Position& position, const ScoredMove& best, std::uint64_t nodes) {
    nodes_ += nodes;
    inner_.push_back({position.hcp(), best.move.move16(), best.score_cp});
}

GameFacts TeacherGame::facts() const {
    GameFacts facts;
    facts.number = number_;
    Position start;
    start.set_sfen(initial_sfen_);
    facts.digest = start.key();
    for (std::uint16_t m : moves_) facts.digest = mix(facts.digest, m);
    facts.winner = winner_;
    facts.end = end_;
    facts.plies = int(moves_.size());
    facts.scored = scored_;
    facts.differing = differing_;
    facts.with_candidates = with_candidates_;
    facts.foreseen = foreseen_;
    facts.nodes = nodes_;
    return facts;
}

std::string TeacherGame::to_hcpe3() const {
    std::string out;
    if (scored_ == 0) return out;
    GameTable table;
    table.sfen = {initial_sfen_};
    table.winner = {winner_};
    table.end = {end_};
    table.opponent = {std::uint8_t(opponent_ + 1)};
    table.first_ply.push_back(std::uint32_t(moves_.size()));
    table.move16 = moves_;
    table.score_cp = scores_;
    table.candidates = counts_;
    table.candidate_move16 = candidates_;
    table.candidate_visits = visits_;
    for (std::uint16_t n : counts_) {
        table.first_candidate.push_back(table.first_candidate.back() + n);
    }
    write_hcpe3(table, 0, out);
    return out;
}

std::string TeacherGame::inner_to_hcpe3() const {
    std::string out;
    Position position;
    for (const Inner& inner : inner_) {
        position.set_hcp(inner.hcp);
        GameTable table;
        table.sfen = {position.sfen()};
        table.winner = {winner_};
        table.end = {End::UNKNOWN};
        table.opponent = {0};
        table.first_ply = {0, 1};
        table.move16 = {inner.move16};
        table.score_cp = {inner.score_cp};
        table.candidates = {NO_CANDIDATES};
        table.first_candidate = {0, 0};
        write_hcpe3(table, 0, out);
    }
    return out;
}

}  // namespace komadori::generate
