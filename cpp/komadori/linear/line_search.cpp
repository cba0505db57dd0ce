#include "komadori/linear/line_search.h"

namespace komadori::linear {
namespace {

int order_score(Move m) {
    using alphabeta::PIECE_VALUE;
    if (m.is_drop()) return 0;
    int value = m.is_promotion() ? 50 : 0;
    if (m.captured()) value += 10 * PIECE_VALUE[m.captured()] - PIECE_VALUE[m.moved()] + 10000;
    return value;
}

}  // namespace

void sort_captures_first(ListedMove* begin, ListedMove* end) {
    for (ListedMove* m = begin; m < end; ++m) m->score = order_score(m->move());
    std::stable_sort(begin, end,
                     [](const ListedMove& a, const ListedMove& b) { return a.score > b.score; });
}

}  // namespace komadori::linear
