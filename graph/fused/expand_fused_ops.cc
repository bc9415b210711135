#include "graph/fused/expand_fused_ops.h"

#include <algorithm>

#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/fused/expansion.h"
#include "graph/fused/fused_steps.h"
#include "graph/fused/parallel_concat.h"

namespace weir {
namespace {

using E = FusedExpansion;

absl::Status MatMul(E& e) {
  const Output product = e.Add(e.Op("MatMul", {"transpose_a", "transpose_b"}), {{e.Input(0)}, {e.Input(1)}});
  return e.Finish({ApplyFusedSteps(e, product, 2)});
}

absl::Status BatchMatMul(E& e) {
  const Output product = e.Add(e.Op("BatchMatMulV2", {"adj_x", "adj_y"}), {{e.Input(0)}, {e.Input(1)}});
  return e.Finish({ApplyFusedSteps(e, product, 2)});
}

absl::Status Conv2D(E& e) {
  if (e.Attr<int64_t>("num_host_args") != 0 || e.Attr<std::string>("filter_format") != "HWIO") {
    e.Fail(errors::Unimplemented("GPU variants are not supported"));
  }
  const Output product =
      e.Add(e.Op("Conv2D", {"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"}),
            {{e.Input(0)}, {e.Input(1)}});
  return e.Finish({ApplyFusedSteps(e, product, 2)});
}

absl::Status DepthwiseConv2D(E& e) {
  const Output product = e.Add(e.Op("DepthwiseConv2dNative", {"strides", "padding", "data_format", "dilations"}),
                               {{e.Input(0)}, {e.Input(1)}});
  return e.Finish({ApplyFusedSteps(e, product, 2)});
}

absl::Status Conv3D(E& e) {
  Output x = e.Input(0);
  if (const auto paddings = e.Attr<std::vector<int64_t>>("padding_list"); !paddings.empty()) {
    Tensor pairs(DT_INT64, TensorShape({static_cast<int64_t>(paddings.size() / 2), 2}));
    std::copy_n(paddings.begin(), pairs.NumElements(), pairs.data<int64_t>());
    x = e.Add("Pad", {{x}, {pairs}});
  }
  const Output product = e.Add(e.Op("Conv3D", {"strides", "padding", "data_format", "dilations"}), {{x}, {e.Input(1)}});
  return e.Finish({ApplyFusedSteps(e, product, 2)});
}

// y = activation(normalised x + side input); the other outputs are those of FusedBatchNormV3.
absl::Status BatchNorm(E& e) {
  const Output normal =
      e.Add(e.Op("FusedBatchNormV3", {"epsilon", "exponential_avg_factor", "data_format", "is_training"}),
            {{e.Input(0)}, {e.Input(1)}, {e.Input(2)}, {e.Input(3)}, {e.Input(4)}});
  Output y = normal;
  for (int side = 5; side < e.num_inputs(); ++side) y = e.Add("AddV2", {{y}, {e.Input(side)}});
  if (const auto mode = e.Attr<std::string>("activation_mode"); mode != "Identity") y = ApplyActivation(e, mode, y);
  std::vector<Output> results = {y};
  for (int i = 1; i < 6; ++i) results.emplace_back(normal.node(), i);
  return e.Finish(results);
}

// The gradient goes through the activation first, also for the side input.
absl::Status BatchNormGrad(E& e) {
  Output dy = e.Input(0);
  if (const auto mode = e.Attr<std::string>("activation_mode"); mode == "Relu") {
    dy = e.Add("ReluGrad", {{dy}, {e.Input(7)}});
  } else if (mode != "Identity") {
    e.Fail(errors::Unimplemented("there is no gradient of the activation '", mode, "'"));
  }
  const Output normal = e.Add(e.Op("FusedBatchNormGradV3", {"epsilon", "data_format", "is_training"}),
                              {{dy}, {e.Input(1)}, {e.Input(2)}, {e.Input(3)}, {e.Input(4)}, {e.Input(5)}});
  std::vector<Output> results = {normal};
  for (int i = 1; i < 5; ++i) results.emplace_back(normal.node(), i);
  for (int64_t i = 0; i < e.Attr<int64_t>("num_side_inputs"); ++i) results.push_back(dy);
  return e.Finish(results);
}

absl::Status LayerNorm(E& e) { return e.Finish({Normalize(e, e.Input(0), {-1}, e.Input(1), e.Input(2))}); }

absl::Status InstanceNorm(E& e) {
  const auto given = e.Attr<std::vector<int64_t>>("reduction_axes");
  std::vector<int32_t> axes(given.begin(), given.end());
  // Scale and offset have one value per channel; channels come before the reduced axes, or last.
  const bool channels_first = !axes.empty() && *std::min_element(axes.begin(), axes.end()) > 1;
  std::vector<int32_t> shape = {-1};
  if (channels_first) shape.resize(axes.size() + 1, 1);
  const auto per_channel = [&](int i) { return e.Add("Reshape", {{e.Input(i)}, {Tensor::Vector<int32_t>(shape)}}); };
  const Output scale = per_channel(1), offset = per_channel(2);
  return e.Finish({ApplyFusedSteps(e, Normalize(e, e.Input(0), axes, scale, offset), 3)});
}

// The node itself is the activation.
absl::Status Activation(E& e) { return e.Finish({ApplyActivation(e, e.def().op(), e.Input(0))}); }

absl::Status UnaryComposition(E& e) {
  constexpr absl::string_view kUnary[] = {"Abs",   "Acos",    "Acosh",      "Asin", "Asinh", "Atan",   "Atanh", "Ceil",
                                          "Cos",   "Cosh",    "Elu",        "Exp",  "Expm1", "Floor",  "Inv",   "Log",
                                          "Log1p", "Neg",     "Reciprocal", "Relu", "Relu6", "Rint",   "Round", "Rsqrt",
                                          "Selu",  "Sigmoid", "Sin",        "Sinh", "Sqrt",  "Square", "Tan",   "Tanh"};
  Output x = e.Input(0);
  const auto names = e.Attr<std::vector<std::string>>("op_names");
  if (names.empty()) e.Fail(errors::InvalidArgument("op_names is empty"));
  for (const std::string& name : names) {
    const bool is_known = std::find(std::begin(kUnary), std::end(kUnary), name) != std::end(kUnary);
    x = is_known ? e.Add(name, {{x}}) : e.Fail(errors::Unimplemented("there is no unary op '", name, "'"));
  }
  return e.Finish({x});
}

absl::Status HashBucket(E& e) {
  const Output text = e.Add("AsString", {{e.Input(0)}});
  return e.Finish({e.Add(e.Op("StringToHashBucketFast", {"num_buckets"}), {{text}})});
}

// GPUs have kernels for fused batch normalisation.
bool IsNormOnGpu(const Node& node) {
  if (node.op() != "_FusedBatchNormEx" && node.op() != "_FusedBatchNormGradEx") return false;
  const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.requested_device());
  std::string mode;
  int64_t sides = 0;
  return device.ok() && device->type == "GPU" && GetNodeAttr(node.def(), "activation_mode", &mode).ok() &&
         (mode == "Identity" || mode == "Relu") && GetNodeAttr(node.def(), "num_side_inputs", &sides).ok() &&
         sides <= 1;
}

// Cases that the kernels of _FusedMatMul and _FusedConv2D handle.
bool HasKernel(const Node& node) {
  constexpr absl::string_view kActivations[] = {"Relu", "Relu6", "LeakyRelu", "Elu", "Tanh", "Sigmoid"};
  if (IsNormOnGpu(node)) return true;
  if (node.op() != "_FusedMatMul" && node.op() != "_FusedConv2D") return false;
  std::vector<std::string> steps;
  if (!GetNodeAttr(node.def(), "fused_ops", &steps).ok() || steps.empty() || steps.size() > 2) return false;
  if (steps[0] != "BiasAdd" && (steps[0] != "FusedBatchNorm" || node.op() != "_FusedConv2D")) return false;
  return steps.size() == 1 ||
         std::find(std::begin(kActivations), std::end(kActivations), steps[1]) != std::end(kActivations);
}

struct Rule {
  absl::string_view op;
  absl::Status (*expand)(E&);
};

constexpr Rule kRules[] = {
    {"_FusedMatMul", MatMul},
    {"_FusedConv2D", Conv2D},
    {"_FusedConv3D", Conv3D},
    {"_FusedDepthwiseConv2dNative", DepthwiseConv2D},
    {"_FusedBatchNormEx", BatchNorm},
    {"_FusedBatchNormGradEx", BatchNormGrad},
    {"_MklFusedBatchMatMulV2", BatchMatMul},
    {"_MklFusedInstanceNorm", InstanceNorm},
    {"_MklFusedMish", Activation},
    {"_MklLayerNorm", LayerNorm},
    {"_MklSwish", Activation},
    {"_TensorToHashBucketFast", HashBucket},
    {"_UnaryOpsComposition", UnaryComposition},
};

}  // namespace

absl::Status ExpandFusedOps(Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (node->op()[0] != '_' || HasKernel(*node)) continue;
    for (const Rule& rule : kRules) {
      if (rule.op != node->op()) continue;
      E expansion(node, graph);
      RETURN_IF_ERROR(rule.expand(expansion));
      break;
    }
  }
  return RestoreParallelConcats(graph);
}

}  // namespace weir
