// Ops that debuggers put between nodes: copies, counts of values that are not finite, summaries.
#include <cmath>
#include <limits>
#include <vector>

#include "core/device/device.h"
#include "core/kernel/debug_publisher.h"
#include "kernels/debug/family.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

class CopyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (!input.IsInitialized()) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor copy, input.DeepCopy(ctx.allocator()));
    ctx.set_output(0, std::move(copy));
    return absl::OkStatus();
  }
};

// Ops that also publish their output as files, synchronously.
class DebugKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("debug_urls", &urls_));
    if (urls_.empty()) return InitDebug(ctx);
    if (ctx.op() == "DebugIdentityV2") return errors::Unimplemented(ctx.op(), " cannot publish to ", urls_[0]);
    std::string device, tensor;
    RETURN_IF_ERROR(ctx.GetAttr("device_name", &device));
    RETURN_IF_ERROR(ctx.GetAttr("tensor_name", &tensor));
    ASSIGN_OR_RETURN(key_, DebugKey::Parse(device, tensor, ctx.op()));
    return InitDebug(ctx);
  }
  // Runs inline: files of one tensor from several iterations are distinguished by the time they were written.
  bool IsExpensive() const override { return false; }

 protected:
  virtual absl::Status InitDebug(OpKernelConstruction& ctx) { return absl::OkStatus(); }

  // Publishes `shown` and makes it the output.
  absl::Status Publish(OpKernelContext& ctx, Tensor shown) const {
    if (!urls_.empty()) {
      RETURN_IF_ERROR(PublishDebugTensor(*ctx.device()->file_systems(), urls_, key_, shown));
    }
    ctx.set_output(0, std::move(shown));
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> urls_;
  DebugKey key_;
};

class DebugIdentityKernel : public DebugKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override { return Publish(ctx, ctx.input(0)); }
};

class DebugNanCountKernel : public DebugKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t count = 0;
    if (ctx.input(0).IsInitialized()) {
      ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(ctx, ctx.input(0), DT_DOUBLE));
      for (double x : values.flat<double>()) count += std::isnan(x);
    }
    return Publish(ctx, Tensor::Vector<int64_t>({count}));
  }
};

// Whether it is initialised; how many elements, NaN, up to the lower bound, negative, zero, positive, from the upper
// bound on; minimum, maximum, mean and variance of the finite ones; type; rank and sizes. With mute_if_healthy it is
// published only if there is a NaN or a value beyond the bounds. An uninitialised tensor counts as empty, whatever its
// shape.
class DebugNumericSummaryKernel : public DebugKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    Counts counts;
    if (input.IsInitialized()) {
      ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(ctx, input, DT_DOUBLE));
      counts = Count(values.flat<double>());
    }
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const double valid = counts.finite;
    const double mean = valid == 0 ? kNan : counts.sum / valid;
    std::vector<double> summary = {input.IsInitialized() ? 1.0 : 0.0,
                                   static_cast<double>(input.IsInitialized() ? input.NumElements() : 0),
                                   counts.nan,
                                   counts.low,
                                   counts.negative,
                                   counts.zero,
                                   counts.positive,
                                   counts.high,
                                   valid == 0 ? kInf : counts.least,
                                   valid == 0 ? -kInf : counts.most,
                                   mean,
                                   valid == 0 ? kNan : counts.squares / valid - mean * mean,
                                   static_cast<double>(input.dtype()),
                                   static_cast<double>(input.dims())};
    for (int64_t size : input.shape().dim_sizes()) summary.push_back(static_cast<double>(size));
    Tensor shown = Tensor::Vector<double>(summary);
    if (!mute_if_healthy_ || counts.nan + counts.low + counts.high > 0) return Publish(ctx, std::move(shown));
    ctx.set_output(0, std::move(shown));
    return absl::OkStatus();
  }

 protected:
  absl::Status InitDebug(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("mute_if_healthy", &mute_if_healthy_));
    RETURN_IF_ERROR(ctx.GetAttr("lower_bound", &lower_));
    return ctx.GetAttr("upper_bound", &upper_);
  }

 private:
  struct Counts {
    double nan = 0, low = 0, negative = 0, zero = 0, positive = 0, high = 0, finite = 0, sum = 0, squares = 0;
    double least = std::numeric_limits<double>::max(), most = std::numeric_limits<double>::lowest();
  };
  Counts Count(absl::Span<const double> values) const {
    Counts counts;
    for (double x : values) {
      if (std::isnan(x)) {
        ++counts.nan;
      } else if (std::isinf(x) ? x < 0 : x <= lower_) {
        ++counts.low;
      } else if (std::isinf(x) || x >= upper_) {
        ++counts.high;
      } else {
        ++(x < 0 ? counts.negative : x > 0 ? counts.positive : counts.zero);
      }
      if (!std::isfinite(x)) continue;
      ++counts.finite;
      counts.sum += x;
      counts.squares += x * x;
      counts.least = std::min(counts.least, x);
      counts.most = std::max(counts.most, x);
    }
    return counts;
  }

  float lower_ = 0, upper_ = 0;
  bool mute_if_healthy_ = false;
};

}  // namespace

absl::Status RegisterDebugKernels(KernelRegistry& kernels) {
  for (const char* op : {"Copy", "CopyHost"}) RETURN_IF_ERROR(kernels.Register<CopyKernel>(Kernel(op).Cpu()));
  for (const char* op : {"DebugIdentity", "DebugIdentityV2", "DebugIdentityV3"}) {
    RETURN_IF_ERROR(kernels.Register<DebugIdentityKernel>(Kernel(op).Cpu()));
  }
  const DataTypeVector real = {DT_FLOAT, DT_DOUBLE, DT_HALF,   DT_BFLOAT16, DT_INT8,   DT_INT16, DT_INT32,
                               DT_INT64, DT_UINT8,  DT_UINT16, DT_UINT32,   DT_UINT64, DT_BOOL};
  RETURN_IF_ERROR(kernels.Register<DebugNanCountKernel>(Kernel("DebugNanCount").Cpu().Types("T", real)));
  RETURN_IF_ERROR(kernels.Register<DebugNumericSummaryKernel>(Kernel("DebugNumericSummary").Cpu().Types("T", real)));
  return absl::OkStatus();
}

}  // namespace weir
