// DebugNumericSummaryV2: a few numbers about a tensor, chosen by tensor_debug_mode.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/debug/family.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

// TensorFlow's TensorDebugMode.
enum Mode : int64_t { kCurtHealth = 2, kConciseHealth = 3, kFullHealth = 4, kShape = 5, kReduceInfNan = 8 };

struct Counts {
  double negative_inf = 0, positive_inf = 0, nan = 0, negative = 0, zero = 0, positive = 0;
  bool is_healthy() const { return negative_inf + positive_inf + nan == 0; }
};

Counts CountOf(absl::Span<const double> values) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Counts counts;
  for (const double x : values) {
    if (std::isnan(x)) {
      ++counts.nan;
    } else if (x == kInf) {
      ++counts.positive_inf;
    } else if (x == -kInf) {
      ++counts.negative_inf;
    } else {
      ++(x < 0 ? counts.negative : x > 0 ? counts.positive : counts.zero);
    }
  }
  return counts;
}

class NumericSummaryKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("tensor_debug_mode", &mode_));
    return ctx.GetAttr("tensor_id", &id_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (!input.IsInitialized()) return errors::InvalidArgument("DebugNumericSummaryV2 needs a tensor with a value");
    RETURN_IF_ERROR(CheckMode(ctx.expected_output_dtype(0)));
    Counts counts;
    if (mode_ != kShape) {
      ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(ctx, input, DT_DOUBLE));
      counts = CountOf(values.flat<double>());
    }
    const Tensor summary = Tensor::Vector<double>(Summary(input, counts));
    ASSIGN_OR_RETURN(Tensor output, ConvertTensor(ctx, summary, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  absl::Status CheckMode(DataType output) const {
    if (mode_ == kReduceInfNan) return absl::OkStatus();
    if (mode_ < kCurtHealth || mode_ > kShape) return errors::Unimplemented("Unimplemented tensor debug mode: ", mode_);
    const int exact_bits = output == DT_FLOAT ? 24 : 53;  // an id is told as a real number
    if (id_ <= int64_t{1} << exact_bits) return absl::OkStatus();
    return errors::InvalidArgument("DebugNumericSummaryV2Op requires tensor_id to be less than or equal to (2^",
                                   exact_bits, "). Given tensor_id:", id_);
  }

  std::vector<double> Summary(const Tensor& input, const Counts& counts) const {
    const double id = static_cast<double>(id_), type = static_cast<double>(input.dtype());
    const double rank = input.dims(), size = static_cast<double>(input.NumElements());
    constexpr double kUnknownDevice = -1, kInf = std::numeric_limits<double>::infinity();
    switch (mode_) {
      case kCurtHealth:
        return {id, counts.is_healthy() ? 0.0 : 1.0};
      case kConciseHealth:
        return {id, size, counts.negative_inf, counts.positive_inf, counts.nan};
      case kFullHealth:
        return {
            id,         kUnknownDevice,  type,        rank,           size, counts.negative_inf, counts.positive_inf,
            counts.nan, counts.negative, counts.zero, counts.positive};
      case kShape:
        return ShapeSummary({id, type, rank, size}, input.shape());
      default:
        return {counts.negative_inf > 0 ? -kInf : 0, counts.positive_inf > 0 ? kInf : 0,
                counts.nan > 0 ? std::numeric_limits<double>::quiet_NaN() : 0};
    }
  }

  // The last six sizes; 0 where there are fewer.
  static std::vector<double> ShapeSummary(std::vector<double> summary, const TensorShape& shape) {
    constexpr int kSizes = 6;
    const int first = std::max(0, shape.dims() - kSizes);
    for (int i = first; i < first + kSizes; ++i) {
      summary.push_back(i < shape.dims() ? static_cast<double>(shape.dim_size(i)) : 0);
    }
    return summary;
  }

  int64_t mode_ = -1, id_ = -1;
};

}  // namespace

absl::Status RegisterTensorHealthKernels(KernelRegistry& kernels) {
  return kernels.Register<NumericSummaryKernel>(
      Kernel("DebugNumericSummaryV2")
          .Cpu()
          .Types("T", {DT_BOOL, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64,
                       DT_HALF, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE}));
}

}  // namespace weir
