#include "kernels/sparse/family.h"

#include "core/tensor/tensor_variant.h"

namespace weir {

OpFamily SparseFamily() {
  return {
      .name = "sparse",
      .ops = {RegisterCsrOps, RegisterSparseOps, RegisterSparseCountOps, RegisterSparseMathOps, RegisterEditDistanceOps,
              RegisterSetOps, RegisterSparseCrossOps},
      .kernels = {RegisterSparseAddKernels, RegisterCountKernels, RegisterSparseCrossKernels,
                  RegisterSparseElementwiseKernels, RegisterFillEmptyRowsKernels, RegisterSparseMatMulKernels,
                  RegisterSparseRearrangeKernels, RegisterSparseReduceKernels, RegisterSparseReshapeKernels,
                  RegisterSerializeSparseKernels, RegisterSetKernels, RegisterSparseTensorsMapKernels,
                  RegisterSparseToDenseKernels, RegisterCsrCholeskyKernels, RegisterCsrConversionKernels,
                  RegisterCsrProductKernels, RegisterGpuSparseProductKernels, RegisterEditDistanceKernels},
      .gradients = {RegisterSparseNotDifferentiable, RegisterCsrGradients, RegisterSparseGradients},
      .variants = {RegisterCsrVariants, RegisterTensorVariants},
  };
}

}  // namespace weir
