// Affinely quantised tensors, element by element: to and from real numbers, other scales, sums, bounds.
#include <algorithm>
#include <vector>

#include "kernels/device/broadcast_steps.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/args_broadcast.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"
#include "kernels/quantized/uniform/uniform_quantized.h"

namespace weir {
namespace {

absl::Status ReadAxis(OpKernelConstruction& ctx, const std::string& name, int64_t* axis) {
  RETURN_IF_ERROR(ctx.GetAttr(name, axis));
  if (*axis >= -1) return absl::OkStatus();
  return errors::InvalidArgument(name, " must be >= -1, given: ", *axis);
}
absl::Status ReadBounds(OpKernelConstruction& ctx, const std::string& prefix, QuantizedBounds* bounds) {
  RETURN_IF_ERROR(ctx.GetAttr(prefix + "quantization_min_val", &bounds->low));
  return ctx.GetAttr(prefix + "quantization_max_val", &bounds->high);
}

class UniformQuantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadBounds(ctx, "", &bounds_));
    return ReadAxis(ctx, "quantization_axis", &axis_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    RETURN_IF_ERROR(QuantizationParams::Check(input.shape(), ctx.input(1), ctx.input(2), axis_));
    const QuantizationParams params(ctx.input(1), ctx.input(2));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const float* const x = input.data<float>();
    return VisitQuantized(output->dtype(), [&](auto zero) {
      auto* const y = static_cast<decltype(zero)*>(output->raw_data());
      ForEachChannel(input.shape(), axis_, [&](int64_t channel, int64_t begin, int64_t end) {
        const float inverse = 1.0f / params.scale(channel);
        const int32_t zero_point = params.zero_point(channel);
        for (int64_t i = begin; i < end; ++i) {
          y[i] = static_cast<decltype(zero)>(Quantized(x[i], inverse, zero_point, bounds_));
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  QuantizedBounds bounds_;
  int64_t axis_ = -1;
};

class UniformDequantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("quantization_axis", &axis_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    RETURN_IF_ERROR(QuantizationParams::Check(input.shape(), ctx.input(1), ctx.input(2), axis_));
    if (!AllPositive(ctx.input(1))) return errors::InvalidArgument("rhs scales elements must be all positive.");
    const QuantizationParams params(ctx.input(1), ctx.input(2));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    float* const y = output->data<float>();
    return VisitQuantized(input.dtype(), [&](auto zero) {
      const auto* const q = static_cast<const decltype(zero)*>(input.raw_data());
      ForEachChannel(input.shape(), axis_, [&](int64_t channel, int64_t begin, int64_t end) {
        const float scale = params.scale(channel);
        const int32_t zero_point = params.zero_point(channel);
        for (int64_t i = begin; i < end; ++i) {
          y[i] = static_cast<float>(WrappedDifference(int32_t{q[i]}, zero_point)) * scale;
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  int64_t axis_ = -1;
};

// What takes integers by one pair of scales to those by another.
struct Rescaling {
  QuantizationParams from, to;
  QuantizedBounds bounds;

  // Channels lie along `axis`.
  template <typename From, typename To>
  absl::Status Run(const From* in, const TensorShape& shape, int64_t axis, To* out) const {
    absl::Status status;
    ForEachChannel(shape, axis, [&](int64_t channel, int64_t begin, int64_t end) {
      const auto factor = FixedPointFactor::Of(static_cast<double>(from.scale(channel)) / to.scale(channel));
      if (!factor.ok()) {
        status = factor.status();
        return;
      }
      const int32_t zero = from.zero_point(channel), new_zero = to.zero_point(channel);
      for (int64_t i = begin; i < end; ++i) {
        out[i] =
            static_cast<To>(bounds.Clamp(WrappedSum((*factor)(WrappedDifference(int32_t{in[i]}, zero)), new_zero)));
      }
    });
    return status;
  }
};

class UniformRequantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadBounds(ctx, "output_", &bounds_));
    RETURN_IF_ERROR(ReadAxis(ctx, "input_quantization_axis", &from_axis_));
    RETURN_IF_ERROR(ReadAxis(ctx, "output_quantization_axis", &to_axis_));
    if (from_axis_ < 0 || to_axis_ < 0 || from_axis_ == to_axis_) return absl::OkStatus();
    return errors::InvalidArgument(
        "If input and output is both per-axis quantized, the quantization axis must be same.");
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    RETURN_IF_ERROR(QuantizationParams::Check(input.shape(), ctx.input(1), ctx.input(2), from_axis_));
    RETURN_IF_ERROR(QuantizationParams::Check(input.shape(), ctx.input(3), ctx.input(4), to_axis_));
    if (!AllPositive(ctx.input(1)) || !AllPositive(ctx.input(3))) {
      return errors::InvalidArgument("input/output scales elements must be all positive.");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const Rescaling rescaling{QuantizationParams(ctx.input(1), ctx.input(2)),
                              QuantizationParams(ctx.input(3), ctx.input(4)), bounds_};
    return VisitQuantized(input.dtype(), [&](auto zero) {
      return rescaling.Run(static_cast<const decltype(zero)*>(input.raw_data()), input.shape(),
                           std::max(from_axis_, to_axis_), static_cast<int8_t*>(output->raw_data()));
    });
  }

 private:
  QuantizedBounds bounds_;
  int64_t from_axis_ = -1, to_axis_ = -1;
};

// Inputs: x and y; scales and zero points of x, of y and of the sum. Both are brought to the sum's scale, then added.
class UniformQuantizedAddKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadBounds(ctx, "output_", &bounds_));
    const char* const names[] = {"lhs", "rhs", "output"};
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(ctx.GetAttr(std::string(names[i]) + "_quantization_axis", &axes_[i]));
      if (axes_[i] < -1) {
        return errors::InvalidArgument("lhs, rhs and output quantization_axis must be -1 or within [0, dims)");
      }
    }
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    for (int i : {0, 1}) {
      RETURN_IF_ERROR(
          QuantizationParams::Check(ctx.input(i).shape(), ctx.input(2 + 2 * i), ctx.input(3 + 2 * i), axes_[i]));
    }
    const auto both = Broadcasting::Of(ctx.input(0).shape(), ctx.input(1).shape());
    if (!both.ok()) {
      return errors::InvalidArgument("Cannot Add tensors of shapes: ", ctx.input(0).shape().ToString(),
                                     ctx.input(1).shape().ToString());
    }
    const TensorShape& shape = both->shape;
    RETURN_IF_ERROR(QuantizationParams::Check(shape, ctx.input(6), ctx.input(7), axes_[2]));
    const char* const names[] = {"lhs", "rhs"};
    for (int i : {0, 1}) {
      if (axes_[i] < 0 || axes_[2] < 0 || ctx.input(i).dims() - axes_[i] == shape.dims() - axes_[2]) continue;
      return errors::InvalidArgument("If ", names[i],
                                     " and output is both per-axis quantized, the quantization axis must match.");
    }
    if (!AllPositive(ctx.input(2)) || !AllPositive(ctx.input(4)) || !AllPositive(ctx.input(6))) {
      return errors::InvalidArgument("lhs/rhs/output scales elements must be all positive.");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(const Tensor x, Rescaled(ctx, 0, shape));
    ASSIGN_OR_RETURN(const Tensor y, Rescaled(ctx, 1, shape));
    const int32_t* const a = static_cast<const int32_t*>(x.raw_data());
    const int32_t* const b = static_cast<const int32_t*>(y.raw_data());
    int32_t* const out = static_cast<int32_t*>(output->raw_data());
    const QuantizationParams sum(ctx.input(6), ctx.input(7));
    ForEachChannel(shape, axes_[2], [&](int64_t channel, int64_t begin, int64_t end) {
      const int32_t zero_point = sum.zero_point(channel);
      for (int64_t i = begin; i < end; ++i) out[i] = bounds_.Clamp(WrappedSum(WrappedSum(a[i], b[i]), zero_point));
    });
    return absl::OkStatus();
  }

 private:
  // Operand `i` in the sum's shape and scale, less all zero points.
  absl::StatusOr<Tensor> Rescaled(OpKernelContext& ctx, int i, const TensorShape& shape) const {
    const Tensor& operand = ctx.input(i);
    ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(operand.shape(), shape));
    ASSIGN_OR_RETURN(Tensor all, ctx.allocate_temp(DT_QINT32, shape));
    StridedCopy(ctx, DT_QINT32, shape.dim_sizes(), operand.raw_data(), steps, all.raw_data(),
                DenseSteps(shape.dim_sizes()));
    const int64_t axis = axes_[2] >= 0 ? axes_[2] : axes_[i] >= 0 ? axes_[i] + shape.dims() - operand.dims() : -1;
    ASSIGN_OR_RETURN(Tensor zeros, ctx.allocate_temp(DT_INT32, ctx.input(6).shape()));
    std::fill_n(zeros.data<int32_t>(), zeros.NumElements(), 0);
    const Rescaling rescaling{QuantizationParams(ctx.input(2 + 2 * i), ctx.input(3 + 2 * i)),
                              QuantizationParams(ctx.input(6), zeros), QuantizedBounds()};
    int32_t* const x = static_cast<int32_t*>(all.raw_data());
    RETURN_IF_ERROR(rescaling.Run(x, shape, axis, x));
    return all;
  }

  QuantizedBounds bounds_;
  int64_t axes_[3] = {-1, -1, -1};  // of x, y and the sum
};

class UniformQuantizedClipKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("quantization_axis", &axis_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    RETURN_IF_ERROR(QuantizationParams::Check(input.shape(), ctx.input(3), ctx.input(4), axis_));
    const char* const names[] = {"min", "max"};
    for (int i : {0, 1}) {
      if (ctx.input(1 + i).shape() == ctx.input(3).shape()) continue;
      return errors::InvalidArgument("Input ", names[i], " shape must be same as scales/zero_points. Given ", names[i],
                                     " of shape ", ctx.input(1 + i).shape().ToString(),
                                     " and scales/zero_points of shape ", ctx.input(3).shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const auto integers = [](const Tensor& tensor) { return static_cast<int32_t*>(tensor.raw_data()); };
    const int32_t* const x = integers(input);
    int32_t* const y = integers(*output);
    ForEachChannel(input.shape(), axis_, [&](int64_t channel, int64_t begin, int64_t end) {
      const int32_t least = integers(ctx.input(1))[channel], most = integers(ctx.input(2))[channel];
      for (int64_t i = begin; i < end; ++i) y[i] = std::min(std::max(x[i], least), most);
    });
    return absl::OkStatus();
  }

 private:
  int64_t axis_ = -1;
};

}  // namespace

absl::Status RegisterUniformQuantizedKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<UniformQuantizeKernel>(
      Kernel("UniformQuantize").Cpu().Types("Tin", {DT_FLOAT}).Types("Tout", {DT_QINT8, DT_QUINT8, DT_QINT32})));
  RETURN_IF_ERROR(kernels.Register<UniformDequantizeKernel>(
      Kernel("UniformDequantize").Cpu().Types("Tin", {DT_QINT8, DT_QUINT8, DT_QINT32}).Types("Tout", {DT_FLOAT})));
  RETURN_IF_ERROR(kernels.Register<UniformRequantizeKernel>(
      Kernel("UniformRequantize").Cpu().Types("Tin", {DT_QINT8, DT_QINT32}).Types("Tout", {DT_QINT8})));
  RETURN_IF_ERROR(
      kernels.Register<UniformQuantizedAddKernel>(Kernel("UniformQuantizedAdd").Cpu().Types("T", {DT_QINT32})));
  return kernels.Register<UniformQuantizedClipKernel>(
      Kernel("UniformQuantizedClipByValue").Cpu().Types("T", {DT_QINT32}));
}

}  // namespace weir
