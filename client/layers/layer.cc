#include "client/layers/layer.h"

namespace weir {
namespace layers {
namespace {

Scope InnerScope(const Scope& scope, absl::string_view default_name) {
  return scope.SubScope(scope.op_name().empty() ? default_name : absl::string_view(scope.op_name()));
}

}  // namespace

Layer::Layer(const OpScope& at, absl::string_view default_name)
    : inner_(InnerScope(at.scope(), default_name)), made_at_(at.line()) {}

ResourceVariable Layer::MakeVariable(absl::string_view name, const TensorShape& shape, const LayerOptions& options,
                                     const Initializer& initializer, const VariableOptions& variable) const {
  const Scope scope = inner_.WithLine(made_at_);
  const Scope on_device = options.variable_device.empty() ? scope : scope.WithDevice(options.variable_device);
  return ResourceVariable::Make(on_device.WithName(name), shape, options.dtype, initializer, variable);
}

}  // namespace layers
}  // namespace weir
