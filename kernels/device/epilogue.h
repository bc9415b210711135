// The ops that a fused op applies to a product or a convolution before the result leaves the cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"

namespace weir {

// One step's epilogue: y = f(x * scale[channel] + shift[channel]), in place. Arithmetic is in double for double and in
// float for the other types, which are rounded once. Thread-safe.
class BoundEpilogue {
 public:
  enum class Function { kNone, kRelu, kRelu6, kLeakyRelu, kElu, kTanh, kSigmoid };

  // `rows` rows of channels [first, first + width), `stride` elements from one to the next.
  void ApplyToRows(void* data, int64_t rows, int64_t width, int64_t stride, int64_t first = 0) const;
  // `images` times one plane of `size` elements for each channel.
  void ApplyToPlanes(void* data, int64_t images, int64_t size) const;

 private:
  friend class Epilogue;

  DataType type_ = DT_INVALID;
  Function function_ = Function::kNone;
  float alpha_ = 0;
  int64_t channels_ = 0;
  std::vector<double> scale_, shift_;             // of double; scale may be empty, for 1
  std::vector<float> float_scale_, float_shift_;  // of the other types
};

// A node's attributes fused_ops (BiasAdd or FusedBatchNorm, then at most one activation), epsilon and leakyrelu_alpha.
class Epilogue {
 public:
  // UNIMPLEMENTED for another series of ops; InvalidArgument where num_args does not fit it.
  absl::Status Init(OpKernelConstruction& ctx);
  // Reads the vectors, `channels` long each, that begin at input `first`: the bias, or a batch normalization's scale,
  // offset, mean and variance.
  absl::StatusOr<BoundEpilogue> Bind(OpKernelContext& ctx, int first, int64_t channels) const;

 private:
  bool normalizes_ = false;
  BoundEpilogue::Function function_ = BoundEpilogue::Function::kNone;
  float epsilon_ = 0, alpha_ = 0;
};

}  // namespace weir
