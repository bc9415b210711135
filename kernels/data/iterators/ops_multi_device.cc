// Iterators that hand the elements of one dataset to several devices.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::ElementShape;

}  // namespace

absl::Status RegisterMultiDeviceIteratorOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIterator")
                                   .Output("handle: resource")
                                   .Attr("devices: list(string) >= 1")
                                   .Attr("shared_name: string")
                                   .Attr("container: string")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorInit")
                                   .MayBlock()
                                   .Input("dataset: variant")
                                   .Input("multi_device_iterator: resource")
                                   .Input("max_buffer_size: int64")
                                   .Output("incarnation_id: int64")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorToStringHandle")
                                   .Input("multi_device_iterator: resource")
                                   .Output("string_handle: string")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorFromStringHandle")
                                   .Input("string_handle: string")
                                   .Output("multi_device_iterator: resource")
                                   .Attr("output_types: list(type) >= 0 = []")
                                   .Attr("output_shapes: list(shape) >= 0 = []")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("AnonymousMultiDeviceIterator")
                                   .Output("handle: resource")
                                   .Output("deleter: variant")
                                   .Attr("devices: list(string) >= 1")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("AnonymousMultiDeviceIteratorV3")
                                   .Output("handle: resource")
                                   .Attr("devices: list(string) >= 1")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorGetNextFromShard")
                                   .MayBlock()
                                   .Input("multi_device_iterator: resource")
                                   .Input("shard_num: int32")
                                   .Input("incarnation_id: int64")
                                   .Output("components: output_types")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(ElementShape)));
  RETURN_IF_ERROR(ops.Register(Op("DeleteMultiDeviceIterator")
                                   .Input("multi_device_iterator: resource")
                                   .Input("iterators: N * resource")
                                   .Input("deleter: variant")
                                   .Attr("N: int >= 0")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  return absl::OkStatus();
}

}  // namespace weir
