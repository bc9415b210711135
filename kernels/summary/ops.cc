// Summaries of scalars, histograms, images and sounds, and the writer of event files.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/summary/family.h"

namespace weir {
namespace {

absl::Status RegisterSummaries(OpRegistry& ops) {
  const auto summary = [](const char* name) { return Op(name).Output("summary: string").Shape(shapes::Scalar); };
  RETURN_IF_ERROR(ops.Register(
      Op("ScalarSummary")
          .Input("tags: string")
          .Input("values: T")
          .Output("summary: string")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}")
          .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MergeSummary")
                                   .Input("inputs: N * string")
                                   .Output("summary: string")
                                   .Attr("N: int >= 1")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(
      summary("HistogramSummary").Input("tag: string").Input("values: T").Attr("T: realnumbertype = DT_FLOAT")));
  RETURN_IF_ERROR(ops.Register(summary("ImageSummary")
                                   .Input("tag: string")
                                   .Input("tensor: T")
                                   .Attr("max_images: int >= 1 = 3")
                                   .Attr("T: {uint8, float, half, double} = DT_FLOAT")
                                   .Attr("bad_color: tensor = { dtype: DT_UINT8 tensor_shape { dim { size: 4 } } "
                                         "int_val: 255 int_val: 0 int_val: 0 int_val: 255 }")));
  RETURN_IF_ERROR(ops.Register(summary("AudioSummary")
                                   .Input("tag: string")
                                   .Input("tensor: float")
                                   .Attr("sample_rate: float")
                                   .Attr("max_outputs: int >= 1 = 3")
                                   .Deprecated(15, "Use AudioSummaryV2.")));
  RETURN_IF_ERROR(ops.Register(summary("AudioSummaryV2")
                                   .Input("tag: string")
                                   .Input("tensor: float")
                                   .Input("sample_rate: float")
                                   .Attr("max_outputs: int >= 1 = 3")));
  RETURN_IF_ERROR(ops.Register(summary("TensorSummary")
                                   .Input("tensor: T")
                                   .Attr("T: type")
                                   .Attr("description: string = ''")
                                   .Attr("labels: list(string) = []")
                                   .Attr("display_name: string = ''")));
  return ops.Register(summary("TensorSummaryV2")
                          .Input("tag: string")
                          .Input("tensor: T")
                          .Input("serialized_summary_metadata: string")
                          .Attr("T: type"));
}

absl::Status RegisterWriter(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SummaryWriter")
                                   .Output("writer: resource")
                                   .Attr("shared_name: string = ''")
                                   .Attr("container: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  const auto user = [](const char* name) {
    return Op(name).Input("writer: resource").Stateful().Shape(shapes::NoOutputs);
  };
  RETURN_IF_ERROR(ops.Register(user("CreateSummaryFileWriter")
                                   .Input("logdir: string")
                                   .Input("max_queue: int32")
                                   .Input("flush_millis: int32")
                                   .Input("filename_suffix: string")));
  for (const char* name : {"FlushSummaryWriter", "CloseSummaryWriter"}) RETURN_IF_ERROR(ops.Register(user(name)));
  const auto write = [&user](const char* name) { return user(name).Input("step: int64"); };
  RETURN_IF_ERROR(ops.Register(
      write("WriteSummary").Input("tensor: T").Input("tag: string").Input("summary_metadata: string").Attr("T: type")));
  RETURN_IF_ERROR(
      ops.Register(write("WriteScalarSummary").Input("tag: string").Input("value: T").Attr("T: realnumbertype")));
  RETURN_IF_ERROR(ops.Register(write("WriteHistogramSummary")
                                   .Input("tag: string")
                                   .Input("values: T")
                                   .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
                                         "uint32, uint64, bool} = DT_FLOAT")));
  RETURN_IF_ERROR(ops.Register(write("WriteImageSummary")
                                   .Input("tag: string")
                                   .Input("tensor: T")
                                   .Input("bad_color: uint8")
                                   .Attr("max_images: int >= 1 = 3")
                                   .Attr("T: {uint8, double, float, half} = DT_FLOAT")));
  RETURN_IF_ERROR(ops.Register(write("WriteAudioSummary")
                                   .Input("tag: string")
                                   .Input("tensor: float")
                                   .Input("sample_rate: float")
                                   .Attr("max_outputs: int >= 1 = 3")));
  for (const char* name : {"WriteRawProtoSummary", "WriteGraphSummary"}) {
    RETURN_IF_ERROR(ops.Register(write(name).Input("tensor: string")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSummaryOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterSummaries(ops));
  return RegisterWriter(ops);
}

}  // namespace weir
