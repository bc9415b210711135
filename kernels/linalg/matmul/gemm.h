// Matrix multiplication on one thread, over raw row-major memory.
#pragma once

#include <cstdint>

#include "core/tensor/types.h"

namespace weir {

// One product c[m,n] = op(a) * op(b), where op transposes or (complex) conjugates and transposes. a is [m,k] as op sees
// it, b is [k,n]. Row lengths in memory are lda, ldb, ldc. k may be 0: c becomes zero.
struct GemmArgs {
  bool transpose_a = false, transpose_b = false;
  bool conjugate_a = false, conjugate_b = false;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
};
using Gemm = void (*)(const GemmArgs& args);

// The function for elements of `type`; nullptr where there is none. 16-bit floats accumulate in float, integers wrap.
Gemm FindGemm(DataType type);

// Whether the CPU multiplies bfloat16 faster than float: an AMX unit, or AMD's avx512_bf16, whose products and
// convolutions take half as long as those of float. Intel's without AMX take up to twice as long.
bool HasFastBfloat16();
// False, and nothing done, without that, or where computing in float is as fast.
bool MultiplyBfloat16(const GemmArgs& args);

void GemmFloat(const GemmArgs& args);
void GemmDouble(const GemmArgs& args);
void GemmComplex64(const GemmArgs& args);
void GemmComplex128(const GemmArgs& args);

}  // namespace weir
