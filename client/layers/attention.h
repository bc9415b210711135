// Attention.
#pragma once

#include <string>

#include "client/layers/layer.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

struct AttentionOptions {
  int64_t key_inputs = 0;    // the width of keys; 0: that of queries
  int64_t value_inputs = 0;  // the width of values; 0: that of keys
  int64_t value_dim = 0;     // of each head's values; 0: head_dim
  int64_t outputs = 0;       // 0: that of queries
  double dropout = 0;        // of the weights, in training
  LayerOptions layer = {};   // its kernel is Glorot-uniform unless set
};

struct AttentionInputs {
  Output key = {};    // [batch, keys, key_inputs]; the query itself unless set: self-attention
  Output value = {};  // [batch, keys, value_inputs]; the key unless set
  // Whether a query may attend to a key: bool, or 1 and 0, [batch, queries, keys]. Dimensions of size 1 are broadcast.
  Output mask = {};
  bool causal = false;    // query i attends to keys up to i
  bool training = false;  // draws dropout
  int64_t seed = 0;       // of dropout
};

// Attention by several heads, each with its own projections (Vaswani et al. 2017), as Keras's MultiHeadAttention.
// query: [batch, queries, inputs] → [batch, queries, outputs]. Variables: query/kernel [inputs, heads, head_dim],
// query/bias [heads, head_dim], the same for key and value; attention_output/kernel [heads, value_dim, outputs],
// attention_output/bias [outputs].
//
// Without dropout, sessions compute scores, mask, softmax and weighted sum in one fused kernel, which never stores all
// scores.
class MultiHeadAttention : public Layer {
 public:
  MultiHeadAttention(const OpScope& scope, int64_t inputs, int64_t heads, int64_t head_dim,
                     AttentionOptions options = {});
  Output operator()(const OpScope& scope, const Output& query, const AttentionInputs& inputs = {}) const;
  Output operator()(const LocatedOutput& query, const AttentionInputs& inputs = {}) const {
    return (*this)(scope().WithLine(query.line()), query.output(), inputs);
  }

 private:
  struct Projection {
    ResourceVariable kernel, bias;
    int64_t inputs = 0, outputs = 0;
  };
  Projection MakeProjection(const OpScope& at, absl::string_view name, const TensorShape& kernel,
                            const TensorShape& bias, int64_t inputs) const;
  // [batch, steps, inputs] → [batch, steps, outputs]
  static Output Project(const Scope& scope, const Projection& projection, const Output& x);
  // [batch, steps, heads · dim] → [batch, heads, steps, dim]
  Output SplitHeads(const Scope& scope, const Output& x, int64_t dim) const;

  int64_t heads_, head_dim_, value_dim_;
  double dropout_;
  LayerOptions options_;
  Projection query_, key_, value_, output_;
};

}  // namespace layers
}  // namespace weir
