#include <algorithm>

#include "komadori/base/hash.h"
#include "komadori/encoding/planes.h"
#include "komadori/encoding/policy.h"
#include "komadori/tree/tree.h"

namespace komadori {

namespace {

// Only reached with the repetition check off.
constexpr std::size_t MAX_DEPTH = 1024;
// Near the ply limit a position's value depends on its ply, so the ply is part of the key.
constexpr int PLY_LIMIT_HORIZON = 100;
constexpr std::uint32_t VISIT_MARGIN = 1u << 16;

// When memory runs out, unvisited and then rarely visited nodes are reclaimed down to this
// fullness.
constexpr double ROOMY = 0.7;

void write_inputs(const Position& position, const Batch& batch, std::size_t row) {
    std::array<void*, MAX_INPUTS> rows{};
    for (std::size_t i = 0; i < batch.table.inputs.size(); ++i) {
        rows[i] = batch.inputs[i] + row * batch.row_bytes[i];
    }
    write_planes(batch.table, Placement(position), position.ply() - 1, batch.type, rows.data());
}

bool is_drawn(int ply, int draw_ply) { return draw_ply > 0 && ply > draw_ply; }

// Fills in the piece types of a legal move.
Move full_move(const Position& position, std::uint16_t move16) {
    const Move m{move16};
    if (m.is_drop()) return Move::drop(m.dropped(), m.to());
    return Move::board(m.from(), m.to(), m.is_promotion(), type_of(position.piece_on(m.from())),
                       type_of(position.piece_on(m.to())));
}

}  // namespace

int Tree::collect(int root_number, Batch& batch, int rows, int playouts, std::uint16_t first) {
    const std::lock_guard guard(lock_);
    Root& root = roots_.at(std::size_t(root_number));
    require_own(batch);
    rows = std::min(rows, batch.capacity - batch.rows());
    if (rows <= 0 || root.node == NO_NODE || is_solved(root)) return 0;
    if (batch.rows() == 0) {
        batch.tree = number_;
        batch.generation = generation_;
        flights_.push_back(batch.flight);
    }
    if (batch.generation != generation_) return 0;
    // Bounds the playouts that need no row.
    const int attempts = 8 * rows + 16;
    make_room(attempts);
    const auto allowed = first ? std::span<const std::uint16_t>(&first, 1)
                               : std::span<const std::uint16_t>(root.search_moves);
    int added = 0;
    int backed_up = 0;
    int dropped = 0;
    for (int i = 0; i < attempts && added < rows && dropped <= 4 * rows; ++i) {
        if (playouts > 0 && added + backed_up >= playouts) break;
        if (!store_.has_room(1, MAX_LEGAL_MOVES)) break;
        const End end = playout(root, batch, allowed);
        if (end == End::STUCK) break;
        if (end == End::QUEUED) ++added;
        if (end == End::BACKED_UP) ++backed_up;
        if (end == End::DROPPED) ++dropped;
        if (end == End::BACKED_UP && is_solved(root)) break;
    }
    // Undone only now: otherwise the next playout would take the same path.
    undo(dropped_.steps);
    dropped_.steps.clear();
    for (const NodeIndex index : crowded_) store_[index].collisions = 0;
    crowded_.clear();
    if (batch.rows() == 0) std::erase(flights_, batch.flight);
    return added;
}

// One playout from the root to a leaf. Rules are checked in dlshogi's order: draw by the ply limit,
// repetition, mate in one, declaration, network.
Tree::End Tree::playout(Root& root, Batch& batch, std::span<const std::uint16_t> allowed) {
    Position& position = root.position;
    path_.clear();
    path_keys_.clear();
    int made = 0;
    NodeIndex index = root.node;
    End end = End::STUCK;
    if (store_[index].state == NodeState::PENDING || is_crowded(store_[index])) return End::STUCK;
    if (store_[index].state == NodeState::NEW) {
        queue(index, position, batch);
        return End::QUEUED;
    }
    for (;;) {
        Node& node = store_[index];
        if (node.visits > MAX_VISITS - VISIT_MARGIN) break;
        const bool at_root = path_.empty();
        const Selected selected =
            select(node, at_root ? allowed : std::span<const std::uint16_t>(), at_root);
        if (selected.ordinal < 0) break;
        const Edge& chosen = store_.edges(node)[std::size_t(selected.ordinal)];
        if (chosen.has_child()) store_.prefetch(chosen.child);
        path_keys_.push_back({position.key(), position.board_key()});
        position.do_move(full_move(position, chosen.move16()));
        ++made;
        if (options_.repetition && !is_drawn(position.ply(), options_.draw_ply)) {
            const Repetition repetition = position.repetition(2);
            if (repetition != Repetition::NONE) {
                end = backup_repetition(root, index, selected, repetition);
                break;
            }
        }
        const Step step = visit(index, selected);
        path_.push_back(step);
        Edge& edge = store_.edges(node)[step.ordinal];
        if (!edge.has_child()) {
            edge.child = store_.find(key_of(position));
            if (edge.child == NO_NODE) edge.child = create_node(position);
        }
        index = edge.child;
        const Node& child = store_[index];
        if (child.proof != Proof::NONE || path_.size() >= MAX_DEPTH) {
            ++stats_.terminal;
            backup(path_, value_for_mover(child), weight_of_certainty());
            prove(path_, index);
            end = End::BACKED_UP;
            break;
        }
        if (child.state == NodeState::NEW) {
            queue(index, position, batch);
            end = End::QUEUED;
            break;
        }
        if (child.state == NodeState::PENDING) {
            collide(store_[index]);
            end = End::DROPPED;
            break;
        }
        if (is_crowded(child)) {
            crowded_.push_back(index);
            collide(store_[index]);
            end = End::DROPPED;
            break;
        }
        if (edge.visits() == 1 && child.finished() > 0) {
            // A transposition: its mean is a better first sample than another leaf's value.
            ++stats_.transposed;
            const auto finished = std::uint64_t(child.finished());
            const auto mean = int((child.value_sum + finished / 2) / finished);
            backup(path_, VALUE_ONE - mean);
            end = End::BACKED_UP;
            break;
        }
    }
    if (end == End::DROPPED) {
        ++stats_.dropped;
        dropped_.steps.insert(dropped_.steps.end(), path_.begin(), path_.end());
    } else if (end == End::STUCK || end == End::RETRY) {
        undo(path_);
    }
    stats_.depth = std::max(stats_.depth, std::uint64_t(made));
    for (; made > 0; --made) position.undo_move();
    return end;
}

// Backs up a move that repeats a position of the path. Its value may be stored only if all nodes
// that it depends on are private to this path; otherwise makes them private and restarts the
// playout.
Tree::End Tree::backup_repetition(Root& root, NodeIndex index, const Selected& selected,
                                  Repetition repetition) {
    const Position& position = root.position;
    if (make_private(root, index, repeated_at(repetition, position))) return End::RETRY;
    const Node& node = store_[index];
    if (!node.is_private) return End::DROPPED;  // no room for more nodes
    if (store_.edges(node)[std::size_t(selected.ordinal)].child != REPEATS) {
        mark_repeats(index, selected.ordinal);
        return End::RETRY;
    }
    ++stats_.terminal;
    ++stats_.repeated;
    path_.push_back(visit(index, selected));
    backup(path_, repetition_value(repetition, opponent(position.turn())), weight_of_certainty());
    return End::BACKED_UP;
}

// Adds a visit in flight to a node and one of its edges ("watch the unobserved", Liu et al. 2020,
// arXiv:1810.11755). The provisional value is the edge's mean, or its first-play urgency: only the
// visit count steers the next playouts elsewhere. A virtual loss, as in dlshogi, costs about 200
// Elo if a fifth of a small search is in flight (docs/results/search.md).
Step Tree::visit(NodeIndex index, const Selected& selected) {
    Node& node = store_[index];
    const std::span<Edge> edges = store_.edges(node);
    int ordinal = selected.ordinal;
    if (ordinal >= node.touched) {
        std::swap(edges[std::size_t(ordinal)], edges[node.touched]);
        ordinal = node.touched++;
        node.front = 0;
    }
    ++node.visits;
    ++node.in_flight;
    Edge& edge = edges[std::size_t(ordinal)];
    const Step step{index, std::uint32_t(ordinal), int(selected.q * VALUE_ONE + 0.5f)};
    edge.stat += step.stat();
    return step;
}

// Whether a node has as many playouts in flight as its finished visits allow. Otherwise nodes with
// few known values would take up many rows of a batch.
bool Tree::is_crowded(const Node& node) const {
    if (options_.visits_per_flight == 0 || node.state != NodeState::EXPANDED) return false;
    return node.in_flight >=
           std::max(1u, node.finished() / std::uint32_t(options_.visits_per_flight));
}

// Marks the current path, which ends at a pending or crowded node, as dropped. It is undone after
// the batch is collected; until then its visits repel further playouts, with a weight that grows
// with the number of collisions at the leaf. With single visits, a move with a dominant prior would
// attract dozens of playouts.
void Tree::collide(Node& leaf) {
    if (leaf.collisions < UINT8_MAX) ++leaf.collisions;
    const std::uint32_t more = leaf.collisions - 1u;
    for (Step& step : path_) {
        Node& node = store_[step.node];
        node.visits += more;
        node.in_flight += more;
        Edge& edge = store_.edges(node)[step.ordinal];
        edge.stat -= step.stat();
        step.visits += more;
        edge.stat += step.stat();
    }
}

// Creates the node of a new position: with a proof if it is terminal, else with edges.
NodeIndex Tree::create_node(const Position& position) {
    const NodeIndex index = store_.create(key_of(position));
    Node& node = store_[index];
    node.turn = position.turn();
    node.bias = ValueBias::bucket(position);
    if (is_drawn(position.ply(), options_.draw_ply)) {
        node.proof = Proof::DRAW;
    } else if ((options_.mate_in_one && !position.in_check() &&
                !position.mate_in_one().is_none()) ||
               position.can_declare_win(options_.declaration_points)) {
        node.proof = Proof::WIN;
        node.proof_plies = 1;
    } else {
        write_edges(node, position);
    }
    return index;
}

void Tree::write_edges(Node& node, const Position& position) {
    Move moves[MAX_LEGAL_MOVES];
    const int count = position.legal_moves(moves);
    if (count == 0) {
        node.proof = Proof::LOSS;
        node.proof_plies = 0;
        return;
    }
    store_.allocate_edges(node, count);
    const std::span<Edge> edges = store_.edges(node);
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i].bits = moves[i].move16();
    node.open = std::uint16_t(count);
    node.touched = 0;
    node.front = 0;
}

void Tree::queue(NodeIndex index, const Position& position, Batch& batch) {
    Node& node = store_[index];
    node.state = NodeState::PENDING;
    ++node.visits;
    ++node.in_flight;
    write_inputs(position, batch, std::size_t(batch.rows()));
    Flight& flight = *batch.flight;
    const auto begin = std::uint32_t(flight.steps.size());
    flight.steps.insert(flight.steps.end(), path_.begin(), path_.end());
    const auto columns = std::uint32_t(flight.columns.size());
    const float searched = leaf_search_ ? leaf_search_->value(position) : 0.0f;
    flight.leaves.push_back({index, begin, std::uint32_t(flight.steps.size()), columns, searched});
    if (!batch.is_2187) write_columns(node, position, batch);
}

// Stores the policy columns of a leaf's edges. Edges have no piece types, which labels may depend
// on. The edges of a pending node keep their order.
void Tree::write_columns(const Node& node, const Position& position, Batch& batch) {
    const std::size_t heads = batch.labels.heads.size();
    std::vector<std::uint16_t>& columns = batch.flight->columns;
    std::size_t at = columns.size();
    columns.resize(at + node.edge_count * heads);
    for (const Edge& edge : store_.edges(node)) {
        policy_columns(batch.labels, full_move(position, edge.move16()), position.turn(),
                       &columns[at]);
        at += heads;
    }
}

std::uint64_t Tree::key_of(const Position& position) const {
    const std::uint64_t key = position.key();
    if (options_.draw_ply == 0 || position.ply() + PLY_LIMIT_HORIZON < options_.draw_ply) {
        return key;
    }
    return key ^ (std::uint64_t(position.ply()) * GOLDEN_64);
}

void Tree::make_room(int playouts) {
    const auto nodes = std::size_t(playouts);
    const std::size_t edges = nodes * MAX_LEGAL_MOVES;
    if (store_.has_room(nodes, std::min(edges, store_.edge_capacity() / 4))) return;
    ++stats_.reclaims;
    const std::vector<NodeIndex> kept = kept_nodes();
    store_.reclaim(kept, 0);
    for (std::uint32_t visits = 1; store_.fullness() > ROOMY && visits < MAX_VISITS / 2;
         visits *= 2) {
        store_.reclaim(kept, visits);
    }
}

bool Tree::is_solved(const Root& root) const {
    const Node& node = store_[root.node];
    if (root.search_moves.empty()) return node.proof != Proof::NONE;
    bool open = false;
    for (const Edge& edge : store_.edges(node)) {
        if (!is_allowed(root, edge.move16())) continue;
        const Proof child = edge.has_child() ? store_[edge.child].proof : Proof::NONE;
        if (child == Proof::LOSS) return true;
        open |= !edge.is_lost() && child == Proof::NONE;
    }
    return node.edge_count > 0 && !open;
}

}  // namespace komadori
