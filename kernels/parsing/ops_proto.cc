// Serialised protocol buffers from tensors and back.
#include "graph/shapes/shape_inference.h"
#include "kernels/parsing/family.h"

namespace weir {
namespace {

// One size for each field; each field's values.
absl::Status DecodeProtoShape(InferenceContext& c) {
  std::vector<std::string> fields;
  RETURN_IF_ERROR(c.GetAttr("field_names", &fields));
  c.set_output(0, c.Concatenate(c.input(0), c.Vector(static_cast<int64_t>(fields.size()))));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, c.Concatenate(c.input(0), c.Vector(-1)));
  return absl::OkStatus();
}
absl::Status EncodeProtoShape(InferenceContext& c) {
  PartialTensorShape messages;
  for (int i = 0; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialTensorShape input, c.WithRankAtLeast(c.input(i), 1));
    ASSIGN_OR_RETURN(const PartialTensorShape prefix, c.Subshape(input, 0, -1));
    ASSIGN_OR_RETURN(messages, c.Merge(messages, prefix));
  }
  c.set_output(0, messages);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterProtoOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("DecodeProtoV2")
                                   .Input("bytes: string")
                                   .Output("sizes: int32")
                                   .Output("values: output_types")
                                   .Attr("message_type: string")
                                   .Attr("field_names: list(string)")
                                   .Attr("output_types: list(type) >= 0")
                                   .Attr("descriptor_source: string = 'local://'")
                                   .Attr("message_format: string = 'binary'")
                                   .Attr("sanitize: bool = false")
                                   .Shape(DecodeProtoShape)));
  return ops.Register(Op("EncodeProto")
                          .Input("sizes: int32")
                          .Input("values: Tinput_types")
                          .Output("bytes: string")
                          .Attr("field_names: list(string)")
                          .Attr("message_type: string")
                          .Attr("descriptor_source: string = 'local://'")
                          .Attr("Tinput_types: list(type) >= 1")
                          .Shape(EncodeProtoShape));
}

}  // namespace weir
