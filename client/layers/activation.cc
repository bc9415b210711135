#include "client/layers/activation.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

const std::vector<std::pair<absl::string_view, Activation>>& Names() {
  static const auto* const names = new std::vector<std::pair<absl::string_view, Activation>>{
      {"elu", Activation::kElu},
      {"exponential", Activation::kExponential},
      {"gelu", Activation::kGelu},
      {"gelu_tanh", Activation::kGeluTanh},
      {"hard_sigmoid", Activation::kHardSigmoid},
      {"leaky_relu", Activation::kLeakyRelu},
      {"linear", Activation::kNone},
      {"mish", Activation::kMish},
      {"relu", Activation::kRelu},
      {"relu6", Activation::kRelu6},
      {"selu", Activation::kSelu},
      {"sigmoid", Activation::kSigmoid},
      {"silu", Activation::kSilu},
      {"softmax", Activation::kSoftmax},
      {"softplus", Activation::kSoftplus},
      {"softsign", Activation::kSoftsign},
      {"swish", Activation::kSilu},
      {"tanh", Activation::kTanh},
  };
  return *names;
}

Output HardSigmoid(const Scope& scope, const Output& x) {
  const Output line = ops::AddV2(scope, ops::Mul(scope, x, 0.2), 0.5);
  return ops::ClipByValue(scope, line, scope.Constant(0.0, x.type()), scope.Constant(1.0, x.type()));
}

}  // namespace

absl::StatusOr<Activation> ActivationByName(absl::string_view name) {
  std::vector<absl::string_view> all;
  for (const auto& [known, activation] : Names()) {
    if (known == name) return activation;
    all.push_back(known);
  }
  return errors::InvalidArgument("No activation is named '", name, "'; the names are ", absl::StrJoin(all, ", "));
}

Output Gelu(const OpScope& at, const Output& x, bool approximate) {
  const Scope scope = at.Located();
  Output phi;  // 2 Φ(x) - 1
  if (approximate) {
    const Output cube = ops::Mul(scope, ops::Mul(scope, x, x), x);
    const Output inner = ops::AddV2(scope, x, ops::Mul(scope, cube, 0.044715));
    phi = ops::Tanh(scope, ops::Mul(scope, inner, std::sqrt(2 / M_PI)));
  } else {
    phi = ops::Erf(scope, ops::Mul(scope, x, M_SQRT1_2));
  }
  return ops::Mul(scope, ops::Mul(scope, x, 0.5), ops::AddV2(scope, phi, 1.0));
}

Output Activate(const OpScope& at, const Output& x, Activation activation) {
  const Scope scope = at.Located();
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return ops::Relu(scope, x);
    case Activation::kSigmoid:
      return ops::Sigmoid(scope, x);
    case Activation::kTanh:
      return ops::Tanh(scope, x);
    case Activation::kRelu6:
      return ops::Relu6(scope, x);
    case Activation::kLeakyRelu:
      return ops::LeakyRelu(scope, x, {.alpha = 0.2F});
    case Activation::kElu:
      return ops::Elu(scope, x);
    case Activation::kSelu:
      return ops::Selu(scope, x);
    case Activation::kGelu:
      return Gelu(scope, x);
    case Activation::kGeluTanh:
      return Gelu(scope, x, /*approximate=*/true);
    case Activation::kSilu:
      return ops::Mul(scope, x, ops::Sigmoid(scope, x));
    case Activation::kMish:
      return ops::Mul(scope, x, ops::Tanh(scope, ops::Softplus(scope, x)));
    case Activation::kSoftplus:
      return ops::Softplus(scope, x);
    case Activation::kSoftsign:
      return ops::Softsign(scope, x);
    case Activation::kHardSigmoid:
      return HardSigmoid(scope, x);
    case Activation::kExponential:
      return ops::Exp(scope, x);
    case Activation::kSoftmax:
      return ops::Softmax(scope, x);
  }
  return Output();
}

}  // namespace layers
}  // namespace weir
