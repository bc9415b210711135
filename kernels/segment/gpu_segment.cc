// Rows chosen by index and folded (SparseSegmentSum and its like), or sent apart (DynamicPartition); counts of values.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/match.h"
#include "core/index_tensor.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/indexing/args_partition.h"
#include "kernels/indexing/device.h"
#include "kernels/segment/args.h"
#include "kernels/segment/family.h"

namespace weir {
namespace {

using Average = SparseRowsArgs::Average;

Average AverageOf(absl::string_view op) {
  return absl::StrContains(op, "Mean")    ? Average::kCount
         : absl::StrContains(op, "SqrtN") ? Average::kRootOfCount
                                          : Average::kNone;
}

Tensor HostVector(const DimVector& values) {
  Tensor tensor(DT_INT64, TensorShape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

// Where the rows of each of `groups` start among rows that are grouped.
DimVector StartsOf(const DimVector& group_of_row, int64_t groups) {
  DimVector starts(groups + 1, 0);
  for (const int64_t group : group_of_row) ++starts[group + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

// Indices and ids are in host memory, where they are checked: what they say goes to the device beside the stream.
class RowsKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    average_ = AverageOf(ctx.op());
    ASSIGN_OR_RETURN(kernel_, FindBody("SparseRows", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  Average average() const { return average_; }
  // `starts` has one element more than there are rows to make.
  absl::Status Launch(GpuStream& stream, SparseRowsArgs args, const Tensor& in, const DimVector& starts,
                      const DimVector& sources, const Tensor& output, std::vector<GpuAccess> accesses = {}) {
    ASSIGN_OR_RETURN(const Tensor starts_there, gpu().ToDevice(HostVector(starts)));
    ASSIGN_OR_RETURN(const Tensor sources_there, gpu().ToDevice(HostVector(sources)));
    args.in = in.raw_data();
    args.starts = starts_there.data<int64_t>();
    args.sources = sources_there.data<int64_t>();
    args.out = output.raw_data();
    args.count = args.width * static_cast<int64_t>(starts.size() - 1);
    if (args.count == 0) return absl::OkStatus();
    for (const GpuAccess& access : {ReadOf(in), ReadOf(starts_there), ReadOf(sources_there), WriteOf(output)}) {
      accesses.push_back(access);
    }
    return stream.LaunchWith(kernel_, args, accesses);
  }

 private:
  Average average_ = Average::kNone;
  GpuKernel kernel_;
};

class SparseSegmentKernel : public RowsKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const SegmentPlan plan, ReadSparseSegments(ctx));
    const Tensor& data = ctx.input(0);
    TensorShape shape = data.shape();
    RETURN_IF_ERROR(shape.SetDim(0, plan.segments));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return Launch(stream, {.average = average(), .width = output->NumElements() / plan.segments}, data,
                  StartsOf(plan.ids, plan.segments), plan.sources, *output);
  }
};

// Only the rows that an index names are computed; the others hold zeros.
class SparseSegmentGradKernel : public RowsKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const bool is_compact = ctx.num_outputs() > 1;
    const Tensor& gradient = ctx.input(0);
    ASSIGN_OR_RETURN(SparseSegmentGradient plan, ReadSparseSegmentGradient(ctx, is_compact));
    TensorShape shape = gradient.shape();
    RETURN_IF_ERROR(shape.SetDim(0, plan.rows));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (is_compact) {
      ASSIGN_OR_RETURN(Tensor * occurring, ctx.allocate_output(1, TensorShape({plan.rows})));
      RETURN_IF_ERROR(WriteIntegers(plan.occurring, occurring));
    }
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    const DimVector order = Grouped(plan.places);
    DimVector starts, places, sources;
    Tensor divisors(DT_DOUBLE, TensorShape({static_cast<int64_t>(order.size())}));
    for (size_t k = 0; k < order.size(); ++k) {
      const int64_t place = plan.places[order[k]], segment = plan.ids[order[k]];
      if (places.empty() || places.back() != place) {
        places.push_back(place);
        starts.push_back(static_cast<int64_t>(k));
      }
      sources.push_back(segment);
      divisors.data<double>()[k] = DivisorOf(plan.counts.at(segment));
    }
    starts.push_back(static_cast<int64_t>(order.size()));
    ASSIGN_OR_RETURN(const Tensor places_there, gpu().ToDevice(HostVector(places)));
    ASSIGN_OR_RETURN(const Tensor divisors_there, gpu().ToDevice(divisors));
    return Launch(stream,
                  {.divisors = divisors_there.data<double>(),
                   .places = places_there.data<int64_t>(),
                   .width = output->NumElements() / plan.rows},
                  gradient, starts, sources, *output, {ReadOf(places_there), ReadOf(divisors_there)});
  }

  double DivisorOf(int64_t count) const {
    const double n = static_cast<double>(count);
    return average() == Average::kCount ? n : average() == Average::kRootOfCount ? std::sqrt(n) : 1;
  }
  // Which rows go to the same place, one behind the other, in their order.
  static DimVector Grouped(const DimVector& places) {
    DimVector order(places.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return places[a] < places[b]; });
    return order;
  }
};

// Partitions are in host memory, as DynamicStitch's indices: outputs' shapes depend on them.
class DynamicPartitionKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 private:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("Gather", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& data = ctx.input(0);
    ASSIGN_OR_RETURN(const PartitionedRows parts, PartitionedRows::Of(ctx));
    const absl::Span<const int32_t> part_of_row = ctx.input(1).flat<int32_t>();
    const DimVector starts = StartsOf(DimVector(part_of_row.begin(), part_of_row.end()), ctx.num_outputs());
    DimVector next = starts, sources(part_of_row.size());
    for (size_t row = 0; row < part_of_row.size(); ++row) {
      sources[next[part_of_row[row]]++] = static_cast<int64_t>(row);
    }
    ASSIGN_OR_RETURN(const Tensor sources_there, gpu().ToDevice(HostVector(sources)));
    for (int part = 0; part < ctx.num_outputs(); ++part) {
      ASSIGN_OR_RETURN(const TensorShape shape, parts.Shape(part));
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(part, shape));
      if (output->NumElements() == 0) continue;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        GatherArgs{.in = data.raw_data(),
                                                   .indices = sources_there.data<int64_t>() + starts[part],
                                                   .wide_indices = true,
                                                   .out = output->raw_data(),
                                                   .outer = 1,
                                                   .inner = parts.row.num_elements(),
                                                   .num_indices = parts.counts[part],
                                                   .size = static_cast<int64_t>(part_of_row.size()),
                                                   .count = output->NumElements()},
                                        {ReadOf(data), ReadOf(sources_there), WriteOf(*output)}));
    }
    return absl::OkStatus();
  }
  GpuKernel kernel_;
};

// Bincount, and DenseBincount, which counts the rows of a matrix apart.
class BincountKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    is_dense_ = ctx.op() == "DenseBincount";
    if (is_dense_) RETURN_IF_ERROR(ctx.GetAttr("binary_output", &is_binary_));
    ASSIGN_OR_RETURN(kernel_, FindBody("Bincount", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& values = ctx.input(0);
    const Tensor& weights = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t bins, is_dense_ ? CheckDense(ctx) : Check(ctx));
    const bool has_rows = is_dense_ && values.dims() == 2;
    TensorShape shape({bins});
    if (has_rows) RETURN_IF_ERROR(shape.InsertDim(0, values.dim_size(0)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    if (values.NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             BincountArgs{.values = values.raw_data(),
                                          .wide_values = values.dtype() == DT_INT64,
                                          .weights = weights.NumElements() == 0 ? nullptr : weights.raw_data(),
                                          .binary = is_binary_,
                                          .out = output->raw_data(),
                                          .columns = has_rows ? values.dim_size(1) : values.NumElements(),
                                          .bins = bins,
                                          .count = values.NumElements()},
                             {ReadOf(values), ReadOf(weights), WriteOf(*output)});
  }
  static absl::StatusOr<int64_t> Check(OpKernelContext& ctx) {
    ASSIGN_OR_RETURN(const int64_t bins, ReadScalarInteger(ctx.input(1), "size"));
    if (bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
    const int64_t weights = ctx.input(2).NumElements();
    if (weights == 0 || weights == ctx.input(0).NumElements()) return bins;
    return errors::InvalidArgument("Input indices and weights must have the same size.");
  }
  static absl::StatusOr<int64_t> CheckDense(OpKernelContext& ctx) {
    const TensorShape& values = ctx.input(0).shape();
    const TensorShape& weights = ctx.input(2).shape();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("Shape must be rank 0 but is rank ", ctx.input(1).dims());
    }
    ASSIGN_OR_RETURN(const int64_t bins, ReadInteger(ctx.input(1), "size"));
    if (bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
    if (values.dims() > 2) return errors::InvalidArgument("Shape must be at most rank 2 but is rank ", values.dims());
    if (weights == values || weights.num_elements() == 0) return bins;
    return errors::InvalidArgument(
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights "
        "equal to 1. Received ",
        weights.ToString());
  }
  bool is_dense_ = false, is_binary_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuSparseKernels(KernelRegistry& kernels) {
  const auto kernel = [](const std::string& op) { return Kernel(op).Device(kDeviceGpu); };
  for (const char* how : {"Sum", "Mean", "SqrtN"}) {
    const auto sparse = [&](const char* behind) {
      return kernel(absl::StrCat("SparseSegment", how, behind))
          .Types("T", kGpuFloats)
          .HostMemory("indices")
          .HostMemory("segment_ids");
    };
    RETURN_IF_ERROR(kernels.Register<SparseSegmentKernel>(sparse("")));
    RETURN_IF_ERROR(kernels.Register<SparseSegmentKernel>(sparse("WithNumSegments").HostMemory("num_segments")));
    RETURN_IF_ERROR(kernels.Register<SparseSegmentGradKernel>(sparse("Grad").HostMemory("output_dim0")));
    RETURN_IF_ERROR(kernels.Register<SparseSegmentGradKernel>(
        sparse("GradV2").HostMemory("dense_output_dim0").HostMemory("sorted_unique_indices")));
  }
  RETURN_IF_ERROR(kernels.Register<DynamicPartitionKernel>(
      kernel("DynamicPartition").Types("T", kGpuMoved).HostMemory("partitions")));
  const DataTypeVector counted = {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64};
  for (const char* op : {"Bincount", "DenseBincount"}) {
    RETURN_IF_ERROR(kernels.Register<BincountKernel>(kernel(op).Types("T", counted).HostMemory("size")));
  }
  return absl::OkStatus();
}

}  // namespace weir
