// Normalisation: by the batch, by layers, by root mean squares.
#pragma once

#include <vector>

#include "client/layers/layer.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

struct BatchNormOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  int axis = -1;  // of the channels
  bool center = true, scale = true;
  LayerOptions layer = {};
};

// Batch normalisation over all dimensions but the channels' (Ioffe and Szegedy 2015). Training uses the batch's
// moments; updates() then updates the averages that inference uses. Variables: gamma, beta, moving_mean,
// moving_variance.
//
// An x of rank 4, or of unknown rank, with the channels last uses a fused op, whose variances for the averages have
// Bessel's correction, as in Keras.
class BatchNorm : public Layer {
 public:
  BatchNorm(const OpScope& scope, int64_t channels, BatchNormOptions options);
  BatchNorm(const OpScope& scope, int64_t channels, double momentum = 0.99, double epsilon = 1e-3,
            const LayerOptions& options = {});
  Output operator()(const OpScope& scope, const Output& x, bool training);
  Output operator()(const LocatedOutput& x, bool training) {
    return (*this)(scope().WithLine(x.line()), x.output(), training);
  }
  // Must run with each training step.
  const std::vector<Operation>& updates() const { return updates_; }

 private:
  struct Moments {
    Output mean, variance;
  };
  // Of another rank or axis.
  Output Unfused(const Scope& scope, const Output& x, int rank, bool training);
  void Update(const Scope& scope, const Moments& batch);
  Output Fused(const Scope& scope, const Output& x, bool training);
  // gamma and beta, or constants in their place.
  Output Gamma(const Scope& scope) const;
  Output Beta(const Scope& scope) const;

  BatchNormOptions options_;
  int64_t channels_;
  ResourceVariable gamma_, beta_, mean_, variance_;
  std::vector<Operation> updates_;
};

struct LayerNormOptions {
  double epsilon = 1e-3;
  bool center = true, scale = true;
  LayerOptions layer = {};
};

// Normalises the last dimension, of `width` elements (Ba et al. 2016). Variables: gamma, beta.
class LayerNorm : public Layer {
 public:
  LayerNorm(const OpScope& scope, int64_t width, LayerNormOptions options = {});
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }

 private:
  double epsilon_;
  ResourceVariable gamma_, beta_;
};

struct RmsNormOptions {
  double epsilon = 1e-6;
  LayerOptions layer = {};
};

// Divides by the root of the mean square over the last dimension (Zhang and Sennrich 2019). Variable: scale.
class RmsNorm : public Layer {
 public:
  RmsNorm(const OpScope& scope, int64_t width, RmsNormOptions options = {});
  Output operator()(const OpScope& scope, const Output& x) const;
  Output operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }

 private:
  double epsilon_;
  ResourceVariable scale_;
};

}  // namespace layers
}  // namespace weir
