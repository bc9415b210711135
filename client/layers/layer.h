// Shared by all layers: options, and the scope of a layer.
#pragma once

#include <string>

#include "client/initializers.h"
#include "client/ops/op_scope.h"
#include "client/ops/operators.h"
#include "client/ops/source_line.h"
#include "client/scope.h"
#include "client/variables.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

// Ops of a layer run on the scope's device; its variables are on `variable_device` (a parameter server, say), or beside
// the ops if it is empty. Initializers that are not set are Keras's for the layer.
struct LayerOptions {
  std::string variable_device;
  DataType dtype = DT_FLOAT;
  bool use_bias = true;
  Initializer weights;  // of the kernel, or of the embeddings
  Initializer bias = initializers::Zeros();
};

// A layer's name is its scope's op name, or else its type's in Keras: scope.WithName("hidden") or "dense", "dense_1", …
// Its variables are "hidden/kernel" and so on, as the same Keras layer names them, so checkpoints written by name can
// be exchanged with TensorFlow.
//
// A layer is called with a scope, for its ops: layer(scope, x). Or without one: layer(x) builds them below the layer's
// own name ("hidden/MatMul"), on the device of the scope in which the layer was made and after its control
// dependencies. Use the first form in replicas, loops and branches, whose ops need the scope they are given. Both share
// the variables.
class Layer {
 public:
  // The scope of layer(x).
  const Scope& scope() const { return inner_; }

 protected:
  Layer(const OpScope& at, absl::string_view default_name);
  ResourceVariable MakeVariable(absl::string_view name, const TensorShape& shape, const LayerOptions& options,
                                const Initializer& initializer, const VariableOptions& variable = {}) const;

 private:
  Scope inner_;  // "hidden/"
  SourceLine made_at_;
};

}  // namespace layers
}  // namespace weir
