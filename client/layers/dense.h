// Fully connected layers.
#pragma once

#include "client/layers/activation.h"
#include "client/layers/layer.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

// x: [batch, …, inputs] → [batch, …, outputs]. An x of unknown rank must be a matrix. Variables: kernel, bias. Glorot's
// uniform kernel.
class Dense : public Layer {
 public:
  Dense(const OpScope& scope, int64_t inputs, int64_t outputs, Activation activation = Activation::kNone,
        const LayerOptions& options = {});
  // May be called many times: the weights are shared.
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }
  const ResourceVariable& weights() const { return weights_; }
  const ResourceVariable& bias() const { return bias_; }

 private:
  int64_t inputs_, outputs_;
  ResourceVariable weights_, bias_;
  Activation activation_;
};

// [batch, ...] → [batch, product of the others].
Output Flatten(const OpScope& scope, const Output& x, int64_t features);

}  // namespace layers
}  // namespace weir
