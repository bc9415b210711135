// Products of affinely quantised matrices, and of a matrix of real numbers with a quantised one.
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/uniform/uniform_products.h"

namespace weir {
namespace {

absl::Status CheckMatrices(const TensorShape& lhs, const TensorShape& rhs) {
  if (lhs.dims() != 2) return errors::InvalidArgument("lhs rank must be 2, but given lhs shape ", lhs.ToString());
  if (rhs.dims() != 2) return errors::InvalidArgument("rhs rank must be 2, but given rhs shape ", rhs.ToString());
  if (lhs.dim_size(1) == rhs.dim_size(0)) return absl::OkStatus();
  return errors::InvalidArgument("lhs.dim_size(1) and rhs.dim_size(0) must be equal, but given lhs shape ",
                                 lhs.ToString(), " and rhs shape ", rhs.ToString());
}

absl::Status CheckColumnAxis(OpKernelConstruction& ctx, const char* name) {
  int64_t axis;
  RETURN_IF_ERROR(ctx.GetAttr(name, &axis));
  if (axis == 1 || axis == -1) return absl::OkStatus();
  return errors::InvalidArgument(name, " Attr must be 1 (per-channel) or -1 (per-tensor).");
}

// Parameters of columns: those of a vector, or of all columns alike.
absl::Status CheckColumns(const TensorShape& shape, const Tensor& scales, const Tensor& zero_points) {
  return QuantizationParams::Check(shape, scales, zero_points, scales.dims() == 0 ? -1 : 1);
}

// Calls finish(row, column, sum) with the products, modulo 2^32, of what lies between the zero points of rows and those
// of columns.
template <typename RowZero, typename ColumnZero, typename Finish>
void Multiply(OpKernelContext& ctx, const int8_t* x, const int8_t* y, int64_t rows, int64_t depth, int64_t columns,
              RowZero row_zero, ColumnZero column_zero, Finish finish) {
  ParallelRanges(ctx, rows, 1000 * columns * depth, [&](int64_t begin, int64_t end) {
    std::vector<uint32_t> sums(columns);
    for (int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t d = 0; d < depth; ++d) {
        const uint32_t a = FromZero(x[row * depth + d], row_zero(row));
        for (int64_t c = 0; c < columns; ++c) sums[c] += a * FromZero(y[d * columns + c], column_zero(c));
      }
      for (int64_t c = 0; c < columns; ++c) finish(row, c, static_cast<int32_t>(sums[c]));
    }
  });
}

class UniformQuantizedDotKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("output_quantization_min_val", &bounds_.low));
    RETURN_IF_ERROR(ctx.GetAttr("output_quantization_max_val", &bounds_.high));
    RETURN_IF_ERROR(CheckWholeLhs(ctx));
    RETURN_IF_ERROR(CheckColumnAxis(ctx, "rhs_quantization_axis"));
    return CheckColumnAxis(ctx, "output_quantization_axis");
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &lhs = ctx.input(0), &rhs = ctx.input(1);
    RETURN_IF_ERROR(CheckAllScales(ctx));
    RETURN_IF_ERROR(CheckMatrices(lhs.shape(), rhs.shape()));
    RETURN_IF_ERROR(CheckLhsParams(ctx));
    RETURN_IF_ERROR(CheckColumns(rhs.shape(), ctx.input(4), ctx.input(5)));
    const int64_t rows = lhs.dim_size(0), depth = lhs.dim_size(1), columns = rhs.dim_size(1);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({rows, columns}));
    RETURN_IF_ERROR(CheckColumns(shape, ctx.input(6), ctx.input(7)));
    if (ctx.input(4).dims() == 0 && ctx.input(6).dims() != 0) {
      return errors::InvalidArgument(
          "If rhs is per-tensor quantized, output must be also per-tensor quantized. Given rhs scales and zero_points "
          "of shape ",
          ctx.input(4).shape().ToString(), " but given output scales and zero_points of shape ",
          ctx.input(6).shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const ProductScaling scaling, ProductScaling::Of(ctx, columns, bounds_));
    const QuantizationParams right(ctx.input(4), ctx.input(5));
    const int32_t left_zero = ctx.input(3).scalar<int32_t>();
    int32_t* const out = static_cast<int32_t*>(output->raw_data());
    Multiply(
        ctx, Bytes(lhs), Bytes(rhs), rows, depth, columns, [=](int64_t) { return left_zero; },
        [&](int64_t column) { return right.zero_point(column); },
        [&](int64_t row, int64_t column, int32_t sum) { out[row * columns + column] = scaling(column, sum); });
    return absl::OkStatus();
  }

 private:
  QuantizedBounds bounds_;
};

// Each row of real numbers is spread over signed bytes first.
class UniformQuantizedDotHybridKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return CheckColumnAxis(ctx, "rhs_quantization_axis"); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &lhs = ctx.input(0), &rhs = ctx.input(1);
    RETURN_IF_ERROR(CheckMatrices(lhs.shape(), rhs.shape()));
    RETURN_IF_ERROR(CheckColumns(rhs.shape(), ctx.input(2), ctx.input(3)));
    if (!AllPositive(ctx.input(2))) return errors::InvalidArgument("rhs scales elements must be all positive.");
    const int64_t rows = lhs.dim_size(0), depth = lhs.dim_size(1), columns = rhs.dim_size(1);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({rows, columns}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor bytes, ctx.allocate_temp(DT_QINT8, lhs.shape()));
    std::vector<DynamicRange> ranges(rows);
    for (int64_t row = 0; row < rows; ++row) {
      ranges[row] = QuantizeToRange(lhs.data<float>() + row * depth, depth, Bytes(bytes) + row * depth);
    }
    const QuantizationParams right(ctx.input(2), ctx.input(3));
    float* const out = output->data<float>();
    Multiply(
        ctx, Bytes(bytes), Bytes(rhs), rows, depth, columns, [&](int64_t row) { return ranges[row].zero_point; },
        [&](int64_t column) { return right.zero_point(column); },
        [&](int64_t row, int64_t column, int32_t sum) {
          out[row * columns + column] = static_cast<float>(sum) * ranges[row].scale * right.scale(column);
        });
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterUniformQuantizedDotKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<UniformQuantizedDotKernel>(
      Kernel("UniformQuantizedDot").Cpu().Types("Tin", {DT_QINT8}).Types("Tout", {DT_QINT32})));
  return kernels.Register<UniformQuantizedDotHybridKernel>(Kernel("UniformQuantizedDotHybrid")
                                                               .Cpu()
                                                               .Types("Tlhs", {DT_FLOAT})
                                                               .Types("Trhs", {DT_QINT8})
                                                               .Types("Tout", {DT_FLOAT}));
}

}  // namespace weir
