// Batch normalisation and its gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/device/parallel.h"
#include "kernels/normalization/args.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

constexpr int64_t kPicosecondsPerElement = 400;

// Images as [outer, channels, inner].
struct ChannelView {
  int64_t outer = 1, channels = 1, inner = 1;
  int64_t PerChannel() const { return outer * inner; }
};

// Calls fn(begin, end) for disjoint ranges of channels, on several threads where that pays.
template <typename Fn>
void EachChannel(OpKernelContext& ctx, const ChannelView& view, Fn fn) {
  const int64_t cost = kPicosecondsPerElement * std::max<int64_t>(1, view.PerChannel());
  ParallelRanges(ctx, view.channels, cost, fn);
}

// sums[c] += f(c, x) over all elements of channels [begin, end). Rows are summed in blocks, to round less.
template <typename T, typename F>
void SumChannels(const ChannelView& view, const T* x, int64_t begin, int64_t end, double* sums, F f) {
  constexpr int64_t kBlock = 256;
  if (view.inner == 1) {
    std::vector<float> partial(end - begin);
    for (int64_t first = 0; first < view.outer; first += kBlock) {
      std::fill(partial.begin(), partial.end(), 0.0f);
      const int64_t last = std::min(view.outer, first + kBlock);
      for (int64_t i = first; i < last; ++i) {
        for (int64_t c = begin; c < end; ++c) partial[c - begin] += f(c, i * view.channels + c);
      }
      for (int64_t c = begin; c < end; ++c) sums[c] += partial[c - begin];
    }
    return;
  }
  for (int64_t n = 0; n < view.outer; ++n) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t plane = (n * view.channels + c) * view.inner;
      for (int64_t first = 0; first < view.inner; first += kBlock) {
        float partial = 0;
        const int64_t last = std::min(view.inner, first + kBlock);
        for (int64_t i = first; i < last; ++i) partial += f(c, plane + i);
        sums[c] += partial;
      }
    }
  }
}

// out[i] = f(channel, i) for every element.
template <typename F>
void MapElements(OpKernelContext& ctx, const ChannelView& view, F f) {
  if (view.inner == 1) {
    ParallelRanges(ctx, view.outer, kPicosecondsPerElement * std::max<int64_t>(1, view.channels),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       WEIR_INDEPENDENT_ITERATIONS
                       for (int64_t c = 0; c < view.channels; ++c) f(c, i * view.channels + c);
                     }
                   });
    return;
  }
  ParallelRanges(ctx, view.outer * view.channels, kPicosecondsPerElement * view.inner, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      WEIR_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < view.inner; ++i) f(plane % view.channels, plane * view.inner + i);
    }
  });
}

class BatchNormBase : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string format;
    RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
    channels_first_ = format == "NCHW" || format == "NCDHW";
    RETURN_IF_ERROR(ctx.GetAttr("epsilon", &epsilon_));
    if (ctx.HasAttr("exponential_avg_factor")) {
      RETURN_IF_ERROR(ctx.GetAttr("exponential_avg_factor", &average_factor_));
    }
    return ctx.GetAttr("is_training", &is_training_);
  }

 protected:
  absl::StatusOr<ChannelView> View(const TensorShape& x) const {
    if (x.dims() != 4 && x.dims() != 5) {
      return errors::InvalidArgument("input must be 4 or 5-dimensional", x.ToString());
    }
    const int axis = channels_first_ ? 1 : x.dims() - 1;
    ChannelView view;
    view.channels = x.dim_size(axis);
    if (x.num_elements() == 0) {
      view.outer = 0;
      return view;
    }
    for (int i = 0; i < axis; ++i) view.outer *= x.dim_size(i);
    for (int i = axis + 1; i < x.dims(); ++i) view.inner *= x.dim_size(i);
    return view;
  }

  bool channels_first_ = false, is_training_ = true;
  float epsilon_ = 0, average_factor_ = 1;
};

template <typename T>
class BatchNormKernel : public BatchNormBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const ChannelView view, View(x.shape()));
    const int64_t channels = view.channels;
    const bool reads_statistics = !is_training_ || average_factor_ != 1;
    const char* const names[] = {"", "scale", "offset", "mean", "variance"};
    for (int i = 1; i <= (reads_statistics ? 4 : 2); ++i)
      RETURN_IF_ERROR(CheckChannelVector(ctx.input(i), names[i], channels));

    ASSIGN_OR_RETURN(Tensor * y, ctx.allocate_output(0, x.shape()));
    float* outputs[5] = {};
    for (int i = 1; i < 5; ++i) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, TensorShape({channels})));
      outputs[i] = output->data<float>();
    }
    if (ctx.num_outputs() > 5) RETURN_IF_ERROR(ctx.allocate_output(5, TensorShape({0})).status());
    float* const mean = outputs[3];
    float* const variance = outputs[4];
    if (is_training_) {
      Statistics(ctx, view, x.data<T>(), mean, variance);
      Average(ctx, view, mean, variance, outputs[1], outputs[2], reads_statistics);
    } else {
      for (int i : {1, 3}) std::copy_n(ctx.input(3).data<float>(), channels, outputs[i]);
      for (int i : {2, 4}) std::copy_n(ctx.input(4).data<float>(), channels, outputs[i]);
    }
    std::vector<float> factor(channels), shift(channels);
    for (int64_t c = 0; c < channels; ++c) {
      factor[c] = ctx.input(1).data<float>()[c] / std::sqrt(variance[c] + epsilon_);
      shift[c] = ctx.input(2).data<float>()[c] - mean[c] * factor[c];
    }
    const T* const in = x.data<T>();
    T* const out = y->data<T>();
    const float* const f = factor.data();
    const float* const s = shift.data();
    MapElements(ctx, view,
                [=](int64_t c, int64_t i) { out[i] = static_cast<T>(static_cast<float>(in[i]) * f[c] + s[c]); });
    return absl::OkStatus();
  }

 private:
  // Of the batch; the variance is that of the population.
  static void Statistics(OpKernelContext& ctx, const ChannelView& view, const T* x, float* mean, float* variance) {
    if (view.inner == 1) return RowStatistics(ctx, view, x, mean, variance);
    const double scale = 1.0 / std::max<int64_t>(1, view.PerChannel());
    std::vector<double> sums(view.channels), squares(view.channels);
    EachChannel(ctx, view, [&](int64_t begin, int64_t end) {
      SumChannels(view, x, begin, end, sums.data(), [=](int64_t, int64_t i) { return static_cast<float>(x[i]); });
      for (int64_t c = begin; c < end; ++c) mean[c] = static_cast<float>(sums[c] * scale);
      SumChannels(view, x, begin, end, squares.data(), [=](int64_t c, int64_t i) {
        const float d = static_cast<float>(x[i]) - mean[c];
        return d * d;
      });
      for (int64_t c = begin; c < end; ++c) variance[c] = static_cast<float>(squares[c] * scale);
    });
  }

  // With the channels innermost memory is read once: of blocks of rows, which stay in the cache, the sum and the
  // squares about the block's own mean. Blocks are merged as Chan, Golub and LeVeque do.
  static void RowStatistics(OpKernelContext& ctx, const ChannelView& view, const T* x, float* mean, float* variance) {
    constexpr int64_t kRows = 256, kColumns = 32;
    const int64_t blocks = (view.outer + kRows - 1) / kRows, n = view.channels;
    std::vector<float> sums(blocks * n), squares(blocks * n);
    ParallelRanges(ctx, blocks, kRows * n * 200, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kRows, rows = std::min(kRows, view.outer - first);
        for (int64_t c = 0; c < n; c += kColumns) {
          SumBlock<kColumns>(x + first * n + c, rows, n, std::min(kColumns, n - c), &sums[block * n + c],
                             &squares[block * n + c]);
        }
      }
    });
    for (int64_t c = 0; c < n; ++c) {
      double total = 0, about = 0, count = 0;  // of squares, about the mean so far
      for (int64_t block = 0; block < blocks; ++block) {
        const double rows = static_cast<double>(std::min(kRows, view.outer - block * kRows));
        const double sum = sums[block * n + c];
        const double delta = count == 0 ? 0 : sum / rows - total / count;
        about += squares[block * n + c] + delta * delta * count * rows / (count + rows);
        total += sum;
        count += rows;
      }
      mean[c] = static_cast<float>(total / std::max(count, 1.0));
      variance[c] = static_cast<float>(about / std::max(count, 1.0));
    }
  }

  // sums[c] = the sum of column c of a block, squares[c] = that of its squared distances from the mean.
  template <int kColumns>
  static void SumBlock(const T* x, int64_t rows, int64_t stride, int64_t columns, float* sums, float* squares) {
    float sum[kColumns] = {}, mean[kColumns] = {}, square[kColumns] = {};
    const auto add_rows = [&](auto width) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t c = 0; c < width; ++c) sum[c] += static_cast<float>(x[i * stride + c]);
      }
      for (int64_t c = 0; c < width; ++c) mean[c] = sum[c] / static_cast<float>(rows);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t c = 0; c < width; ++c) {
          const float d = static_cast<float>(x[i * stride + c]) - mean[c];
          square[c] += d * d;
        }
      }
    };
    // A width that the compiler knows leaves the sums in registers.
    columns == kColumns ? add_rows(std::integral_constant<int64_t, kColumns>()) : add_rows(columns);
    std::copy_n(sum, columns, sums);
    std::copy_n(square, columns, squares);
  }

  // What the running averages become: the sample's variance, mixed with what they were.
  void Average(OpKernelContext& ctx, const ChannelView& view, const float* mean, const float* variance, float* mean_out,
               float* variance_out, bool mix) const {
    const int64_t n = view.PerChannel();
    const float correction = n == 0 ? std::numeric_limits<float>::quiet_NaN()
                                    : static_cast<float>(n) / static_cast<float>(std::max<int64_t>(n - 1, 1));
    for (int64_t c = 0; c < view.channels; ++c) {
      mean_out[c] = n == 0 ? correction : mean[c];
      variance_out[c] = variance[c] * correction;
      if (!mix) continue;
      mean_out[c] = (1 - average_factor_) * ctx.input(3).data<float>()[c] + average_factor_ * mean_out[c];
      variance_out[c] = (1 - average_factor_) * ctx.input(4).data<float>()[c] + average_factor_ * variance_out[c];
    }
  }
};

template <typename T>
class BatchNormGradKernel : public BatchNormBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& dy = ctx.input(0);
    const Tensor& x = ctx.input(1);
    if (dy.shape() != x.shape()) {
      return errors::InvalidArgument("x and y_backprop must have same shape, but x has shape ", x.shape().ToString(),
                                     " and y_backprop has shape ", dy.shape().ToString());
    }
    ASSIGN_OR_RETURN(const ChannelView view, View(x.shape()));
    const int64_t channels = view.channels;
    const char* const names[] = {"scale", "saved mean", "saved variance"};
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(CheckChannelVector(ctx.input(2 + i), names[i], channels));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.allocate_output(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor * dscale, ctx.allocate_output(1, TensorShape({channels})));
    ASSIGN_OR_RETURN(Tensor * doffset, ctx.allocate_output(2, TensorShape({channels})));
    for (int i : {3, 4}) ctx.set_output(i, Tensor::Scalar(0.0f));

    const T* const in = x.data<T>();
    const T* const gradient = dy.data<T>();
    const float* const scale = ctx.input(2).data<float>();
    const float* const mean = ctx.input(3).data<float>();
    std::vector<double> sums(channels), products(channels);
    EachChannel(ctx, view, [&](int64_t begin, int64_t end) {
      SumChannels(view, gradient, begin, end, sums.data(),
                  [=](int64_t, int64_t i) { return static_cast<float>(gradient[i]); });
      SumChannels(view, gradient, begin, end, products.data(), [=](int64_t c, int64_t i) {
        return static_cast<float>(gradient[i]) * (static_cast<float>(in[i]) - mean[c]);
      });
    });
    // dx = a * dy + b * (x - mean) + d
    std::vector<float> a(channels), b(channels), d(channels);
    const float n = static_cast<float>(std::max<int64_t>(1, view.PerChannel()));
    for (int64_t c = 0; c < channels; ++c) {
      const float inverse = 1 / std::sqrt(ctx.input(4).data<float>()[c] + epsilon_);
      const float sum = static_cast<float>(sums[c]), product = static_cast<float>(products[c]);
      dscale->data<float>()[c] = product * inverse;
      doffset->data<float>()[c] = sum;
      a[c] = scale[c] * inverse;
      if (!is_training_) continue;
      b[c] = -a[c] * inverse * inverse * product / n;
      d[c] = -a[c] * sum / n;
    }
    T* const out = dx->data<T>();
    const float* const pa = a.data();
    const float* const pb = b.data();
    const float* const pd = d.data();
    MapElements(ctx, view, [=](int64_t c, int64_t i) {
      out[i] = static_cast<T>(pa[c] * static_cast<float>(gradient[i]) + pb[c] * (static_cast<float>(in[i]) - mean[c]) +
                              pd[c]);
    });
    return absl::OkStatus();
  }
};

template <typename T>
absl::Status RegisterBatchNorm(KernelRegistry& kernels) {
  for (const char* op : {"FusedBatchNormV2", "FusedBatchNormV3"}) {
    RETURN_IF_ERROR(kernels.Register<BatchNormKernel<T>>(Kernel(op).Cpu().Type<T>("T").template Type<float>("U")));
  }
  for (const char* op : {"FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    RETURN_IF_ERROR(kernels.Register<BatchNormGradKernel<T>>(Kernel(op).Cpu().Type<T>("T").template Type<float>("U")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterNormalizationKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<BatchNormKernel<float>>(Kernel("FusedBatchNorm").Cpu().Type<float>("T")));
  RETURN_IF_ERROR(kernels.Register<BatchNormGradKernel<float>>(Kernel("FusedBatchNormGrad").Cpu().Type<float>("T")));
  RETURN_IF_ERROR(RegisterBatchNorm<float>(kernels));
  RETURN_IF_ERROR(RegisterBatchNorm<half>(kernels));
  RETURN_IF_ERROR(RegisterBatchNorm<bfloat16>(kernels));
  return absl::OkStatus();
}

}  // namespace weir
