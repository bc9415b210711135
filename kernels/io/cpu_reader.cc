// Readers and what asks them for records.
#include "core/kernel/kernel_registry.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/named_resource.h"
#include "kernels/io/family.h"
#include "kernels/io/reader.h"

namespace weir {
namespace {

absl::StatusOr<FixedLengthFormat> ReadFormat(const OpKernelConstruction& ctx) {
  FixedLengthFormat format;
  RETURN_IF_ERROR(ctx.GetAttr("header_bytes", &format.header_bytes));
  RETURN_IF_ERROR(ctx.GetAttr("record_bytes", &format.record_bytes));
  RETURN_IF_ERROR(ctx.GetAttr("footer_bytes", &format.footer_bytes));
  RETURN_IF_ERROR(ctx.GetAttr("hop_bytes", &format.hop_bytes));
  if (ctx.HasAttr("encoding")) {
    std::string encoding;
    RETURN_IF_ERROR(ctx.GetAttr("encoding", &encoding));
    format.zlib = encoding == "ZLIB";
  }
  if (format.header_bytes < 0) return errors::InvalidArgument("header_bytes must be >= 0 not ", format.header_bytes);
  if (format.record_bytes <= 0) return errors::InvalidArgument("record_bytes must be > 0 not ", format.record_bytes);
  if (format.footer_bytes < 0) return errors::InvalidArgument("footer_bytes must be >= 0 not ", format.footer_bytes);
  if (format.hop_bytes < 0) return errors::InvalidArgument("hop_bytes must be >= 0 not ", format.hop_bytes);
  if (format.record_bytes > INT32_MAX || format.footer_bytes > INT32_MAX) {
    return errors::InvalidArgument("record_bytes ", format.record_bytes, " or footer_bytes ", format.footer_bytes,
                                   " is too large");
  }
  return format;
}

absl::StatusOr<RecordCompression> ReadCompression(const OpKernelConstruction& ctx) {
  std::string type;
  RETURN_IF_ERROR(ctx.GetAttr("compression_type", &type));
  if (type.empty()) return RecordCompression::kNone;
  if (type == "ZLIB") return RecordCompression::kZlib;
  if (type == "GZIP") return RecordCompression::kGzip;
  return errors::Unimplemented("Unsupported compression_type '", type, "' of ", ctx.op());
}

class ReaderKernel : public ResourceKernel<Reader> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    kind_ = ctx.op();
    node_ = ctx.name();
    if (kind_.ends_with("V2")) kind_.resize(kind_.size() - 2);
    if (kind_ == "TextLineReader") return ctx.GetAttr("skip_header_lines", &skip_header_lines_);
    if (kind_ == "FixedLengthRecordReader") {
      ASSIGN_OR_RETURN(format_, ReadFormat(ctx));
    } else if (kind_ == "TFRecordReader") {
      ASSIGN_OR_RETURN(compression_, ReadCompression(ctx));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<Reader>> Make(OpKernelContext&, const std::string&) override {
    return std::make_shared<Reader>(kind_, node_, MakeSource());
  }
  std::string TypeName() const override { return kind_; }

 private:
  std::unique_ptr<RecordSource> MakeSource() const {
    if (kind_ == "TextLineReader") return NewTextLineSource(skip_header_lines_);
    if (kind_ == "FixedLengthRecordReader") return NewFixedLengthSource(format_);
    if (kind_ == "TFRecordReader") return NewRecordFileSource(compression_);
    if (kind_ == "WholeFileReader") return NewWholeFileSource();
    return NewIdentitySource();
  }

  std::string kind_, node_;
  int64_t skip_header_lines_ = 0;
  FixedLengthFormat format_;
  RecordCompression compression_ = RecordCompression::kNone;
};

// ReaderRead and, with a number of records, ReaderReadUpTo.
template <bool kUpTo>
class ReadKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<Reader>> reader = FindResource<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    absl::StatusOr<std::shared_ptr<Queue>> queue = FindResource<Queue>(ctx, 1);
    if (!queue.ok()) return done(queue.status());
    int64_t limit = 1;
    if (kUpTo) {
      const absl::StatusOr<int64_t> given = ReadScalarInteger(ctx.input(2), "num_records");
      if (!given.ok()) return done(given.status());
      limit = *given;
      if (limit < 0) return done(errors::InvalidArgument("num_records must be >= 0, got ", limit));
    }
    (*reader)->Read(
        ctx, *std::move(queue), limit, [&ctx, done = std::move(done)](absl::StatusOr<Reader::Records> read) {
          if (!read.ok()) return done(read.status());
          ctx.set_output(0, kUpTo ? Tensor::Vector<tstring>(read->keys) : Tensor::Scalar(std::move(read->keys[0])));
          ctx.set_output(1, kUpTo ? Tensor::Vector<tstring>(read->values) : Tensor::Scalar(std::move(read->values[0])));
          done(absl::OkStatus());
        });
  }
};

class ResetKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<Reader>> reader = FindResource<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    (*reader)->Reset(ctx, std::move(done));
  }
};

class SerializeKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<Reader>> reader = FindResource<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    (*reader)->SerializeState(ctx, [&ctx, done = std::move(done)](absl::StatusOr<std::string> state) {
      if (!state.ok()) return done(state.status());
      ctx.set_output(0, Tensor::Scalar<tstring>(*std::move(state)));
      done(absl::OkStatus());
    });
  }
};

class RestoreReaderKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<Reader>> reader = FindResource<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    const Tensor state = ctx.locked_input(1);
    if (state.dtype() != DT_STRING || state.dims() != 0) {
      return done(errors::InvalidArgument("Reader state must be scalar, but had shape: ", state.shape().ToString()));
    }
    (*reader)->RestoreState(ctx, state.scalar<tstring>(), std::move(done));
  }
};

template <bool kRecords>
class ProgressKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Reader> reader, FindResource<Reader>(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(kRecords ? reader->records_produced() : reader->work_units_completed()));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterReaderKernels(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    const auto on = [&version](const char* op) { return Kernel(op + version).Cpu(); };
    for (const char* op :
         {"TextLineReader", "FixedLengthRecordReader", "TFRecordReader", "WholeFileReader", "IdentityReader"}) {
      RETURN_IF_ERROR(kernels.Register<ReaderKernel>(on(op)));
    }
    RETURN_IF_ERROR(kernels.Register<ReadKernel<false>>(on("ReaderRead")));
    RETURN_IF_ERROR(kernels.Register<ReadKernel<true>>(on("ReaderReadUpTo")));
    RETURN_IF_ERROR(kernels.Register<ResetKernel>(on("ReaderReset")));
    RETURN_IF_ERROR(kernels.Register<SerializeKernel>(on("ReaderSerializeState")));
    RETURN_IF_ERROR(kernels.Register<RestoreReaderKernel>(on("ReaderRestoreState")));
    RETURN_IF_ERROR(kernels.Register<ProgressKernel<true>>(on("ReaderNumRecordsProduced")));
    RETURN_IF_ERROR(kernels.Register<ProgressKernel<false>>(on("ReaderNumWorkUnitsCompleted")));
  }
  return absl::OkStatus();
}

}  // namespace weir
