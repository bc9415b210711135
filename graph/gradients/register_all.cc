#include "graph/gradients/families.h"
#include "graph/gradients/gradient_registry.h"
#include "graph/gradients/numeric_families.h"
#include "graph/gradients/rare_gradients.h"
#include "graph/gradients/record_families.h"
#include "kernels/containers/gradients_parts.h"
#include "kernels/recurrent/gradients.h"

namespace weir {

absl::Status RegisterAllGradients(GradientRegistry& registry) {
  for (auto* family : {&RegisterUnaryGradients,       &RegisterBinaryGradients,        &RegisterReductionGradients,
                       &RegisterSegmentGradients,     &RegisterMatMulGradients,        &RegisterArrayGradients,
                       &RegisterIndexingGradients,    &RegisterDiagonalGradients,      &RegisterNnGradients,
                       &RegisterWindowGradients,      &RegisterStateGradients,         &RegisterSparseGradients,
                       &RegisterRaggedGradients,      &RegisterNotDifferentiable,      &RegisterBandGradients,
                       &RegisterSpecialGradients,     &RegisterDecompositionGradients, &RegisterVolumeGradients,
                       &RegisterImageGradients,       &RegisterFourierGradients,       &RegisterCellGradients,
                       &RegisterOptionalGradients,    &RegisterRareGradients,          &RegisterTensorArrayGradients,
                       &RegisterTensorListGradients,  &RegisterTensorMapGradients,     &RegisterCallGradients,
                       &RegisterPatchGradients,       &RegisterColorGradients,         &RegisterSpectralGradients,
                       &RegisterTridiagonalGradients, &RegisterBatchNormGradients,     &RegisterEinsumGradients,
                       &RegisterCsrGradients}) {
    RETURN_IF_ERROR((*family)(registry));
  }
  return absl::OkStatus();
}

}  // namespace weir
