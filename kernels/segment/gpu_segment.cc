// Rows chosen by index and folded: SparseSegmentSum and its variants.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/match.h"
#include "core/tensor/index_tensor.h"
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

// Indices and ids are checked in host memory and copied to the device outside the stream, so graphs cannot capture it.
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
    ASSIGN_OR_RETURN(const Tensor starts_there, gpu().ToDevice(IndexTensor(starts)));
    ASSIGN_OR_RETURN(const Tensor sources_there, gpu().ToDevice(IndexTensor(sources)));
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
                  GroupStarts(plan.ids, plan.segments), plan.sources, *output);
  }
};

// Only rows with an index are computed; the others are zero.
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
    ASSIGN_OR_RETURN(const Tensor places_there, gpu().ToDevice(IndexTensor(places)));
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
  // Sorts rows by place, keeping their order.
  static DimVector Grouped(const DimVector& places) {
    DimVector order(places.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return places[a] < places[b]; });
    return order;
  }
};

}  // namespace

absl::Status RegisterGpuSegmentKernels(KernelRegistry& kernels) {
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
  return absl::OkStatus();
}

}  // namespace weir
