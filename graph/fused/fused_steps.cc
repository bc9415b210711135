#include "graph/fused/fused_steps.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/op/attr_value.h"

namespace weir {
namespace {

using E = FusedExpansion;

Output Cast(E& e, const Output& x, DataType type) {
  tensorflow::NodeDef def = e.Op("Cast");
  SetNodeAttr("DstT", type, &def);
  return e.Add(std::move(def), {{x}});
}

bool IsNarrow(DataType type) { return type == DT_HALF || type == DT_BFLOAT16; }

// Computes in float, because separate 16-bit ops would each round where the fused op rounds once.
Output InFloat(E& e, const Output& x, const std::function<Output(const Output&)>& compute) {
  if (!IsNarrow(x.type())) return compute(x);
  return Cast(e, compute(Cast(e, x, DT_FLOAT)), x.type());
}

Output Mul(E& e, const Input& a, const Input& b) { return e.Add("Mul", {{a}, {b}}); }
Output AddV2(E& e, const Input& a, const Input& b) { return e.Add("AddV2", {{a}, {b}}); }

// x (1 + g) / 2; g approximates the sign of x.
Output Gelu(E& e, const Output& x, const Output& g) { return Mul(e, Mul(e, x, 0.5), AddV2(e, g, 1.0)); }

Output GeluApproximate(E& e, const Output& x) {
  const Output cube = Mul(e, x, Mul(e, x, x));
  const Output inner = Mul(e, AddV2(e, x, Mul(e, cube, 0.044715)), std::sqrt(2 / M_PI));
  return Gelu(e, x, e.Add("Tanh", {{inner}}));
}

Output GeluExact(E& e, const Output& x) { return Gelu(e, x, e.Add("Erf", {{Mul(e, x, std::sqrt(0.5))}})); }

Output Swish(E& e, const Output& x) { return Mul(e, x, e.Add("Sigmoid", {{x}})); }

Output Mish(E& e, const Output& x) { return Mul(e, x, e.Add("Tanh", {{e.Add("Softplus", {{x}})}})); }

Output HardSwish(E& e, const Output& x) { return Mul(e, Mul(e, x, e.Add("Relu6", {{AddV2(e, x, 3.0)}})), 1.0 / 6.0); }

Output LeakyRelu(E& e, const Output& x) {
  tensorflow::NodeDef def = e.Op("LeakyRelu");
  SetNodeAttr("alpha", e.Attr<float>("leakyrelu_alpha"), &def);
  return e.Add(std::move(def), {{x}});
}

// The node's data format, for BiasAdd and FusedBatchNorm.
std::string ChannelFormat(E& e) {
  if (FindAttr(e.def(), "data_format") == nullptr) return "NHWC";
  return e.Attr<std::string>("data_format").starts_with("NC") ? "NCHW" : "NHWC";
}

Output BiasAdd(E& e, const Output& x, const Output& bias) {
  tensorflow::NodeDef def = e.Op("BiasAdd");
  SetNodeAttr("data_format", ChannelFormat(e), &def);
  return e.Add(std::move(def), {{x}, {bias}});
}

Output FusedBatchNorm(E& e, const Output& x, const std::vector<Output>& args) {
  tensorflow::NodeDef def = e.Op("FusedBatchNormV3", {"epsilon"});
  SetNodeAttr("data_format", ChannelFormat(e), &def);
  SetNodeAttr("is_training", false, &def);
  return e.Add(std::move(def), {{x}, {args[0]}, {args[1]}, {args[2]}, {args[3]}});
}

// Zero for a step without arguments.
int NumArgs(const std::string& step) {
  if (step == "FusedBatchNorm") return 4;
  return step == "BiasAdd" || step == "Add" || step == "Mul" ? 1 : 0;
}

Output ApplyWithArgs(E& e, const std::string& step, const Output& x, const std::vector<Output>& args) {
  if (step == "BiasAdd") return BiasAdd(e, x, args[0]);
  if (step == "Add") return AddV2(e, x, args[0]);
  if (step == "Mul") return Mul(e, x, args[0]);
  return FusedBatchNorm(e, x, args);
}

}  // namespace

Output ApplyActivation(E& e, const std::string& name, const Output& x) {
  if (name == "Relu" || name == "Relu6" || name == "Elu" || name == "Tanh" || name == "Sigmoid") {
    return e.Add(name, {{x}});
  }
  if (name == "LeakyRelu") return LeakyRelu(e, x);
  Output (*composite)(E&, const Output&) = nullptr;
  if (name == "GeluApproximate") composite = GeluApproximate;
  if (name == "GeluExact") composite = GeluExact;
  if (name == "_MklSwish") composite = Swish;
  if (name == "Mish" || name == "_MklFusedMish") composite = Mish;
  if (name == "_FusedHardSwish") composite = HardSwish;
  if (composite == nullptr) return e.Fail(errors::Unimplemented("there is no fused op '", name, "'"));
  return InFloat(e, x, [&](const Output& wide) { return composite(e, wide); });
}

Output ApplyFusedSteps(E& e, Output x, int first_arg) {
  int next = first_arg;
  for (const std::string& step : e.Attr<std::vector<std::string>>("fused_ops")) {
    std::vector<Output> args;
    while (static_cast<int>(args.size()) < NumArgs(step)) args.push_back(e.Input(next++));
    x = args.empty() ? ApplyActivation(e, step, x) : ApplyWithArgs(e, step, x, args);
  }
  if (next == e.num_inputs()) return x;
  return e.Fail(errors::InvalidArgument("fused_ops take ", next - first_arg, " arguments, but there are ",
                                        e.num_inputs() - first_arg));
}

Output Normalize(E& e, const Output& x, const std::vector<int32_t>& axes, const Output& scale, const Output& offset) {
  const bool is_narrow = IsNarrow(x.type());
  const auto wide = [&](const Output& tensor) { return is_narrow ? Cast(e, tensor, DT_FLOAT) : tensor; };
  const auto mean = [&](const Output& tensor) {
    tensorflow::NodeDef def = e.Op("Mean");
    SetNodeAttr("keep_dims", true, &def);
    return e.Add(std::move(def), {{tensor}, {Tensor::Vector<int32_t>(axes)}});
  };
  const Output value = wide(x);
  const Output center = mean(value);
  const Output variance = mean(e.Add("SquaredDifference", {{value}, {center}}));
  const Output factor = e.Add("Rsqrt", {{AddV2(e, variance, static_cast<double>(e.Attr<float>("epsilon")))}});
  const Output unit = Mul(e, e.Add("Sub", {{value}, {center}}), factor);
  const Output result = AddV2(e, Mul(e, unit, wide(scale)), wide(offset));
  return is_narrow ? Cast(e, result, x.type()) : result;
}

}  // namespace weir
