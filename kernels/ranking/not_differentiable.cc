// The ops of this family through which no gradient flows.
#include "kernels/ranking/family.h"

namespace weir {

absl::Status RegisterRankingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"InTopK", "InTopKV2"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
