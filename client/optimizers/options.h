// The optimizers, with their options: AdamOptimizer({.learning_rate = 1e-3}). Included by client/optimizer.h.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

class Optimizer;

// The types that a learning rate may have.
template <typename T>
concept LearningRate = std::convertible_to<const T&, Input>;

// Options come in braces, or the learning rate alone: AdamOptimizer(1e-3). It is a number, or an output evaluated in
// each step: see client/training/schedules.h.

// Decoupled weight decay (Loshchilov and Hutter 2017): before each update, w -= learning_rate * rate * w.
struct WeightDecay {
  double rate = 0;
  // Variables whose name contains one of these do not decay: {"bias", "gamma", "beta"}.
  std::vector<std::string> exclude = {};
};

// w -= learning_rate * g
struct GradientDescentOptions {
  Input learning_rate = 0.01;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> GradientDescentOptimizer(const GradientDescentOptions& options);
template <LearningRate T>
std::unique_ptr<Optimizer> GradientDescentOptimizer(const T& learning_rate) {
  return GradientDescentOptimizer(GradientDescentOptions{.learning_rate = learning_rate});
}

// a = momentum * a + g; w -= learning_rate * a (with Nesterov's look-ahead: g + momentum * a)
struct MomentumOptions {
  Input learning_rate = 0.01;
  double momentum = 0.9;
  bool use_nesterov = false;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> MomentumOptimizer(const MomentumOptions& options);
template <LearningRate T>
std::unique_ptr<Optimizer> MomentumOptimizer(const T& learning_rate, double momentum, bool use_nesterov = false) {
  return MomentumOptimizer(
      MomentumOptions{.learning_rate = learning_rate, .momentum = momentum, .use_nesterov = use_nesterov});
}

// a += g^2; w -= learning_rate * g / sqrt(a). Duchi et al. 2011.
struct AdagradOptions {
  Input learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> AdagradOptimizer(const AdagradOptions& options);
template <LearningRate T>
std::unique_ptr<Optimizer> AdagradOptimizer(const T& learning_rate, double initial_accumulator_value = 0.1) {
  return AdagradOptimizer(
      AdagradOptions{.learning_rate = learning_rate, .initial_accumulator_value = initial_accumulator_value});
}

// Kingma and Ba 2014, with epsilon outside of the corrected root ("epsilon hat").
struct AdamOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
std::unique_ptr<Optimizer> AdamOptimizer(const AdamOptions& options = {});
template <LearningRate T>
std::unique_ptr<Optimizer> AdamOptimizer(const T& learning_rate, double beta1 = 0.9, double beta2 = 0.999,
                                         double epsilon = 1e-8) {
  return AdamOptimizer(AdamOptions{.learning_rate = learning_rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon});
}

// Adam with weight decay, with Keras's defaults.
struct AdamWOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
  WeightDecay weight_decay = {.rate = 0.004};
};
std::unique_ptr<Optimizer> AdamWOptimizer(const AdamWOptions& options = {});

// ms = decay * ms + (1 - decay) * g^2; mom = momentum * mom + learning_rate * g / sqrt(ms + epsilon); w -= mom
struct RMSPropOptions {
  Input learning_rate = 0.001;
  double decay = 0.9, momentum = 0, epsilon = 1e-10;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> RMSPropOptimizer(const RMSPropOptions& options);
template <LearningRate T>
std::unique_ptr<Optimizer> RMSPropOptimizer(const T& learning_rate, double decay = 0.9, double momentum = 0,
                                            double epsilon = 1e-10) {
  return RMSPropOptimizer(
      RMSPropOptions{.learning_rate = learning_rate, .decay = decay, .momentum = momentum, .epsilon = epsilon});
}

// The following have Keras's formulas and defaults. Adamax, Nadam and Lamb make sparse gradients dense, which gives the
// same numbers: their moments decay in all rows.

// Adam with the maximum of gradients in place of their second moment (Kingma and Ba 2014, section 7).
struct AdamaxOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> AdamaxOptimizer(const AdamaxOptions& options = {});

// Adam with Nesterov's momentum (Dozat 2016).
struct NadamOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> NadamOptimizer(const NadamOptions& options = {});

// Adam's update u, scaled to each variable: w -= learning_rate * |w| / |u| * u (You et al. 2019). Weight decay adds
// rate * w to u.
struct LambOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> LambOptimizer(const LambOptions& options = {});

// Zeiler 2012.
struct AdadeltaOptions {
  Input learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  WeightDecay weight_decay = {};
};
std::unique_ptr<Optimizer> AdadeltaOptimizer(const AdadeltaOptions& options = {});

// Follow the regularised leader (McMahan et al. 2013), for sparse models.
struct FtrlOptions {
  Input learning_rate = 0.001;
  double learning_rate_power = -0.5;  // not positive
  double initial_accumulator_value = 0.1;
  double l1 = 0, l2 = 0;
  double l2_shrinkage = 0;
};
std::unique_ptr<Optimizer> FtrlOptimizer(const FtrlOptions& options = {});

}  // namespace weir
