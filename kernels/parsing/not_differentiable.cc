// The ops of this family through which no gradient flows.
#include "kernels/parsing/family.h"

namespace weir {

absl::Status RegisterParsingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"DecodePaddedRaw", "DecodeRaw", "ParseTensor", "SerializeTensor"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
