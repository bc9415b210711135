#include "kernels/sparse/family.h"

namespace weir {

OpFamily SparseFamily() {
  return {
      .name = "sparse",
      .ops = {RegisterCsrOps, RegisterSparseOps, RegisterCountOps, RegisterSparseMathOps},
      .kernels = {RegisterSparseAddKernels, RegisterCountKernels, RegisterSparseCrossKernels,
                  RegisterSparseElementwiseKernels, RegisterFillEmptyRowsKernels, RegisterSparseMatMulKernels,
                  RegisterSparseRearrangeKernels, RegisterSparseReduceKernels, RegisterSparseReshapeKernels,
                  RegisterSerializeSparseKernels, RegisterSetKernels, RegisterSparseTensorsMapKernels,
                  RegisterSparseToDenseKernels, RegisterCsrCholeskyKernels, RegisterCsrConversionKernels,
                  RegisterCsrProductKernels, RegisterGpuSparseProductKernels},
      .gradients = {RegisterSparseNotDifferentiable, RegisterCsrGradients, RegisterSparseGradients},
      .variants = {RegisterCsrVariants},
  };
}

}  // namespace weir
