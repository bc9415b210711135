#include "graph/gradients/cell_gradients.h"

#include <algorithm>

#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_registry.h"

namespace weir {
namespace {

using G = GradientContext;

// d(loss)/d(operand) for an operand with labels `own`: what arrives (labels `out`) contracted with the other operand;
// labels that the operand alone has were summed away, and are spread again.
Output EinsumOperand(G& g, const std::string& own, const std::string& out, const std::string& other_labels,
                     const Output& operand, const Output& other) {
  std::string present;
  for (char label : own) {
    if (out.find(label) != std::string::npos || other_labels.find(label) != std::string::npos) present += label;
  }
  InputList inputs = {g.dy()};
  std::string equation = out;
  if (other.valid()) {
    inputs.push_back(IsComplex(other.type()) ? g.Call("Conj", {other}) : other);
    equation += "," + other_labels;
  }
  Output gradient = g.CallWithLists("Einsum", {inputs}, {G::Set("equation", equation + "->" + present)});
  if (present == own) return gradient;
  for (size_t i = 0; i < own.size(); ++i) {
    if (present.find(own[i]) == std::string::npos) {
      gradient = g.Call("ExpandDims", {gradient, Tensor::Scalar<int32_t>(static_cast<int32_t>(i))});
    }
  }
  return g.Call("BroadcastTo", {gradient, g.Call("Shape", {operand})});
}

bool HasRepeated(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}

absl::Status Einsum(G& g) {
  std::string equation = g.Attr<std::string>("equation");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos || g.num_inputs() > 2) {
    return errors::Unimplemented("Gradient of Einsum is defined for one or two operands without ellipses, not for ",
                                 equation);
  }
  const std::string out = equation.substr(arrow + 2), left = equation.substr(0, arrow);
  const size_t comma = left.find(',');
  const std::string a = left.substr(0, comma), b = comma == std::string::npos ? "" : left.substr(comma + 1);
  if (HasRepeated(a) || HasRepeated(b) || HasRepeated(out)) {
    return errors::Unimplemented("Gradient of Einsum is defined for operands without repeated labels, not for ",
                                 equation);
  }
  g.set_grad(0, EinsumOperand(g, a, out, b, g.input(0), g.num_inputs() > 1 ? g.input(1) : Output()));
  if (g.num_inputs() > 1) g.set_grad(1, EinsumOperand(g, b, out, a, g.input(1), g.input(0)));
  return absl::OkStatus();
}

absl::Status Dilation2D(G& g) {
  const auto attrs = CopiedAttrs(g, {"strides", "rates", "padding"});
  g.set_grad(0, g.Call("Dilation2DBackpropInput", {g.input(0), g.input(1), g.dy()}, attrs));
  g.set_grad(1, g.Call("Dilation2DBackpropFilter", {g.input(0), g.input(1), g.dy()}, attrs));
  return absl::OkStatus();
}

absl::Status FakeQuantArgs(G& g) {
  g.set_grad(0, g.Call("FakeQuantWithMinMaxArgsGradient", {g.dy(), g.input(0)},
                       CopiedAttrs(g, {"min", "max", "num_bits", "narrow_range"})));
  return absl::OkStatus();
}
template <const char* kGrad>
absl::Status FakeQuantVars(G& g) {
  const Output dx =
      g.Call(kGrad, {g.dy(), g.input(0), g.input(1), g.input(2)}, CopiedAttrs(g, {"num_bits", "narrow_range"}));
  for (int i = 0; i < 3; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}
constexpr char kVars[] = "FakeQuantWithMinMaxVarsGradient", kChannels[] = "FakeQuantWithMinMaxVarsPerChannelGradient";

// The gradients at the states and at the outputs of all steps; the op has seven outputs, cs second and h last.
template <const char* kGrad>
absl::Status BlockLstm(G& g) {
  std::vector<Input> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.dy(1));
  inputs.push_back(g.dy(6));
  const Output dx = g.Call(kGrad, inputs, CopiedAttrs(g, {"use_peephole"}));
  for (int i = 0; i < 8; ++i) g.set_grad(i + 1, Output(dx.op(), i));
  return absl::OkStatus();
}
constexpr char kBlock[] = "BlockLSTMGrad", kBlockV2[] = "BlockLSTMGradV2";

}  // namespace

absl::Status RegisterCellGradients(GradientRegistry& registry) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Einsum", Einsum},
      {"Dilation2D", Dilation2D},
      {"FakeQuantWithMinMaxArgs", FakeQuantArgs},
      {"FakeQuantWithMinMaxVars", FakeQuantVars<kVars>},
      {"FakeQuantWithMinMaxVarsPerChannel", FakeQuantVars<kChannels>},
      {"BlockLSTM", BlockLstm<kBlock>},
      {"BlockLSTMV2", BlockLstm<kBlockV2>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(registry.Register(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
