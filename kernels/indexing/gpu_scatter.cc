// Rows and slices combined by index: ScatterNd, segments, and updates of variables. Indices stay on the device; as in
// TensorFlow's GPU kernels, rows with an index out of range are skipped.
#include <limits>

#include "absl/strings/match.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/indexing/args_scatter.h"
#include "kernels/indexing/device.h"
#include "kernels/indexing/family.h"
#include "kernels/segment/args.h"

namespace weir {
namespace {

constexpr DataType kIndices[] = {DT_INT32, DT_INT64};
constexpr DataType kNumbers[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};

// Combines `updates` with the slices of `target` that `indices` names, the innermost dimension of which holds `depth`
// coordinates.
absl::Status Scatter(GpuStream& stream, const GpuKernel& kernel, const Tensor& indices, int64_t depth,
                     const Tensor& updates, const Tensor& target) {
  if (depth > kMaxBodyRank) {
    return errors::Unimplemented("There is no GPU kernel that scatters by ", depth, " coordinates; at most ",
                                 kMaxBodyRank);
  }
  ScatterArgs args{.target = target.raw_data(),
                   .indices = indices.raw_data(),
                   .wide_indices = indices.dtype() == DT_INT64,
                   .updates = updates.raw_data(),
                   .scalar_update = updates.dims() == 0,
                   .depth = static_cast<int>(depth),
                   .width = 1};
  for (int d = 0; d < target.dims(); ++d) {
    if (d < depth) {
      args.sizes[d] = target.dim_size(d);
    } else {
      args.width *= target.dim_size(d);
    }
  }
  args.count = updates.dims() == 0 ? indices.NumElements() * args.width : updates.NumElements();
  if (args.count == 0 || target.NumElements() == 0) return absl::OkStatus();
  return stream.LaunchWith(kernel, args, {ReadOf(indices), ReadOf(updates), WriteOf(target)});
}

// The last part of an op's name: what a scatter does.
absl::StatusOr<GpuKernel> FindScatter(absl::string_view op, DataType type) {
  if (absl::EndsWith(op, "Update")) return FindMove("ScatterUpdate", type);
  for (const char* what : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    if (absl::EndsWith(op, what)) return FindBody(absl::StrCat("Scatter", what), type);
  }
  return FindBody("ScatterAdd", type);
}

// Zeros to which updates are added.
class ScatterNdKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CheckBadIndicesPolicy(ctx));
    ASSIGN_OR_RETURN(kernel_, FindBody("ScatterAdd", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& updates = ctx.input(1);
    if (ctx.input(2).dims() != 1) {
      return errors::InvalidArgument("Shape must be a vector, got ", ctx.input(2).shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(2)));
    if (shape.num_elements() == 0 && (indices.NumElements() > 0 || updates.NumElements() > 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output.  indices shape: ",
                                     indices.shape().ToString());
    }
    RETURN_IF_ERROR(CheckSliceUpdates(indices.shape(), updates.shape(), shape));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    return Scatter(stream, kernel_, indices, indices.dim_size(indices.dims() - 1), updates, *output);
  }
  GpuKernel kernel_;
};

// A copy of the tensor with updates.
class TensorScatterKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CheckBadIndicesPolicy(ctx));
    ASSIGN_OR_RETURN(kernel_, FindScatter(ctx.op(), ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor input = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    if (input.dims() < 1) {
      return errors::InvalidArgument("Tensor must be at least 1-D, got shape: ", input.shape().ToString());
    }
    if (input.NumElements() == 0 && (indices.NumElements() > 0 || updates.NumElements() > 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output shape");
    }
    RETURN_IF_ERROR(CheckSliceUpdates(indices.shape(), updates.shape(), input.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(
        stream.CopyOnDevice(output->raw_data(), input.raw_data(), static_cast<size_t>(output->TotalBytes())));
    return Scatter(stream, kernel_, indices, indices.dim_size(indices.dims() - 1), updates, *output);
  }
  GpuKernel kernel_;
};

class UnsortedSegmentKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.output_types()[0];
    const absl::string_view op = ctx.op();
    const char* const what = absl::EndsWith(op, "Max")    ? "ScatterMax"
                             : absl::EndsWith(op, "Min")  ? "ScatterMin"
                             : absl::EndsWith(op, "Prod") ? "ScatterMul"
                                                          : "ScatterAdd";
    ASSIGN_OR_RETURN(combine_, FindBody(what, type));
    ASSIGN_OR_RETURN(fill_, FindMove("Fill", type));
    if (absl::EndsWith(op, "Prod")) {
      neutral_ = ValueOf(type, 1, 1);
    } else if (absl::EndsWith(op, "Max")) {
      neutral_ = ValueOf(type, -Highest(type), std::numeric_limits<int64_t>::min());
    } else if (absl::EndsWith(op, "Min")) {
      neutral_ = ValueOf(type, Highest(type), std::numeric_limits<int64_t>::max());
    }
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& data = ctx.input(0);
    const Tensor& ids = ctx.input(1);
    if (ctx.input(2).dims() != 0) {
      return errors::InvalidArgument("num_segments should be a scalar, not shape ", ctx.input(2).shape().ToString());
    }
    if (data.dims() < ids.dims() || data.shape().dim_sizes().first(ids.dims()) != ids.shape().dim_sizes()) {
      return errors::InvalidArgument("data.shape = ", data.shape().ToString(),
                                     " does not start with segment_ids.shape = ", ids.shape().ToString());
    }
    ASSIGN_OR_RETURN(const int64_t segments, ReadInteger(ctx.input(2), "num_segments"));
    if (segments < 0) return errors::InvalidArgument("Input num_segments == ", segments, " must not be negative.");
    TensorShape shape({segments});
    RETURN_IF_ERROR(shape.Append(TensorShape(data.shape().dim_sizes().subspan(ids.dims()))));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(stream.LaunchWith(
        fill_, FillArgs{.constant = neutral_, .out = output->raw_data(), .count = output->NumElements()},
        {WriteOf(*output)}));
    if (data.NumElements() == 0) return absl::OkStatus();
    ScatterArgs args{.target = output->raw_data(),
                     .indices = ids.raw_data(),
                     .wide_indices = ids.dtype() == DT_INT64,
                     .updates = data.raw_data(),
                     .depth = 1,
                     .sizes = {segments},
                     .width = output->NumElements() / segments,
                     .count = data.NumElements()};
    return stream.LaunchWith(combine_, args, {ReadOf(ids), ReadOf(data), WriteOf(*output)});
  }

  static double Highest(DataType type) {
    switch (type) {
      case DT_DOUBLE:
        return std::numeric_limits<double>::max();
      case DT_HALF:
        return 65504.0;
      case DT_BFLOAT16:
        return static_cast<double>(static_cast<float>(std::numeric_limits<bfloat16>::max()));
      default:
        return std::numeric_limits<float>::max();
    }
  }
  PlainValue neutral_;
  GpuKernel combine_, fill_;
};

// SegmentSum and its like. Ids are in host memory: the output's shape depends on them, and they are checked.
// (TensorFlow has them on the device and waits for the last of them.)
class SegmentKernel : public GpuOpKernel {
  // Where segments start goes to the device beside the stream.
  bool CanBeCaptured() const override { return false; }
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& data = ctx.input(0);
    if (data.dims() < 1) return errors::InvalidArgument("data must be at least rank 1");
    if (ctx.input(1).dims() != 1) return errors::InvalidArgument("segment_ids should be a vector.");
    if (ctx.input(1).NumElements() != data.dim_size(0)) {
      return errors::InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
    }
    ASSIGN_OR_RETURN(const DimVector ids, ReadIntegers(ctx.input(1)));
    ASSIGN_OR_RETURN(const int64_t segments, CountSortedSegments(ids));
    TensorShape shape = data.shape();
    RETURN_IF_ERROR(shape.SetDim(0, segments));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    Tensor starts(DT_INT64, TensorShape({segments + 1}));
    size_t row = 0;
    for (int64_t s = 0; s <= segments; ++s) {
      while (row < ids.size() && ids[row] < s) ++row;
      starts.data<int64_t>()[s] = static_cast<int64_t>(row);
    }
    ASSIGN_OR_RETURN(const Tensor on_device, gpu().ToDevice(starts));
    return stream.LaunchWith(kernel_,
                             SegmentArgs{.in = data.raw_data(),
                                         .starts = on_device.data<int64_t>(),
                                         .out = output->raw_data(),
                                         .width = output->NumElements() / segments,
                                         .count = output->NumElements()},
                             {ReadOf(data), ReadOf(on_device), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

// Rows of a variable (ScatterAdd, ResourceScatterAdd and their like), by one index each.
class ScatterUpdateKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    dtype_ = ctx.input_types()[2];
    ASSIGN_OR_RETURN(kernel_, FindScatter(ctx.op(), dtype_));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    RETURN_IF_ERROR(Update(ctx, stream));
    ForwardReference(ctx);
    return absl::OkStatus();
  }
  absl::Status Update(OpKernelContext& ctx, GpuStream& stream) {
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, dtype_));
    const TensorShape params = variable.value().shape();
    bool fits = params.dims() >= 1;
    if (fits && updates.dims() > 0) {
      DimVector expected(indices.shape().dim_sizes().begin(), indices.shape().dim_sizes().end());
      expected.insert(expected.end(), params.dim_sizes().begin() + 1, params.dim_sizes().end());
      fits = absl::MakeConstSpan(expected) == updates.shape().dim_sizes();
    }
    if (!fits) {
      return errors::InvalidArgument(
          "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape ",
          updates.shape().ToString(), ", indices.shape ", indices.shape().ToString(), ", params.shape ",
          params.ToString());
    }
    if (indices.NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(variable.PrepareToUpdate(ctx, stream));
    return Scatter(stream, kernel_, indices, 1, updates, variable.value());
  }
  DataType dtype_ = DT_INVALID;
  GpuKernel kernel_;
};

// Slices of a variable, by several.
class ScatterNdUpdateKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CheckBadIndicesPolicy(ctx));
    dtype_ = ctx.input_types()[2];
    ASSIGN_OR_RETURN(kernel_, FindScatter(ctx.op(), dtype_));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    RETURN_IF_ERROR(Update(ctx, stream));
    ForwardReference(ctx);
    return absl::OkStatus();
  }
  absl::Status Update(OpKernelContext& ctx, GpuStream& stream) {
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, dtype_));
    RETURN_IF_ERROR(CheckSliceUpdates(indices.shape(), updates.shape(), variable.value().shape()));
    if (updates.NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(variable.PrepareToUpdate(ctx, stream));
    return Scatter(stream, kernel_, indices, indices.dim_size(indices.dims() - 1), updates, variable.value());
  }
  DataType dtype_ = DT_INVALID;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuScatterKernels(KernelRegistry& kernels) {
  const auto kernel = [](const std::string& op) { return Kernel(op).Device(kDeviceGpu).Types("Tindices", kIndices); };
  RETURN_IF_ERROR(kernels.Register<ScatterNdKernel>(kernel("ScatterNd").Types("T", kNumbers).HostMemory("shape")));
  for (const char* op : {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax",
                         "TensorScatterMin", "ScatterNdNonAliasingAdd"}) {
    RETURN_IF_ERROR(kernels.Register<TensorScatterKernel>(kernel(op).Types("T", kNumbers)));
  }
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    RETURN_IF_ERROR(
        kernels.Register<UnsortedSegmentKernel>(kernel(op).Types("T", kNumbers).HostMemory("num_segments")));
  }
  for (const char* op : {"SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    RETURN_IF_ERROR(kernels.Register<SegmentKernel>(kernel(op).Types("T", kNumbers).HostMemory("segment_ids")));
  }
  RETURN_IF_ERROR(
      kernels.Register<SegmentKernel>(kernel("SegmentMean").Types("T", kGpuFloats).HostMemory("segment_ids")));
  for (const char* what : {"Update", "Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    const absl::string_view name = what;
    const absl::Span<const DataType> types = name == "Div"      ? absl::MakeConstSpan(kGpuFloats)
                                             : name == "Update" ? absl::MakeConstSpan(kGpuMoved)
                                                                : absl::MakeConstSpan(kNumbers);
    RETURN_IF_ERROR(kernels.Register<ScatterUpdateKernel>(kernel(absl::StrCat("Scatter", what)).Types("T", types)));
    RETURN_IF_ERROR(kernels.Register<ScatterUpdateKernel>(
        kernel(absl::StrCat("ResourceScatter", what)).HostMemory("resource").Types("dtype", types)));
  }
  for (const char* what : {"Update", "Add", "Sub", "Max", "Min"}) {
    RETURN_IF_ERROR(
        kernels.Register<ScatterNdUpdateKernel>(kernel(absl::StrCat("ScatterNd", what)).Types("T", kNumbers)));
    RETURN_IF_ERROR(kernels.Register<ScatterNdUpdateKernel>(
        kernel(absl::StrCat("ResourceScatterNd", what)).Types("T", kNumbers).HostMemory("ref")));
  }
  return absl::OkStatus();
}

}  // namespace weir
