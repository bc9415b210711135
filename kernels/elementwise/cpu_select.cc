// Select, SelectV2, ClipByValue, BroadcastTo and the arithmetic of broadcast shapes.
#include <algorithm>
#include <complex>

#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/args_clip.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

// `tensor` itself if it has the target shape, else a copy broadcast to it.
absl::StatusOr<Tensor> Expand(OpKernelContext& ctx, const Tensor& tensor, const TensorShape& target) {
  if (tensor.shape() == target) return tensor;
  ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(tensor.shape(), target));
  ASSIGN_OR_RETURN(Tensor expanded, ctx.allocate_temp(tensor.dtype(), target));
  StridedCopy(ctx, tensor.dtype(), target.dim_sizes(), tensor.raw_data(), steps, expanded.raw_data(),
              DenseSteps(target.dim_sizes()));
  return expanded;
}

// out[i * run + j] = (condition[i] ? t : e)[i * run + j]; steps of 0 repeat a scalar.
void SelectRuns(OpKernelContext& ctx, const bool* condition, const Tensor& t, int64_t t_step, const Tensor& e,
                int64_t e_step, int64_t run, Tensor* output) {
  VisitElementType(output->dtype(), [&](auto element) {
    using T = decltype(element);
    const T* then_data = static_cast<const T*>(t.raw_data());
    const T* else_data = static_cast<const T*>(e.raw_data());
    T* out = static_cast<T*>(output->raw_data());
    const int64_t cost = static_cast<int64_t>(sizeof(T)) * (run == 1 ? 75 : run * 50) + (run == 1 ? 0 : 3000);
    ParallelRanges(ctx, output->NumElements() / run, cost, [&](int64_t begin, int64_t end) {
      if (run > 1) {
        for (int64_t i = begin; i < end; ++i) {
          std::copy_n((condition[i] ? then_data : else_data) + i * run, run, out + i * run);
        }
      } else if (std::is_trivially_copyable_v<T> && t_step == 1 && e_step == 1) {
        // Both are read, so that there is no branch.
        WEIR_INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; ++i) {
          const T a = then_data[i], b = else_data[i];
          out[i] = condition[i] ? a : b;
        }
      } else {
        for (int64_t i = begin; i < end; ++i) out[i] = condition[i] ? then_data[i * t_step] : else_data[i * e_step];
      }
    });
  });
}

// The condition has the shape of the values, or is a scalar, or a vector that chooses rows.
class SelectKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    name_ = ctx.name();
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    const Tensor& t = ctx.input(1);
    const Tensor& e = ctx.input(2);
    const bool by_element = condition.dims() > 0 && (condition.dims() != 1 || t.dims() == 1);
    for (int i = 1; by_element && i < 3; ++i) {
      if (ctx.input(i).shape() == condition.shape()) continue;
      return errors::InvalidArgument(
          "Inputs to operation ", name_,
          " of type Select must have the same size and shape.  Input 0: ", condition.shape().ToString(), " != input ",
          i, ": ", ctx.input(i).shape().ToString());
    }
    if (t.shape() != e.shape()) {
      return errors::InvalidArgument("'then' and 'else' must have the same size.  but received: ", t.shape().ToString(),
                                     " vs. ", e.shape().ToString());
    }
    if (condition.shape().IsScalar()) {
      ctx.set_output(0, condition.scalar<bool>() ? t : e);
      return absl::OkStatus();
    }
    int64_t run = 1;
    if (!by_element) {  // a vector, whose elements choose rows
      if (t.dims() < 1 || t.dim_size(0) != condition.dim_size(0)) {
        return errors::InvalidArgument("Number of batches of 'then' must match size of 'cond', but saw: ",
                                       t.dims() < 1 ? 0 : t.dim_size(0), " vs. ", condition.dim_size(0));
      }
      if (t.NumElements() > 0) run = t.NumElements() / t.dim_size(0);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, t.shape()));
    if (output->NumElements() > 0) SelectRuns(ctx, condition.data<bool>(), t, 1, e, 1, run, output);
    return absl::OkStatus();
  }

 private:
  std::string name_;
};

class SelectV2Kernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& t = ctx.input(1);
    const Tensor& e = ctx.input(2);
    const auto joined = [&](const TensorShape& a, const TensorShape& b) { return Broadcasting::Of(a, b); };
    absl::StatusOr<Broadcasting> values = joined(t.shape(), e.shape());
    absl::StatusOr<Broadcasting> all = values.ok() ? joined(ctx.input(0).shape(), values->shape) : values;
    if (!all.ok()) {
      return errors::InvalidArgument("condition ", ctx.input(0).shape().ToString(), ", then ", t.shape().ToString(),
                                     ", and else ", e.shape().ToString(), " must be broadcastable");
    }
    ASSIGN_OR_RETURN(const Tensor condition, Expand(ctx, ctx.input(0), all->shape));
    const bool scalar_t = t.shape().IsScalar(), scalar_e = e.shape().IsScalar();
    ASSIGN_OR_RETURN(const Tensor then_values, scalar_t ? t : Expand(ctx, t, all->shape));
    ASSIGN_OR_RETURN(const Tensor else_values, scalar_e ? e : Expand(ctx, e, all->shape));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, all->shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    SelectRuns(ctx, condition.data<bool>(), then_values, !scalar_t, else_values, !scalar_e, 1, output);
    return absl::OkStatus();
  }
};

class BroadcastToKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const TensorShape target, ReadShape(ctx.input(1)));
    if (input.shape() == target) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    absl::StatusOr<DimVector> steps = BroadcastSteps(input.shape(), target);
    if (!steps.ok()) {
      return errors::InvalidArgument("Unable to broadcast tensor of shape ", input.shape().ToString(),
                                     " to tensor of shape ", target.ToString(), ": ", steps.status().message());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, target));
    StridedCopy(ctx, input.dtype(), target.dim_sizes(), input.raw_data(), *steps, output->raw_data(),
                DenseSteps(target.dim_sizes()));
    return absl::OkStatus();
  }
};

// The two input shapes of BroadcastArgs and BroadcastGradientArgs, as vectors.
absl::StatusOr<std::pair<DimVector, DimVector>> ReadTwoShapes(OpKernelContext& ctx) {
  DimVector dims[2];
  for (int i = 0; i < 2; ++i) {
    if (ctx.input(i).dims() != 1) {
      return errors::InvalidArgument("In[", i, "] must be a vector.", ctx.input(i).shape().ToString());
    }
    ASSIGN_OR_RETURN(dims[i], ReadIntegers(ctx.input(i)));
  }
  const size_t rank = std::max(dims[0].size(), dims[1].size());
  for (size_t i = 1; i <= rank; ++i) {
    const int64_t a = i <= dims[0].size() ? dims[0][dims[0].size() - i] : 1;
    const int64_t b = i <= dims[1].size() ? dims[1][dims[1].size() - i] : 1;
    if (a != b && a != 1 && b != 1) {
      return errors::InvalidArgument("Incompatible shapes: [", absl::StrJoin(dims[0], ","), "] vs. [",
                                     absl::StrJoin(dims[1], ","), "]");
    }
  }
  return std::make_pair(dims[0], dims[1]);
}

absl::Status SetVector(OpKernelContext& ctx, int i, absl::Span<const int64_t> values) {
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, TensorShape({static_cast<int64_t>(values.size())})));
  return WriteIntegers(values, output);
}

class BroadcastArgsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto shapes, ReadTwoShapes(ctx));
    const DimVector& longer = shapes.first.size() >= shapes.second.size() ? shapes.first : shapes.second;
    const DimVector& shorter = shapes.first.size() >= shapes.second.size() ? shapes.second : shapes.first;
    DimVector output = longer;
    const size_t lead = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i) {
      if (output[lead + i] == 1) output[lead + i] = shorter[i];
    }
    return SetVector(ctx, 0, output);
  }
  bool IsExpensive() const override { return false; }
};

// The dimensions over which each operand's gradient is summed: those it was broadcast along, and those in which both
// have one element.
class BroadcastGradientArgsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto shapes, ReadTwoShapes(ctx));
    const DimVector& x = shapes.first;
    const DimVector& y = shapes.second;
    DimVector x_axes, y_axes;
    if (x != y) {
      const int64_t rank = std::max(x.size(), y.size());
      const int64_t x_lead = rank - x.size(), y_lead = rank - y.size();
      for (int64_t i = 0; i < rank; ++i) {
        const bool x_one = i < x_lead || x[i - x_lead] == 1, y_one = i < y_lead || y[i - y_lead] == 1;
        if (x_one) x_axes.push_back(i);
        if (y_one) y_axes.push_back(i);
      }
    }
    RETURN_IF_ERROR(SetVector(ctx, 0, x_axes));
    return SetVector(ctx, 1, y_axes);
  }
  bool IsExpensive() const override { return false; }
};

using ClipLoop = void (*)(const void* x, const void* low, int64_t low_step, const void* high, int64_t high_step,
                          void* out, int64_t n);

template <typename T>
T ClipOne(T x, T low, T high) {
  const T capped = high < x ? high : x;
  return capped < low ? low : capped;
}
// Complex numbers have no order: each part is clipped to the bounds' part.
template <typename T>
std::complex<T> ClipOne(std::complex<T> x, std::complex<T> low, std::complex<T> high) {
  return {ClipOne(x.real(), low.real(), high.real()), ClipOne(x.imag(), low.imag(), high.imag())};
}

template <typename T>
void Clip(const void* x_data, const void* low_data, int64_t low_step, const void* high_data, int64_t high_step,
          void* out, int64_t n) {
  const auto* x = static_cast<const T*>(x_data);
  const auto* low = static_cast<const T*>(low_data);
  const auto* high = static_cast<const T*>(high_data);
  auto* z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = ClipOne(x[i], low[i * low_step], high[i * high_step]);
}

ClipLoop FindClip(DataType type) {
  switch (type) {
#define WEIR_CLIP(T)    \
  case DataTypeOf<T>(): \
    return &Clip<T>;
    WEIR_FOR_FLOATS(WEIR_CLIP)
    WEIR_FOR_COMPLEX(WEIR_CLIP)
    WEIR_FOR_SIGNED_INTEGERS(WEIR_CLIP)
    WEIR_CLIP(uint8_t)
    WEIR_CLIP(uint16_t)
#undef WEIR_CLIP
    default:
      return nullptr;
  }
}

class ClipByValueKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    loop_ = FindClip(ctx.input_types()[0]);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    const Tensor input = ctx.input(0), low = ctx.input(1), high = ctx.input(2);
    RETURN_IF_ERROR(CheckBounds(shape, low.shape(), high.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const int64_t size = DataTypeSize(input.dtype());
    const auto at = [&](const Tensor& t, int64_t i) {
      return static_cast<const char*>(t.raw_data()) + (t.NumElements() == 1 ? 0 : i * size);
    };
    ParallelRanges(ctx, input.NumElements(), 500, [&](int64_t begin, int64_t end) {
      loop_(at(input, begin), at(low, begin), low.NumElements() != 1, at(high, begin), high.NumElements() != 1,
            static_cast<char*>(output->raw_data()) + begin * size, end - begin);
    });
    return absl::OkStatus();
  }

 private:
  ClipLoop loop_ = nullptr;
};

}  // namespace

absl::Status RegisterSelectKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SelectKernel>(Kernel("Select").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SelectV2Kernel>(Kernel("SelectV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<BroadcastToKernel>(Kernel("BroadcastTo").Cpu().HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<BroadcastArgsKernel>(
      Kernel("BroadcastArgs").Cpu().HostMemory("s0").HostMemory("s1").HostMemory("r0")));
  RETURN_IF_ERROR(kernels.Register<BroadcastGradientArgsKernel>(
      Kernel("BroadcastGradientArgs").Cpu().HostMemory("s0").HostMemory("s1").HostMemory("r0").HostMemory("r1")));
  const DataTypeVector clipped = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_COMPLEX64, DT_COMPLEX128,
                                  DT_INT8,  DT_INT16,  DT_INT32, DT_INT64,    DT_UINT8,     DT_UINT16};
  return kernels.Register<ClipByValueKernel>(Kernel("ClipByValue").Cpu().Types("T", clipped));
}

}  // namespace weir
