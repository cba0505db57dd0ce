#include <algorithm>
#include <cmath>

#include "komadori/tree/tree.h"

namespace komadori {

namespace {

bool contains(std::span<const std::uint16_t> moves, std::uint16_t move16) {
    return std::find(moves.begin(), moves.end(), move16) != moves.end();
}

}  // namespace

// Moves the unvisited edge with the largest prior to index `touched`, so that select() looks only
// at the visited edges and this one. One step of a selection sort per newly visited edge.
void Tree::bring_front(Node& node) {
    node.front = 1;
    const std::span<Edge> edges = store_.edges(node);
    std::size_t best = node.touched;
    for (std::size_t i = best + 1; i < edges.size(); ++i) {
        if (edges[i].prior > edges[best].prior) best = i;
    }
    std::swap(edges[node.touched], edges[best]);
}

// The standard deviation of a node's values in [0, 1]. The variance is averaged with a prior one
// (stdev_prior^2 on the scale -1 to 1) weighted as stdev_prior_weight visits.
double Tree::stdev(const Node* node) const {
    const double prior = 0.5 * double(options_.stdev_prior);
    const double weight = double(options_.stdev_prior_weight);
    const double n = node ? double(node->finished()) : 0.0;
    double squares = 0.0;  // n times the variance
    if (n > 0.0) {
        const double sum = double(node->value_sum);
        squares = std::max(0.0, double(node->square_sum) - sum * sum / n) /
                  (double(VALUE_ONE) * double(VALUE_ONE));
    }
    return n + weight > 0.0 ? std::sqrt((weight * prior * prior + squares) / (weight + n)) : prior;
}

// The edge with the largest PUCT score that isn't proven to lose (AlphaZero, Silver et al. 2018;
// constants and first-play urgency as in dlshogi, except that the prior mass of the visited
// children is summed anew at every selection).
Tree::Selected Tree::select(Node& node, std::span<const std::uint16_t> allowed, bool at_root) {
    if (!node.front && node.touched < node.edge_count) bring_front(node);
    const float reduction = at_root ? options_.fpu_reduction_root : options_.fpu_reduction;
    float exploration = options_.exploration(float(node.visits - 1), at_root);
    if (options_.stdev_scale > 0.0f) {
        const double prior = 0.5 * double(options_.stdev_prior);
        exploration *= float(1.0 + double(options_.stdev_scale) * (stdev(&node) / prior - 1.0));
    }

    const std::span<const Edge> edges = store_.edges(node);
    const auto is_barred = [allowed](const Edge& edge) {
        return edge.is_lost() || (!allowed.empty() && !contains(allowed, edge.move16()));
    };
    // Edges after the front edge are unvisited and have smaller priors. With search moves the front
    // edge may be barred, so all edges are considered.
    const std::size_t end =
        allowed.empty() ? std::min<std::size_t>(node.touched + 1u, edges.size()) : edges.size();
    Selected best{-1, -1.0f, 0.0f};
    const Edge* unvisited = nullptr;
    float visited_prior = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const Edge& edge = edges[i];
        const std::uint32_t visits = edge.visits();
        if (visits == 0) {
            if (!is_barred(edge) && (!unvisited || edge.prior > unvisited->prior)) {
                unvisited = &edge;
            }
            continue;
        }
        const float prior = decode_prior(edge.prior);
        visited_prior += prior;
        if (is_barred(edge)) continue;
        const float q = float(std::int64_t(edge.value_sum())) * (1.0f / VALUE_ONE) / float(visits);
        const float score = q + exploration * prior / float(1 + visits);
        if (score > best.score) best = {int(i), score, q};
    }
    if (unvisited) {
        const float mean = node.finished() ? node.mean() : 0.5f;
        const float q = std::max(0.0f, mean - reduction * std::sqrt(visited_prior));
        const float score = q + exploration * decode_prior(unvisited->prior);
        if (score > best.score) best = {int(unvisited - edges.data()), score, q};
    }
    return best;
}

}  // namespace komadori
