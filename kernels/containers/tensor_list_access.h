// Functions that the kernels of tensor lists share.
#pragma once

#include <memory>

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "kernels/containers/sequence_memory.h"
#include "kernels/containers/tensor_list.h"

namespace weir {

// Input i's list, which lives as long as the input.
absl::StatusOr<const TensorList*> ListInput(const OpKernelContext& ctx, int i);
// `list` as output 0.
void SetList(OpKernelContext& ctx, std::shared_ptr<TensorList> list);
// Input 0's list as output 0, to be changed: the list itself if nothing else holds it, else a copy.
absl::StatusOr<TensorList*> ForwardList(OpKernelContext& ctx);

absl::Status CheckDtype(const TensorList& list, DataType dtype);

// A kernel of lists, of which the elements lie in `memory`.
class ListKernel : public OpKernel {
 public:
  explicit ListKernel(const SequenceMemory& memory) : memory_(memory) {}

 protected:
  const SequenceMemory& memory() const { return memory_; }

 private:
  const SequenceMemory& memory_;
};

}  // namespace weir
