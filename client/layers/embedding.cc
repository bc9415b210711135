#include "client/layers/embedding.h"

#include "client/ops.h"

namespace weir {
namespace layers {

Embedding::Embedding(const OpScope& at, int64_t vocabulary, int64_t width, const LayerOptions& options)
    : Layer(at, "embedding") {
  table_ = MakeVariable("embeddings", TensorShape({vocabulary, width}), options,
                        options.weights ? options.weights : initializers::RandomUniform(-0.05, 0.05));
}

Output Embedding::operator()(const OpScope& at, const Output& ids) const {
  const Scope scope = at.Located();
  return ops::ResourceGather(scope.WithDevice("").ColocateWith(table_.handle().op()), table_.handle(), ids,
                             table_.dtype());
}

}  // namespace layers
}  // namespace weir
