// Conversion of a recurrent network's parameters between one buffer and separate tensors, for all devices.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "core/kernel/op_kernel.h"
#include "kernels/recurrent/rnn_attrs.h"

namespace weir {

// CudnnRNNParamsSize, CudnnRNNParamsToCanonical, CudnnRNNCanonicalToParams: their first three inputs, which are in host
// memory, tell a network's sizes.
class RnnParameters {
 public:
  absl::Status Init(OpKernelConstruction& ctx);

  absl::StatusOr<RnnSizes> ReadSizes(const OpKernelContext& ctx) const;

  // How a device copies `bytes` of its memory, more than none.
  using Copy = absl::FunctionRef<absl::Status(void* to, const void* from, size_t bytes)>;
  // The parameters, input 3, become outputs: all matrices, and behind them all biases. INVALID_ARGUMENT unless there
  // are as many tensors of both as attributes say, and as many parameters as the network has.
  absl::Status ToCanonical(OpKernelContext& ctx, Copy copy) const;
  // Inputs 3 and on, in that order, become the parameters, output 0.
  absl::Status FromCanonical(OpKernelContext& ctx, Copy copy) const;

 private:
  // A matrix or a bias among the parameters.
  struct Piece {
    TensorShape shape;
    int64_t offset = 0;  // in elements
  };
  absl::StatusOr<std::vector<Piece>> Pieces(const RnnSizes& sizes, int64_t tensors) const;

  RnnAttrs attrs_;
  int64_t num_weights_ = 0;
};

}  // namespace weir
