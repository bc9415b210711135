// A default value for empty rows of ragged tensors.
#include "kernels/sparse/cpu_fill_empty_rows.h"
#include "kernels/ragged/family.h"

namespace weir {

absl::Status RegisterRaggedFillEmptyRowsKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<FillEmptyRowsKernel<false>>(Kernel("RaggedFillEmptyRows").Cpu()));
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8,
                        DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128}) {
    RETURN_IF_ERROR(
        kernels.Register<FillEmptyRowsGradKernel>(Kernel("RaggedFillEmptyRowsGrad").Cpu().Types("T", {type})));
  }
  return absl::OkStatus();
}

}  // namespace weir
