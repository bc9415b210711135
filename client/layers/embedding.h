// Tables of vectors.
#pragma once

#include "client/layers/layer.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

// Rows of a [vocabulary, width] table. ids: [...] int32 or int64 → [..., width]. Its gradient is sparse. Variable:
// embeddings, uniform between -0.05 and 0.05.
class Embedding : public Layer {
 public:
  Embedding(const OpScope& scope, int64_t vocabulary, int64_t width, const LayerOptions& options = {});
  Output operator()(const OpScope& scope, const Output& ids) const;
  Output operator()(const LocatedOutput& ids) const { return (*this)(scope().WithLine(ids.line()), ids.output()); }
  const ResourceVariable& table() const { return table_; }

 private:
  ResourceVariable table_;
};

}  // namespace layers
}  // namespace weir
