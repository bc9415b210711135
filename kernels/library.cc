#include "kernels/library.h"

#include "kernels/activation/family.h"
#include "kernels/array/family.h"
#include "kernels/attention/family.h"
#include "kernels/candidate_sampling/family.h"
#include "kernels/clustering/family.h"
#include "kernels/collective/family.h"
#include "kernels/containers/family.h"
#include "kernels/control/family.h"
#include "kernels/convolution/family.h"
#include "kernels/coordination/family.h"
#include "kernels/counting/family.h"
#include "kernels/ctc/family.h"
#include "kernels/data/family.h"
#include "kernels/dealing/family.h"
#include "kernels/debug/family.h"
#include "kernels/device/family.h"
#include "kernels/elementwise/family.h"
#include "kernels/embedding/family.h"
#include "kernels/fusion/family.h"
#include "kernels/image/family.h"
#include "kernels/indexing/family.h"
#include "kernels/io/family.h"
#include "kernels/linalg/family.h"
#include "kernels/lookup/family.h"
#include "kernels/normalization/family.h"
#include "kernels/parsing/family.h"
#include "kernels/plugin.h"
#include "kernels/pooling/family.h"
#include "kernels/python/family.h"
#include "kernels/quantized/family.h"
#include "kernels/ragged/family.h"
#include "kernels/random/family.h"
#include "kernels/ranking/family.h"
#include "kernels/recurrent/family.h"
#include "kernels/reduction/family.h"
#include "kernels/segment/family.h"
#include "kernels/signal/family.h"
#include "kernels/softmax/family.h"
#include "kernels/sparse/family.h"
#include "kernels/state/family.h"
#include "kernels/strings/family.h"
#include "kernels/summary/family.h"
#include "kernels/training/family.h"

namespace weir {

std::vector<OpFamily> AllFamilies() {
  // clang-format off
  return {
      ActivationFamily(),
      ArrayFamily(),
      AttentionFamily(),
      CandidateSamplingFamily(),
      ClusteringFamily(),
      CollectiveFamily(),
      ContainersFamily(),
      ControlFamily(),
      ConvolutionFamily(),
      CoordinationFamily(),
      CountingFamily(),
      CtcFamily(),
      DataFamily(),
      DealingFamily(),
      DebugFamily(),
      DeviceFamily(),
      ElementwiseFamily(),
      EmbeddingFamily(),
      FusionFamily(),
      ImageFamily(),
      IndexingFamily(),
      IoFamily(),
      LinalgFamily(),
      LookupFamily(),
      NormalizationFamily(),
      ParsingFamily(),
      PoolingFamily(),
      PythonFamily(),
      QuantizedFamily(),
      RaggedFamily(),
      RandomFamily(),
      RankingFamily(),
      RecurrentFamily(),
      ReductionFamily(),
      SegmentFamily(),
      SignalFamily(),
      SoftmaxFamily(),
      SparseFamily(),
      StateFamily(),
      StringsFamily(),
      SummaryFamily(),
      TrainingFamily(),
  };
  // clang-format on
}

namespace {

std::vector<OpFamily> WithPlugins() {
  std::vector<OpFamily> families = AllFamilies();
  for (OpFamily& family : PluginFamilies()) families.push_back(std::move(family));
  return families;
}

absl::Status RegisterOps(const std::vector<OpFamily>& families, OpRegistry& ops) {
  for (const OpFamily& family : families) {
    for (const auto& part : family.ops) RETURN_IF_ERROR(part(ops));
  }
  // A gradient belongs to an op that is there.
  for (const OpFamily& family : families) {
    for (const auto& part : family.gradients) RETURN_IF_ERROR(part(ops));
  }
  return absl::OkStatus();
}

absl::Status RegisterKernels(const std::vector<OpFamily>& families, KernelRegistry& kernels) {
  for (const OpFamily& family : families) {
    for (const auto& part : family.kernels) RETURN_IF_ERROR(part(kernels));
  }
  for (const OpFamily& family : families) {
    for (const auto& part : family.copied_kernels) RETURN_IF_ERROR(part(kernels));
  }
  return absl::OkStatus();
}

absl::Status RegisterVariants(const std::vector<OpFamily>& families, VariantRegistry& variants) {
  for (const OpFamily& family : families) {
    for (const auto& part : family.variants) RETURN_IF_ERROR(part(variants));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterAllOps(OpRegistry& ops) { return RegisterOps(WithPlugins(), ops); }
absl::Status RegisterAllKernels(KernelRegistry& kernels) { return RegisterKernels(WithPlugins(), kernels); }
absl::Status RegisterAllVariants(VariantRegistry& variants) { return RegisterVariants(WithPlugins(), variants); }

absl::Status CheckFamily(const OpFamily& family) {
  OpRegistry ops;
  KernelRegistry kernels;
  VariantRegistry variants;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  RETURN_IF_ERROR(RegisterAllKernels(kernels));
  RETURN_IF_ERROR(RegisterAllVariants(variants));
  RETURN_IF_ERROR(RegisterOps({family}, ops));
  RETURN_IF_ERROR(RegisterKernels({family}, kernels));
  return RegisterVariants({family}, variants);
}

}  // namespace weir
