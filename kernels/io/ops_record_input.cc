// Records from files in random order.
#include "graph/shapes/shape_inference.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

absl::Status RecordInputShape(InferenceContext& c) {
  int64_t batch;
  RETURN_IF_ERROR(c.GetAttr("batch_size", &batch));
  c.set_output(0, c.Vector(batch));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRecordInputOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("RecordInput")
                                   .Output("records: string")
                                   .Attr("file_pattern: string")
                                   .Attr("file_random_seed: int = 301")
                                   .Attr("file_shuffle_shift_ratio: float = 0.0")
                                   .Attr("file_buffer_size: int = 10000")
                                   .Attr("file_parallelism: int = 16")
                                   .Attr("batch_size: int = 32")
                                   .Attr("compression_type: string = ''")
                                   .Stateful()
                                   .Shape(RecordInputShape)));
  return absl::OkStatus();
}

}  // namespace weir
