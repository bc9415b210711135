// Makes and moves the tensors of stacks, tensor arrays and tensor lists in the memory of their device.
#pragma once

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/kernel/kernel_registry.h"
#include "core/kernel/memory_types.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"

namespace weir {

// Stateless: it allocates on the device of the calling kernel. Thread-safe.
class SequenceMemory {
 public:
  virtual ~SequenceMemory() = default;

  // All zeros; empty strings. InvalidArgument for a dtype without zeros.
  virtual absl::StatusOr<Tensor> Zeros(const OpKernelContext& ctx, DataType dtype, const TensorShape& shape) const = 0;
  // Concatenates the elements, all of `dtype`, into a tensor of `shape`.
  virtual absl::StatusOr<Tensor> Join(const OpKernelContext& ctx, DataType dtype, absl::Span<const Tensor> elements,
                                      const TensorShape& shape) const = 0;
  // Cuts `tensor` along dimension 0 into consecutive parts of these lengths, together no longer than it. They may
  // share its memory.
  virtual absl::StatusOr<std::vector<Tensor>> Cut(const OpKernelContext& ctx, const Tensor& tensor,
                                                  absl::Span<const int64_t> lengths) const = 0;
  virtual bool CanAdd(DataType dtype) const = 0;
  // a + b, of one shape and dtype. Unimplemented unless CanAdd.
  virtual absl::StatusOr<Tensor> Sum(const OpKernelContext& ctx, const Tensor& a, const Tensor& b) const = 0;
  // *sum += value, in place if nothing else holds *sum.
  virtual absl::Status Add(const OpKernelContext& ctx, const Tensor& value, Tensor* sum) const = 0;
};

// Host memory, on a GPU too.
const SequenceMemory& HostSequences();
// A GPU's memory, in the order of its compute stream; int32, strings and variants are the host's.
const SequenceMemory& GpuSequences();

// Makes of a kernel that uses GpuSequences one for GPUs: never captured, for it keeps state on the host.
std::unique_ptr<OpKernel> NewGpuSequenceKernel(std::unique_ptr<OpKernel> kernel);

// What K(memory) is registered with: it is made for CPUs and GPUs alike.
template <typename K>
std::unique_ptr<OpKernel> MakeHostSequenceKernel() {
  return std::make_unique<K>(HostSequences());
}
template <typename K>
std::unique_ptr<OpKernel> MakeGpuSequenceKernel() {
  return NewGpuSequenceKernel(std::make_unique<K>(GpuSequences()));
}

// Types that have GPU kernels: the numbers that GPUs compute with, int32 on the host beside them, lists within lists.
inline constexpr DataType kGpuSequenceTypes[] = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_BFLOAT16,
                                                 DT_INT64, DT_BOOL,   DT_INT32, DT_VARIANT};

// Registers K for CPUs with all types, and for GPUs where attribute `type_attr` is one of kGpuSequenceTypes, or with
// all where it is empty. `kernel` has the arguments in host memory.
template <typename K>
absl::Status RegisterSequenceKernel(KernelRegistry& kernels, Kernel kernel, absl::string_view type_attr = "") {
  RETURN_IF_ERROR(kernels.Register(kernel.Cpu(), &MakeHostSequenceKernel<K>));
  if (!type_attr.empty()) kernel.Types(type_attr, kGpuSequenceTypes);
  return kernels.Register(kernel.Device(kDeviceGpu).HostMemory(kInt32Arguments), &MakeGpuSequenceKernel<K>);
}

}  // namespace weir
