// The base of collective kernels.
#pragma once

#include <memory>
#include <string>

#include "core/kernel/op_kernel.h"
#include "core/rendezvous/collective.h"

namespace weir {

// Subclasses describe the collective in Describe; the base runs it through the executor of collectives.
class CollectiveKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override;
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final;

 protected:
  // Reads the inputs into `params`, whose name, reduction and timeout are set, and allocates output 0. `*input` is this
  // member's contribution; empty if it only receives.
  virtual absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor* input) const = 0;

  CollectiveParams params_;  // what is the same in every step
};

// Attribute `name` in seconds; 0 or less means no timeout.
absl::StatusOr<absl::Duration> ReadTimeout(const OpKernelConstruction& ctx);
// "Min", "Max", "Mul" or "Add".
absl::StatusOr<Reduction> ReadReduction(const OpKernelConstruction& ctx, absl::string_view attr);

absl::Status CheckGroupSize(int64_t size);
absl::StatusOr<int32_t> ReadKey(const Tensor& tensor, absl::string_view name);
absl::StatusOr<std::shared_ptr<CollectiveExecutor>> FindCollectiveExecutor(const OpKernelContext& ctx,
                                                                           const std::string& op_name);

// The shape of the result of `params` for an input of `shape`. InvalidArgument if the size of the group does not divide
// it.
absl::StatusOr<TensorShape> CollectiveOutputShape(const CollectiveParams& params, const TensorShape& shape);
// Allocates the result; a sum or a broadcast reuses the input's memory if no one else uses it.
absl::Status AllocateCollectiveOutput(OpKernelContext& ctx, const CollectiveParams& params, Tensor* input);

}  // namespace weir
