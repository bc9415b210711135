// Arguments that host code and device code share: diagonals, rolls, mirrored frames, and small ops of other families
// whose bodies are in the same table. For host compilers and for nvcc.
#pragma once

#include "kernels/array/diagonal/diagonal_band.h"
#include "kernels/device/gpu/bodies.h"

namespace weir {

// out[batch] = matrices that have the packed diagonals in their band, and elsewhere what `base` has, or `value`.
struct BandMatrixArgs {
  const void* packed;
  const void* base;  // may be null
  PlainValue value;
  void* out;
  DiagonalBand band;
  int64_t count;
};
// out[batch] = the packed diagonals of matrices, with `value` beside them.
struct BandRowsArgs {
  const void* in;
  PlainValue value;
  void* out;
  DiagonalBand band;
  int64_t count;
};
// out = in within `lower` diagonals below the main one and `upper` above it, and zero elsewhere; a negative number
// keeps all.
struct BandPartArgs {
  const void* in;
  void* out;
  int64_t rows, columns, lower, upper;
  int64_t count;
};
// out[i] = in, each dimension moved on by its shift.
struct RollArgs {
  const void* in;
  void* out;
  int rank;
  int64_t sizes[kMaxBodyRank];
  int64_t shifts[kMaxBodyRank];  // in [0, size)
  int64_t count;
};
// The first lengths[b] elements along one dimension in reverse, for each b of another. A length that is out of range
// counts as the nearest that is not.
struct ReverseSequenceArgs {
  const void* in;
  const void* lengths;
  bool wide_lengths;
  void* out;
  int64_t sequence, sequence_step;
  int64_t batch, batch_step;
  int64_t count;
};
// out[outer, j, inner] = in[outer, before + j, inner] and what mirrors it in the frame, one element further where
// `edge`.
struct MirrorFoldArgs {
  const void* in;
  void* out;
  int64_t n, before, wide, inner;
  int edge;
  int64_t count;
};
// out[i] = f(operands[0][i], operands[1][i], operands[2][i]); steps are 0 or 1.
struct TernaryArgs {
  const void* operands[3];
  int64_t steps[3];
  void* out;
  int64_t count;
};
// Vectors of three.
struct CrossArgs {
  const void* a;
  const void* b;
  void* out;
  int64_t count;
};
// out[i] = how many of the sorted boundaries are not above in[i].
struct BucketizeArgs {
  const void* in;
  const void* boundaries;  // floats
  int64_t num_boundaries;
  void* out;
  int64_t count;
};
// out[i] = whether fewer than k predictions of row i are above that of its target, and all are finite.
struct InTopArgs {
  const void* predictions;  // floats
  const void* targets;
  bool wide_targets;
  int64_t k;
  void* out;
  int64_t classes;
  int64_t count;
};
// Fake quantisation to the levels between `low` and `high`, or between the ends that `lows` and `highs` hold for each
// of `depth` channels; its gradient; and the sums of the gradients of what lies beyond either end.
struct FakeQuantArgs {
  const float* x;
  const float* gradient;
  const float* lows;  // null: `low` and `high`
  const float* highs;
  float low, high;
  int64_t bits;
  bool narrow, by_division, above;
  float* out;
  int64_t depth, length;  // of a channel
  int64_t count;
};
// What few bits can count: a range for each index of an axis. For the gradient: `gradient` where x lies within it.
struct QuantizeArgs {
  const void* x;
  const void* gradient;
  const void* lows;
  const void* highs;
  int64_t bits;
  bool is_signed, narrow, clamps, half_up;
  void* out;
  int64_t axis, inner;
  int64_t count;
};
// Elements that are not zero, in blocks of kNonZeroBlock: how many there are in each; then, with `totals` of all blocks
// up to each, the coordinates of each of them, in order.
inline constexpr int64_t kNonZeroBlock = 2048;
struct NonZeroArgs {
  const void* in;
  int64_t length;
  int64_t* counts;
  const int64_t* totals;
  int rank;
  int64_t sizes[kMaxBodyRank];
  int64_t* out;  // [total, rank]
  int64_t count;
};
// What is wrong with numbers: flags of those that are found in every parts-th element, and then of all parts.
inline constexpr int64_t kHasNegativeInfinity = 1, kHasInfinity = 2, kHasNaN = 4;
struct NumericFlagsArgs {
  const void* in;
  int64_t* partial;
  int64_t* out;
  int64_t length, parts;
  int64_t count;
};

}  // namespace weir
