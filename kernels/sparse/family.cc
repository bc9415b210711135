#include "kernels/sparse/family.h"

namespace weir {

OpFamily SparseFamily() {
  return {
      .name = "sparse",
      .ops = {RegisterCsrOps, RegisterSparseOps, RegisterCountOps, RegisterSparseMathOps, RegisterEditDistanceOps},
      .kernels = {RegisterSparseAddKernels, RegisterCountKernels, RegisterSparseCrossKernels,
                  RegisterSparseElementwiseKernels, RegisterFillEmptyRowsKernels, RegisterSparseMatMulKernels,
                  RegisterSparseRearrangeKernels, RegisterSparseReduceKernels, RegisterSparseReshapeKernels,
                  RegisterSerializeSparseKernels, RegisterSetKernels, RegisterSparseTensorsMapKernels,
                  RegisterSparseToDenseKernels, RegisterCsrCholeskyKernels, RegisterCsrConversionKernels,
                  RegisterCsrProductKernels, RegisterGpuSparseProductKernels, RegisterEditDistanceKernels},
      .gradients = {RegisterSparseNotDifferentiable, RegisterCsrGradients, RegisterSparseGradients},
      .variants = {RegisterCsrVariants},
  };
}

}  // namespace weir
