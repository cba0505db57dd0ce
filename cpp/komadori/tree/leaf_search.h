// A small alpha-beta search of each leaf, whose value is mixed with the network's: the network
// judges the position, the search sees its tactics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "komadori/alphabeta/engine.h"
#include "komadori/base/win_rate.h"

namespace komadori {

class LeafSearch {
  public:
    // nodes: of each search. weight: of its value, in [0, 1]; the network's has the rest.
    // scale_cp: centipawns per unit of log odds.
    LeafSearch(std::shared_ptr<alphabeta::Engine> engine, std::uint64_t nodes, float weight,
               double scale_cp)
        : engine_(std::move(engine)), weight_(weight), scale_cp_(scale_cp) {
        limits_.nodes = nodes;
    }

    // The side to move's win probability.
    float value(const Position& position) {
        const alphabeta::Result& found = engine_->search(position, limits_);
        const alphabeta::Score score =
            found.lines.empty() ? engine_->evaluate(position) : found.lines.front().score;
        return std::clamp(float(win_rate(score / scale_cp_)), SURE, 1.0f - SURE);
    }
    float mixed(float networks, float searched) const {
        return networks + weight_ * (searched - networks);
    }

  private:
    static constexpr float SURE = 0.001f;  // a mate that the tree hasn't proven is no proof

    std::shared_ptr<alphabeta::Engine> engine_;
    alphabeta::Limits limits_;
    float weight_;
    double scale_cp_;
};

}  // namespace komadori
