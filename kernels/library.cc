#include "kernels/library.h"

#include "core/tensor_variant.h"
#include "kernels/containers/composite_variant.h"
#include "kernels/containers/tensor_list.h"
#include "kernels/containers/tensor_map.h"
#include "kernels/containers/variant_arithmetic.h"
#include "kernels/control/ops.h"
#include "kernels/control/session_tensors.h"
#include "kernels/control/wire.h"
#include "kernels/coordination/family_parts.h"
#include "kernels/cpu/domain_families.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/rare_families.h"
#include "kernels/cuda/families.h"
#include "kernels/data/compressed_element.h"
#include "kernels/data/experimental_parts.h"
#include "kernels/data/family_parts.h"
#include "kernels/embedding/register.h"
#include "kernels/image/register.h"
#include "kernels/linalg/family_parts.h"
#include "kernels/ops/coordination_families.h"
#include "kernels/ops/domain_families.h"
#include "kernels/ops/families.h"
#include "kernels/ops/numeric_families.h"
#include "kernels/ops/rare_families.h"
#include "kernels/ops/record_families.h"
#include "kernels/parsing/register.h"
#include "kernels/ragged/ragged_variant.h"
#include "kernels/ragged/register.h"
#include "kernels/sparse/csr/csr_matrix.h"
#include "kernels/sparse/register.h"
#include "kernels/strings/ops_regex.h"
#include "kernels/strings/register.h"
#include "kernels/strings/text_kernels.h"

namespace weir {

absl::Status RegisterAllOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterCoreOps(ops));
  RETURN_IF_ERROR(RegisterStateOps(ops));
  RETURN_IF_ERROR(RegisterTrainingOps(ops));
  RETURN_IF_ERROR(RegisterTextOps(ops));
  RETURN_IF_ERROR(RegisterNnOps(ops));
  RETURN_IF_ERROR(RegisterOptimizerOps(ops));
  RETURN_IF_ERROR(RegisterIoOps(ops));
  RETURN_IF_ERROR(RegisterTensorArrayOps(ops));
  RETURN_IF_ERROR(RegisterTensorListOps(ops));
  RETURN_IF_ERROR(RegisterQueueOps(ops));
  RETURN_IF_ERROR(RegisterLookupOps(ops));
  RETURN_IF_ERROR(RegisterAccumulatorOps(ops));
  RETURN_IF_ERROR(RegisterBarrierOps(ops));
  RETURN_IF_ERROR(RegisterCollectiveOps(ops));
  RETURN_IF_ERROR(RegisterWireOps(ops));
  RETURN_IF_ERROR(RegisterStagingOps(ops));
  RETURN_IF_ERROR(RegisterReaderOps(ops));
  RETURN_IF_ERROR(RegisterLegacySequenceOps(ops));
  RETURN_IF_ERROR(RegisterUpdateOps(ops));
  RETURN_IF_ERROR(RegisterSummaryOps(ops));
  RETURN_IF_ERROR(RegisterSliceTableOps(ops));
  RETURN_IF_ERROR(RegisterStringOps(ops));
  RETURN_IF_ERROR(RegisterSparseOps(ops));
  RETURN_IF_ERROR(RegisterSparseMathOps(ops));
  RETURN_IF_ERROR(RegisterCountOps(ops));
  RETURN_IF_ERROR(RegisterRaggedOps(ops));
  RETURN_IF_ERROR(RegisterTextTransformOps(ops));
  RETURN_IF_ERROR(RegisterParsingOps(ops));
  RETURN_IF_ERROR(RegisterExampleOps(ops));
  RETURN_IF_ERROR(RegisterUnaryOps(ops));
  RETURN_IF_ERROR(RegisterBinaryOps(ops));
  RETURN_IF_ERROR(RegisterReductionOps(ops));
  RETURN_IF_ERROR(RegisterLinearAlgebraOps(ops));
  RETURN_IF_ERROR(RegisterSegmentOps(ops));
  RETURN_IF_ERROR(RegisterArrayOps(ops));
  RETURN_IF_ERROR(RegisterIndexingOps(ops));
  RETURN_IF_ERROR(RegisterDiagonalOps(ops));
  RETURN_IF_ERROR(RegisterNumericOps(ops));
  RETURN_IF_ERROR(RegisterRareOps(ops));
  RETURN_IF_ERROR(RegisterDatasetOps(ops));
  RETURN_IF_ERROR(RegisterIteratorOps(ops));
  RETURN_IF_ERROR(RegisterAudioOps(ops));
  RETURN_IF_ERROR(RegisterClusterOps(ops));
  RETURN_IF_ERROR(RegisterCompositeOps(ops));
  RETURN_IF_ERROR(RegisterCsrOps(ops));
  RETURN_IF_ERROR(RegisterEmbeddingOps(ops));
  RETURN_IF_ERROR(RegisterFormerOps(ops));
  return RegisterRandomOps(ops);
}

absl::Status RegisterAllVariants(VariantRegistry& variants) {
  RETURN_IF_ERROR(RegisterTensorListVariants(variants));
  RETURN_IF_ERROR(RegisterTensorMapVariants(variants));
  RETURN_IF_ERROR(RegisterTensorVariants(variants));
  RETURN_IF_ERROR(RegisterCompositeVariants(variants));
  RETURN_IF_ERROR(RegisterCompressedElementVariants(variants));
  RETURN_IF_ERROR(RegisterCsrVariants(variants));
  return RegisterRaggedVariants(variants);
}

absl::Status RegisterAllKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterStateKernels(kernels));
  RETURN_IF_ERROR(RegisterTrainingKernels(kernels));
  RETURN_IF_ERROR(RegisterRegexKernels(kernels));
  RETURN_IF_ERROR(RegisterSummaryKernels(kernels));
  RETURN_IF_ERROR(RegisterNnKernels(kernels));
  RETURN_IF_ERROR(RegisterIoKernels(kernels));
  RETURN_IF_ERROR(RegisterStackKernels(kernels));
  RETURN_IF_ERROR(RegisterTensorArrayKernels(kernels));
  RETURN_IF_ERROR(RegisterTensorListKernels(kernels));
  RETURN_IF_ERROR(RegisterVariantArithmeticKernels(kernels));
  RETURN_IF_ERROR(RegisterQueueKernels(kernels));
  RETURN_IF_ERROR(RegisterLookupKernels(kernels));
  RETURN_IF_ERROR(RegisterAccumulatorKernels(kernels));
  RETURN_IF_ERROR(RegisterBarrierKernels(kernels));
  RETURN_IF_ERROR(RegisterCollectiveKernels(kernels));
  RETURN_IF_ERROR(RegisterCommunicatorKernels(kernels));
  RETURN_IF_ERROR(RegisterWireKernels(kernels));
  RETURN_IF_ERROR(RegisterStagingKernels(kernels));
  RETURN_IF_ERROR(RegisterMutexKernels(kernels));
  RETURN_IF_ERROR(RegisterReaderKernels(kernels));
  RETURN_IF_ERROR(RegisterStridedSliceAssignKernels(kernels));
  RETURN_IF_ERROR(RegisterInplaceKernels(kernels));
  RETURN_IF_ERROR(RegisterStatefulRandomKernels(kernels));
  RETURN_IF_ERROR(RegisterMediaSummaryKernels(kernels));
  RETURN_IF_ERROR(RegisterSummaryWriterKernels(kernels));
  RETURN_IF_ERROR(RegisterSliceTableKernels(kernels));
  RETURN_IF_ERROR(RegisterStringKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseKernels(kernels));
  RETURN_IF_ERROR(RegisterRaggedKernels(kernels));
  RETURN_IF_ERROR(RegisterTextKernels(kernels));
  RETURN_IF_ERROR(RegisterParsingKernels(kernels));
  RETURN_IF_ERROR(RegisterValueKernels(kernels));
  RETURN_IF_ERROR(RegisterControlFlowKernels(kernels));
  RETURN_IF_ERROR(RegisterTransferKernels(kernels));
  RETURN_IF_ERROR(RegisterCallKernels(kernels));
  RETURN_IF_ERROR(RegisterSessionTensorKernels(kernels));
  RETURN_IF_ERROR(RegisterUnaryKernels(kernels));
  RETURN_IF_ERROR(RegisterBinaryKernels(kernels));
  RETURN_IF_ERROR(RegisterCastKernels(kernels));
  RETURN_IF_ERROR(RegisterMatMulKernels(kernels));
  RETURN_IF_ERROR(RegisterAttentionKernels(kernels));
  RETURN_IF_ERROR(RegisterReductionKernels(kernels));
  RETURN_IF_ERROR(RegisterSelectKernels(kernels));
  RETURN_IF_ERROR(RegisterMiscellaneousMathKernels(kernels));
  RETURN_IF_ERROR(RegisterSegmentKernels(kernels));
  RETURN_IF_ERROR(RegisterRandomKernels(kernels));
  RETURN_IF_ERROR(RegisterNumericKernels(kernels));
  RETURN_IF_ERROR(RegisterImageKernels(kernels));
  RETURN_IF_ERROR(RegisterRareKernels(kernels));
  RETURN_IF_ERROR(RegisterDataKernels(kernels));
  RETURN_IF_ERROR(RegisterRareDataKernels(kernels));
  RETURN_IF_ERROR(RegisterAudioKernels(kernels));
  RETURN_IF_ERROR(RegisterMfccKernels(kernels));
  RETURN_IF_ERROR(RegisterClusterKernels(kernels));
  RETURN_IF_ERROR(RegisterCompositeKernels(kernels));
  RETURN_IF_ERROR(RegisterCsrConversionKernels(kernels));
  RETURN_IF_ERROR(RegisterCsrProductKernels(kernels));
  RETURN_IF_ERROR(RegisterEmbeddingKernels(kernels));
  RETURN_IF_ERROR(RegisterArrayKernels(kernels));
  RETURN_IF_ERROR(RegisterFormerNames(kernels));
  return RegisterGpuKernels(kernels);
}

}  // namespace weir
