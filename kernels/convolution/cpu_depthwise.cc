// Depthwise convolutions and their gradients: each channel has its own filters.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/convolution/cpu_convolution.h"
#include "kernels/convolution/family.h"
#include "kernels/device/float16.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

constexpr int64_t kChannelBlock = 32;
constexpr int64_t kChannelsInRegisters = 16;  // of several outputs

// The filter is [rows, columns, channels, multiplier]; output channel c * multiplier + q is that of input channel c.
struct DepthwiseShape {
  int64_t batch = 0, channels = 0, multiplier = 0;
  bool channels_first = false;
  WindowDim rows, columns;

  int64_t InputPixels() const { return rows.in * columns.in; }
  int64_t OutputPixels() const { return rows.out * columns.out; }
};

// Whether RunImage computes an output whole, in registers.
bool IsPlainForward(ConvolutionKind kind, const DepthwiseShape& s) {
  return kind == ConvolutionKind::kForward && s.multiplier == 1 && !s.channels_first;
}

// The taps of a filter that fall on the input, for output `at`: [first, last).
struct Taps {
  Taps(const WindowDim& dim, int64_t at) : start(at * dim.stride - dim.before) {
    while (first < dim.filter && start + first * dim.dilation < 0) ++first;
    last = dim.filter;
    while (last > first && start + (last - 1) * dim.dilation >= dim.in) --last;
  }
  friend bool operator==(const Taps& a, const Taps& b) { return a.first == b.first && a.last == b.last; }

  int64_t start = 0, first = 0, last = 0;
};

// 32 bytes, without alignment.
template <typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
};
using FullWidth = std::integral_constant<int64_t, kChannelsInRegisters>;

// Sums for `kPixels` outputs, in registers. Loops are unrolled so that the sums stay there.
template <int kPixels, typename T>
class FullSums {
 public:
  explicit FullSums(FullWidth) {}
  void Add(const T* from, int64_t step, const T* w) {
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sums_[pixel][i] += At(from + pixel * step, i) * At(w, i);
    }
  }
  void Store(T* out, int64_t step) const {
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) reinterpret_cast<Vector*>(out + pixel * step)[i] = sums_[pixel][i];
    }
  }

 private:
  using Vector = typename VectorOf<T>::type;
  static constexpr int kVectors = kChannelsInRegisters * sizeof(T) / sizeof(Vector);
  static Vector At(const T* x, int i) { return reinterpret_cast<const Vector*>(x)[i]; }

  Vector sums_[kPixels][kVectors] = {};
};

// The same for fewer channels.
template <int kPixels, typename T>
class PartSums {
 public:
  explicit PartSums(int64_t width) : width_(width) {}
  void Add(const T* from, int64_t step, const T* w) {
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      for (int64_t c = 0; c < width_; ++c) sums_[pixel][c] += from[pixel * step + c] * w[c];
    }
  }
  void Store(T* out, int64_t step) const {
    for (int pixel = 0; pixel < kPixels; ++pixel) std::copy_n(sums_[pixel], width_, out + pixel * step);
  }

 private:
  const int64_t width_;
  T sums_[kPixels][kChannelsInRegisters] = {};
};

// Output (y, x) and the next ones of the row, which have the same taps: each weight is loaded once for all of them.
template <int kPixels, typename T, typename Width>
void RunTaps(const DepthwiseShape& s, Width width, const Taps& rows, const Taps& columns, const T* in, const T* filter,
             T* out) {
  std::conditional_t<std::is_same_v<Width, FullWidth>, FullSums<kPixels, T>, PartSums<kPixels, T>> sums(width);
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const T* const row = in + (rows.start + i * s.rows.dilation) * s.columns.in * s.channels;
    for (int64_t j = columns.first; j < columns.last; ++j) {
      sums.Add(row + (columns.start + j * s.columns.dilation) * s.channels, s.columns.stride * s.channels,
               filter + (i * s.columns.filter + j) * s.channels);
    }
  }
  sums.Store(out, s.channels);
}

// out[y, x, c] = the sum over the filter, for `width` channels from the one on that the pointers name.
template <typename T, typename Width>
void RunPixels(const DepthwiseShape& s, Width width, const T* in, const T* filter, T* out) {
  constexpr int kPixels = 4;
  std::vector<Taps> columns;
  for (int64_t x = 0; x < s.columns.out; ++x) columns.emplace_back(s.columns, x);
  for (int64_t y = 0; y < s.rows.out; ++y) {
    const Taps rows(s.rows, y);
    T* const row = out + y * s.columns.out * s.channels;
    for (int64_t x = 0; x < s.columns.out;) {
      if (x + kPixels <= s.columns.out && columns[x] == columns[x + kPixels - 1]) {
        RunTaps<kPixels>(s, width, rows, columns[x], in, filter, row + x * s.channels);
        x += kPixels;
      } else {
        RunTaps<1>(s, width, rows, columns[x], in, filter, row + x * s.channels);
        ++x;
      }
    }
  }
}

// Channels [first, last) of one image, where IsPlainForward.
template <typename T>
void RunImage(const DepthwiseShape& s, int64_t image, int64_t first, int64_t last, const T* input, const T* filter,
              T* output) {
  for (int64_t c = first; c < last; c += kChannelsInRegisters) {
    const T* const in = input + image * s.InputPixels() * s.channels + c;
    T* const out = output + image * s.OutputPixels() * s.channels + c;
    if (last - c >= kChannelsInRegisters) {
      RunPixels(s, FullWidth(), in, filter + c, out);
    } else {
      RunPixels(s, last - c, in, filter + c, out);
    }
  }
}

// Channels [first, last) of one image; what kind names is added to.
template <ConvolutionKind kKind, typename T>
void RunBlock(const DepthwiseShape& s, int64_t image, int64_t first, int64_t last, T* input, T* filter, T* output) {
  const int64_t m = s.multiplier, count = last - first;
  const int64_t in_step = s.channels_first ? s.InputPixels() : 1, in_pixel = s.channels_first ? 1 : s.channels;
  const int64_t out_step = s.channels_first ? s.OutputPixels() : 1, out_pixel = s.channels_first ? 1 : s.channels * m;
  T* const in = input + image * s.InputPixels() * s.channels + first * in_step;
  T* const out = output + image * s.OutputPixels() * s.channels * m + first * m * out_step;
  for (int64_t y = 0; y < s.rows.out; ++y) {
    for (int64_t x = 0; x < s.columns.out; ++x) {
      T* const to = out + (y * s.columns.out + x) * out_pixel;
      for (int64_t i = 0; i < s.rows.filter; ++i) {
        const int64_t row = y * s.rows.stride - s.rows.before + i * s.rows.dilation;
        if (row < 0 || row >= s.rows.in) continue;
        for (int64_t j = 0; j < s.columns.filter; ++j) {
          const int64_t column = x * s.columns.stride - s.columns.before + j * s.columns.dilation;
          if (column < 0 || column >= s.columns.in) continue;
          T* const from = in + (row * s.columns.in + column) * in_pixel;
          T* const w = filter + ((i * s.columns.filter + j) * s.channels + first) * m;
          const auto tap = [](T& pixel, T& weight, T& result) {
            if constexpr (kKind == ConvolutionKind::kForward) result += pixel * weight;
            if constexpr (kKind == ConvolutionKind::kBackpropInput) pixel += result * weight;
            if constexpr (kKind == ConvolutionKind::kBackpropFilter) weight += pixel * result;
          };
          if (m == 1 && in_step == 1) {
            WEIR_INDEPENDENT_ITERATIONS
            for (int64_t c = 0; c < count; ++c) tap(from[c], w[c], to[c]);
          } else {
            for (int64_t c = 0; c < count; ++c) {
              for (int64_t q = 0; q < m; ++q) tap(from[c * in_step], w[c * m + q], to[(c * m + q) * out_step]);
            }
          }
        }
      }
    }
  }
}

template <ConvolutionKind kKind, typename T>
void Run(OpKernelContext& ctx, const DepthwiseShape& s, T* input, T* filter, T* output) {
  const int64_t blocks = (s.channels + kChannelBlock - 1) / kChannelBlock;
  const int64_t taps = s.OutputPixels() * s.rows.filter * s.columns.filter * s.multiplier;
  // Images share the gradient of a filter, so there only channels are split.
  const bool split_batch = kKind != ConvolutionKind::kBackpropFilter;
  const int64_t units = blocks * (split_batch ? s.batch : 1);
  const int64_t cost = std::max<int64_t>(1, taps) * 200 * std::min(s.channels, kChannelBlock) *
                       (split_batch ? 1 : std::max<int64_t>(1, s.batch));
  ParallelRanges(ctx, units, cost, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % blocks * kChannelBlock, last = std::min(s.channels, first + kChannelBlock);
      if (IsPlainForward(kKind, s)) {
        RunImage(s, unit / blocks, first, last, input, filter, output);
      } else if (split_batch) {
        RunBlock<kKind>(s, unit / blocks, first, last, input, filter, output);
      } else {
        for (int64_t n = 0; n < s.batch; ++n) RunBlock<kKind>(s, n, first, last, input, filter, output);
      }
    }
  });
}

template <ConvolutionKind kKind>
class DepthwiseKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    return ctx.GetAttr("T", &type_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape in, filter;
    if constexpr (kKind == ConvolutionKind::kBackpropInput) {
      if (ctx.input(0).dims() != 1) {
        return errors::InvalidArgument("Conv2DBackpropInput: input_sizes input must be 1-dim, not ",
                                       ctx.input(0).dims());
      }
      ASSIGN_OR_RETURN(in, ShapeFromTensor(ctx.input(0), "input_sizes"));
    } else {
      in = ctx.input(0).shape();
    }
    if constexpr (kKind == ConvolutionKind::kBackpropFilter) {
      if (ctx.input(1).dims() != 1) {
        return errors::InvalidArgument("Conv2DBackpropFilter: filter_sizes input must be 1-dim, not ",
                                       ctx.input(1).dims());
      }
      ASSIGN_OR_RETURN(filter, ShapeFromTensor(ctx.input(1), "filter_sizes"));
    } else {
      filter = ctx.input(1).shape();
    }
    if constexpr (kKind != ConvolutionKind::kForward) {
      RETURN_IF_ERROR(ConvolutionShape::CheckOperands(in, filter, ctx.input(2).shape(), kLabel));
    }
    absl::StatusOr<DepthwiseShape> made = MakeProblem(in, filter);
    if (kKind != ConvolutionKind::kForward && absl::IsInvalidArgument(made.status())) {
      return errors::InvalidArgument(kLabel, ": ", made.status().message());
    }
    ASSIGN_OR_RETURN(const DepthwiseShape shape, std::move(made));
    ASSIGN_OR_RETURN(const TensorShape out, attrs_.MakeShape(shape.batch, shape.rows.out, shape.columns.out,
                                                             shape.channels * shape.multiplier));
    if (kKind != ConvolutionKind::kForward && ctx.input(2).shape() != out) {
      return GradientError(out, ctx.input(2).shape());
    }
    constexpr bool kToInput = kKind == ConvolutionKind::kBackpropInput;
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, kToInput                             ? in
                                                             : kKind == ConvolutionKind::kForward ? out
                                                                                                  : filter));
    const bool is_empty = in.num_elements() == 0 || filter.num_elements() == 0 || out.num_elements() == 0;
    if (!IsPlainForward(kKind, shape) || is_empty) std::memset(result->raw_data(), 0, result->TotalBytes());
    if (is_empty) return absl::OkStatus();
    Tensor operands[3] = {kToInput ? *result : ctx.input(0),
                          kKind == ConvolutionKind::kBackpropFilter ? *result : ctx.input(1),
                          kKind == ConvolutionKind::kForward ? *result : ctx.input(2)};
    if (type_ == DT_DOUBLE) {
      Run<kKind>(ctx, shape, operands[0].data<double>(), operands[1].data<double>(), operands[2].data<double>());
      return absl::OkStatus();
    }
    if (type_ == DT_FLOAT) {
      Run<kKind>(ctx, shape, operands[0].data<float>(), operands[1].data<float>(), operands[2].data<float>());
      return absl::OkStatus();
    }
    for (Tensor& operand : operands) {
      ASSIGN_OR_RETURN(Tensor wide, ctx.allocate_temp(DT_FLOAT, operand.shape()));
      type_ == DT_HALF ? ToFloats(operand.data<half>(), wide.data<float>(), wide.NumElements())
                       : ToFloats(operand.data<bfloat16>(), wide.data<float>(), wide.NumElements());
      operand = std::move(wide);
    }
    Run<kKind>(ctx, shape, operands[0].data<float>(), operands[1].data<float>(), operands[2].data<float>());
    const float* const values = operands[kToInput ? 0 : kKind == ConvolutionKind::kForward ? 2 : 1].data<float>();
    type_ == DT_HALF ? FromFloats(values, result->data<half>(), result->NumElements())
                     : FromFloats(values, result->data<bfloat16>(), result->NumElements());
    return absl::OkStatus();
  }

 private:
  static constexpr const char* kLabel =
      kKind == ConvolutionKind::kBackpropInput ? "DepthwiseConv2DBackpropInput" : "DepthwiseConv2DBackpropFilter";

  // What is wrong with the gradient's shape.
  absl::Status GradientError(const TensorShape& expected, const TensorShape& actual) const {
    for (const auto& [name, axis] : {std::pair{"rows", attrs_.RowAxis()}, std::pair{"cols", attrs_.RowAxis() + 1}}) {
      if (actual.dim_size(axis) == expected.dim_size(axis)) continue;
      return errors::InvalidArgument(kLabel, ": Number of ", name,
                                     " of out_backprop doesn't match computed: actual = ", actual.dim_size(axis),
                                     ", computed = ", expected.dim_size(axis));
    }
    return errors::InvalidArgument(kLabel, ": depth_multiplier * in_depth not equal to out_depth");
  }

  // Grouped convolutions are computed by channel here.
  absl::StatusOr<DepthwiseShape> MakeProblem(const TensorShape& input, const TensorShape& filter) const {
    ASSIGN_OR_RETURN(
        const ConvolutionShape grouped,
        ConvolutionShape::Depthwise(attrs_, input, filter, kKind == ConvolutionKind::kForward ? "depth" : "in_depth"));
    DepthwiseShape shape;
    shape.channels_first = grouped.channels_first;
    shape.batch = grouped.batch;
    shape.channels = grouped.in_channels;
    shape.multiplier = filter.dim_size(3);
    shape.rows = grouped.rows;
    shape.columns = grouped.columns;
    return shape;
  }

  WindowAttrs attrs_;
  DataType type_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterDepthwiseConvolutionKernels(KernelRegistry& kernels) {
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
    const auto kernel = [type](const char* op) { return Kernel(op).Cpu().Types("T", {type}); };
    using Kind = ConvolutionKind;
    RETURN_IF_ERROR(kernels.Register<DepthwiseKernel<Kind::kForward>>(kernel("DepthwiseConv2dNative")));
    RETURN_IF_ERROR(
        kernels.Register<DepthwiseKernel<Kind::kBackpropInput>>(kernel("DepthwiseConv2dNativeBackpropInput")));
    RETURN_IF_ERROR(
        kernels.Register<DepthwiseKernel<Kind::kBackpropFilter>>(kernel("DepthwiseConv2dNativeBackpropFilter")));
  }
  return absl::OkStatus();
}

}  // namespace weir
