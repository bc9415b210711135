// The ops of this family through which no gradient flows.
#include "kernels/embedding/family.h"

namespace weir {

absl::Status RegisterEmbeddingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"EmbeddingTableExport", "EmbeddingTableGather", "EmbeddingTableSend"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
