#include "kernels/quantized/family.h"

namespace weir {

OpFamily QuantizedFamily() {
  return {
      .name = "quantized",
      .ops = {RegisterQuantizationOps, RegisterQuantizedElementOps, RegisterQuantizedOps, RegisterUniformQuantizedOps,
              RegisterQuantizedResizeOps},
      .kernels = {RegisterQuantizedArrayKernels, RegisterQuantizedElementKernels, RegisterFakeQuantKernels,
                  RegisterQuantizedMatMulKernels, RegisterQuantizeKernels, RegisterQuantizationKernels,
                  RegisterRequantizeKernels, RegisterQuantizedResizeKernels, RegisterGpuQuantKernels,
                  RegisterGpuQuantizeKernels, RegisterUniformQuantizedConvolutionKernels,
                  RegisterUniformQuantizedDotKernels, RegisterUniformQuantizedKernels},
      .gradients = {RegisterQuantizedNotDifferentiable, RegisterQuantizeDequantizeGradients,
                    RegisterFakeQuantGradients},
  };
}

}  // namespace weir
