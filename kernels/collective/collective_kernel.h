// What the kernels of collectives share.
#pragma once

#include <memory>
#include <string>

#include "core/collective.h"
#include "core/op_kernel.h"

namespace weir {

// Finds out in Describe what is to be done, and does it.
class CollectiveKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override;
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final;

 protected:
  // Reads the inputs into `params`, whose name, reduction and timeout are set, and allocates output 0. `*input` is what
  // this member gives; empty for one that only receives.
  virtual absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor* input) const = 0;

  CollectiveParams params_;  // what is the same in every step
};

// Of attribute `name` in seconds; not above 0: none.
absl::StatusOr<absl::Duration> ReadTimeout(const OpKernelConstruction& ctx);
// "Min", "Max", "Mul" or "Add".
absl::StatusOr<Reduction> ReadReduction(const OpKernelConstruction& ctx, absl::string_view attr);

absl::Status CheckGroupSize(int64_t size);
absl::StatusOr<int32_t> ReadKey(const Tensor& tensor, absl::string_view name);
absl::StatusOr<std::shared_ptr<CollectiveExecutor>> FindCollectiveExecutor(const OpKernelContext& ctx,
                                                                           const std::string& op_name);

// The shape of the result of `params` for an input of `shape`. InvalidArgument where the group's size does not fit.
absl::StatusOr<TensorShape> CollectiveOutputShape(const CollectiveParams& params, const TensorShape& shape);
// Allocates it; a sum or a broadcast takes over the input's memory where nobody else has it.
absl::Status AllocateCollectiveOutput(OpKernelContext& ctx, const CollectiveParams& params, Tensor* input);

}  // namespace weir
