// Checks of the CudnnRNN ops' inputs, for the kernels of all devices.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/recurrent/rnn_attrs.h"
#include "kernels/recurrent/rnn_loops.h"

namespace weir {

// A call of CudnnRNN or of its gradient, whose first inputs are the same: the input, h, c, the parameters, and of
// version 3 the sequences' lengths, in host memory. INVALID_ARGUMENT for what does not fit.
absl::StatusOr<RnnBatch> ReadRnnBatch(const OpKernelContext& ctx, const RnnAttrs& attrs);
// Of the input that it was read from.
absl::StatusOr<TensorShape> RnnOutputShape(const OpKernelContext& ctx, const RnnBatch& batch);

// Inputs of the gradient behind those, by where they are: outputs, what arrives at them, and what the op has kept.
struct RnnGradientInputs {
  explicit RnnGradientInputs(const RnnAttrs& attrs) : output(attrs.has_lengths ? 5 : 4) {}
  // The shapes of the first six. The reserve's size is the device's matter.
  absl::Status Check(const OpKernelContext& ctx, const RnnAttrs& attrs, const RnnBatch& batch) const;

  const int output, gradient = output + 3, reserve = output + 6;
};
// INVALID_ARGUMENT unless it has `elements`.
absl::Status CheckRnnReserve(const Tensor& reserve, int64_t elements);

}  // namespace weir
