// The interface between host code and device code of element-wise kernels. For host compilers and for nvcc.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr int kMaxElementwiseRank = 8;

// Element types by TensorFlow's numbers, of which elementwise.cc makes sure.
enum class ElementType : int {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23
};

// One output element for each of `count`. With `rank` 0 both operands are as long as the output; otherwise an operand's
// element is found by its steps along `sizes`, innermost last.
struct ElementwiseArgs {
  const void* x = nullptr;
  const void* y = nullptr;
  void* out = nullptr;
  int64_t count = 0;
  float alpha = 0;                             // LeakyRelu's, or a tolerance
  ElementType operands = ElementType::kFloat;  // of kernels for several types
  int rank = 0;
  int64_t sizes[kMaxElementwiseRank] = {};
  int64_t x_steps[kMaxElementwiseRank] = {};
  int64_t y_steps[kMaxElementwiseRank] = {};
};

// Element-wise ops, in families with one table for both sides each: from *_table.inc, compiled by nvcc and for the
// host.
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
// Those for CUDA are empty in a build without the toolkit.
struct ElementwiseTables {
  ElementwiseTable (*cuda)();
  ElementwiseTable (*simulated)();
};
ElementwiseTable CudaElementwiseTable();
ElementwiseTable SimulatedElementwiseTable();
ElementwiseTable CudaIntegerTable();
ElementwiseTable SimulatedIntegerTable();
ElementwiseTable CudaComplexTable();
ElementwiseTable SimulatedComplexTable();
inline constexpr ElementwiseTables kElementwiseTables[] = {{&CudaElementwiseTable, &SimulatedElementwiseTable},
                                                           {&CudaIntegerTable, &SimulatedIntegerTable},
                                                           {&CudaComplexTable, &SimulatedComplexTable}};

}  // namespace weir
