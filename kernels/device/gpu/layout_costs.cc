#include "kernels/device/gpu/layout_costs.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "core/kernel/op_kernel.h"
#include "core/logging.h"
#include "core/op/attr_value.h"
#include "kernels/convolution/args.h"
#include "kernels/convolution/gpu/library_convolution.h"
#include "kernels/normalization/gpu/norm_library.h"

namespace weir {
namespace {

using Shapes = absl::Span<const PartialTensorShape>;

// Until a transposition has begun.
constexpr double kLaunchMicroseconds = 4;
// Of the memory's speed: one side is read or written in short runs.
constexpr double kTransposedShare = 0.5;

// InvalidArgument where shapes are not known, or do not fit.
absl::StatusOr<ConvolutionProblem> ConvolutionOf(const Node& node, Shapes inputs, Shapes outputs) {
  const ConvolutionOp op(node.op());
  const bool makes_image = op.direction == ConvolutionDirection::kBackwardData;
  const bool makes_filter = op.direction == ConvolutionDirection::kBackwardFilter;
  ASSIGN_OR_RETURN(const TensorShape image, (makes_image ? outputs[0] : inputs[0]).AsTensorShape());
  ASSIGN_OR_RETURN(const TensorShape filter, (makes_filter ? outputs[0] : inputs[1]).AsTensorShape());
  OpKernelConstruction construction(node.def(), node.op_def(), nullptr, {}, {}, nullptr);
  ASSIGN_OR_RETURN(const WindowAttrs attrs, WindowAttrs::Read(construction));
  ASSIGN_OR_RETURN(const ConvolutionShape shape, op.is_depthwise
                                                     ? ConvolutionShape::Depthwise(attrs, image, filter, "depth")
                                                     : ConvolutionShape::Of(attrs, image, filter));
  return PadEvenly(shape, op.direction, node.output_type(0)).problem;
}

template <typename Planner, typename Problem>
std::optional<double> MeasuredBy(const absl::StatusOr<std::shared_ptr<Planner>>& planner, const Problem& problem) {
  if (!planner.ok()) return std::nullopt;
  const std::optional<absl::Duration> time = (*planner)->MeasuredTime(problem);
  if (!time.has_value()) return std::nullopt;
  return absl::ToDoubleMicroseconds(*time);
}

class MeasuredCosts : public LayoutCosts {
 public:
  explicit MeasuredCosts(const std::vector<Device*>& devices) {
    for (Device* device : devices) {
      if (GpuDevice* const gpu = FindGpu(device)) gpus_.emplace(device->name(), gpu);
    }
  }

  std::optional<double> OfNode(const Node& node, Shapes inputs, Shapes outputs,
                               absl::string_view format) const override {
    GpuDevice* const gpu = Find(node.assigned_device());
    if (gpu == nullptr) return std::nullopt;
    const bool channels_first = format == "NCHW";
    if (absl::StrContains(node.op(), "Conv2")) return OfConvolution(*gpu, node, inputs, outputs, channels_first);
    if (absl::StartsWith(node.op(), "FusedBatchNorm")) return OfNorm(*gpu, node, inputs, channels_first);
    return 0;
  }

  std::optional<double> OfTranspose(absl::string_view device, int64_t bytes) const override {
    GpuDevice* const gpu = Find(device);
    if (gpu == nullptr) return std::nullopt;
    const double per_second = gpu->runtime().properties().bytes_per_second * kTransposedShare;
    if (per_second <= 0) return std::nullopt;
    return kLaunchMicroseconds + 2e6 * static_cast<double>(bytes) / per_second;
  }

 private:
  GpuDevice* Find(absl::string_view name) const {
    const auto found = gpus_.find(name);
    return found == gpus_.end() ? nullptr : found->second;
  }

  static std::optional<double> OfConvolution(GpuDevice& gpu, const Node& node, Shapes inputs, Shapes outputs,
                                             bool channels_first) {
    if (!AreConvolvedByLibraries(node.output_type(0))) return std::nullopt;
    const absl::StatusOr<ConvolutionProblem> problem = ConvolutionOf(node, inputs, outputs);
    if (!problem.ok()) return std::nullopt;
    return MeasuredBy(ConvolutionPlannerOf(gpu), problem->InLayout(channels_first));
  }

  static std::optional<double> OfNorm(GpuDevice& gpu, const Node& node, Shapes inputs, bool channels_first) {
    bool is_training = false;
    std::string format;
    if (!GetNodeAttr(node.def(), "is_training", &is_training).ok() ||
        !GetNodeAttr(node.def(), "data_format", &format).ok()) {
      return std::nullopt;
    }
    if (!is_training) return 0;  // a kernel of our own
    const absl::StatusOr<TensorShape> x = inputs[0].AsTensorShape();
    if (!x.ok() || x->dims() != 4) return std::nullopt;
    const bool is_gradient = absl::StrContains(node.op(), "Grad");
    NormProblem problem = NormProblem::Of(is_gradient ? NormDirection::kBackward : NormDirection::kForward,
                                          node.output_type(0), format == "NCHW", *x);
    problem.channels_first = channels_first;
    const auto planner = NormPlannerOf(gpu);
    // What follows is joined to it later, in both formats alike.
    for (const auto& [has_side, has_relu] : {std::pair(false, false), {false, true}, {true, true}}) {
      problem.has_side = has_side;
      problem.has_relu = has_relu;
      if (const std::optional<double> cost = MeasuredBy(planner, problem); cost.has_value()) return cost;
    }
    return std::nullopt;
  }

  absl::flat_hash_map<std::string, GpuDevice*> gpus_;
};

}  // namespace

std::unique_ptr<LayoutCosts> MeasuredLayoutCosts(const std::vector<Device*>& devices) {
  return std::make_unique<MeasuredCosts>(devices);
}

}  // namespace weir
