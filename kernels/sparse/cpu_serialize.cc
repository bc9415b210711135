// Sparse tensors as three strings or three variants each.
#include <algorithm>

#include "core/tensor/tensor_proto.h"
#include "core/tensor/tensor_variant.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

// Element i of `out`, a string or variant tensor, stands for `tensor`.
absl::Status Pack(const Tensor& tensor, Tensor* out, int64_t i) {
  if (out->dtype() == DT_VARIANT) {
    out->data<Variant>()[i] = MakeTensorVariant(tensor);
    return absl::OkStatus();
  }
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(tensor, &proto));
  out->data<tstring>()[i] = proto.SerializeAsString();
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Unpack(const Tensor& in, int64_t i) {
  const int64_t row = i / 3, column = i % 3;
  if (in.dtype() == DT_VARIANT) {
    const Tensor* const tensor = TensorIn(in.data<Variant>()[i]);
    if (tensor != nullptr) return *tensor;
    return errors::InvalidArgument("Could not get a tensor from serialized_sparse[", row, ", ", column, "]");
  }
  const tstring& text = in.data<tstring>()[i];
  tensorflow::TensorProto proto;
  if (text.size() > INT32_MAX || !proto.ParseFromString(text)) {
    return errors::InvalidArgument("Could not parse serialized proto: serialized_sparse[", row, ", ", column, "]");
  }
  absl::StatusOr<Tensor> tensor = TensorFromProto(proto);
  if (tensor.ok()) return tensor;
  return errors::InvalidArgument("Could not construct tensor from proto: serialized_sparse[", row, ", ", column,
                                 "]: ", tensor.status().message());
}

class SerializeSparseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2)).status());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({3})));
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(Pack(ctx.input(i), output, i));
    return absl::OkStatus();
  }
};

// One sparse tensor for each position in the first dimension.
class SerializeManySparseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2)));
    const int rank = input.rank();
    if (rank <= 1) {
      return errors::InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ", rank);
    }
    RETURN_IF_ERROR(input.DenseShape().status());
    RETURN_IF_ERROR(input.CheckOrdered());
    const int64_t rows = input.shape()[0];
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({{rows, 3}}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const Tensor row_shape = ShapeTensor(input.shape().subspan(1));
    std::vector<int64_t> entries;
    for (int64_t row = 0, i = 0; row < rows; ++row) {
      entries.clear();
      for (; i < input.entries() && input.index(i)[0] == row; ++i) entries.push_back(i);
      const int64_t count = entries.size();
      ASSIGN_OR_RETURN(Tensor indices, ctx.allocate_temp(DT_INT64, TensorShape({count, rank - 1})));
      for (int64_t j = 0; j < count; ++j) {
        std::copy_n(input.index(entries[j]).data() + 1, rank - 1, indices.data<int64_t>() + j * (rank - 1));
      }
      ASSIGN_OR_RETURN(const Tensor values, GatherElements(ctx, input.values(), entries));
      RETURN_IF_ERROR(Pack(indices, output, row * 3));
      RETURN_IF_ERROR(Pack(values, output, row * 3 + 1));
      RETURN_IF_ERROR(Pack(row_shape, output, row * 3 + 2));
    }
    return absl::OkStatus();
  }
};

// The dimensions in front of the triples become the first ones of the result; of the others each is the largest.
class DeserializeSparseKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("dtype", &type_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    const TensorShape& in_shape = in.shape();
    if (in.dims() == 0) {
      return errors::InvalidArgument("Serialized sparse should have non-zero rank ", in_shape.ToString());
    }
    if (in.dim_size(in.dims() - 1) != 3) {
      return errors::InvalidArgument("Serialized sparse should have 3 as the last dimension ", in_shape.ToString());
    }
    if (in.NumElements() == 0) {
      return errors::InvalidArgument(
          "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension ", in_shape.ToString());
    }
    std::vector<SparseTensor> parts;
    DimVector sizes;
    for (int64_t i = 0; i < in.NumElements() / 3; ++i) {
      ASSIGN_OR_RETURN(SparseTensor part, ReadPart(in, i));
      RETURN_IF_ERROR(part.DenseShape().status());
      if (i == 0) {
        sizes.assign(part.shape().begin(), part.shape().end());
      } else if (static_cast<int>(sizes.size()) != part.rank()) {
        return errors::InvalidArgument("Inconsistent shape across SparseTensors: rank prior to SparseTensor[", i,
                                       "] was: ", sizes.size(), " but rank of SparseTensor[", i, "] is: ", part.rank());
      }
      for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = std::max(sizes[d], part.shape()[d]);
      parts.push_back(std::move(part));
    }
    if (in.dims() == 1) {
      ctx.set_output(0, parts[0].indices());
      ctx.set_output(1, parts[0].values());
      ctx.set_output(2, ShapeTensor(sizes));
      return absl::OkStatus();
    }
    return Stack(ctx, parts, in_shape, sizes);
  }

 private:
  absl::StatusOr<SparseTensor> ReadPart(const Tensor& in, int64_t i) const {
    const auto expected = [i](int column, absl::string_view what, const Tensor& got) {
      return errors::InvalidArgument("Expected serialized_sparse[", i, ", ", column, "] to ", what,
                                     got.shape().ToString());
    };
    ASSIGN_OR_RETURN(const Tensor indices, Unpack(in, 3 * i));
    ASSIGN_OR_RETURN(const Tensor values, Unpack(in, 3 * i + 1));
    ASSIGN_OR_RETURN(const Tensor shape, Unpack(in, 3 * i + 2));
    if (indices.dtype() != DT_INT64 || shape.dtype() != DT_INT64) {
      return errors::InvalidArgument("Expected serialized_sparse[", i, "]'s indices and shape to be int64, got ",
                                     DataTypeName(indices.dtype()), " and ", DataTypeName(shape.dtype()));
    }
    if (indices.dims() != 2) return expected(0, "represent an index matrix but received shape ", indices);
    if (values.dims() != 1) return expected(1, "represent a values vector but received shape ", values);
    if (shape.dims() != 1) return expected(1, "be a shape vector but its shape is ", shape);
    if (values.dtype() != type_) {
      return errors::InvalidArgument("Requested SparseTensor of type ", DataTypeName(type_), " but SparseTensor[", i,
                                     "].values.dtype() == ", DataTypeName(values.dtype()));
    }
    if (indices.dim_size(0) != values.dim_size(0)) {
      return errors::InvalidArgument("Expected row counts of SparseTensor[", i, "].indices and SparseTensor[", i,
                                     "].values to match but they do not: ", indices.dim_size(0), " vs. ",
                                     values.dim_size(0));
    }
    if (indices.dim_size(1) != shape.dim_size(0)) {
      return errors::InvalidArgument("Expected column counts of SparseTensor[", i,
                                     "].indices to match size of SparseTensor[", i,
                                     "].shape but they do not: ", indices.dim_size(1), " vs. ", shape.dim_size(0));
    }
    return SparseTensor::Read(indices, values, shape);
  }

  absl::Status Stack(OpKernelContext& ctx, const std::vector<SparseTensor>& parts, const TensorShape& in_shape,
                     absl::Span<const int64_t> sizes) const {
    const int outer = in_shape.dims() - 1, rank = static_cast<int>(sizes.size());
    DimVector shape(in_shape.dim_sizes().begin(), in_shape.dim_sizes().end() - 1);
    const DimVector steps = DenseSteps(shape);
    shape.insert(shape.end(), sizes.begin(), sizes.end());
    RETURN_IF_ERROR(TensorShape::Build(shape).status());
    int64_t entries = 0;
    for (const SparseTensor& part : parts) entries += part.entries();
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, outer + rank})));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, TensorShape({entries})));
    int64_t* to = indices->data<int64_t>();
    char* to_value = static_cast<char*>(values->raw_data());
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int64_t i = 0; i < parts[p].entries(); ++i) {
        for (int d = 0; d < outer; ++d) *to++ = static_cast<int64_t>(p) / steps[d] % shape[d];
        to = std::copy_n(parts[p].index(i).data(), rank, to);
      }
      CopyElements(type_, to_value, parts[p].values().raw_data(), parts[p].entries());
      to_value += parts[p].entries() * DataTypeSize(type_);
    }
    ctx.set_output(2, ShapeTensor(shape));
    return absl::OkStatus();
  }

  DataType type_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterSerializeSparseKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SerializeSparseKernel>(Kernel("SerializeSparse").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SerializeManySparseKernel>(Kernel("SerializeManySparse").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DeserializeSparseKernel>(Kernel("DeserializeSparse").Cpu()));
  return kernels.Register<DeserializeSparseKernel>(Kernel("DeserializeManySparse").Cpu());
}

}  // namespace weir
