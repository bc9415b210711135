// Denormal numbers on a thread that computes.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace weir {

// While it lives, floating-point instructions of its thread take denormal operands for zero and give zero instead of
// denormal results. Kernels run so, as TensorFlow's do: arithmetic with denormals takes a hundred times as long. Has no
// effect on processors without SSE2.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_);
  }
#else
  FlushDenormals() {}  // NOLINT(modernize-use-equals-default): a variable of this type is not unused
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#if defined(__SSE2__)

 private:
  static constexpr unsigned int kFlush = 0x8040;  // results to zero, and operands
  const unsigned int before_;
#endif
};

}  // namespace weir
