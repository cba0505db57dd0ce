#include "komadori/mate/dfpn.h"

#include <algorithm>
#include <bit>
#include <new>
#include <thread>

#include "komadori/base/hash.h"
#include "komadori/mate/checks.h"
#include "komadori/rules/zobrist.h"

namespace komadori::mate {
namespace {

constexpr std::size_t CHILDREN_ROOM = std::size_t(1) << 17;
constexpr std::uint64_t NODES_BETWEEN_CLOCKS = 1024;
constexpr std::uint64_t UNPACED_NODES = 100'000;
constexpr std::chrono::milliseconds NAP{1};  // interval at which a pause polls `stop`

bool is_far_check(const Position& p, Color defender) {
    Bitboard checking = p.checkers();
    if (checking.none() || checking.more_than_one()) return false;
    return is_far(relation(checking.first(), p.king(defender)));
}

// Whether the same move promoted is legal and dominates this non-promotion.
bool has_better_promotion(Move m, Color c) {
    Bitboard zone = far_ranks(c, 3);
    if (!zone.has(m.to()) && !zone.has(m.from())) return false;
    switch (m.moved()) {
        case PAWN:
        case BISHOP:
        case ROOK:
            return true;
        case LANCE:
            return far_ranks(c, 2).has(m.to());
        default:
            return false;
    }
}

// The initial proof number of a position in check: its replies, with all drops on a square counted
// as one, and a promotion and its dominated non-promotion as one.
int count_answers(const Position& p) {
    Move moves[MAX_LEGAL_MOVES];
    int n = p.legal_moves(moves), count = 0;
    Bitboard drops;
    for (int i = 0; i < n; ++i) {
        if (moves[i].is_drop()) {
            drops |= square_set(moves[i].to());
        } else {
            count += moves[i].is_promotion() || !has_better_promotion(moves[i], p.turn());
        }
    }
    return count + drops.count();
}

}  // namespace

Search::Search(Table& table) : table_(table) {
    path_.resize(MAX_DEPTH + 2);
    // Uninitialised: a short search touches little of it.
    children_.reset(static_cast<Child*>(std::malloc(CHILDREN_ROOM * sizeof(Child))));
    if (!children_) throw std::bad_alloc();
}

void Search::begin(const Budget& budget, const std::vector<std::uint64_t>& forbidden) {
    table_.start_solve();
    budget_ = budget;
    forbidden_ = forbidden;
    exact_hands_ = !forbidden_.empty();
    aborted_ = false;
    nodes_ = next_look_at_clock_ = 0;
    paused_ = std::chrono::steady_clock::now();
}

std::uint64_t Search::key_at(const Position& position, int plies_left) const {
    return position.board_key() ^ (max_ply_ ? mix64(std::uint64_t(plies_left) + 1) : 0);
}

bool Search::out_of_budget() {
    if (aborted_) return true;
    if (budget_.stop && budget_.stop->load(std::memory_order_relaxed)) return aborted_ = true;
    if (budget_.max_nodes && nodes_ >= budget_.max_nodes) return aborted_ = true;
    if (nodes_ >= next_look_at_clock_) {
        next_look_at_clock_ = nodes_ + NODES_BETWEEN_CLOCKS;
        const auto now = std::chrono::steady_clock::now();
        if (now >= budget_.deadline) return aborted_ = true;
        if (budget_.cpu_fraction < 1.0) pause(now);
    }
    return false;
}

// Sleeps so that the search uses the fraction budget_.cpu_fraction of the time since the last
// pause.
void Search::pause(std::chrono::steady_clock::time_point now) {
    if (nodes_ > UNPACED_NODES) {
        const std::chrono::duration<double, std::nano> idle =
            (now - paused_) * (1.0 / budget_.cpu_fraction - 1.0);
        const auto end = now + std::chrono::nanoseconds(std::int64_t(idle.count()));
        while (now < end && !(budget_.stop && budget_.stop->load(std::memory_order_relaxed))) {
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(end - now, NAP));
            now = std::chrono::steady_clock::now();
        }
    }
    paused_ = now;
}

int Search::find_loop(std::uint64_t key, Hand hand) const {
    if (!on_path_[key & 4095]) return NO_LOOP;
    for (int d = depth_ - 1; d >= 0; d -= 2) {
        if (path_[std::size_t(d)].key == key && path_[std::size_t(d)].hand.holds_all_of(hand)) {
            return d;
        }
    }
    return NO_LOOP;
}

bool Search::look_up(std::uint64_t key, Hand hand, int depth, Value& value) const {
    const Entry* e = table_.bucket(key);
    bool found = false;
    for (const Entry* end = e + Table::BUCKET; e != end; ++e) {
        if (e->key != key || !table_.is_live(*e)) continue;
        bool same = e->hand == hand;
        if (e->pn == 0 ? same || (!exact_hands_ && hand.holds_all_of(e->hand))
                       : e->dn == 0 && (same || (!exact_hands_ && e->hand.holds_all_of(hand)))) {
            value = {e->pn, e->dn, e->hand, NO_LOOP, e->plies, e->move};
            return true;
        }
        if (!same) continue;
        found = true;
        if (e->loop_plies && e->loop_plies <= depth) {
            std::uint64_t sum =
                path_[std::size_t(depth)].sum - path_[std::size_t(depth - e->loop_plies)].sum;
            if (std::uint32_t(sum >> 32) == e->loop_sum) {
                value = {INFINITE, 0, hand, depth - e->loop_plies, 0, 0};
                continue;
            }
        }
        value = {e->pn, e->dn, hand, NO_LOOP, 0, 0};
    }
    return found;
}

void Search::store(const Value& value, std::uint64_t work) {
    const Step& step = path_[std::size_t(depth_)];
    Entry* place = nullptr;
    Entry* e = table_.bucket(step.key);
    for (Entry* end = e + Table::BUCKET; e != end; ++e) {
        if (e->key != step.key || !table_.is_live(*e)) continue;
        if (e->hand == step.hand) {
            place = e;
            break;
        }
        bool covered = value.is_proven()      ? e->pn != 0 && e->hand.holds_all_of(value.hand)
                       : value.is_disproven() ? e->dn != 0 && value.hand.holds_all_of(e->hand)
                                              : false;
        if (covered && value.loop == NO_LOOP) place = e;
    }
    bool is_new = !place;
    if (is_new) place = &table_.make_room(step.key);
    if (is_new || (value.is_final() && value.loop == NO_LOOP)) {
        *place = Entry{};
        place->key = step.key;
        place->hand = step.hand;
        place->pn = place->dn = 1;
        place->generation = table_.generation();
    }
    place->work = std::uint16_t(std::min(31, std::max<int>(place->work, std::bit_width(work))));
    if (value.loop != NO_LOOP) {
        if (value.loop == BEYOND_DEPTH) return;
        place->loop_plies = std::uint16_t(depth_ - value.loop);
        place->loop_sum = std::uint32_t((step.sum - path_[std::size_t(value.loop)].sum) >> 32);
        return;
    }
    if (value.is_final()) place->hand = value.hand;
    place->pn = value.pn;
    place->dn = value.dn;
    place->move = value.move;
    place->plies = value.plies;
}

// Proof pieces of a mated position: the pieces that the attacker must hold so that the defender has
// none to interpose.
Hand Search::mate_hand() const {
    Hand needed;
    Color defender = opponent(attacker_);
    if (!is_far_check(position_, defender)) return needed;
    Hand held = position_.hand(attacker_), theirs = position_.hand(defender);
    for (PieceType t : HAND_TYPES) {
        if (!theirs.has(t)) needed.add(t, held.count(t));
    }
    return needed;
}

// Disproof pieces of a position without checks: all pieces of every type that the attacker holds.
Hand Search::no_check_hand() const {
    Hand held = position_.hand(attacker_), most;
    Hand all = held + position_.hand(opponent(attacker_));
    for (PieceType t : HAND_TYPES) {
        if (held.has(t)) most.add(t, all.count(t));
    }
    return most;
}

// Appends the moves of the position to children_ and returns their number; -1 if there is no room.
template <bool ATTACKER>
int Search::list_children() {
    Move moves[MAX_LEGAL_MOVES];
    int n = ATTACKER ? checking_moves(position_, moves) : position_.legal_moves(moves);
    if (children_end_ + std::size_t(n) > CHILDREN_ROOM) return -1;
    Child* children = &children_[children_end_];
    Color us = position_.turn();
    // Moves likely to decide the position come first: a check that captures the piece just moved
    // (mostly an interposition), a reply that captures the checker.
    Square last_to = depth_ ? position_.path_move(position_.path_length() - 1).to() : NO_SQUARE;
    std::stable_partition(moves, moves + n, [&](Move m) {
        return ATTACKER ? m.to() == last_to : m.captured() != NO_PIECE_TYPE;
    });
    int kept = 0;
    std::int16_t last_drop[SQUARES];
    if constexpr (!ATTACKER) std::fill_n(last_drop, SQUARES, std::int16_t(-1));
    for (int i = 0; i < n; ++i) {
        Move m = moves[i];
        Child& child = children[kept];
        child = Child{};
        child.move = m;
        if (m.is_drop()) {
            if constexpr (!ATTACKER) {
                child.after = last_drop[m.to()];
                last_drop[m.to()] = std::int16_t(kept);
            }
        } else if (!m.is_promotion() && has_better_promotion(m, us)) {
            for (int k = kept - 1; k >= 0; --k) {
                if (children[k].move.move16() == (m.move16() | 1 << 14)) {
                    child.after = std::int16_t(k);
                    break;
                }
            }
        }
        ++kept;
    }
    children_end_ += std::size_t(kept);
    return kept;
}

// Initialises a child's value from the table or by looking one ply ahead.
template <bool ATTACKER>
void Search::evaluate(Child& child) {
    child.is_known = true;
    ++nodes_;
    position_.do_move(child.move);
    int plies_left = max_ply_ - depth_ - 1;
    std::uint64_t key = key_at(position_, plies_left);
    Hand hand = position_.hand(attacker_);
    Value value;
    value.loop = find_loop(key, hand);
    if (value.loop != NO_LOOP) {
        value = {INFINITE, 0, hand, value.loop, 0, 0};
    } else if (exact_hands_ && std::find(forbidden_.begin(), forbidden_.end(), position_.key()) !=
                                   forbidden_.end()) {
        value = {INFINITE, 0, hand, NO_LOOP, 0, 0};
    } else if (look_up(key, hand, depth_ + 1, value)) {
    } else if constexpr (ATTACKER) {
        value.pn = std::uint32_t(count_answers(position_));
        if (value.pn == 0) {
            value = {0, INFINITE, mate_hand(), NO_LOOP, 0, 0};
        } else if (max_ply_ && plies_left == 0) {
            value = {INFINITE, 0, hand, NO_LOOP, 0, 0};
        }
    } else {
        Move moves[MAX_LEGAL_MOVES];
        int checks = checking_moves(position_, moves);
        if (checks == 0) value = {INFINITE, 0, no_check_hand(), NO_LOOP, 0, 0};
    }
    position_.undo_move();
    child.pn = value.pn;
    child.dn = value.dn;
    child.hand = value.hand;
    child.loop = std::int16_t(value.loop);
    child.plies = value.plies;
}

// The value of a position whose children decide it.
template <bool ATTACKER>
void Search::conclude(const Child* children, int n, Value& value) {
    Hand held = position_.hand(attacker_);
    auto before_move = [](Hand hand, Move m) {
        if (m.is_drop()) {
            hand.add(m.dropped());
        } else if (PieceType captured = base_type(m.captured()); captured && hand.has(captured)) {
            hand.take(captured);
        }
        return hand;
    };
    const Child* decisive = nullptr;
    for (const Child* c = children; c != children + n && !decisive; ++c) {
        if (c->is_known && (ATTACKER ? c->pn : c->dn) == 0) decisive = c;
    }
    value.loop = NO_LOOP;
    if (ATTACKER ? decisive != nullptr : decisive == nullptr) {
        value.pn = 0;
        value.dn = INFINITE;
        if constexpr (ATTACKER) {
            value.hand = before_move(decisive->hand, decisive->move);
            value.plies = std::uint16_t(decisive->plies + 1);
            value.move = decisive->move.move16();
        } else {
            value.hand = mate_hand();
            value.plies = 0;
            for (const Child* c = children; c != children + n; ++c) {
                value.hand = Hand::most(value.hand, c->hand);
                value.plies = std::max(value.plies, std::uint16_t(c->plies + 1));
            }
        }
        if (exact_hands_) value.hand = held;
        return;
    }
    value.pn = INFINITE;
    value.dn = 0;
    Hand all = held + position_.hand(opponent(attacker_));
    if constexpr (ATTACKER) {
        value.hand = no_check_hand();
        for (const Child* c = children; c != children + n; ++c) {
            value.hand = Hand::least(value.hand, before_move(c->hand, c->move));
            value.loop = std::min(value.loop, int(c->loop));
        }
    } else {
        value.hand = Hand::least(all, decisive->hand);
        value.loop = decisive->loop;
    }
    if (value.loop != NO_LOOP || exact_hands_) value.hand = held;
    if (value.loop >= depth_) value.loop = NO_LOOP;
}

template <bool ATTACKER>
void Search::visit(std::uint32_t limit_pn, std::uint32_t limit_dn, Value& value) {
    if (table_.wants_to_grow()) {
        static const std::atomic<bool> never{false};
        table_.grow(budget_.stop ? *budget_.stop : never);
    }
    std::uint64_t nodes_before = nodes_;
    std::uint64_t key = key_at(position_, max_ply_ - depth_);
    Hand hand = position_.hand(attacker_);
    std::size_t first = children_end_;
    int n = depth_ < MAX_DEPTH ? list_children<ATTACKER>() : -1;
    if (n < 0) {
        value = {INFINITE, 0, hand, BEYOND_DEPTH, 0, 0};
        return;
    }
    Step& step = path_[std::size_t(depth_)];
    step.key = key;
    step.hand = hand;
    path_[std::size_t(depth_) + 1].sum = step.sum + mix64(key + hand.bits() * GOLDEN_64);
    ++on_path_[key & 4095];

    Child* children = &children_[first];
    for (;;) {
        // pn of the attacker's node (dn of the defender's) is the minimum over the children; the
        // other number adds up: here the maximum plus one per other open child.
        std::uint32_t least = INFINITE, second = INFINITE, most = 0;
        int best = -1, open = 0;
        bool is_decided = false;
        for (int i = 0; i < n; ++i) {
            Child& c = children[i];
            auto failed = [](const Child& other) { return (ATTACKER ? other.dn : other.pn) == 0; };
            if (c.after >= 0 && !(children[c.after].is_known && failed(children[c.after]))) {
                continue;
            }
            if (!c.is_known) evaluate<ATTACKER>(c);
            if (failed(c)) continue;
            std::uint32_t own = ATTACKER ? c.pn : c.dn, other = ATTACKER ? c.dn : c.pn;
            if (own == 0) {
                is_decided = true;
                break;
            }
            ++open;
            most = std::max(most, other);
            if (own < least) {
                second = least;
                least = own;
                best = i;
            } else {
                second = std::min(second, own);
            }
        }
        if (is_decided || open == 0) {
            conclude<ATTACKER>(children, n, value);
            break;
        }
        std::uint32_t others = std::uint32_t(open - 1);
        std::uint32_t sum = std::min(most + others, INFINITE - 1);
        value.pn = ATTACKER ? least : sum;
        value.dn = ATTACKER ? sum : least;
        value.hand = hand;
        value.loop = NO_LOOP;
        if (value.pn >= limit_pn || value.dn >= limit_dn || out_of_budget()) break;

        Child& c = children[best];
        std::uint32_t limit_least = ATTACKER ? limit_pn : limit_dn;
        std::uint32_t limit_sum = ATTACKER ? limit_dn : limit_pn;
        limit_least = std::min(limit_least, std::min(second, INFINITE - 1) + 1);
        if (limit_sum < INFINITE) limit_sum -= others;
        position_.do_move(c.move);
        ++depth_;
        ++nodes_;
        Value below;
        int plies_left = max_ply_ - depth_;
        if (!look_up(key_at(position_, plies_left), position_.hand(attacker_), depth_, below) ||
            !below.is_final()) {
            visit<!ATTACKER>(ATTACKER ? limit_least : limit_sum, ATTACKER ? limit_sum : limit_least,
                             below);
        }
        --depth_;
        position_.undo_move();
        c.pn = below.pn;
        c.dn = below.dn;
        c.hand = below.hand;
        c.loop = std::int16_t(below.loop);
        c.plies = below.plies;
    }
    --on_path_[key & 4095];
    children_end_ = first;
    store(value, nodes_ - nodes_before + 1);
}

Value Search::start(const Position& position, Color attacker, int plies_left) {
    position_ = position;
    attacker_ = attacker;
    max_ply_ = plies_left;
    depth_ = 0;
    children_end_ = 0;
    path_[0].sum = 0;
    on_path_.fill(0);
    Value value;
    if (look_up(key_at(position_, plies_left), position_.hand(attacker_), 0, value) &&
        value.is_final()) {
        return value;
    }
    if (position_.turn() == attacker_) {
        visit<true>(INFINITE, INFINITE, value);
    } else {
        visit<false>(INFINITE, INFINITE, value);
    }
    return value;
}

Value Search::solve(const Position& position, int plies_left) {
    return start(position, position.turn(), plies_left);
}

Value Search::prove(const Position& position, Color attacker, int plies_left) {
    return start(position, attacker, plies_left);
}

Value Search::proof_of(const Position& position, Color attacker, int plies_left) const {
    std::uint64_t key = key_at(position, plies_left);
    Hand hand = position.hand(attacker);
    Value best;
    const Entry* e = table_.bucket(key);
    for (const Entry* end = e + Table::BUCKET; e != end; ++e) {
        if (e->key != key || !table_.is_live(*e) || e->pn != 0) continue;
        if (e->hand == hand || (!exact_hands_ && hand.holds_all_of(e->hand))) {
            if (!best.is_proven() || e->plies < best.plies) {
                best = {0, INFINITE, e->hand, NO_LOOP, e->plies, e->move};
            }
        }
    }
    return best;
}

}  // namespace komadori::mate
