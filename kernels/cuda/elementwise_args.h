// What the element-wise kernels' two halves, host code and device code, agree on. For host compilers and for nvcc.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr int kMaxElementwiseRank = 8;

// One output element for each of `count`. With `rank` 0 both operands are as long as the output; otherwise an operand's
// element is found by its steps along `sizes`, innermost last.
struct ElementwiseArgs {
  const void* x = nullptr;
  const void* y = nullptr;
  void* out = nullptr;
  int64_t count = 0;
  float alpha = 0;  // LeakyRelu's, or a tolerance
  int rank = 0;
  int64_t sizes[kMaxElementwiseRank] = {};
  int64_t x_steps[kMaxElementwiseRank] = {};
  int64_t y_steps[kMaxElementwiseRank] = {};
};

// Element types by TensorFlow's numbers, of which elementwise.cc makes sure.
enum class ElementType : int {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kHalf = 19
};

// Element-wise ops with one table for both sides: from elementwise_table.inc, compiled by nvcc and for the host.
struct ElementwiseEntry {
  const char* op;
  int num_operands;
  ElementType type;  // of the operands
  int (*launch)(void* stream, const void* args);
  void (*simulate)(const void* args);
};
struct ElementwiseTable {
  const ElementwiseEntry* entries = nullptr;
  int size = 0;
};
ElementwiseTable CudaElementwiseTable();  // empty in a build without the toolkit
ElementwiseTable SimulatedElementwiseTable();

}  // namespace weir
