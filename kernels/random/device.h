// The interface between host code and device code of the kernels that draw random numbers. For host compilers and nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// `total` numbers from a Philox stream, a place for each group of four words. Integers are low + word % range, or the
// words themselves where range is 0.
struct RandomArgs {
  uint32_t counter[4], key[2];
  uint64_t low, range;
  void* out;
  int64_t total;
  int64_t count;
};

// Classes drawn for rows of logits: `totals` has the logits, and then the sums of the exponentials, less the row's
// highest, up to each class; logits that are not finite are never drawn.
struct MultinomialArgs {
  double* totals;   // [rows, classes]
  double* highest;  // of each row
  uint32_t counter[4], key[2];
  void* out;  // [rows, samples]
  int64_t classes, samples;
  int64_t count;
};

}  // namespace weir
