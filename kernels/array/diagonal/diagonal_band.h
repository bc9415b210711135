// Diagonals of matrices, and how they are packed. For host compilers and for nvcc.
#pragma once

#include <cstdint>

namespace weir {

// Diagonals [lower, upper] of a matrix, 0 being the main one and positive ones above it. Packed, they are rows of
// `length` elements, the uppermost first, aligned left or right.
struct DiagonalBand {
  int64_t rows = 0, columns = 0, lower = 0, upper = 0, length = 0;
  bool left_above = true, left_below = true;

  constexpr int64_t count() const { return upper - lower + 1; }
  constexpr int64_t LengthOf(int64_t d) const {
    const int64_t down = rows + (d < 0 ? d : 0), right = columns - (d > 0 ? d : 0);
    return down < right ? down : right;
  }
  // Where diagonal d begins in its packed row.
  constexpr int64_t Offset(int64_t d) const {
    const bool left = (d >= 0 && left_above) || (d <= 0 && left_below);
    return left ? 0 : length - LengthOf(d);
  }
};

}  // namespace weir
