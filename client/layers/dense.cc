#include "client/layers/dense.h"

#include "client/layers/rows.h"
#include "client/ops.h"

namespace weir {
namespace layers {

Dense::Dense(const OpScope& at, int64_t inputs, int64_t outputs, Activation activation, const LayerOptions& options)
    : Layer(at, "dense"), inputs_(inputs), outputs_(outputs), activation_(activation) {
  weights_ = MakeVariable("kernel", TensorShape({inputs, outputs}), options,
                          options.weights ? options.weights : initializers::GlorotUniform());
  if (options.use_bias) bias_ = MakeVariable("bias", TensorShape({outputs}), options, options.bias);
}

Output Dense::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  const Rows rows(scope, x, inputs_);
  Output y = ops::MatMul(scope, rows.matrix(), weights_.value());
  if (bias_.valid()) y = ops::BiasAdd(scope, y, bias_.value());
  return rows.Restore(scope, Activate(scope, y, activation_), outputs_);
}

Output Flatten(const OpScope& scope, const Output& x, int64_t features) {
  return ops::Reshape(scope, x, Tensor::Vector<int64_t>({-1, features}));
}

}  // namespace layers
}  // namespace weir
