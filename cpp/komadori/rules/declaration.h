// The entering-king declaration.
#pragma once

#include <array>

namespace komadori {

// Points that Black and White need to declare a win; 0: the side may not declare.
using DeclarationPoints = std::array<int, 2>;

constexpr DeclarationPoints POINTS_27{28, 27};  // the 27-point rule (CSA)
constexpr DeclarationPoints POINTS_24{31, 31};  // the 24-point rule
constexpr DeclarationPoints NO_DECLARATION{0, 0};

}  // namespace komadori
