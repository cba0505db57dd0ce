#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "komadori/encoding/policy.h"
#include "komadori/tree/tree.h"

namespace komadori {

namespace {

constexpr float VALUE_SLACK = 1e-3f;  // values of half-precision networks may exceed [0, 1]

}  // namespace

int Tree::expand(Batch& batch, const float* policy, const float* value) {
    const std::lock_guard guard(lock_);
    require_own(batch);
    const Flight& flight = *batch.flight;
    const std::size_t rows = batch.generation == generation_ ? flight.leaves.size() : 0;
    const auto labels = std::size_t(batch.labels.size());
    int invalid = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        const Flight::Leaf& leaf = flight.leaves[row];
        Node& node = store_[leaf.node];
        bool valid = value[row] >= -VALUE_SLACK && value[row] <= 1.0f + VALUE_SLACK;
        node.value = valid ? std::clamp(value[row], 0.0f, 1.0f) : 0.5f;
        const double weight = weight_of_leaf(node.value, leaf.searched);
        if (leaf_search_) node.value = leaf_search_->mixed(node.value, leaf.searched);
        node.unbiased = std::uint16_t(std::lround(node.value * VALUE_ONE));
        if (options_.value_bias > 0.0f) {
            const float error = float(value_bias_.error(node.bias));
            node.value = std::clamp(node.value + options_.value_bias * error, 0.0f, 1.0f);
        }
        valid &= write_priors(node, batch, leaf, policy + row * labels);
        invalid += !valid;
        node.state = NodeState::EXPANDED;
        node.collisions = 0;
        const int own = int(std::lround(node.value * VALUE_ONE));
        node.value_sum += std::uint64_t(own);
        node.square_sum += std::uint64_t(own) * std::uint64_t(own);
        --node.in_flight;
        backup(flight.path(leaf), VALUE_ONE - own, weight);
    }
    stats_.evaluated += rows;
    finish_batch(batch);
    return invalid;
}

void Tree::cancel(Batch& batch) {
    const std::lock_guard guard(lock_);
    require_own(batch);
    for (const Flight::Leaf& leaf : batch.flight->leaves) {
        if (batch.generation != generation_) break;
        Node& node = store_[leaf.node];
        node.state = NodeState::NEW;
        node.collisions = 0;
        --node.visits;
        --node.in_flight;
        undo(batch.flight->path(leaf));
    }
    finish_batch(batch);
}

void Tree::require_own(const Batch& batch) const {
    if (batch.rows() > 0 && batch.tree != number_) {
        throw std::invalid_argument("the batch has rows of another tree");
    }
}

// Clears a batch that was expanded or cancelled.
void Tree::finish_batch(Batch& batch) {
    batch.flight->leaves.clear();
    batch.flight->steps.clear();
    batch.flight->columns.clear();
    std::erase(flights_, batch.flight);
}

// The weight of a leaf's value among those of other playouts: 1 if uncertainty_weight is off.
double Tree::weight_of_leaf(float network, float searched) {
    if (options_.uncertainty_weight <= 0.0f || !leaf_search_) return 1.0;
    const double full = uncertainty_.weight(std::abs(double(network) - double(searched)));
    return 1.0 + double(options_.uncertainty_weight) * (full - 1.0);
}

double Tree::weight_of_certainty() const {
    if (options_.uncertainty_weight <= 0.0f || !leaf_search_) return 1.0;
    return 1.0 + double(options_.uncertainty_weight) * (uncertainty_.certain() - 1.0);
}

// The value that moves an edge's mean as far as a playout of this weight would: sums have no room
// for weights. `assumed` is the provisional value of the visit in the edge's sum. Values stay in
// [0, 1], and a first value is the mean whatever it weighs.
int Tree::weighted_value(const Edge& edge, int assumed, int value, double weight) {
    const std::uint32_t others = edge.visits() - 1;
    if (weight == 1.0 || others == 0) return value;
    const double mean = double(std::int64_t(edge.value_sum()) - assumed) / double(others);
    const double weighted = mean + weight * (double(value) - mean);
    return int(std::lround(std::clamp(weighted, 0.0, double(VALUE_ONE))));
}

// Backs up the value of a playout along its path. `value` is from the view of the side that made
// the last move.
void Tree::backup(std::span<const Step> path, int value, double weight) {
    for (std::size_t i = path.size(); i-- > 0; value = VALUE_ONE - value) {
        Node& node = store_[path[i].node];
        Edge& edge = store_.edges(node)[path[i].ordinal];
        const int added = weighted_value(edge, path[i].assumed, value, weight);
        --node.in_flight;
        node.value_sum += std::uint64_t(added);
        node.square_sum += std::uint64_t(added) * std::uint64_t(added);
        if (options_.value_bias > 0.0f) {
            const double error = double(value - int(node.unbiased)) / VALUE_ONE;
            value_bias_.learn(node.bias, error, std::max(2u, node.finished()) - 1);
        }
        const auto change = std::uint64_t(std::int64_t(added) - path[i].assumed);
        edge.stat += change << VISIT_BITS;
    }
}

void Tree::undo(std::span<const Step> path) {
    for (const Step& step : path) {
        Node& node = store_[step.node];
        node.visits -= step.visits;
        node.in_flight -= step.visits;
        store_.edges(node)[step.ordinal].stat -= step.stat();
    }
}

// Propagates a proof from the end of a path toward the root as far as it proves the nodes there.
// Proofs hold on every path: if a mate's moves repeat a position, the attacker continues from the
// repeated one.
void Tree::prove(std::span<const Step> path, NodeIndex leaf) {
    const Node* child = &store_[leaf];
    for (std::size_t i = path.size(); i-- > 0 && child->proof != Proof::NONE;) {
        Node& node = store_[path[i].node];
        Edge& edge = store_.edges(node)[path[i].ordinal];
        const auto plies = std::uint16_t(child->proof_plies + 1);
        if (child->proof == Proof::LOSS) {
            if (node.proof != Proof::WIN || plies < node.proof_plies) {
                node.proof = Proof::WIN;
                node.proof_plies = plies;
            }
        } else {
            if (child->proof == Proof::WIN && !edge.is_lost()) {
                edge.mark_lost();
                --node.open;
            }
            if (node.proof == Proof::NONE && !prove_from_edges(node)) return;
        }
        child = &node;
    }
}

// Proves a node as lost or drawn if every move is proven and none wins. Returns whether it did.
bool Tree::prove_from_edges(Node& node) {
    std::uint16_t longest = 0;
    bool draw = false;
    for (const Edge& edge : store_.edges(node)) {
        if (!edge.has_child()) {
            if (!edge.is_lost()) return false;
            continue;
        }
        const Node& child = store_[edge.child];
        if (edge.is_lost()) {
            longest = std::max(longest, child.proof_plies);
        } else if (child.proof == Proof::DRAW) {
            draw = true;
        } else {
            return false;
        }
    }
    node.proof = draw ? Proof::DRAW : Proof::LOSS;
    node.proof_plies = draw ? std::uint16_t(0) : std::uint16_t(longest + 1);
    return true;
}

// Recomputes a node's proof from its edges.
void Tree::recompute_proof(Node& node) {
    node.proof = Proof::NONE;
    node.proof_plies = 0;
    for (const Edge& edge : store_.edges(node)) {
        if (!edge.has_child() || store_[edge.child].proof != Proof::LOSS) continue;
        const auto plies = std::uint16_t(store_[edge.child].proof_plies + 1);
        if (node.proof == Proof::NONE || plies < node.proof_plies) node.proof_plies = plies;
        node.proof = Proof::WIN;
    }
    if (node.proof == Proof::NONE) prove_from_edges(node);
}

// If a logit isn't finite, makes the priors uniform and returns false.
bool Tree::write_priors(Node& node, const Batch& batch, const Flight::Leaf& leaf,
                        const float* row) {
    const std::span<Edge> edges = store_.edges(node);
    const float temperature = temperature_at(int(leaf.path_end - leaf.path_begin));
    float priors[MAX_LEGAL_MOVES];
    const std::span moves(priors, edges.size());
    if (batch.is_2187) {
        const auto turn = Color(node.turn);
        for (std::size_t i = 0; i < edges.size(); ++i) {
            priors[i] = row[label_2187(Move(edges[i].move16()), turn)];
        }
    } else {
        const std::size_t count = edges.size() * batch.labels.heads.size();
        move_logits(batch.labels,
                    std::span(batch.flight->columns).subspan(leaf.columns_begin, count), row,
                    temperature, moves);
    }
    const bool valid = softmax(moves, temperature);
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i].prior = encode_prior(priors[i]);
    bring_front(node);  // while the edges are in the cache
    return valid;
}

float Tree::temperature_at(int depth) const {
    const TreeOptions& o = options_;
    if (o.temperature_root == 0.0f) return o.temperature;
    return o.temperature +
           (o.temperature_root - o.temperature) * std::pow(o.temperature_decay, float(depth));
}

int Tree::draw_value(Color mover) const {
    return int(std::lround(options_.draw_value[mover] * VALUE_ONE));
}

// The value of a proven node for the side that moved there.
int Tree::value_for_mover(const Node& child) const {
    switch (child.proof) {
        case Proof::WIN:
            return 0;
        case Proof::LOSS:
            return VALUE_ONE;
        default:
            return draw_value(opponent(Color(child.turn)));
    }
}

// The value for the side that moved of a repetition, which is given from the view of the side to
// move after it.
int Tree::repetition_value(Repetition repetition, Color mover) const {
    switch (repetition) {
        case Repetition::WIN:
        case Repetition::SUPERIOR:
            return 0;
        case Repetition::LOSS:
        case Repetition::INFERIOR:
            return VALUE_ONE;
        default:
            return draw_value(mover);
    }
}

}  // namespace komadori
