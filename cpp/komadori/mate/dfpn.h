// Depth-first proof-number search (df-pn: Nagai 2002) for a mate by continuous checks.
//
// Proofs are stored with the smallest and disproofs with the largest attacker's hand for which they
// hold (proof and disproof pieces), and apply to every hand that dominates: on the same board, more
// in the attacker's hand means less in the defender's. A position that repeats one of the path with
// no more in the attacker's hand counts as a failed line. A disproof that depends on such a
// repetition holds only while the repeated positions are on the path (the graph-history interaction
// problem: Kishimoto and Mueller 2004). It is stored with the segment of the path that it depends
// on, and becomes unconditional at the first position of that segment. A proof never depends on a
// repetition: positions of a shortest mate don't repeat.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "komadori/mate/table.h"
#include "komadori/rules/position.h"

namespace komadori::mate {

constexpr int MAX_DEPTH = 1600;  // plies; deeper lines count as unknown
constexpr int NO_LOOP = MAX_DEPTH + 1;
constexpr int BEYOND_DEPTH = -1;  // as a loop: a line was cut off at MAX_DEPTH

struct Value {
    std::uint32_t pn = 1;
    std::uint32_t dn = 1;
    Hand hand;                // as in Entry
    int loop = NO_LOOP;       // of a disproof: depth of the first path position that it depends on
    std::uint16_t plies = 0;  // of a proof
    std::uint16_t move = 0;

    bool is_proven() const { return pn == 0; }
    bool is_disproven() const { return dn == 0; }
    bool is_final() const { return pn == 0 || dn == 0; }
};

struct Budget {
    std::uint64_t max_nodes = 0;  // 0: no limit
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    const std::atomic<bool>* stop = nullptr;
    // Fraction of a CPU's time that the search may use after its first UNPACED_NODES moves.
    double cpu_fraction = 1.0;
};

class Search {
  public:
    explicit Search(Table& table);

    // Clears all results. `forbidden`: keys of positions that count as failed when reached.
    void begin(const Budget& budget, const std::vector<std::uint64_t>& forbidden);
    // Searches for a mate in at most plies_left plies (0: any number). The side to move attacks.
    Value solve(const Position& position, int plies_left);
    // The shortest proof of this position in the table; a Value of (1, 1) if none. `plies_left` is
    // that of solve() minus the plies made since.
    Value proof_of(const Position& position, Color attacker, int plies_left) const;
    // Searches a position known to have a proof again, for either side to move.
    Value prove(const Position& position, Color attacker, int plies_left);

    std::uint64_t nodes() const { return nodes_; }

  private:
    struct Child {
        Move move;
        std::uint32_t pn = 0, dn = 0;
        Hand hand;
        std::int16_t loop = 0;
        std::uint16_t plies = 0;
        std::int16_t after = -1;  // searched only after this sibling has failed
        bool is_known = false;
    };
    struct Step {  // a position of the path
        std::uint64_t key = 0;
        Hand hand;
        std::uint64_t sum = 0;  // hash sum of the positions before it
    };

    template <bool ATTACKER>
    void visit(std::uint32_t limit_pn, std::uint32_t limit_dn, Value& value);
    template <bool ATTACKER>
    int list_children();
    template <bool ATTACKER>
    void evaluate(Child& child);
    template <bool ATTACKER>
    void conclude(const Child* children, int n, Value& value);
    Value start(const Position& position, Color attacker, int plies_left);

    bool look_up(std::uint64_t key, Hand hand, int depth, Value& value) const;
    void store(const Value& value, std::uint64_t work);
    int find_loop(std::uint64_t key, Hand hand) const;
    std::uint64_t key_at(const Position& position, int plies_left) const;
    bool out_of_budget();
    void pause(std::chrono::steady_clock::time_point now);

    Hand mate_hand() const;
    Hand no_check_hand() const;

    Table& table_;
    Budget budget_;
    Position position_;
    Color attacker_ = BLACK;
    int max_ply_ = 0;
    int depth_ = 0;
    bool aborted_ = false;
    bool exact_hands_ = false;
    std::uint64_t nodes_ = 0;
    std::uint64_t next_look_at_clock_ = 0;
    std::chrono::steady_clock::time_point paused_;
    std::vector<std::uint64_t> forbidden_;
    std::vector<Step> path_;
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<Child[], Free> children_;  // a stack: the children of each path position
    std::size_t children_end_ = 0;
    std::array<std::uint16_t, 4096> on_path_{};  // path positions by the low 12 bits of their keys
};

}  // namespace komadori::mate
