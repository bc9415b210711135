// Kernels that apply one function to each element. A kernel is a loop over raw memory, chosen at registration; shapes,
// broadcasting, threads and buffer reuse are handled here, once for all functions and types.
#pragma once

#include <memory>

#include "absl/types/span.h"
#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"
#include "kernels/elementwise/args_broadcast.h"

namespace weir {

// out[i] = f(in[i]) for i < n. `in` and `out` may be the same memory.
using UnaryLoop = void (*)(const void* in, void* out, int64_t n);
// out[i] = f(x[i * x_step], y[i * y_step]) for i < n; steps are 0 or 1. `out` may be `x` or `y`. Returns false when an
// element has no value (an integer division by zero); the other elements are still computed.
using BinaryLoop = bool (*)(const void* x, int64_t x_step, const void* y, int64_t y_step, void* out, int64_t n);

// Output 0 has input 0's shape.
class UnaryKernel : public OpKernel {
 public:
  UnaryKernel(UnaryLoop loop, int picoseconds) : loop_(loop), picoseconds_(picoseconds) {}
  absl::Status Init(OpKernelConstruction& ctx) override;
  absl::Status Compute(OpKernelContext& ctx) override;
  bool IsExpensive() const override { return false; }

 private:
  const UnaryLoop loop_;
  const int picoseconds_;
  int64_t in_size_ = 0, out_size_ = 0;
};

// Output 0 is f over inputs 0 and 1 broadcast against each other.
class BinaryKernel : public OpKernel {
 public:
  BinaryKernel(BinaryLoop loop, int picoseconds, const char* error)
      : loop_(loop), picoseconds_(picoseconds), error_(error) {}
  absl::Status Init(OpKernelConstruction& ctx) override;
  absl::Status Compute(OpKernelContext& ctx) override;
  bool IsExpensive() const override { return false; }

 private:
  absl::Status ComputeBroadcast(OpKernelContext& ctx);
  absl::Status Finish(bool ok) const {
    return __builtin_expect(ok, 1) ? absl::OkStatus() : errors::InvalidArgument(error_);
  }

  const BinaryLoop loop_;
  const int picoseconds_;
  const char* const error_;  // what to say when the loop returns false
  int64_t x_size_ = 0, y_size_ = 0, out_size_ = 0;
  // Equal and NotEqual may return this value, as a scalar, if shapes do not match.
  bool tolerate_shapes_ = false, mismatch_value_ = false;
};

// Output 0 is f over the elements of inputs 0 and 1 in their order. It has the shape of input 0; that of input 1 may be
// another with as many elements. Used by gradients of functions, as in TensorFlow.
class PairwiseKernel : public OpKernel {
 public:
  PairwiseKernel(BinaryLoop loop, int picoseconds) : loop_(loop), picoseconds_(picoseconds) {}
  absl::Status Init(OpKernelConstruction& ctx) override;
  absl::Status Compute(OpKernelContext& ctx) override;
  bool IsExpensive() const override { return false; }

 private:
  const BinaryLoop loop_;
  const int picoseconds_;
  int64_t size_ = 0;
};

// --- Loops from functors ---

template <typename F, typename In, typename Out>
void UnaryLoopOf(const void* in, void* out, int64_t n) {
  const auto* x = static_cast<const In*>(in);
  auto* z = static_cast<Out*>(out);
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) z[i] = F()(x[i]);
}

// For the 16-bit floats T: the loop for float on converted blocks. The output is T, or bool.
template <typename T, typename Out, UnaryLoop kLoop>
void UnaryLoop16(const void* in, void* out, int64_t n) {
  float x[kFloat16Block];
  for (int64_t i = 0; i < n; i += kFloat16Block) {
    const int64_t count = std::min(kFloat16Block, n - i);
    ToFloats(At16<T>(in, i), x, count);
    if constexpr (std::is_same_v<Out, T>) {
      kLoop(x, x, count);
      FromFloats(x, At16<T>(out, i), count);
    } else {
      kLoop(x, static_cast<Out*>(out) + i, count);
    }
  }
}

// A functor F that can fail defines `static constexpr bool kFails = true` and takes a third argument, bool* ok.
template <typename F>
concept FailingFunctor = F::kFails;

template <typename F, typename In, typename Out>
bool BinaryLoopOf(const void* x_data, int64_t x_step, const void* y_data, int64_t y_step, void* out, int64_t n) {
  const auto* x = static_cast<const In*>(x_data);
  const auto* y = static_cast<const In*>(y_data);
  auto* z = static_cast<Out*>(out);
  if constexpr (FailingFunctor<F>) {
    bool ok = true;
    for (int64_t i = 0; i < n; ++i) z[i] = F()(x[i * x_step], y[i * y_step], &ok);
    return ok;
  } else if (x_step == 0 && n > 1) {
    const In a = *x;
    if (y_step == 0) return std::fill_n(z, n, F()(a, *y)), true;
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = F()(a, y[i]);
  } else if (y_step == 0 && n > 1) {
    const In b = *y;
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = F()(x[i], b);
  } else {
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = F()(x[i], y[i]);
  }
  return true;
}

// For functions too expensive to gain from vectors: one loop for all steps.
template <typename F, typename In, typename Out>
bool ScalarBinaryLoopOf(const void* x_data, int64_t x_step, const void* y_data, int64_t y_step, void* out, int64_t n) {
  const auto* x = static_cast<const In*>(x_data);
  const auto* y = static_cast<const In*>(y_data);
  auto* z = static_cast<Out*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = F()(x[i * x_step], y[i * y_step]);
  return true;
}

template <typename T, typename Out, BinaryLoop kLoop>
bool BinaryLoop16(const void* x_data, int64_t x_step, const void* y_data, int64_t y_step, void* out, int64_t n) {
  float x[kFloat16Block], y[kFloat16Block];
  if (x_step == 0) ToFloats(static_cast<const T*>(x_data), x, 1);
  if (y_step == 0) ToFloats(static_cast<const T*>(y_data), y, 1);
  bool ok = true;
  for (int64_t i = 0; i < n; i += kFloat16Block) {
    const int64_t count = std::min(kFloat16Block, n - i);
    if (x_step != 0) ToFloats(At16<T>(x_data, i), x, count);
    if (y_step != 0) ToFloats(At16<T>(y_data, i), y, count);
    if constexpr (std::is_same_v<Out, T>) {
      float z[kFloat16Block];
      ok &= kLoop(x, x_step, y, y_step, z, count);
      FromFloats(z, At16<T>(out, i), count);
    } else {
      ok &= kLoop(x, x_step, y, y_step, static_cast<Out*>(out) + i, count);
    }
  }
  return ok;
}

// --- Registration ---

struct UnaryEntry {
  const char* op;
  DataType type;  // of attribute T
  KernelFactory factory;
};
using BinaryEntry = UnaryEntry;

template <UnaryLoop kLoop, int kPicoseconds>
std::unique_ptr<OpKernel> MakeUnary() {
  return std::make_unique<UnaryKernel>(kLoop, kPicoseconds);
}
template <BinaryLoop kLoop, int kPicoseconds>
std::unique_ptr<OpKernel> MakeBinary() {
  return std::make_unique<BinaryKernel>(kLoop, kPicoseconds, "");
}

template <BinaryLoop kLoop, int kPicoseconds>
std::unique_ptr<OpKernel> MakePairwise() {
  return std::make_unique<PairwiseKernel>(kLoop, kPicoseconds);
}

// Registers each entry for the CPU, constrained by its type unless that is DT_INVALID.
absl::Status RegisterEntries(KernelRegistry& kernels, absl::Span<const UnaryEntry> entries);

}  // namespace weir
