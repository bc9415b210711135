// Activation functions, as Keras defines them.
#pragma once

#include "client/ops/op_scope.h"
#include "core/api.h"
#include "core/status.h"
#include "graph/output.h"

namespace weir {
namespace WEIR_API layers {

enum class Activation {
  kNone,
  kRelu,
  kSigmoid,
  kTanh,
  kRelu6,
  kLeakyRelu,  // slope 0.2 below 0
  kElu,
  kSelu,
  kGelu,      // x Φ(x), with erf
  kGeluTanh,  // its approximation by tanh
  kSilu,      // x sigmoid(x), also called swish
  kMish,      // x tanh(softplus(x))
  kSoftplus,
  kSoftsign,
  kHardSigmoid,  // 0.2 x + 0.5, clipped to [0, 1]
  kExponential,
  kSoftmax,  // over the last dimension
};

// By Keras's name: "linear", "relu", "gelu", "swish", "hard_sigmoid", … and "gelu_tanh". InvalidArgument lists all.
absl::StatusOr<Activation> ActivationByName(absl::string_view name);

Output Activate(const OpScope& at, const Output& x, Activation activation);

// Hendrycks and Gimpel 2016. `approximate`: by tanh.
Output Gelu(const OpScope& at, const Output& x, bool approximate = false);

}  // namespace layers
}  // namespace weir
