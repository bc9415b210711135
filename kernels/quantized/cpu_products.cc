// Products of matrices, and convolutions, of quantised integers; their sums have 32 bits.
#include "kernels/convolution/window.h"
#include "kernels/device/parallel.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

// InvalidArgument for a range that runs backwards, or holds one number, too.
absl::StatusOr<QuantizedRange> ForwardRangeAt(const OpKernelContext& ctx, int first, const char* low,
                                              const char* high) {
  ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, first, low, high));
  if (range.low < range.high) return range;
  return errors::InvalidArgument(high, " must be larger than ", low, ".");
}

// The integer that stands for zero, as TensorFlow's 32-bit sums take it.
template <typename T>
int32_t ZeroPoint(QuantizedRange range) {
  return static_cast<int32_t>(ToQuantizedUnclamped<T>(0.0f, range));
}

class QuantizedMatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("transpose_a", &transpose_a_));
    return ctx.GetAttr("transpose_b", &transpose_b_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const QuantizedRange range_a, ForwardRangeAt(ctx, 2, "min_a", "max_a"));
    ASSIGN_OR_RETURN(const QuantizedRange range_b, ForwardRangeAt(ctx, 4, "min_b", "max_b"));
    if (a.dims() != 2 || b.dims() != 2) {
      return errors::InvalidArgument("In[", a.dims() != 2 ? 0 : 1, "] is not a matrix: ", a.shape().ToString(), " and ",
                                     b.shape().ToString());
    }
    const int64_t rows = a.dim_size(transpose_a_ ? 1 : 0), inner = a.dim_size(transpose_a_ ? 0 : 1),
                  columns = b.dim_size(transpose_b_ ? 0 : 1);
    if (b.dim_size(transpose_b_ ? 1 : 0) != inner) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                                     ", In[1]: ", b.shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({rows, columns}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const uint8_t *x = static_cast<const uint8_t*>(a.raw_data()), *y = static_cast<const uint8_t*>(b.raw_data());
    uint32_t* const out = static_cast<uint32_t*>(output->raw_data());
    const uint32_t zero_a = ZeroPoint<uint8_t>(range_a), zero_b = ZeroPoint<uint8_t>(range_b);
    // Unsigned, so that sums beyond 32 bits wrap.
    ParallelRanges(ctx, rows, inner * columns * 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint32_t* const row = out + i * columns;
        std::fill_n(row, columns, 0u);
        for (int64_t k = 0; k < inner; ++k) {
          const uint32_t left = x[transpose_a_ ? k * rows + i : i * inner + k] - zero_a;
          for (int64_t j = 0; j < columns; ++j) {
            row[j] += left * (y[transpose_b_ ? j * inner + k : k * columns + j] - zero_b);
          }
        }
      }
    });
    SetRange(ctx, 1, ProductRange<uint8_t, uint8_t>(range_a, range_b));
    return absl::OkStatus();
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
};

template <typename Filter>
class QuantizedConvKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(window_, WindowAttrs::Read(ctx));
    if (window_.strides[0] != window_.strides[1]) {
      return errors::InvalidArgument("Current implementation only supports equal length strides in the row and column ",
                                     "dimensions.");
    }
    for (int64_t dilation : window_.dilations) {
      if (dilation != 1) {
        return errors::InvalidArgument("Current implementation only supports dilated rate as 1 in the row and column ",
                                       "dimensions.");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    if (input.dims() != 4) return errors::InvalidArgument("input must be rank 4 but is rank ", input.dims());
    if (filter.dims() != 4) return errors::InvalidArgument("filter must be rank 4 but is rank ", filter.dims());
    ASSIGN_OR_RETURN(const QuantizedRange range_in, ForwardRangeAt(ctx, 2, "min_input", "max_input"));
    ASSIGN_OR_RETURN(const QuantizedRange range_filter, ForwardRangeAt(ctx, 4, "min_filter", "max_filter"));
    const int64_t depth = input.dim_size(3), channels = filter.dim_size(3);
    if (filter.dim_size(2) != depth) {
      return errors::InvalidArgument("input and filter must have the same depth: ", depth, " vs ", filter.dim_size(2));
    }
    ASSIGN_OR_RETURN(const WindowDim rows, window_.Dim(0, input.dim_size(1), filter.dim_size(0)));
    ASSIGN_OR_RETURN(const WindowDim columns, window_.Dim(1, input.dim_size(2), filter.dim_size(1)));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({input.dim_size(0), rows.out, columns.out, channels}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const uint8_t* const x = static_cast<const uint8_t*>(input.raw_data());
    const Filter* const w = static_cast<const Filter*>(filter.raw_data());
    uint32_t* const out = static_cast<uint32_t*>(output->raw_data());
    const uint32_t zero_in = ZeroPoint<uint8_t>(range_in), zero_filter = ZeroPoint<Filter>(range_filter);
    const int64_t cost = MultiplyWithoutOverflow(filter.NumElements(), 500);
    if (output->NumElements() > 0) {
      ParallelRanges(ctx, shape.num_elements() / channels, std::max<int64_t>(cost, 1), [&](int64_t begin, int64_t end) {
        for (int64_t place = begin; place < end; ++place) {
          uint32_t* const to = out + place * channels;
          std::fill_n(to, channels, 0u);
          const int64_t top = place / columns.out % rows.out * rows.stride - rows.before,
                        left = place % columns.out * columns.stride - columns.before,
                        image = place / (columns.out * rows.out);
          for (int64_t i = 0; i < rows.filter; ++i) {
            for (int64_t j = 0; j < columns.filter; ++j) {
              const int64_t row = top + i, column = left + j;
              if (row < 0 || row >= rows.in || column < 0 || column >= columns.in) continue;
              const uint8_t* const from = x + ((image * rows.in + row) * columns.in + column) * depth;
              const Filter* const weights = w + (i * columns.filter + j) * depth * channels;
              for (int64_t d = 0; d < depth; ++d) {
                const uint32_t value = from[d] - zero_in;
                for (int64_t c = 0; c < channels; ++c) {
                  to[c] += value * (static_cast<uint32_t>(weights[d * channels + c]) - zero_filter);
                }
              }
            }
          }
        }
      });
    }
    SetRange(ctx, 1, ProductRange<uint8_t, Filter>(range_in, range_filter));
    return absl::OkStatus();
  }

 private:
  WindowAttrs window_;
};

}  // namespace

absl::Status RegisterQuantizedMatMulKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<QuantizedMatMulKernel>(
      Kernel("QuantizedMatMul").Cpu().Types("T1", {DT_QUINT8}).Types("T2", {DT_QUINT8}).Types("Toutput", {DT_QINT32})));
  const auto conv = [](DataType filter) {
    return Kernel("QuantizedConv2D")
        .Cpu()
        .Types("Tinput", {DT_QUINT8})
        .Types("Tfilter", {filter})
        .Types("out_type", {DT_QINT32});
  };
  RETURN_IF_ERROR(kernels.Register<QuantizedConvKernel<uint8_t>>(conv(DT_QUINT8)));
  return kernels.Register<QuantizedConvKernel<int8_t>>(conv(DT_QINT8));
}

}  // namespace weir
