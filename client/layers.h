// Layers: variables and the ops that use them, named by the scope.
#pragma once

#include <string>

#include "client/initializers.h"
#include "client/scope.h"
#include "client/variables.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

// Ops of a layer run on the scope's device; its variables are on `variable_device` (a parameter server, say), or beside
// the ops if it is empty.
struct LayerOptions {
  std::string variable_device;
  DataType dtype = DT_FLOAT;
  bool use_bias = true;
  Initializer weights = initializers::GlorotUniform();
  Initializer bias = initializers::Zeros();
};

enum class Activation { kNone, kRelu, kSigmoid, kTanh };

// A fully connected layer. x: [batch, inputs] → [batch, outputs].
class Dense {
 public:
  Dense(const Scope& scope, int64_t inputs, int64_t outputs, Activation activation = Activation::kNone,
        const LayerOptions& options = {});
  // May be called many times: the weights are shared.
  Output operator()(const Scope& scope, const Output& x) const;
  const ResourceVariable& weights() const { return weights_; }
  const ResourceVariable& bias() const { return bias_; }

 private:
  ResourceVariable weights_, bias_;
  Activation activation_;
};

// A 2-D convolution. x: [batch, height, width, inputs] → [batch, height', width', filters].
class Conv2D {
 public:
  Conv2D(const Scope& scope, int64_t inputs, int64_t filters, int64_t kernel_size, int64_t stride = 1,
         std::string padding = "SAME", Activation activation = Activation::kNone, const LayerOptions& options = {});
  Output operator()(const Scope& scope, const Output& x) const;
  const ResourceVariable& weights() const { return weights_; }

 private:
  ResourceVariable weights_, bias_;
  int64_t stride_;
  std::string padding_;
  Activation activation_;
};

Output MaxPool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");
Output AvgPool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding = "VALID");

// Batch normalisation over all dimensions but the last of a [batch, height, width, channels] tensor (Ioffe and Szegedy
// 2015). Training uses the batch's moments; updates() then updates the averages that inference uses.
class BatchNorm {
 public:
  BatchNorm(const Scope& scope, int64_t channels, double momentum = 0.99, double epsilon = 1e-3,
            const LayerOptions& options = {});
  Output operator()(const Scope& scope, const Output& x, bool training);
  // Must run with each training step.
  const std::vector<Operation>& updates() const { return updates_; }

 private:
  ResourceVariable gamma_, beta_, mean_, variance_;
  const double momentum_, epsilon_;
  std::vector<Operation> updates_;
};

// Zeroes each element with probability `rate` and scales the others by 1 / (1 - rate).
Output Dropout(const Scope& scope, const Output& x, double rate, int64_t seed = 0);

// Rows of a [vocabulary, width] table. ids: [...] int32 or int64 → [..., width]. Its gradient is sparse.
class Embedding {
 public:
  Embedding(const Scope& scope, int64_t vocabulary, int64_t width, const LayerOptions& options = {});
  Output operator()(const Scope& scope, const Output& ids) const;
  const ResourceVariable& table() const { return table_; }

 private:
  ResourceVariable table_;
};

// [batch, ...] → [batch, product of the others].
Output Flatten(const Scope& scope, const Output& x, int64_t features);

// The mean over the batch of softmax cross-entropy. logits: [batch, classes]; labels: [batch] int32 or int64.
Output SparseSoftmaxLoss(const Scope& scope, const Output& logits, const Output& labels);
// The fraction of rows whose largest logit is the label's.
Output Accuracy(const Scope& scope, const Output& logits, const Output& labels);

}  // namespace layers
}  // namespace weir
