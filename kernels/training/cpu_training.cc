#include "kernels/training/cpu_training.h"

#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/state/overwrite.h"
#include "kernels/state/variable_access.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

absl::StatusOr<std::complex<double>> ScalarValue(const Tensor& tensor, const std::string& name) {
  if (tensor.dims() != 0) {
    const bool strength = name == "l1" || name == "l2";
    return errors::InvalidArgument(name, strength ? " regularization strength" : "",
                                   " is not a scalar: ", tensor.shape().ToString());
  }
  switch (tensor.dtype()) {
    case DT_FLOAT:
      return tensor.scalar<float>();
    case DT_DOUBLE:
      return tensor.scalar<double>();
    case DT_HALF:
      return static_cast<float>(tensor.scalar<half>());
    case DT_BFLOAT16:
      return static_cast<float>(tensor.scalar<bfloat16>());
    case DT_COMPLEX64:
      return tensor.scalar<complex64>();
    case DT_COMPLEX128:
      return tensor.scalar<complex128>();
    case DT_INT64:
      return static_cast<double>(tensor.scalar<int64_t>());
    default:
      return errors::InvalidArgument(name, " has type ", DataTypeName(tensor.dtype()));
  }
}

}  // namespace

absl::Status TrainingKernel::Init(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
  for (int i = 0; i < ctx.op_def().input_arg_size(); ++i) {
    const tensorflow::OpDef::ArgDef& arg = ctx.op_def().input_arg(i);
    names_.push_back(arg.name());
    if (arg.is_ref() || arg.type() == tensorflow::DT_RESOURCE) {
      ++num_variables_;
    } else if (arg.name() == "grad" || arg.name() == "delta") {
      gradient_ = i;
    } else if (arg.name() == "indices") {
      indices_ = i;
    } else {
      scalars_.push_back(i);
    }
  }
  if (gradient_ < 0 || scalars_.size() > RuleArgs::kMaxScalars) {
    return errors::Internal(ctx.op(), " does not have the arguments of an optimizer's update");
  }
  for (const char* flag : {"use_nesterov", "update_slots", "multiply_linear_by_lr"}) {
    if (ctx.HasAttr(flag)) RETURN_IF_ERROR(ctx.GetAttr(flag, &flag_));
  }
  return absl::OkStatus();
}

absl::StatusOr<RuleArgs> TrainingKernel::ReadScalars(OpKernelContext& ctx) const {
  RuleArgs args;
  args.flag = flag_;
  for (size_t i = 0; i < scalars_.size(); ++i) {
    const int input = scalars_[i];
    ASSIGN_OR_RETURN(args.scalars[i], ScalarValue(ctx.locked_input(input), names_[input]));
  }
  if (check_ != nullptr) RETURN_IF_ERROR(check_(args));
  return args;
}

absl::Status TrainingKernel::Compute(OpKernelContext& ctx) {
  const Tensor gradient = ctx.locked_input(gradient_);
  if (gradient.dtype() != dtype_) {
    return errors::InvalidArgument(names_[gradient_], " has type ", DataTypeName(gradient.dtype()), ", expected ",
                                   DataTypeName(dtype_));
  }
  ASSIGN_OR_RETURN(const RuleArgs args, ReadScalars(ctx));
  Indices indices;
  if (indices_ >= 0) {
    ASSIGN_OR_RETURN(indices, Indices::Read(ctx.locked_input(indices_)));
  }
  {
    ASSIGN_OR_RETURN(LockedVariables variables, LockedVariables::Lock(ctx, num_variables_, dtype_));
    const TensorShape shape = variables[0].shape();
    for (int i = 1; i < num_variables_; ++i) {
      if (variables[i].shape() != shape) {
        return errors::InvalidArgument(names_[0], " and ", names_[i], " do not have the same shape", shape.ToString(),
                                       " ", variables[i].shape().ToString());
      }
    }
    if (indices_ >= 0) {
      RETURN_IF_ERROR(CheckSparse(shape, gradient, indices.shape()));
      for (int64_t i = 0; i < indices.size(); ++i) {
        if (indices[i] < 0 || indices[i] >= shape.dim_size(0)) {
          return errors::InvalidArgument("Index ", indices[i], " at offset ", i, " in indices is out of range");
        }
      }
    } else if (gradient.shape() != shape) {
      return errors::InvalidArgument(names_[0], " and ", names_[gradient_], " do not have the same shape",
                                     shape.ToString(), " ", gradient.shape().ToString());
    }
    if (indices_ < 0) {
      RETURN_IF_ERROR(UpdateAll(ctx, args, variables, gradient));
    } else if (indices.size() > 0) {
      RETURN_IF_ERROR(UpdateRows(ctx, args, variables, gradient, indices));
    }
  }
  ForwardReference(ctx);
  return absl::OkStatus();
}

absl::Status TrainingKernel::UpdateAll(OpKernelContext& ctx, const RuleArgs& args, LockedVariables& variables,
                                       const Tensor& gradient) const {
  ASSIGN_OR_RETURN(const auto old, variables.PrepareToOverwrite(ctx.allocator()));
  OverwriteSpan spans[kMaxOverwritten];
  for (int k = 0; k < num_variables_; ++k) spans[k] = {old[k].raw_data(), variables[k].raw_data()};
  const int64_t size = DataTypeSize(dtype_);
  const char* const g = static_cast<const char*>(gradient.raw_data());
  ParallelRanges(ctx, gradient.NumElements(), 400 * num_variables_, [&](int64_t begin, int64_t end) {
    OverwriteRange(absl::MakeConstSpan(spans, num_variables_), size, begin, end,
                   [&](void* const* data, int64_t at, int64_t count) { loop_(args, data, g + at * size, count); });
  });
  return absl::OkStatus();
}

absl::Status TrainingKernel::UpdateRows(OpKernelContext& ctx, const RuleArgs& args, LockedVariables& variables,
                                        const Tensor& gradient, const Indices& indices) const {
  const int64_t row = gradient.NumElements() / indices.size();
  const int64_t row_bytes = row * static_cast<int64_t>(DataTypeSize(dtype_));
  RETURN_IF_ERROR(variables.PrepareToUpdateRanges(ctx.allocator(), indices.size(), row_bytes,
                                                  [&](int64_t i) { return indices[i] * row_bytes; }));
  const char* const g = static_cast<const char*>(gradient.raw_data());
  for (int64_t i = 0; i < indices.size(); ++i) {
    void* data[kMaxOverwritten] = {};
    for (int k = 0; k < num_variables_; ++k) data[k] = variables[k].data<char>() + indices[i] * row_bytes;
    loop_(args, data, g + i * row_bytes, row);
  }
  return absl::OkStatus();
}

absl::Status TrainingKernel::CheckSparse(const TensorShape& shape, const Tensor& gradient,
                                         const TensorShape& indices) const {
  if (shape.dims() < 1) return errors::InvalidArgument(names_[0], " must be at least 1 dimensional");
  if (!indices.IsVector()) return errors::InvalidArgument("indices must be one-dimensional");
  if (gradient.dims() != shape.dims()) {
    return errors::InvalidArgument(names_[0], " and ", names_[gradient_],
                                   " must have the same rank: ", shape.ToString(), " and ",
                                   gradient.shape().ToString());
  }
  for (int d = 1; d < shape.dims(); ++d) {
    if (shape.dim_size(d) != gradient.dim_size(d)) {
      return errors::InvalidArgument(names_[0], " and ", names_[gradient_], " must match in dimension ", d);
    }
  }
  if (gradient.dim_size(0) != indices.dim_size(0)) {
    return errors::InvalidArgument(names_[gradient_], " must be the same size as indices in the first dimension.");
  }
  return absl::OkStatus();
}

}  // namespace weir
