// CumulativeLogsumexp, mixed BatchMatMulV3, and small ops that tell about the graph and its device.
#include <cmath>
#include <limits>

#include "core/index_tensor.h"
#include "kernels/debug/family.h"
#include "kernels/device/elements.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

class CumulativeLogsumexpKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("exclusive", &exclusive_));
    return ctx.GetAttr("reverse", &reverse_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("ScanOp: axis must be a scalar, not ", ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(int64_t axis, ReadInteger(ctx.input(1), "axis"));
    if (axis < -shape.dims() || axis >= shape.dims()) {
      return errors::InvalidArgument("ScanOp: Expected scan axis in the range [", -shape.dims(), ", ", shape.dims(),
                                     "), but got ", axis);
    }
    if (axis < 0) axis += shape.dims();
    ASSIGN_OR_RETURN(const Tensor x, Widen(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(WideOutput y, WideOutput::Allocate(ctx, 0, shape));
    const int64_t n = shape.dim_size(static_cast<int>(axis));
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
    if (shape.num_elements() > 0) {
      RETURN_IF_ERROR(VisitWide(x.dtype(), [&](auto element) {
        using T = decltype(element);
        const T* const in = x.data<T>();
        T* const out = y.data<T>();
        ParallelRanges(ctx, shape.num_elements() / n, n * 20'000, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) Scan(in, out, i / inner * n * inner + i % inner, n, inner);
        });
        return absl::OkStatus();
      }));
    }
    return y.Finish(ctx);
  }

 private:
  // The logarithm of an empty sum is minus infinity.
  template <typename T>
  void Scan(const T* in, T* out, int64_t start, int64_t n, int64_t step) const {
    T total = -std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at = start + (reverse_ ? n - 1 - j : j) * step;
      const T before = total;
      total = AddExponents(total, in[at]);
      out[at] = exclusive_ ? before : total;
    }
  }
  // log(exp(a) + exp(b))
  template <typename T>
  static T AddExponents(T a, T b) {
    if (a != a || b != b) return a + b;
    const T high = std::max(a, b), low = std::min(a, b);
    if (std::isinf(low) || std::isinf(high)) return high;
    return high + std::log1p(std::exp(low - high));
  }

  bool exclusive_ = false, reverse_ = false;
};

// x and y are batches of matrices of types that may differ; the product has the output's. Batch dimensions broadcast.
class BatchMatMulV3Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("adj_x", &adjoint_[0]));
    RETURN_IF_ERROR(ctx.GetAttr("adj_y", &adjoint_[1]));
    gemm_ = FindGemm(ctx.output_types()[0]);
    if (gemm_ != nullptr) return absl::OkStatus();
    return errors::Unimplemented("BatchMatMulV3 on CPU has no kernel for output type ",
                                 DataTypeName(ctx.output_types()[0]));
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    GemmArgs g;
    TensorShape batches[2];
    int64_t sizes[2][2];
    for (int i : {0, 1}) {
      const TensorShape& shape = ctx.input(i).shape();
      if (shape.dims() < 2) return errors::InvalidArgument("In[", i, "] ndims must be >= 2: ", shape.dims());
      batches[i] = TensorShape(shape.dim_sizes().first(shape.dims() - 2));
      for (int d : {0, 1}) sizes[i][d] = shape.dim_size(shape.dims() - 2 + d);
    }
    absl::StatusOr<Broadcasting> batch = Broadcasting::Of(batches[0], batches[1]);
    if (!batch.ok()) {
      return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                                     ctx.input(0).shape().ToString(), " vs. ", ctx.input(1).shape().ToString());
    }
    g.transpose_a = g.conjugate_a = adjoint_[0];
    g.transpose_b = g.conjugate_b = adjoint_[1];
    g.m = sizes[0][adjoint_[0] ? 1 : 0];
    g.k = sizes[0][adjoint_[0] ? 0 : 1];
    g.n = sizes[1][adjoint_[1] ? 0 : 1];
    if (g.k != sizes[1][adjoint_[1] ? 1 : 0]) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", ctx.input(0).shape().ToString(),
                                     ", In[1]: ", ctx.input(1).shape().ToString());
    }
    g.lda = sizes[0][1];
    g.ldb = sizes[1][1];
    g.ldc = g.n;
    TensorShape shape = batch->shape;
    RETURN_IF_ERROR(shape.AddDim(g.m));
    RETURN_IF_ERROR(shape.AddDim(g.n));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    if (g.k == 0) {
      ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Tensor x, ConvertTensor(ctx, ctx.input(0), output->dtype()));
    ASSIGN_OR_RETURN(const Tensor y, ConvertTensor(ctx, ctx.input(1), output->dtype()));
    const int64_t width = static_cast<int64_t>(DataTypeSize(output->dtype()));
    const double cost =
        std::min(1e15, 50.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k));
    ParallelRanges(ctx, batch->shape.num_elements(), static_cast<int64_t>(cost) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t item = i, x_item = 0, y_item = 0;
        for (int d = static_cast<int>(batch->sizes.size()) - 1; d >= 0; --d) {
          x_item += item % batch->sizes[d] * batch->x_steps[d];
          y_item += item % batch->sizes[d] * batch->y_steps[d];
          item /= batch->sizes[d];
        }
        GemmArgs one = g;
        one.a = static_cast<const char*>(x.raw_data()) + x_item * g.m * g.k * width;
        one.b = static_cast<const char*>(y.raw_data()) + y_item * g.k * g.n * width;
        one.c = static_cast<char*>(output->raw_data()) + i * g.m * g.n * width;
        gemm_(one);
      }
    });
    return absl::OkStatus();
  }

 private:
  bool adjoint_[2] = {false, false};
  Gemm gemm_ = nullptr;
};

class GuaranteeConstKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (ctx.input_types()[0] != DT_RESOURCE) return absl::OkStatus();
    return errors::InvalidArgument("Input tensor cannot be a resource variable handle.");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class DevicePlacementKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<tstring>(ctx.device()->name()));
    return absl::OkStatus();
  }
};

// KernelLabel tells by which label its kernel was chosen.
template <int kLabel>
class KernelLabelKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    static constexpr const char* kNames[] = {"default", "overload_1", "overload_2"};
    ctx.set_output(0, Tensor::Scalar<tstring>(std::string("My label is: ") + kNames[kLabel]));
    return absl::OkStatus();
  }
};

// Deprecated from the start: what it is for is the import's refusal in newer graphs.
class OldKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override { return absl::OkStatus(); }
};

}  // namespace

absl::Status RegisterRuntimeInfoKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CumulativeLogsumexpKernel>(
      Kernel("CumulativeLogsumexp").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}).HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<BatchMatMulV3Kernel>(Kernel("BatchMatMulV3").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GuaranteeConstKernel>(Kernel("GuaranteeConst").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DevicePlacementKernel>(Kernel("DevicePlacementOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<OldKernel>(Kernel("Old").Cpu()));
  RETURN_IF_ERROR(kernels.Register<KernelLabelKernel<0>>(Kernel("KernelLabel").Cpu()));
  RETURN_IF_ERROR(kernels.Register<KernelLabelKernel<1>>(Kernel("KernelLabel").Cpu().Label("overload_1")));
  return kernels.Register<KernelLabelKernel<2>>(Kernel("KernelLabel").Cpu().Label("overload_2"));
}

}  // namespace weir
