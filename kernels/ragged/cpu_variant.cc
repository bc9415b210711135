// Ragged tensors into variants and back.
#include <algorithm>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/device/variant_nesting.h"
#include "kernels/ragged/family.h"
#include "kernels/ragged/ragged_variant.h"
#include "kernels/ragged/row_splits.h"

namespace weir {
namespace {

absl::StatusOr<Tensor> SplitsTensor(OpKernelContext& ctx, DataType type, absl::Span<const int64_t> splits) {
  ASSIGN_OR_RETURN(Tensor tensor, ctx.allocate_temp(type, TensorShape({static_cast<int64_t>(splits.size())})));
  RETURN_IF_ERROR(WriteIntegers(splits, &tensor));
  return tensor;
}

// rt_nested_splits, rt_dense_values: all of it in one variant, or a vector with a variant for each row.
class RaggedToVariantKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("RAGGED_RANK", &levels_));
    RETURN_IF_ERROR(ctx.GetAttr("Tsplits", &splits_type_));
    return ctx.GetAttr("batched_input", &batched_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const int levels = static_cast<int>(levels_);
    const Tensor values = ctx.input(levels);
    RETURN_IF_ERROR(CheckNesting(values));
    if (!batched_) {
      std::vector<Tensor> splits;
      for (int i = 0; i < levels; ++i) {
        if (ctx.input(i).dims() != 1) {
          return errors::InvalidArgument("Requires nested_row_splits[", i, "] to be a vector, got shape ",
                                         ctx.input(i).shape().ToString());
        }
        splits.push_back(ctx.input(i));
      }
      ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<RaggedVariant>(std::move(splits), values))));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<DimVector> nested, ReadNestedSplits(ctx, 0, levels, values));
    const int64_t rows = levels == 0 ? values.dim_size(0) : static_cast<int64_t>(nested[0].size()) - 1;
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({rows})));
    for (int64_t row = 0; row < rows; ++row) {
      ASSIGN_OR_RETURN(std::shared_ptr<RaggedVariant> ragged, RowOf(ctx, nested, values, row));
      output->data<Variant>()[row] = Variant(std::move(ragged));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::shared_ptr<RaggedVariant>> RowOf(OpKernelContext& ctx, const std::vector<DimVector>& nested,
                                                       const Tensor& values, int64_t row) const {
    if (nested.empty()) return std::make_shared<RaggedVariant>(std::vector<Tensor>(), values.SubSlice(row));
    int64_t begin = nested[0][row], end = nested[0][row + 1];
    std::vector<Tensor> splits;
    for (size_t level = 1; level < nested.size(); ++level) {
      DimVector part(nested[level].begin() + begin, nested[level].begin() + end + 1);
      begin = part.front();
      end = part.back();
      for (int64_t& split : part) split -= begin;
      ASSIGN_OR_RETURN(Tensor tensor, SplitsTensor(ctx, splits_type_, part));
      splits.push_back(std::move(tensor));
    }
    return std::make_shared<RaggedVariant>(std::move(splits), values.Slice(begin, end));
  }

  int64_t levels_ = 0;
  DataType splits_type_ = DT_INVALID;
  bool batched_ = false;
};

// Variants stacked along their tensor's dimensions, each of which becomes a level of splits.
class RaggedFromVariantKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("input_ragged_rank", &input_levels_));
    RETURN_IF_ERROR(ctx.GetAttr("output_ragged_rank", &output_levels_));
    RETURN_IF_ERROR(ctx.GetAttr("Tvalues", &type_));
    return ctx.GetAttr("Tsplits", &splits_type_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& encoded = ctx.input(0);
    int64_t levels = input_levels_;
    if (levels == -1) {
      levels = output_levels_ - encoded.dims();
      if (levels < 0) {
        return errors::InvalidArgument(
            "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found "
            "output_ragged_rank: ",
            output_levels_, ", encoded_variant.dims(): ", encoded.dims(), ", inferred input_ragged_rank: ", levels);
      }
    }
    const bool stacks_dense = output_levels_ == 0 && levels == 0;
    if (!stacks_dense && output_levels_ != encoded.dims() + levels) {
      return errors::InvalidArgument(
          "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: ",
          output_levels_, ", input_ragged_rank: ", levels, ", encoded_variant.dims(): ", encoded.dims(), ".");
    }
    ASSIGN_OR_RETURN(const Parts parts, ReadParts(encoded, levels));
    if (encoded.dims() == 0) {
      for (size_t i = 0; i < parts[0]->splits.size(); ++i) ctx.set_output(static_cast<int>(i), parts[0]->splits[i]);
      ctx.set_output(static_cast<int>(output_levels_), parts[0]->values);
      return absl::OkStatus();
    }
    if (stacks_dense) return StackDense(ctx, parts);
    RETURN_IF_ERROR(SetOuterSplits(ctx, encoded.shape(), parts));
    RETURN_IF_ERROR(SetInnerSplits(ctx, encoded.dims(), static_cast<int>(levels), parts));
    return ConcatValues(ctx, parts);
  }

 private:
  using Parts = std::vector<std::shared_ptr<const RaggedVariant>>;

  absl::StatusOr<Parts> ReadParts(const Tensor& encoded, int64_t levels) const {
    Parts parts;
    for (int64_t i = 0; i < encoded.NumElements(); ++i) {
      std::shared_ptr<const RaggedVariant> part = RaggedIn(encoded.data<Variant>()[i]);
      if (part == nullptr) {
        return errors::InvalidArgument("Input Variant element at index ", i,
                                       " doesn't hold a RaggedTensorVariant: ", encoded.data<Variant>()[i].TypeName());
      }
      if (static_cast<int64_t>(part->splits.size()) != levels) {
        return errors::InvalidArgument("Encoded input RaggedTensorVariant has ragged_rank=", part->splits.size(),
                                       ".  Expected ragged_rank=", levels, ".");
      }
      if (part->values.dtype() != type_) {
        return errors::InvalidArgument("Expected values Tensor dtype: ", DataTypeName(type_),
                                       ", found: ", DataTypeName(part->values.dtype()));
      }
      if (part->values.dims() < 1 && output_levels_ != 0) {
        return errors::InvalidArgument("Ragged values must have rank >= 1; encoded scalar element at index ", i,
                                       " has values Tensor: ", part->values.DebugString());
      }
      for (const Tensor& splits : part->splits) {
        if (splits.dtype() != splits_type_) {
          return errors::InvalidArgument("Expected row_splits Tensor dtype: ", DataTypeName(splits_type_),
                                         ", found: ", DataTypeName(splits.dtype()));
        }
        if (splits.dims() != 1 || splits.NumElements() < 1) {
          return errors::InvalidArgument("Ragged splits must be a vector with at least one element, got shape ",
                                         splits.shape().ToString());
        }
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  absl::Status StackDense(OpKernelContext& ctx, const Parts& parts) const {
    TensorShape shape = parts.empty() ? TensorShape() : parts[0]->values.shape();
    RETURN_IF_ERROR(shape.InsertDim(0, parts.size()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    char* to = static_cast<char*>(output->raw_data());
    for (size_t i = 0; i < parts.size(); ++i) {
      const Tensor& values = parts[i]->values;
      if (values.shape() != parts[0]->values.shape()) return Incompatible(parts[0]->values, values, i);
      CopyElements(type_, to, values.raw_data(), values.NumElements());
      to += values.TotalBytes();
    }
    return absl::OkStatus();
  }

  absl::Status SetOuterSplits(OpKernelContext& ctx, const TensorShape& shape, const Parts& parts) const {
    const int dims = shape.dims();
    int64_t rows = 1;
    for (int d = 0; d + 1 < dims; ++d) {
      rows *= shape.dim_size(d);
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(d, TensorShape({rows + 1})));
      DimVector splits(rows + 1);
      for (int64_t i = 0; i <= rows; ++i) splits[i] = i * shape.dim_size(d + 1);
      RETURN_IF_ERROR(WriteIntegers(splits, output));
    }
    DimVector splits = {0};
    for (const auto& part : parts) {
      splits.push_back(splits.back() +
                       (part->splits.empty() ? part->values.dim_size(0) : part->splits[0].NumElements() - 1));
    }
    return SetSplitsOutput(ctx, dims - 1, splits);
  }

  static absl::Status SetInnerSplits(OpKernelContext& ctx, int dims, int levels, const Parts& parts) {
    for (int level = 0; level < levels; ++level) {
      DimVector joined = {0};
      for (const auto& part : parts) {
        ASSIGN_OR_RETURN(const DimVector splits, ReadIntegers(part->splits[level]));
        const int64_t offset = joined.back();
        for (size_t i = 1; i < splits.size(); ++i) {
          int64_t sum;
          if (__builtin_add_overflow(splits[i], offset, &sum)) {
            return errors::InvalidArgument("Ragged splits overflow");
          }
          joined.push_back(sum);
        }
      }
      RETURN_IF_ERROR(SetSplitsOutput(ctx, dims + level, joined));
    }
    return absl::OkStatus();
  }

  absl::Status ConcatValues(OpKernelContext& ctx, const Parts& parts) const {
    TensorShape shape = parts.empty() ? TensorShape({0}) : parts[0]->values.shape();
    int64_t rows = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Tensor& values = parts[i]->values;
      if (values.dims() != shape.dims()) {
        return errors::InvalidArgument(
            "Rank of values must match for all components; values shape at index 0: ", shape.ToString(),
            ", values shape at index ", i, ": ", values.shape().ToString());
      }
      if (values.shape().dim_sizes().subspan(1) != shape.dim_sizes().subspan(1)) {
        return Incompatible(parts[0]->values, values, i);
      }
      rows += values.dim_size(0);
    }
    RETURN_IF_ERROR(shape.SetDim(0, rows));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(static_cast<int>(output_levels_), shape));
    char* to = static_cast<char*>(output->raw_data());
    for (const auto& part : parts) {
      CopyElements(type_, to, part->values.raw_data(), part->values.NumElements());
      to += part->values.TotalBytes();
    }
    return absl::OkStatus();
  }

  static absl::Status Incompatible(const Tensor& first, const Tensor& other, size_t i) {
    return errors::InvalidArgument(
        "All flat_values must have compatible shapes.  Shape at index 0: ", first.shape().ToString(),
        ".  Shape at index ", i, ": ", other.shape().ToString(), ".");
  }

  int64_t input_levels_ = 0, output_levels_ = 0;
  DataType type_ = DT_INVALID, splits_type_ = DT_INVALID;
};

// encoded_ragged_grad, row_splits, dense_values_shape: the rows' gradients one after another; an empty variant is zero.
class RaggedToVariantGradientKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("Tvalues", &type_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& encoded = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector splits, ReadIntegers(ctx.input(1)));
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) return errors::InvalidArgument("row_splits must not decrease");
    }
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(2)));
    const int64_t parts = encoded.NumElements();
    if (parts == 1) {
      const std::shared_ptr<const RaggedVariant> only = RaggedIn(encoded.data<Variant>()[0]);
      if (only != nullptr) {
        if (only->values.dtype() != type_) return WrongType(only->values);
        ctx.set_output(0, only->values);
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ZeroElements(type_, output->raw_data(), output->NumElements());
    if (output->NumElements() == 0) return absl::OkStatus();
    if (shape.dims() == 0) return errors::InvalidArgument("dense_values_shape must have at least one dimension");
    const int64_t width = shape.num_elements() / shape.dim_size(0);
    int64_t at = 0;
    for (int64_t i = 0; i < parts; ++i) {
      const std::shared_ptr<const RaggedVariant> part = RaggedIn(encoded.data<Variant>()[i]);
      int64_t elements;
      if (part != nullptr) {
        if (part->values.dtype() != type_) return WrongType(part->values);
        elements = part->values.NumElements();
      } else if (i + 1 < static_cast<int64_t>(splits.size())) {
        elements = MultiplyWithoutOverflow(splits[i + 1] - splits[i], width);
      } else {
        elements = width;  // of rows that are not divided
      }
      if (elements < 0 || elements > output->NumElements() - at) {
        return errors::InvalidArgument("The gradients hold more values than dense_values_shape ", shape.ToString());
      }
      if (part != nullptr) {
        CopyElements(type_, static_cast<char*>(output->raw_data()) + at * DataTypeSize(type_), part->values.raw_data(),
                     elements);
      }
      at += elements;
    }
    if (at != output->NumElements()) {
      return errors::InvalidArgument("The gradients hold ", at, " values, dense_values_shape ", shape.ToString());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status WrongType(const Tensor& values) const {
    return errors::InvalidArgument("Expected values Tensor dtype: ", DataTypeName(type_),
                                   ", found: ", DataTypeName(values.dtype()));
  }

  DataType type_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterRaggedVariantKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<RaggedToVariantKernel>(Kernel("RaggedTensorToVariant").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RaggedFromVariantKernel>(Kernel("RaggedTensorFromVariant").Cpu()));
  return kernels.Register<RaggedToVariantGradientKernel>(Kernel("RaggedTensorToVariantGradient").Cpu());
}

}  // namespace weir
