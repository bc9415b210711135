#include "graph/passes/mixed_precision_lists.h"

#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

using Settings = MixedPrecisionSettings;
using Ops = MixedPrecisionLists::Ops;

// TensorFlow's lists, except for ops that only its vendors' kernels have. While is left out too: a function body that
// is not inlined keeps its types.

constexpr char kPrefix[] = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_";

constexpr absl::string_view kAllow[] = {"BatchMatMul",
                                        "BatchMatMulV2",
                                        "Conv2D",
                                        "Conv2DBackpropFilter",
                                        "Conv2DBackpropInput",
                                        "Conv3D",
                                        "Conv3DBackpropFilterV2",
                                        "Conv3DBackpropInputV2",
                                        "DepthwiseConv2dNative",
                                        "DepthwiseConv2dNativeBackpropFilter",
                                        "DepthwiseConv2dNativeBackpropInput",
                                        "Einsum",
                                        "MatMul"};

constexpr absl::string_view kAllowFloat16[] = {"BlockLSTM",
                                               "BlockLSTMGrad",
                                               "BlockLSTMGradV2",
                                               "BlockLSTMV2",
                                               "Conv3DBackpropFilter",
                                               "Conv3DBackpropInput",
                                               "CudnnRNN",
                                               "CudnnRNNBackprop",
                                               "CudnnRNNBackpropV2",
                                               "CudnnRNNBackpropV3",
                                               "CudnnRNNV2",
                                               "CudnnRNNV3",
                                               "FusedConv2DBiasActivation",
                                               "GRUBlockCell",
                                               "GRUBlockCellGrad",
                                               "LSTMBlockCell",
                                               "LSTMBlockCellGrad"};

constexpr absl::string_view kAllowBfloat16[] = {"FusedPadConv2D"};

constexpr absl::string_view kInfer[] = {"Add",
                                        "AddN",
                                        "AddV2",
                                        "AvgPool",
                                        "AvgPool3D",
                                        "AvgPool3DGrad",
                                        "AvgPoolGrad",
                                        "BiasAdd",
                                        "BiasAddGrad",
                                        "BiasAddV1",
                                        "Elu",
                                        "EluGrad",
                                        "Erf",
                                        "Erfc",
                                        "FloorDiv",
                                        "FusedBatchNormGradV2",
                                        "FusedBatchNormGradV3",
                                        "FusedBatchNormV2",
                                        "FusedBatchNormV3",
                                        "Inv",
                                        "LeakyRelu",
                                        "LeakyReluGrad",
                                        "Log",
                                        "Log1p",
                                        "LogSoftmax",
                                        "Mul",
                                        "Prod",
                                        "RealDiv",
                                        "Reciprocal",
                                        "Selu",
                                        "SeluGrad",
                                        "Sigmoid",
                                        "SigmoidGrad",
                                        "Softmax",
                                        "Softplus",
                                        "SoftplusGrad",
                                        "Softsign",
                                        "SoftsignGrad",
                                        "Sqrt",
                                        "Sub",
                                        "Tanh",
                                        "TanhGrad",
                                        "_FusedBatchNormEx"};

constexpr absl::string_view kInferBfloat16[] = {"Mean", "Rsqrt", "Square", "SquaredDifference", "Sum"};

constexpr absl::string_view kDeny[] = {
    "Exp", "Expm1", "L2Loss", "Pow", "SaveV2", "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"};

constexpr absl::string_view kDenyFloat16[] = {"Mean", "Sum"};

constexpr absl::string_view kClear[] = {"Abs",
                                        "ArgMax",
                                        "ArgMin",
                                        "BatchToSpace",
                                        "BatchToSpaceND",
                                        "BroadcastTo",
                                        "Ceil",
                                        "CheckNumerics",
                                        "ClipByValue",
                                        "Concat",
                                        "ConcatV2",
                                        "DepthToSpace",
                                        "DynamicPartition",
                                        "DynamicStitch",
                                        "EnsureShape",
                                        "Enter",
                                        "Equal",
                                        "Exit",
                                        "ExpandDims",
                                        "Fill",
                                        "Floor",
                                        "Gather",
                                        "GatherNd",
                                        "GatherV2",
                                        "Greater",
                                        "GreaterEqual",
                                        "Identity",
                                        "IdentityN",
                                        "IsFinite",
                                        "IsInf",
                                        "IsNan",
                                        "Less",
                                        "LessEqual",
                                        "Max",
                                        "MaxPool",
                                        "MaxPool3D",
                                        "MaxPool3DGrad",
                                        "MaxPoolGrad",
                                        "MaxPoolGradGrad",
                                        "MaxPoolGradGradV2",
                                        "MaxPoolGradV2",
                                        "MaxPoolV2",
                                        "Maximum",
                                        "Merge",
                                        "Min",
                                        "Minimum",
                                        "MirrorPad",
                                        "MirrorPadGrad",
                                        "Neg",
                                        "NextIteration",
                                        "NotEqual",
                                        "OnesLike",
                                        "Pack",
                                        "Pad",
                                        "PadV2",
                                        "PreventGradient",
                                        "Rank",
                                        "Relu",
                                        "Relu6",
                                        "Relu6Grad",
                                        "ReluGrad",
                                        "Reshape",
                                        "ResizeNearestNeighbor",
                                        "ResizeNearestNeighborGrad",
                                        "Reverse",
                                        "ReverseSequence",
                                        "ReverseV2",
                                        "Round",
                                        "Select",
                                        "SelectV2",
                                        "Shape",
                                        "ShapeN",
                                        "Sign",
                                        "Slice",
                                        "Snapshot",
                                        "SpaceToBatch",
                                        "SpaceToBatchND",
                                        "SpaceToDepth",
                                        "Split",
                                        "SplitV",
                                        "Squeeze",
                                        "StopGradient",
                                        "StridedSlice",
                                        "StridedSliceGrad",
                                        "Switch",
                                        "TensorListConcat",
                                        "TensorListConcatLists",
                                        "TensorListConcatV2",
                                        "TensorListFromTensor",
                                        "TensorListGather",
                                        "TensorListGetItem",
                                        "TensorListPopBack",
                                        "TensorListPushBack",
                                        "TensorListPushBackBatch",
                                        "TensorListScatter",
                                        "TensorListScatterIntoExistingList",
                                        "TensorListScatterV2",
                                        "TensorListSetItem",
                                        "TensorListSplit",
                                        "TensorListStack",
                                        "Tile",
                                        "TopK",
                                        "TopKV2",
                                        "Transpose",
                                        "Unpack",
                                        "Where",
                                        "ZerosLike"};

constexpr absl::string_view kClearFloat16[] = {"MaxPool3DGradGrad", "OneHot", "Size"};

constexpr absl::string_view kClearBfloat16[] = {"ResizeBilinear", "ScatterNd"};

void Add(absl::Span<const absl::string_view> ops, Ops* list) { list->insert(ops.begin(), ops.end()); }

void Apply(const Settings::ListChange& change, Ops* list) {
  list->insert(change.add.begin(), change.add.end());
  for (const std::string& op : change.remove) list->erase(op);
}

absl::Status CheckDisjoint(const MixedPrecisionLists& lists) {
  Ops seen;
  for (const Ops* list : {&lists.allow, &lists.infer, &lists.deny, &lists.clear}) {
    for (const std::string& op : *list) {
      if (!seen.insert(op).second) {
        return errors::InvalidArgument("Mixed precision: op '", op,
                                       "' is on two of the lists; remove it from one of them (", kPrefix,
                                       "..._REMOVE)");
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Settings::Level> ParseLevel(absl::string_view text) {
  const std::string level = absl::AsciiStrToUpper(text);
  if (level.empty()) return Settings::Level::kDefault;
  if (level == "UNSAFE_FORCE_ALL") return Settings::Level::kUnsafeForceAll;
  if (level == "TREAT_INFER_AS_DENY") return Settings::Level::kTreatInferAsDeny;
  if (level == "TENSOR_CORES_ONLY") return Settings::Level::kTensorCoresOnly;
  return errors::InvalidArgument(kPrefix, "LEVEL is '", text,
                                 "'; it can be UNSAFE_FORCE_ALL, TREAT_INFER_AS_DENY or TENSOR_CORES_ONLY");
}

}  // namespace

DataType TypeOf(MixedPrecisionMode mode) {
  return mode == MixedPrecisionMode::kBfloat16OnCpu || mode == MixedPrecisionMode::kBfloat16OnGpu ? DT_BFLOAT16
                                                                                                  : DT_HALF;
}

absl::string_view MixedPrecisionModeName(MixedPrecisionMode mode) {
  switch (mode) {
    case MixedPrecisionMode::kFloat16OnGpu:
      return "auto_mixed_precision";
    case MixedPrecisionMode::kBfloat16OnCpu:
      return "auto_mixed_precision_onednn_bfloat16";
    case MixedPrecisionMode::kFloat16OnCpu:
      return "auto_mixed_precision_cpu";
    case MixedPrecisionMode::kBfloat16OnGpu:
      return "GpuBfloat16";
  }
  return "";
}

absl::StatusOr<Settings> Settings::FromEnvironment(
    const std::function<std::string(const std::string& variable)>& variable) {
  Settings settings;
  ASSIGN_OR_RETURN(settings.level, ParseLevel(variable(absl::StrCat(kPrefix, "LEVEL"))));
  const auto read = [&](std::initializer_list<absl::string_view> names, ListChange* change) {
    for (absl::string_view name : names) {
      for (const auto& [suffix, ops] : {std::pair("_ADD", &change->add), std::pair("_REMOVE", &change->remove)}) {
        const std::string value = variable(absl::StrCat(kPrefix, name, suffix));
        for (absl::string_view op : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
          ops->emplace_back(absl::StripAsciiWhitespace(op));
        }
      }
    }
  };
  read({"ALLOWLIST", "WHITELIST"}, &settings.allow);
  read({"INFERLIST", "GRAYLIST"}, &settings.infer);
  read({"DENYLIST", "BLACKLIST"}, &settings.deny);
  read({"CLEARLIST"}, &settings.clear);
  // The lists of the two types differ: a setting that conflicts for one may be meant for the other.
  const absl::Status float16 = MixedPrecisionLists::Make(MixedPrecisionMode::kFloat16OnGpu, settings).status();
  if (!float16.ok() && !MixedPrecisionLists::Make(MixedPrecisionMode::kBfloat16OnCpu, settings).ok()) return float16;
  return settings;
}

absl::StatusOr<MixedPrecisionLists> MixedPrecisionLists::Make(MixedPrecisionMode mode,
                                                              const MixedPrecisionSettings& settings) {
  const bool float16 = TypeOf(mode) == DT_HALF;
  if (!float16 && settings.level == Settings::Level::kUnsafeForceAll) {
    return errors::InvalidArgument(kPrefix, "LEVEL cannot be UNSAFE_FORCE_ALL with ", MixedPrecisionModeName(mode));
  }
  MixedPrecisionLists lists;
  Add(kAllow, &lists.allow);
  Add(float16 ? absl::MakeConstSpan(kAllowFloat16) : absl::MakeConstSpan(kAllowBfloat16), &lists.allow);
  Apply(settings.allow, &lists.allow);
  if (!float16 || settings.level != Settings::Level::kTensorCoresOnly) {
    Add(kInfer, &lists.infer);
    Add(kDeny, &lists.deny);
    Add(kClear, &lists.clear);
    Add(float16 ? absl::MakeConstSpan(kDenyFloat16) : absl::Span<const absl::string_view>(), &lists.deny);
    Add(float16 ? absl::Span<const absl::string_view>() : absl::MakeConstSpan(kInferBfloat16), &lists.infer);
    Add(float16 ? absl::MakeConstSpan(kClearFloat16) : absl::MakeConstSpan(kClearBfloat16), &lists.clear);
    Apply(settings.infer, &lists.infer);
    Apply(settings.deny, &lists.deny);
    Apply(settings.clear, &lists.clear);
  }
  if (settings.level == Settings::Level::kTreatInferAsDeny) lists.deny.merge(std::exchange(lists.infer, {}));
  RETURN_IF_ERROR(CheckDisjoint(lists));
  return lists;
}

}  // namespace weir
