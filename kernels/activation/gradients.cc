#include "graph/gradients/gradient_context.h"
#include "kernels/activation/family.h"

namespace weir {
namespace {

using G = GradientContext;

// An activation whose gradient op takes (dy, the op's output or input).
template <const char* kOp, bool kFromOutput>
absl::Status Activation(G& g) {
  g.set_grad(0, g.Call(kOp, {g.dy(), kFromOutput ? g.output(0) : g.input(0)}));
  return absl::OkStatus();
}
constexpr char kReluGrad[] = "ReluGrad", kRelu6Grad[] = "Relu6Grad", kEluGrad[] = "EluGrad", kSeluGrad[] = "SeluGrad",
               kSoftplusGrad[] = "SoftplusGrad", kSoftsignGrad[] = "SoftsignGrad";

absl::Status LeakyRelu(G& g) {
  g.set_grad(0, g.Call("LeakyReluGrad", {g.dy(), g.input(0)}, {G::Set("alpha", g.Attr<float>("alpha"))}));
  return absl::OkStatus();
}
// Second order: the gate does not depend on dy.
template <const char* kOp>
absl::Status GateGrad(G& g) {
  g.set_grad(0, g.Call(kOp, {g.dy(), g.input(1)}));
  g.set_grad(1, g.Call("ZerosLike", {g.input(1)}));
  return absl::OkStatus();
}

// Second order of activations: kOp's gradient with respect to dy is kOp again; with respect to the other input, x or y,
// it is dy * f''.
template <const char* kOp>
absl::Status EluLikeGrad(G& g) {
  // For y < 0, dy/dx is y plus a constant, so its slope in y is 1; for y >= 0 it is constant.
  const Output grad = g.dy(), dy = g.input(0), y = g.input(1);
  const Output zero = g.Call("ZerosLike", {y});
  g.set_grad(0, g.Call(kOp, {grad, y}));
  g.set_grad(1, g.Call("SelectV2", {g.Call("Less", {y, zero}), g.Call("Mul", {grad, dy}), zero}));
  return absl::OkStatus();
}
// SoftplusGrad = dy * sigmoid(x)
absl::Status SoftplusGradGrad(G& g) {
  const Output grad = g.dy(), dy = g.input(0), x = g.input(1);
  const Output sigmoid = g.Call("Sigmoid", {x});
  g.set_grad(0, g.Call("SoftplusGrad", {grad, x}));
  g.set_grad(1, g.Call("SigmoidGrad", {sigmoid, g.Call("Mul", {grad, dy})}));
  return absl::OkStatus();
}
// SoftsignGrad = dy / (1 + |x|)^2
absl::Status SoftsignGradGrad(G& g) {
  const Output grad = g.dy(), dy = g.input(0), x = g.input(1);
  const Output spread = g.Call("AddV2", {g.Call("Abs", {x}), 1});
  const Output cube = g.Call("Mul", {spread, g.Call("Square", {spread})});
  const Output weighted = g.Call("Mul", {g.Call("Mul", {grad, dy}), g.Call("Mul", {g.Call("Sign", {x}), -2})});
  g.set_grad(0, g.Call("SoftsignGrad", {grad, x}));
  g.set_grad(1, g.Call("RealDiv", {weighted, cube}));
  return absl::OkStatus();
}
absl::Status LeakyReluGradGrad(G& g) {
  g.set_grad(0, g.Call("LeakyReluGrad", {g.dy(), g.input(1)}, {G::Set("alpha", g.Attr<float>("alpha"))}));
  g.set_grad(1, g.Call("ZerosLike", {g.input(1)}));
  return absl::OkStatus();
}

absl::Status BiasAdd(G& g) {
  g.set_grad(0, g.grad(0));
  g.set_grad(1, g.Call("BiasAddGrad", {g.dy()}, {G::Set("data_format", g.Attr<std::string>("data_format"))}));
  return absl::OkStatus();
}
absl::Status BiasAddV1(G& g) {
  g.set_grad(0, g.grad(0));
  g.set_grad(1, g.Call("BiasAddGrad", {g.dy()}));
  return absl::OkStatus();
}
// BiasAddGrad sums over all dimensions but the channels, so its gradient is broadcast back along them.
absl::Status BiasAddGrad(G& g) {
  const std::string format = g.Attr<std::string>("data_format");
  const Output zero = g.Call("ZerosLike", {g.input(0)});
  g.set_grad(0, g.Call("BiasAdd", {zero, g.dy()}, {G::Set("data_format", format)}));
  return absl::OkStatus();
}

absl::Status L2Loss(G& g) {
  g.set_grad(0, g.Call("Mul", {g.input(0), g.dy()}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterActivationGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Relu", Activation<kReluGrad, true>},
      {"Relu6", Activation<kRelu6Grad, true>},
      {"Elu", Activation<kEluGrad, true>},
      {"Selu", Activation<kSeluGrad, true>},
      {"Softplus", Activation<kSoftplusGrad, false>},
      {"Softsign", Activation<kSoftsignGrad, false>},
      {"LeakyRelu", LeakyRelu},
      {"ReluGrad", GateGrad<kReluGrad>},
      {"Relu6Grad", GateGrad<kRelu6Grad>},
      {"EluGrad", EluLikeGrad<kEluGrad>},
      {"SeluGrad", EluLikeGrad<kSeluGrad>},
      {"SoftplusGrad", SoftplusGradGrad},
      {"SoftsignGrad", SoftsignGradGrad},
      {"LeakyReluGrad", LeakyReluGradGrad},
      {"BiasAdd", BiasAdd},
      {"BiasAddV1", BiasAddV1},
      {"BiasAddGrad", BiasAddGrad},
      {"L2Loss", L2Loss},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
