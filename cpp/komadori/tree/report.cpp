#include <algorithm>
#include <cmath>
#include <tuple>

#include "komadori/tree/tree.h"

namespace komadori {

namespace {

// A child's proof from the view of the side that moves there.
Proof for_mover(Proof child) {
    switch (child) {
        case Proof::WIN:
            return Proof::LOSS;
        case Proof::LOSS:
            return Proof::WIN;
        default:
            return child;
    }
}

// Sort key, best first: wins, undecided moves, losses. Short wins and long losses are better.
std::tuple<int, int> proof_rank(Proof proof, int plies) {
    switch (proof) {
        case Proof::WIN:
            return {0, plies};
        case Proof::LOSS:
            return {2, -plies};
        default:
            return {1, 0};
    }
}

}  // namespace

std::uint64_t Tree::playouts() const {
    const std::lock_guard guard(lock_);
    return stats_.evaluated + stats_.terminal + stats_.transposed;
}

std::uint32_t Tree::root_visits(int number) const {
    const std::lock_guard guard(lock_);
    return store_[roots_.at(std::size_t(number)).node].finished();
}

float Tree::root_value(int number) const {
    const std::lock_guard guard(lock_);
    const Node& node = store_[roots_.at(std::size_t(number)).node];
    switch (node.proof) {
        case Proof::WIN:
            return 1.0f;
        case Proof::LOSS:
            return 0.0f;
        default:
            return node.finished() ? node.mean() : 0.5f;
    }
}

bool Tree::root_solved(int number) const {
    const std::lock_guard guard(lock_);
    const Root& root = roots_.at(std::size_t(number));
    return root.node != NO_NODE && is_solved(root);
}

bool Tree::is_allowed(const Root& root, std::uint16_t move16) const {
    return root.search_moves.empty() ||
           std::find(root.search_moves.begin(), root.search_moves.end(), move16) !=
               root.search_moves.end();
}

RootMove Tree::describe(const Edge& edge) const {
    RootMove move{};
    move.move16 = edge.move16();
    move.visits = edge.visits();
    move.prior = decode_prior(edge.prior);
    move.value = move.visits ? float(edge.value_sum()) / (float(move.visits) * VALUE_ONE) : 0.0f;
    if (edge.has_child()) {
        const Node& child = store_[edge.child];
        move.proof = for_mover(child.proof);
        move.proof_plies = child.proof_plies + 1;
    }
    if (edge.is_lost() && move.proof == Proof::NONE) {  // the child's memory was reclaimed
        move.proof = Proof::LOSS;
        move.proof_plies = 2;
    }
    if (move.proof == Proof::WIN) move.value = 1.0f;
    if (move.proof == Proof::LOSS) move.value = 0.0f;
    return move;
}

std::vector<RootMove> Tree::root_moves(int number) {
    const std::lock_guard guard(lock_);
    Root& root = roots_.at(std::size_t(number));
    if (root.node == NO_NODE) return {};
    const Node& node = store_[root.node];
    const std::span<const Edge> edges = store_.edges(node);
    std::vector<std::uint64_t> in_flight(edges.size());
    for (const std::shared_ptr<Flight>& flight : flights_) {
        for (const Flight::Leaf& leaf : flight->leaves) {
            const std::span<const Step> path = flight->path(leaf);
            if (path.empty() || path[0].node != root.node) continue;
            in_flight[path[0].ordinal] += path[0].stat();
        }
    }
    std::vector<RootMove> moves;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!is_allowed(root, edges[i].move16())) continue;
        Edge edge = edges[i];
        edge.stat -= in_flight[i];
        RootMove move = describe(edge);
        if (options_.lcb_stdevs > 0.0f && move.visits) {
            const double error =
                stdev(edge.has_child() ? &store_[edge.child] : nullptr) / std::sqrt(move.visits);
            move.lower_bound = float(double(move.value) - double(options_.lcb_stdevs) * error);
        }
        root.position.do_move(root.position.from_move16(move.move16));
        move.repetition = root.position.repetition(2);
        root.position.undo_move();
        moves.push_back(move);
    }
    std::stable_sort(moves.begin(), moves.end(), [](const RootMove& a, const RootMove& b) {
        return std::tuple(proof_rank(a.proof, a.proof_plies), -std::int64_t(a.visits), -a.value,
                          -a.prior) < std::tuple(proof_rank(b.proof, b.proof_plies),
                                                 -std::int64_t(b.visits), -b.value, -b.prior);
    });
    if (options_.lcb_stdevs > 0.0f) front_by_lower_bound(moves);
    return moves;
}

// Moves the undecided move with the greatest lower bound before the other undecided ones, which are
// sorted by visits.
void Tree::front_by_lower_bound(std::vector<RootMove>& moves) const {
    const auto first = std::ranges::find(moves, Proof::WIN, &RootMove::proof) != moves.end()
                           ? moves.end()
                           : std::ranges::find_if(moves, [](const RootMove& m) {
                                 return m.proof == Proof::NONE && m.visits > 0;
                             });
    if (first == moves.end()) return;
    const float least = options_.lcb_min_visits * float(first->visits);
    auto best = first;
    for (auto m = first; m != moves.end(); ++m) {
        if (m->proof != Proof::NONE || m->visits == 0 || float(m->visits) < least) continue;
        if (m->lower_bound > best->lower_bound) best = m;
    }
    std::rotate(first, best, best + 1);
}

// The most visited move, proofs first; -1 before any visit.
int Tree::best_edge(const Node& node) const {
    const std::span<const Edge> edges = store_.edges(node);
    int best = -1;
    RootMove best_move{};
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const RootMove move = describe(edges[i]);
        if (move.visits == 0 && move.proof == Proof::NONE) continue;
        const auto rank = [](const RootMove& m) {
            return std::tuple(proof_rank(m.proof, m.proof_plies), -std::int64_t(m.visits),
                              -m.value);
        };
        if (best < 0 || rank(move) < rank(best_move)) {
            best = int(i);
            best_move = move;
        }
    }
    return best;
}

std::vector<std::uint16_t> Tree::variation(int number, std::uint16_t first, int max_plies) {
    const std::lock_guard guard(lock_);
    Root& root = roots_.at(std::size_t(number));
    std::vector<std::uint16_t> moves;
    if (root.node == NO_NODE) return moves;
    Position& position = root.position;
    NodeIndex index = root.node;
    int chosen = -1;
    const std::span<const Edge> root_edges = store_.edges(store_[index]);
    for (std::size_t i = 0; i < root_edges.size(); ++i) {
        if (root_edges[i].move16() == first) chosen = int(i);
    }
    while (chosen >= 0) {
        const Edge& edge = store_.edges(store_[index])[std::size_t(chosen)];
        position.do_move(position.from_move16(edge.move16()));
        moves.push_back(edge.move16());
        index = edge.child;
        if (int(moves.size()) >= max_plies || !edge.has_child() ||
            position.repetition(2) != Repetition::NONE) {
            break;
        }
        if (store_[index].edge_count == 0 && store_[index].proof == Proof::WIN) {
            const Move mate = position.in_check() ? Move() : position.mate_in_one();
            if (!mate.is_none()) moves.push_back(mate.move16());
            break;
        }
        chosen = best_edge(store_[index]);
    }
    for (int i = position.path_length() - root.path_length; i > 0; --i) position.undo_move();
    return moves;
}

TreeStats Tree::stats() const {
    const std::lock_guard guard(lock_);
    return stats_;
}

double Tree::fullness() const {
    const std::lock_guard guard(lock_);
    return store_.fullness();
}

std::size_t Tree::node_count() const {
    const std::lock_guard guard(lock_);
    return store_.node_count();
}

NodeView Tree::view(int number, std::span<const std::uint16_t> moves) const {
    const std::lock_guard guard(lock_);
    NodeIndex index = roots_.at(std::size_t(number)).node;
    for (const std::uint16_t move16 : moves) {
        const std::span<const Edge> edges = store_.edges(store_[index]);
        const auto edge = std::find_if(edges.begin(), edges.end(),
                                       [move16](const Edge& e) { return e.move16() == move16; });
        index = edge != edges.end() && edge->has_child() ? edge->child : NO_NODE;
        if (index == NO_NODE) return {};
    }
    if (index == NO_NODE) return {};
    const Node& node = store_[index];
    const std::span<const Edge> edges = store_.edges(node);
    return {true,
            node.state,
            node.proof,
            node.proof_plies,
            node.visits,
            node.in_flight,
            bool(node.is_private),
            node.value_sum,
            node.square_sum,
            node.value,
            {edges.begin(), edges.end()}};
}

std::string Tree::check() const {
    const std::lock_guard guard(lock_);
    return store_.check();
}

}  // namespace komadori
