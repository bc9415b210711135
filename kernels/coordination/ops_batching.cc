// Calls gathered into batches that are computed together.
#include "graph/shapes/shape_inference.h"
#include "kernels/coordination/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

PartialTensorShape AnyRows(const PartialTensorShape& shape) {
  if (shape.unknown_rank() || shape.dims() == 0) return PartialTensorShape();
  DimVector dims = op_shapes::Dims(shape);
  dims[0] = kUnknown;
  return InferenceContext::Of(dims);
}

absl::Status BatchShape(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_output(i, AnyRows(c.input(i)));
  c.set_output(c.num_inputs(), c.Matrix(kUnknown, 3));
  c.set_output(c.num_inputs() + 1, c.Scalar());
  return absl::OkStatus();
}
absl::Status UnbatchShape(InferenceContext& c) {
  c.set_output(0, AnyRows(c.input(0)));
  return absl::OkStatus();
}
absl::Status UnbatchGradShape(InferenceContext& c) {
  c.set_output(0, AnyRows(c.input(2)));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterBatchingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Batch")
                                   .Input("in_tensors: T")
                                   .Output("batched_tensors: T")
                                   .Output("batch_index: int64")
                                   .Output("id: int64")
                                   .Attr("num_batch_threads: int")
                                   .Attr("max_batch_size: int")
                                   .Attr("max_enqueued_batches: int = 10")
                                   .Attr("batch_timeout_micros: int")
                                   .Attr("allowed_batch_sizes: list(int) = []")
                                   .Attr("grad_timeout_micros: int")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Attr("batching_queue: string = ''")
                                   .Attr("T: list(type) >= 1")
                                   .DistributedCommunication()
                                   .MayBlock()
                                   .Shape(BatchShape)));
  RETURN_IF_ERROR(ops.Register(Op("Unbatch")
                                   .Input("batched_tensor: T")
                                   .Input("batch_index: int64")
                                   .Input("id: int64")
                                   .Output("unbatched_tensor: T")
                                   .Attr("timeout_micros: int")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Attr("T: type")
                                   .MayBlock()
                                   .Shape(UnbatchShape)));
  RETURN_IF_ERROR(ops.Register(Op("UnbatchGrad")
                                   .Input("original_input: T")
                                   .Input("batch_index: int64")
                                   .Input("grad: T")
                                   .Input("id: int64")
                                   .Output("batched_grad: T")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Attr("T: type")
                                   .MayBlock()
                                   .Shape(UnbatchGradShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("BatchFunction")
          .Input("in_tensors: Tin")
          .Input("captured_tensors: Tcaptured")
          .Output("out_tensors: Tout")
          .Attr("f: func")
          .Attr("num_batch_threads: int")
          .Attr("max_batch_size: int")
          .Attr("batch_timeout_micros: int")
          .Attr("max_enqueued_batches: int = 10")
          .Attr("allowed_batch_sizes: list(int) = []")
          .Attr("container: string = ''")
          .Attr("shared_name: string = ''")
          .Attr("batching_queue: string = ''")
          .Attr("low_priority_max_batch_size: int = 0")
          .Attr("low_priority_batch_timeout_micros: int = 0")
          .Attr("low_priority_allowed_batch_sizes: list(int) = []")
          .Attr("low_priority_max_enqueued_batches: int = 0")
          .Attr("mixed_priority_policy: {'low_priority_padding_with_max_batch_size', "
                "'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', 'priority_merge'} = "
                "'low_priority_padding_with_max_batch_size'")
          .Attr("batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'")
          .Attr("Tin: list(type) >= 1")
          .Attr("Tcaptured: list(type) >= 0")
          .Attr("Tout: list(type) >= 1")
          .Attr("enable_large_batch_splitting: bool = false")
          .DistributedCommunication()
          .MayBlock()
          .Shape(shapes::Unknown)));
  return absl::OkStatus();
}

}  // namespace weir
