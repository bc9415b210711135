// Matrix products on a GPU, for kernels: by cuBLASLt, and by loops on the simulated device.
#pragma once

#include <memory>
#include <vector>

#include "core/gpu/gpu_op_kernel.h"
#include "kernels/linalg/matmul/args.h"
#include "kernels/linalg/matmul/device.h"
#include "kernels/linalg/matmul/matmul_choices.h"

namespace weir {

// Of one type. Thread-safe once it is made.
class GpuProduct {
 public:
  // `type` is one of kGpuMultiplied.
  absl::Status Init(GpuDevice& gpu, DataType type);

  struct Factors {
    const Tensor& a;
    const Tensor& b;
    bool transpose_a = false, transpose_b = false;
    bool conjugates = false;                          // what is transposed, where it is complex
    MatMulEpilogue epilogue = MatMulEpilogue::kNone;  // what is to be done if the library can
    const Tensor* bias = nullptr;                     // where that has one
  };
  // Enqueues the product of `sizes` to `c`, which has elements. How much of the epilogue it does.
  absl::StatusOr<MatMulEpilogue> Enqueue(const OpKernelContext& ctx, GpuStream& stream, const Factors& factors,
                                         const BatchMatMulSizes& sizes, const Tensor& c) const;

 private:
  absl::Status EnqueueOnce(const OpKernelContext& ctx, GpuStream& stream, const Factors& factors,
                           std::vector<GpuAccess> accesses, MatMulArgs* args) const;
  absl::StatusOr<MatMulChoice> Choose(GpuStream& stream, MatMulArgs* args) const;

  GpuDevice* gpu_ = nullptr;
  ElementType type_ = ElementType::kFloat;
  GpuKernel kernel_;
  std::shared_ptr<MatMulChoices> choices_;
};

}  // namespace weir
