#include "kernels/convolution/gpu/library_convolution.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/gpu/simulated_gpu.h"
#include "kernels/array/moving/device_move.h"
#include "kernels/convolution/gpu/simulated_convolutions.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

using Direction = ConvolutionDirection;

// Where the elements of a tensor lie, of four dimensions; those of another tensor may lie otherwise.
struct Places {
  std::array<int64_t, 4> sizes, steps;
  int64_t offset = 0;

  // Whether elements that are those of `other` in order are so in memory.
  bool AreThoseOf(const Places& other) const {
    for (int i = 0; i < 4; ++i) {
      if (sizes[i] != other.sizes[i] || (sizes[i] > 1 && steps[i] != other.steps[i])) return false;
    }
    return offset == other.offset;
  }
};

std::array<int64_t, 4> ArrayOf(const int64_t (&values)[4]) { return {values[0], values[1], values[2], values[3]}; }

// An image of the op, [batch, channel, row, column], in a dense tensor.
Places ImagePlaces(const ConvolutionShape& shape, int64_t channels, int64_t rows, int64_t columns) {
  const bool first = shape.channels_first;
  return {.sizes = {shape.batch, channels, rows, columns},
          .steps = {channels * rows * columns, first ? rows * columns : 1, first ? columns : columns * channels,
                    first ? 1 : channels}};
}

// The op's filter, as [out, in of a group, row, column].
Places FilterPlaces(const ConvolutionShape& shape) {
  const int64_t in = shape.in_channels / shape.groups, out = shape.out_channels;
  const int64_t rows = shape.rows.filter, columns = shape.columns.filter;
  return {.sizes = {out, in, rows, columns}, .steps = {1, out, columns * in * out, in * out}};
}

// One convolution by one plan: arguments are put as the plan wants them, and its result as the op does.
class LibraryCall {
 public:
  LibraryCall(OpKernelContext& ctx, GpuStream& stream, const ConvolutionShape& shape, const PaddedConvolution& padded,
              const ConvolutionTensors& tensors)
      : ctx_(ctx),
        stream_(stream),
        direction_(padded.problem.direction),
        padded_(padded),
        in_(tensors.in),
        filter_(tensors.filter),
        out_(tensors.out),
        in_places_(ImagePlaces(shape, shape.in_channels, shape.rows.in, shape.columns.in)),
        filter_places_(FilterPlaces(shape)),
        out_places_(ImagePlaces(shape, shape.out_channels, shape.rows.out, shape.columns.out)) {}

  absl::Status Run(ConvolutionPlan& plan) {
    const ConvolutionProblem& problem = plan.problem();
    const ConvolutionSteps steps = ConvolutionSteps::Of(problem);
    Places in{.sizes = in_places_.sizes, .steps = ArrayOf(steps.in)};
    in.offset = padded_.extra_before[0] * steps.in[2] + padded_.extra_before[1] * steps.in[3];
    const Places filter{.sizes = filter_places_.sizes, .steps = ArrayOf(steps.filter)};
    const Places out{.sizes = out_places_.sizes, .steps = ArrayOf(steps.out)};
    ASSIGN_OR_RETURN(const Tensor in_for_plan,
                     Arrange(in_, in_places_, in, problem.InElements(), direction_ == Direction::kBackwardData));
    ASSIGN_OR_RETURN(const Tensor filter_for_plan, Arrange(filter_, filter_places_, filter, problem.FilterElements(),
                                                           direction_ == Direction::kBackwardFilter));
    ASSIGN_OR_RETURN(const Tensor out_for_plan,
                     Arrange(out_, out_places_, out, problem.OutElements(), direction_ == Direction::kForward));
    ASSIGN_OR_RETURN(const TensorShape bytes, TensorShape::Build({static_cast<int64_t>(plan.workspace_bytes())}));
    ASSIGN_OR_RETURN(const Tensor workspace, ctx_.allocate_temp(DT_UINT8, bytes));
    RETURN_IF_ERROR(plan.Enqueue(
        stream_, {.in = in_for_plan.raw_data(), .filter = filter_for_plan.raw_data(), .out = out_for_plan.raw_data()},
        workspace.raw_data()));
    switch (direction_) {
      case Direction::kForward:
        return PutBack(out_for_plan, out, out_, out_places_);
      case Direction::kBackwardData:
        return PutBack(in_for_plan, in, in_, in_places_);
      default:
        return PutBack(filter_for_plan, filter, filter_, filter_places_);
    }
  }

 private:
  // `tensor` itself where the plan finds its elements there; else memory of `count` elements, with those of the tensor
  // in their places and zeros around them, or, for the result, with none yet.
  absl::StatusOr<Tensor> Arrange(const Tensor& tensor, const Places& from, const Places& to, int64_t count,
                                 bool is_result) {
    const bool is_aligned = reinterpret_cast<uintptr_t>(tensor.raw_data()) % kPlanAlignment == 0;
    if (is_aligned && count == tensor.NumElements() && from.AreThoseOf(to)) return tensor;
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({count}));
    ASSIGN_OR_RETURN(Tensor arranged, ctx_.allocate_temp(tensor.dtype(), shape));
    if (is_result) return arranged;
    if (count != tensor.NumElements()) {
      RETURN_IF_ERROR(stream_.Fill(arranged.raw_data(), 0, static_cast<size_t>(arranged.TotalBytes())));
    }
    RETURN_IF_ERROR(Copy(tensor, from, arranged, to));
    return arranged;
  }

  absl::Status PutBack(const Tensor& made, const Places& from, const Tensor& result, const Places& to) {
    if (made.raw_data() == result.raw_data()) return absl::OkStatus();
    return Copy(made, from, result, to);
  }

  absl::Status Copy(const Tensor& source, const Places& from, const Tensor& target, const Places& to) {
    // Neighbours in the target first: threads that run together write together.
    std::array<int, 4> order = {0, 1, 2, 3};
    std::stable_sort(order.begin(), order.end(), [&to](int a, int b) { return to.steps[a] > to.steps[b]; });
    std::array<int64_t, 4> sizes, from_steps, to_steps;
    StridedStoreArgs args{
        .in = static_cast<const char*>(source.raw_data()) + from.offset * DataTypeSize(source.dtype()),
        .out = target.raw_data(),
        .offset = to.offset,
        .count = 1};
    for (int i = 0; i < 4; ++i) {
      sizes[i] = from.sizes[order[i]];
      from_steps[i] = from.steps[order[i]];
      to_steps[i] = to.steps[order[i]];
      args.count *= sizes[i];
    }
    ASSIGN_OR_RETURN(args.from, LayoutOf(sizes, from_steps));
    ASSIGN_OR_RETURN(args.to, LayoutOf(sizes, to_steps));
    ASSIGN_OR_RETURN(const GpuKernel kernel, FindMove("StridedStore", source.dtype()));
    return stream_.LaunchWith(kernel, args, {ReadOf(source), WriteOf(target)});
  }

  OpKernelContext& ctx_;
  GpuStream& stream_;
  const Direction direction_;
  const PaddedConvolution& padded_;
  const Tensor &in_, &filter_, &out_;
  const Places in_places_, filter_places_, out_places_;
};

absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> LibraryFor(GpuRuntime& gpu, const GpuMathSettings& settings) {
  if (dynamic_cast<SimulatedGpu*>(&gpu) != nullptr) return NewSimulatedConvolutions(gpu.properties(), settings);
  return CudaConvolutions(gpu, settings);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ConvolutionPlanner>> ConvolutionPlannerOf(GpuDevice& gpu) {
  return PlannerOf<ConvolutionProblem, GpuConvolutionBuffers>(gpu, true, &LibraryFor);
}

absl::StatusOr<bool> ConvolveByLibrary(OpKernelContext& ctx, GpuStream& stream, ConvolutionPlanner& planner,
                                       const ConvolutionShape& shape, ConvolutionDirection direction,
                                       const ConvolutionTensors& tensors) {
  const PaddedConvolution padded = PadEvenly(shape, direction, tensors.in.dtype());
  LibraryCall call(ctx, stream, shape, padded, tensors);
  return planner.Run(padded.problem, stream, [&call](ConvolutionPlan& plan) { return call.Run(plan); });
}

}  // namespace weir
