// BiasAdd, its gradient, and L2Loss.
#include <algorithm>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/activation/family.h"
#include "kernels/device/parallel.h"
#include "kernels/device/stored_element.h"

namespace weir {
namespace {

// A tensor seen as [outer, channels, inner]; the bias lies along the channels.
struct ChannelView {
  int64_t outer = 1, channels = 1, inner = 1;
};

absl::StatusOr<ChannelView> ViewChannels(const TensorShape& shape, bool channels_first) {
  if (shape.dims() < 2) return errors::InvalidArgument("Input tensor must be at least 2D: ", shape.ToString());
  const int axis = channels_first ? 1 : shape.dims() - 1;
  ChannelView view;
  view.channels = shape.dim_size(axis);
  if (shape.num_elements() == 0) {
    view.outer = view.inner = 0;
    return view;
  }
  for (int i = 0; i < axis; ++i) view.outer *= shape.dim_size(i);
  for (int i = axis + 1; i < shape.dims(); ++i) view.inner *= shape.dim_size(i);
  return view;
}

absl::Status ReadChannelsFirst(OpKernelConstruction& ctx, bool* channels_first) {
  std::string format = "NHWC";
  if (ctx.HasAttr("data_format")) RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
  *channels_first = format == "NCHW";
  return absl::OkStatus();
}

// Integers wrap.
template <typename T>
T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<decltype(a + b)>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return static_cast<T>(static_cast<AccumulatorT<T>>(a) + static_cast<AccumulatorT<T>>(b));
  }
}

template <typename T>
class BiasAddKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadChannelsFirst(ctx, &channels_first_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    const Tensor bias = ctx.input(1);
    if (!bias.shape().IsVector()) return errors::InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(shape, channels_first_));
    if (bias.dim_size(0) != view.channels) {
      return errors::InvalidArgument("Must provide as many biases as the ", channels_first_ ? "channel" : "last",
                                     " dimension of the input tensor: ", bias.shape().ToString(), " vs. ",
                                     shape.ToString());
    }
    using Element = StoredElement<T>;
    const Stored<T>* const in = StoredIn<T>(ctx.input(0));
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    Stored<T>* const out = StoredIn<T>(*output);
    const Stored<T>* const b = StoredIn<T>(bias);
    const int64_t channels = view.channels, inner = view.inner;
    if (inner == 1) {
      ParallelRanges(ctx, view.outer, 300 * std::max<int64_t>(channels, 1), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Stored<T>* const x = in + i * channels;
          Stored<T>* const y = out + i * channels;
          WEIR_INDEPENDENT_ITERATIONS
          for (int64_t j = 0; j < channels; ++j) y[j] = Element::Store(Plus(Element::Load(x[j]), Element::Load(b[j])));
        }
      });
    } else {
      ParallelRanges(ctx, view.outer * channels, 300 * std::max<int64_t>(inner, 1), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Stored<T>* const x = in + i * inner;
          Stored<T>* const y = out + i * inner;
          const typename Element::Value value = Element::Load(b[i % channels]);
          WEIR_INDEPENDENT_ITERATIONS
          for (int64_t j = 0; j < inner; ++j) y[j] = Element::Store(Plus(Element::Load(x[j]), value));
        }
      });
    }
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  bool channels_first_ = false;
};

template <typename T>
class BiasAddGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadChannelsFirst(ctx, &channels_first_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(gradient.shape(), channels_first_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({view.channels})));
    if (gradient.NumElements() == 0) {
      std::fill_n(output->data<T>(), output->NumElements(), T(0));
      return absl::OkStatus();
    }
    std::vector<AccumulatorT<T>> sums(view.channels);
    if (view.inner == 1) {
      SumRows(ctx, gradient.data<T>(), view, sums.data());
    } else {
      SumPlanes(ctx, gradient.data<T>(), view, sums.data());
    }
    for (int64_t c = 0; c < view.channels; ++c) output->data<T>()[c] = static_cast<T>(sums[c]);
    return absl::OkStatus();
  }

 private:
  using Sum = AccumulatorT<T>;

  static Sum Accumulate(Sum sum, T value) { return Plus<Sum>(sum, static_cast<Sum>(value)); }

  // Each block of rows is summed on its own, then the blocks are added: this runs in parallel and rounds less.
  static void SumRows(OpKernelContext& ctx, const T* data, const ChannelView& view, Sum* sums) {
    constexpr int64_t kRows = 512;
    const int64_t blocks = (view.outer + kRows - 1) / kRows, channels = view.channels;
    std::vector<Sum> partial(blocks * channels);
    ParallelRanges(ctx, blocks, 300 * kRows * std::max<int64_t>(channels, 1), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        Sum* const sum = partial.data() + block * channels;
        const int64_t last = std::min(view.outer, (block + 1) * kRows);
        for (int64_t i = block * kRows; i < last; ++i) {
          const T* const x = data + i * channels;
          WEIR_INDEPENDENT_ITERATIONS
          for (int64_t c = 0; c < channels; ++c) sum[c] = Accumulate(sum[c], x[c]);
        }
      }
    });
    for (int64_t i = 0; i < blocks * channels; ++i) {
      sums[i % channels] = Plus(sums[i % channels], partial[i]);
    }
  }

  static void SumPlanes(OpKernelContext& ctx, const T* data, const ChannelView& view, Sum* sums) {
    const int64_t cost = 300 * std::max<int64_t>(view.outer * view.inner, 1);
    ParallelRanges(ctx, view.channels, cost, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t n = 0; n < view.outer; ++n) {
          const T* const x = data + (n * view.channels + c) * view.inner;
          Sum sum{};
          for (int64_t i = 0; i < view.inner; ++i) sum = Accumulate(sum, x[i]);
          sums[c] = Plus(sums[c], sum);
        }
      }
    });
  }

  bool channels_first_ = false;
};

// Half the sum of squares.
template <typename T>
class L2LossKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    using Sum = AccumulatorT<T>;
    constexpr int64_t kBlock = 1024;
    constexpr int kLanes = 16;
    const T* const x = ctx.input(0).data<T>();
    const int64_t n = ctx.input(0).NumElements(), blocks = (n + kBlock - 1) / kBlock;
    std::vector<Sum> partial(blocks);
    ParallelRanges(ctx, blocks, 300 * kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        Sum lanes[kLanes] = {};
        const int64_t first = block * kBlock, last = std::min(n, first + kBlock);
        int64_t i = first;
        for (; i + kLanes <= last; i += kLanes) {
          for (int lane = 0; lane < kLanes; ++lane) {
            const Sum value = static_cast<Sum>(x[i + lane]);
            lanes[lane] += value * value;
          }
        }
        for (; i < last; ++i) lanes[0] += static_cast<Sum>(x[i]) * static_cast<Sum>(x[i]);
        for (Sum lane : lanes) partial[block] += lane;
      }
    });
    double sum = 0;
    for (Sum value : partial) sum += value;
    ctx.set_output(0, Tensor::Scalar(static_cast<T>(static_cast<Sum>(sum / 2))));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterBiasKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                                       \
  RETURN_IF_ERROR(kernels.Register<BiasAddKernel<T>>(Kernel("BiasAdd").Cpu().Type<T>("T")));   \
  RETURN_IF_ERROR(kernels.Register<BiasAddKernel<T>>(Kernel("BiasAddV1").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<BiasAddGradKernel<T>>(Kernel("BiasAddGrad").Cpu().Type<T>("T")));
  WEIR_FOR_NUMBERS(WEIR_REGISTER)
#undef WEIR_REGISTER
#define WEIR_REGISTER(T) RETURN_IF_ERROR(kernels.Register<L2LossKernel<T>>(Kernel("L2Loss").Cpu().Type<T>("T")));
  WEIR_FOR_FLOATS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
