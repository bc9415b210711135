// Bytes as tensors: raw, padded, compressed, and as TensorProto.
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/escaping.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/tensor_proto.h"
#include "kernels/parsing/family.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

class DecodeRawKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    bool little_endian;
    RETURN_IF_ERROR(ctx.GetAttr("little_endian", &little_endian));
    swap_ = little_endian != (std::endian::native == std::endian::little);
    return ctx.GetAttr("out_type", &type_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    const tstring* const text = in.data<tstring>();
    const int64_t size = DataTypeSize(type_), count = in.NumElements();
    const int64_t bytes = count == 0 ? 0 : static_cast<int64_t>(text[0].size());
    for (int64_t i = 1; i < count; ++i) {
      if (static_cast<int64_t>(text[i].size()) != bytes) {
        return errors::InvalidArgument("DecodeRaw requires input strings to all be the same size, but element ", i,
                                       " has size ", bytes, " != ", text[i].size());
      }
    }
    if (bytes % size != 0) {
      return errors::InvalidArgument("Input to DecodeRaw has length ", bytes, " that is not a multiple of ", size,
                                     ", the size of ", DataTypeName(type_));
    }
    TensorShape shape = in.shape();
    RETURN_IF_ERROR(shape.AddDim(bytes / size));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    char* const to = static_cast<char*>(output->raw_data());
    for (int64_t i = 0; i < count && bytes > 0; ++i) std::memcpy(to + i * bytes, text[i].data(), bytes);
    // Each half of a complex number by itself.
    const int64_t part = IsComplex(type_) ? size / 2 : size;
    for (int64_t at = 0; swap_ && at < count * bytes; at += part) std::reverse(to + at, to + at + part);
    if (type_ == DT_BOOL) {
      for (int64_t i = 0; i < count * bytes; ++i) to[i] = to[i] != 0;
    }
    return absl::OkStatus();
  }

 private:
  DataType type_ = DT_INVALID;
  bool swap_ = false;
};

// input_bytes, fixed_length: each string cut off or filled with zeros to that many bytes.
class DecodePaddedRawKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    bool little_endian;
    RETURN_IF_ERROR(ctx.GetAttr("little_endian", &little_endian));
    swap_ = little_endian != (std::endian::native == std::endian::little);
    return ctx.GetAttr("out_type", &type_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor in = ctx.input(0);
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("k0 fixed_length must be a scalar, got shape ", ctx.input(1).shape().ToString());
    }
    const int64_t length = ctx.input(1).scalar<int32_t>(), size = DataTypeSize(type_);
    if (length <= 0) return errors::InvalidArgument("fixed_length (", length, ") must be greater than zero.");
    if (length % size != 0) {
      return errors::InvalidArgument("fixed_length (", length, ") must be a multiple of the size of out_type (", size,
                                     ")");
    }
    TensorShape shape = in.shape();
    RETURN_IF_ERROR(shape.AddDim(length / size));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    char* to = static_cast<char*>(output->raw_data());
    for (const tstring& text : in.flat<tstring>()) {
      const int64_t given = std::min<int64_t>(text.size(), length);
      std::memcpy(to, text.data(), given);
      std::memset(to + given, 0, length - given);
      for (int64_t at = 0; swap_ && at < length; at += size) std::reverse(to + at, to + at + size);
      to += length;
    }
    return absl::OkStatus();
  }

 private:
  DataType type_ = DT_INVALID;
  bool swap_ = false;
};

// What a few bytes can grow to has a limit.
constexpr size_t kMostDecompressed = size_t{1} << 31;

// Members of a gzip file follow each other; zlib's data ends where it says so, whatever comes then.
absl::Status Inflate(const tstring& in, bool gzip, tstring* out) {
  const int window_bits = gzip ? MAX_WBITS + 16 : MAX_WBITS;
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return errors::ResourceExhausted("inflateInit2 failed");
  if (in.size() > UINT32_MAX) {
    inflateEnd(&stream);
    return errors::InvalidArgument("Compressed input of ", in.size(), " bytes is too large");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  std::string chunk(1 << 16, '\0');
  absl::Status status;
  while (status.ok() && stream.avail_in > 0) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    out->append(chunk.data(), chunk.size() - stream.avail_out);
    if (out->size() > kMostDecompressed) {
      status = errors::ResourceExhausted("Decompressed data exceeds ", kMostDecompressed, " bytes");
    } else if (result == Z_STREAM_END) {
      if (!gzip || inflateReset(&stream) != Z_OK) break;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      status = errors::DataLoss("inflate() failed with error ", result, ": ", stream.msg == nullptr ? "" : stream.msg);
    } else if (result == Z_BUF_ERROR) {
      break;
    }
  }
  inflateEnd(&stream);
  return status;
}

class DecodeCompressedKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("compression_type", &type_));
    if (type_.empty() || type_ == "ZLIB" || type_ == "GZIP") return absl::OkStatus();
    return errors::InvalidArgument("Only ZLIB, ZSTD, GZIP or NONE are supported compressions, got ", type_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor in = ctx.input(0);
    if (type_.empty()) {
      ctx.set_output(0, in);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in.shape()));
    for (int64_t i = 0; i < in.NumElements(); ++i) {
      RETURN_IF_ERROR(Inflate(in.data<tstring>()[i], type_ == "GZIP", &output->data<tstring>()[i]));
    }
    return absl::OkStatus();
  }

 private:
  std::string type_;
};

class ParseTensorKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("out_type", &type_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.dims() != 0) {
      return errors::InvalidArgument("Expected `serialized` to be a scalar, got shape: ", in.shape().ToString());
    }
    const tstring& text = in.scalar<tstring>();
    tensorflow::TensorProto proto;
    if (text.size() > INT32_MAX || !proto.ParseFromString(text)) {
      return errors::InvalidArgument(
          "Could not parse `serialized` as TensorProto, base64: ",
          absl::Base64Escape(absl::string_view(text.data(), std::min<size_t>(text.size(), 256))));
    }
    absl::StatusOr<Tensor> parsed = TensorFromProto(proto, ctx.allocator());
    if (!parsed.ok()) {
      return errors::InvalidArgument("Cannot parse tensor from proto: ", parsed.status().message());
    }
    Tensor tensor = *std::move(parsed);
    if (tensor.dtype() != type_) {
      return errors::InvalidArgument("Type mismatch between parsed tensor (", DataTypeName(tensor.dtype()),
                                     ") and dtype (", DataTypeName(type_), ")");
    }
    ctx.set_output(0, std::move(tensor));
    return absl::OkStatus();
  }

 private:
  DataType type_ = DT_INVALID;
};

class SerializeTensorKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    tensorflow::TensorProto proto;
    RETURN_IF_ERROR(TensorToProto(ctx.input(0), &proto));
    if (proto.ByteSizeLong() > INT32_MAX) {
      return errors::InvalidArgument("Tensor of shape ", ctx.input(0).shape().ToString(), " is too large to serialize");
    }
    ctx.set_output(0, Tensor::Scalar<tstring>(proto.SerializeAsString()));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterDecodeBytesKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<DecodeRawKernel>(Kernel("DecodeRaw").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DecodePaddedRawKernel>(Kernel("DecodePaddedRaw").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DecodeCompressedKernel>(Kernel("DecodeCompressed").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ParseTensorKernel>(Kernel("ParseTensor").Cpu()));
  return kernels.Register<SerializeTensorKernel>(Kernel("SerializeTensor").Cpu());
}

}  // namespace weir
