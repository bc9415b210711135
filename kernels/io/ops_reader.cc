// Readers.
#include "core/status.h"
#include "kernels/device/handle_ops.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

absl::Status ReadShape(InferenceContext& c) {
  c.set_output(0, c.Scalar());
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

absl::Status ReadUpToShape(InferenceContext& c) {
  c.set_output(0, c.Vector(-1));
  c.set_output(1, c.Vector(-1));
  return absl::OkStatus();
}

absl::Status RestoreShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  return c.WithRank(c.input(1), 0).status();
}

absl::Status RegisterMakers(OpRegistry& ops, HandleKind kind) {
  constexpr int kVersionOfResources = 26;
  const auto finish = [&ops, kind](const char* base, Op& op) {
    const bool removed = !kind.resource && base != absl::string_view("WholeFileReader");
    if (removed) op.Deprecated(kVersionOfResources, absl::StrCat("Use ", base, "V2"));
    return ops.Register(op);
  };
  const auto shared = [](Op& op) -> Op& { return op.Attr("container: string = ''").Attr("shared_name: string = ''"); };
  const auto maker = [kind](const char* base) { return kind.Maker(kind.Versioned(base), "reader_handle"); };

  Op text = maker("TextLineReader");
  RETURN_IF_ERROR(finish("TextLineReader", shared(text.Attr("skip_header_lines: int = 0"))));
  Op fixed = maker("FixedLengthRecordReader");
  fixed.Attr("header_bytes: int = 0")
      .Attr("record_bytes: int")
      .Attr("footer_bytes: int = 0")
      .Attr("hop_bytes: int = 0");
  shared(fixed);
  if (kind.resource) fixed.Attr("encoding: string = ''");
  RETURN_IF_ERROR(finish("FixedLengthRecordReader", fixed));
  Op records = maker("TFRecordReader");
  RETURN_IF_ERROR(finish("TFRecordReader", shared(records).Attr("compression_type: string = ''")));
  for (const char* base : {"IdentityReader", "WholeFileReader"}) {
    Op op = maker(base);
    RETURN_IF_ERROR(finish(base, shared(op)));
  }
  return absl::OkStatus();
}

absl::Status RegisterUsers(OpRegistry& ops, HandleKind kind) {
  const auto user = [kind](const char* base) { return kind.User(kind.Versioned(base), "reader_handle"); };
  RETURN_IF_ERROR(ops.Register(user("ReaderRead")
                                   .Input("queue_handle: " + kind.type())
                                   .Output("key: string")
                                   .Output("value: string")
                                   .MayBlock()
                                   .Shape(ReadShape)));
  RETURN_IF_ERROR(ops.Register(user("ReaderReadUpTo")
                                   .Input("queue_handle: " + kind.type())
                                   .Input("num_records: int64")
                                   .Output("keys: string")
                                   .Output("values: string")
                                   .MayBlock()
                                   .Shape(ReadUpToShape)));
  RETURN_IF_ERROR(ops.Register(
      user("ReaderNumRecordsProduced").Output("records_produced: int64").MayBlock().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(
      user("ReaderNumWorkUnitsCompleted").Output("units_completed: int64").MayBlock().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(user("ReaderSerializeState").Output("state: string").MayBlock().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(user("ReaderRestoreState").Input("state: string").MayBlock().Shape(RestoreShape)));
  return ops.Register(user("ReaderReset").MayBlock().Shape(shapes::NoOutputs));
}

}  // namespace

absl::Status RegisterReaderOps(OpRegistry& ops) {
  for (const HandleKind kind : kHandleKinds) {
    RETURN_IF_ERROR(RegisterMakers(ops, kind));
    RETURN_IF_ERROR(RegisterUsers(ops, kind));
  }
  return absl::OkStatus();
}

}  // namespace weir
