#include "kernels/collective/collective_kernel.h"

#include <optional>
#include <utility>

namespace weir {

absl::StatusOr<absl::Duration> ReadTimeout(const OpKernelConstruction& ctx) {
  float seconds;
  RETURN_IF_ERROR(ctx.GetAttr("timeout_seconds", &seconds));
  return seconds > 0 ? absl::Seconds(seconds) : absl::InfiniteDuration();
}

absl::StatusOr<Reduction> ReadReduction(const OpKernelConstruction& ctx, absl::string_view attr) {
  std::string name;
  RETURN_IF_ERROR(ctx.GetAttr(attr, &name));
  if (name == "Add") return Reduction::kAdd;
  if (name == "Mul") return Reduction::kMul;
  if (name == "Min") return Reduction::kMin;
  if (name == "Max") return Reduction::kMax;
  return errors::InvalidArgument(attr, " must be one of {\"Min\", \"Max\", \"Mul\", \"Add\"} but got ", name);
}

absl::Status CheckGroupSize(int64_t size) {
  if (size > 0) return absl::OkStatus();
  return errors::InvalidArgument("group_size must be positive integer but got ", size);
}

absl::StatusOr<int32_t> ReadKey(const Tensor& tensor, absl::string_view name) {
  if (tensor.dims() > 0) {
    return errors::InvalidArgument("Unexpected dimensions on input ", name, ", got ", tensor.shape().ToString());
  }
  if (tensor.dtype() != DT_INT32) {
    return errors::InvalidArgument("Input ", name, " must be int32, got ", DataTypeName(tensor.dtype()));
  }
  return tensor.scalar<int32_t>();
}

absl::StatusOr<std::shared_ptr<CollectiveExecutor>> FindCollectiveExecutor(const OpKernelContext& ctx,
                                                                           const std::string& op_name) {
  const StepContainer* const container = ctx.step().step_container;
  if (container != nullptr) {
    auto found = ctx.resources()->Lookup<CollectiveExecutor>(container->name(), CollectiveExecutor::kName);
    if (found.ok()) return found;
  }
  return errors::Internal("Failed to get CollectiveExecutor from OpKernelContext for Op ", op_name);
}

absl::StatusOr<TensorShape> CollectiveOutputShape(const CollectiveParams& params, const TensorShape& shape) {
  const int64_t size = params.group.size;
  switch (params.type) {
    case CollectiveType::kReduce:
    case CollectiveType::kBroadcast:
    case CollectiveType::kPermute:
      return shape;
    default:
      break;
  }
  if (shape.dims() == 0) return errors::InvalidArgument("input should have rank > 0, received 0");
  if (params.type == CollectiveType::kAllToAll) {
    if (shape.dim_size(0) == size) return shape;
    return errors::InvalidArgument("input to all-to-all first dimension size (", shape.dim_size(0),
                                   ") must be the same as the group size (", size, ")");
  }
  DimVector dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
  if (params.type == CollectiveType::kReduceScatter) {
    if (dims[0] % size != 0) {
      return errors::InvalidArgument("first dimension size of the input (", dims[0],
                                     ") must be a multiple of the group size (", size, ")");
    }
    dims[0] /= size;
  } else if (__builtin_mul_overflow(dims[0], size, &dims[0])) {
    return errors::InvalidArgument("Gathering ", shape.ToString(), " from ", size, " members gives too many elements");
  }
  return TensorShape::Build(dims);
}

absl::Status AllocateCollectiveOutput(OpKernelContext& ctx, const CollectiveParams& params, Tensor* input) {
  *input = ctx.locked_input(0);
  ASSIGN_OR_RETURN(const TensorShape shape, CollectiveOutputShape(params, input->shape()));
  if (params.type == CollectiveType::kReduce || params.type == CollectiveType::kBroadcast) {
    const DataType dtype = input->dtype();
    *input = Tensor();  // a second share would keep the memory from being taken over
    if (std::optional<Tensor> forwarded = ctx.forward_input(0, dtype, shape)) {
      *input = *forwarded;
      ctx.set_output(0, *std::move(forwarded));
      return absl::OkStatus();
    }
    *input = ctx.locked_input(0);
  }
  return ctx.allocate_output(0, shape).status();
}

absl::Status CollectiveKernel::Init(OpKernelConstruction& ctx) {
  params_.name = ctx.name();
  if (ctx.HasAttr(kBeginsAnewAttr)) RETURN_IF_ERROR(ctx.GetAttr(kBeginsAnewAttr, &params_.begins_anew));
  if (!ctx.HasAttr(kWireAttr)) return absl::OkStatus();
  std::string wire;
  RETURN_IF_ERROR(ctx.GetAttr(kWireAttr, &wire));
  ASSIGN_OR_RETURN(params_.wire, WireOptions::Parse(wire));
  return absl::OkStatus();
}

void CollectiveKernel::ComputeAsync(OpKernelContext& ctx, DoneCallback done) {
  CollectiveParams params = params_;
  const FrameAndIter frame = ctx.frame_iter();
  if (frame.frame_id != 0 || frame.iter_id != 0) params.execution = absl::StrCat(frame.frame_id, ":", frame.iter_id);
  auto executor = FindCollectiveExecutor(ctx, params_.name);
  if (!executor.ok()) return done(executor.status());
  Tensor input;
  if (absl::Status status = Describe(ctx, &params, &input); !status.ok()) return done(std::move(status));
  // The step keeps the executor alive until this kernel is done.
  (*executor)->RunAsync(params, ctx.device(), input, ctx.mutable_output(0), ctx.cancellation(), std::move(done));
}

}  // namespace weir
