// Maximum and average over windows, and their gradients.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/convolution/args.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/device/stored_element.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

constexpr int64_t kPicosecondsPerTap = 300;

// Of one plane. Windows may be far larger than the image.
int64_t PlaneCost(const PoolShape& s) {
  const double taps = static_cast<double>(s.OutputPlane()) * std::min(s.rows.filter, s.rows.in) *
                      std::min(s.columns.filter, s.columns.in);
  return static_cast<int64_t>(std::clamp(taps * kPicosecondsPerTap, 1.0, 1e15));
}

// The inputs of output i, without the padding.
std::pair<int64_t, int64_t> Range(const WindowDim& dim, int64_t i) {
  const int64_t first = i * dim.stride - dim.before;
  return {std::max<int64_t>(0, first), std::min(dim.in, first + dim.filter)};
}

// fn(output pixel, rows, columns) for each output pixel of a plane; pixels count runs.
template <typename Fn>
void EachWindow(const PoolShape& s, Fn fn) {
  for (int64_t y = 0; y < s.rows.out; ++y) {
    const auto rows = Range(s.rows, y);
    for (int64_t x = 0; x < s.columns.out; ++x) fn(y * s.columns.out + x, rows, Range(s.columns, x));
  }
}

template <typename T>
T Lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return -std::numeric_limits<T>::infinity();
  }
}

template <typename T>
void MaxPlane(const PoolShape& s, const Stored<T>* in, Stored<T>* out) {
  using C = StoredElement<T>;
  const int64_t run = s.run();
  EachWindow(s, [&](int64_t pixel, auto rows, auto columns) {
    Stored<T>* const result = out + pixel * run;
    std::fill_n(result, run, C::Store(Lowest<typename C::Value>()));
    for (int64_t row = rows.first; row < rows.second; ++row) {
      for (int64_t column = columns.first; column < columns.second; ++column) {
        const Stored<T>* const x = in + (row * s.columns.in + column) * run;
        WEIR_INDEPENDENT_ITERATIONS
        for (int64_t c = 0; c < run; ++c) result[c] = C::Load(result[c]) < C::Load(x[c]) ? x[c] : result[c];
      }
    }
  });
}

// Writes the whole plane. The gradient goes to the first of the largest elements. `best` and `rest` hold a run each:
// the maximum, and the gradient that is not yet assigned. Loops over channels use no indices, so they vectorise.
template <typename T>
void MaxGradPlane(const PoolShape& s, const Stored<T>* in, const Stored<T>* gradient, Stored<T>* out,
                  std::vector<typename StoredElement<T>::Value>& best,
                  std::vector<typename StoredElement<T>::Value>& rest) {
  using C = StoredElement<T>;
  using Value = typename C::Value;
  const int64_t run = s.run();
  std::fill_n(out, s.InputPlane(), Stored<T>(0));
  Value* const most = best.data();
  Value* const left = rest.data();
  const auto each_element = [&](auto rows, auto columns, auto fn) {
    for (int64_t row = rows.first; row < rows.second; ++row) {
      for (int64_t column = columns.first; column < columns.second; ++column) fn((row * s.columns.in + column) * run);
    }
  };
  EachWindow(s, [&](int64_t pixel, auto rows, auto columns) {
    if (rows.first >= rows.second || columns.first >= columns.second) return;
    const int64_t first = (rows.first * s.columns.in + columns.first) * run;
    for (int64_t c = 0; c < run; ++c) {
      most[c] = C::Load(in[first + c]);
      left[c] = C::Load(gradient[pixel * run + c]);
    }
    each_element(rows, columns, [&](int64_t at) {
      const Stored<T>* const x = in + at;
      WEIR_INDEPENDENT_ITERATIONS
      for (int64_t c = 0; c < run; ++c) most[c] = most[c] < C::Load(x[c]) ? C::Load(x[c]) : most[c];
    });
    // NaN is the maximum only if it is the first element of the window.
    bool any_nan = false;
    for (int64_t c = 0; c < run; ++c) any_nan |= !(most[c] == most[c]);
    if (any_nan) {
      for (int64_t c = 0; c < run; ++c) {
        if (most[c] == most[c]) continue;
        out[first + c] = C::Store(static_cast<Value>(C::Load(out[first + c]) + left[c]));
        left[c] = Value(0);
      }
    }
    each_element(rows, columns, [&](int64_t at) {
      const Stored<T>* const x = in + at;
      Stored<T>* const to = out + at;
      WEIR_INDEPENDENT_ITERATIONS
      for (int64_t c = 0; c < run; ++c) {
        const bool hit = C::Load(x[c]) == most[c];
        to[c] = C::Store(static_cast<Value>(C::Load(to[c]) + (hit ? left[c] : Value(0))));
        left[c] = hit ? Value(0) : left[c];
      }
    });
  });
}

template <typename T>
class MaxPoolKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const WindowAttrs attrs, attrs_.WithInputs(ctx, 1));
    const Tensor& in = ctx.input(0);
    if (attrs.depth_ksize != 1) return PoolDepth(ctx, attrs, in);
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs, in.shape()));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out));
    if (out.num_elements() == 0) return absl::OkStatus();
    ParallelRanges(ctx, shape.planes(), PlaneCost(shape), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        MaxPlane<T>(shape, StoredIn<T>(in) + i * shape.InputPlane(), StoredIn<T>(*output) + i * shape.OutputPlane());
      }
    });
    return absl::OkStatus();
  }

 private:
  // Groups of neighbouring channels. TensorFlow ignores spatial strides here.
  absl::Status PoolDepth(OpKernelContext& ctx, const WindowAttrs& attrs, const Tensor& in) {
    if (in.dims() != 4) return errors::InvalidArgument("tensor_in must be 4-dimensional, got ", in.shape().ToString());
    if (attrs.channels_first) return errors::Unimplemented("Depthwise max pooling of NCHW images");
    if (attrs.padding == "EXPLICIT") {
      return errors::Unimplemented("Depthwise max pooling does not support explicit padding.");
    }
    const int64_t window = attrs.depth_ksize, depth = in.dim_size(3);
    RETURN_IF_ERROR(CheckDepthPooling(depth, attrs.ksize[0] * attrs.ksize[1], window, attrs.depth_stride));
    TensorShape shape = in.shape();
    RETURN_IF_ERROR(shape.SetDim(3, depth / window));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const T* x = in.data<T>();
    for (int64_t i = 0; i < shape.num_elements(); ++i, x += window) {
      output->data<T>()[i] = *std::max_element(x, x + window);
    }
    return absl::OkStatus();
  }

  WindowAttrs attrs_;
};

template <typename T>
class MaxPoolGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const WindowAttrs attrs, attrs_.WithInputs(ctx, 3));
    const Tensor& in = ctx.input(0);
    const Tensor& gradient = ctx.input(2);
    if (attrs.depth_ksize != 1 || attrs.depth_stride != 1) {
      return errors::Unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    }
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs, in.shape()));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs));
    if (ctx.input(1).dims() != 4) return errors::InvalidArgument("tensor_out must be 4-dimensional");
    if (gradient.dims() != 4) return errors::InvalidArgument("out_backprop must be 4-dimensional");
    if (ctx.input(1).shape() != out) {
      return errors::InvalidArgument("Expected orig_output shape to be ", out.ToString(), ", but got ",
                                     ctx.input(1).shape().ToString());
    }
    if (gradient.shape() != out) {
      return errors::InvalidArgument("Expected grad shape to be ", out.ToString(), ", but got ",
                                     gradient.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in.shape()));
    if (out.num_elements() == 0 || in.NumElements() == 0) {
      std::fill_n(output->data<T>(), output->NumElements(), T(0));
      return absl::OkStatus();
    }
    ParallelRanges(ctx, shape.planes(), 3 * PlaneCost(shape), [&](int64_t begin, int64_t end) {
      std::vector<typename StoredElement<T>::Value> best(shape.run()), rest(shape.run());
      for (int64_t i = begin; i < end; ++i) {
        MaxGradPlane<T>(shape, StoredIn<T>(in) + i * shape.InputPlane(),
                        StoredIn<T>(gradient) + i * shape.OutputPlane(), StoredIn<T>(*output) + i * shape.InputPlane(),
                        best, rest);
      }
    });
    return absl::OkStatus();
  }

 private:
  WindowAttrs attrs_;
};

// Padding does not count towards averages.
template <typename T>
class AvgPoolKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs_, in.shape()));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out));
    if (out.num_elements() == 0) return absl::OkStatus();
    ParallelRanges(ctx, shape.planes(), PlaneCost(shape), [&](int64_t begin, int64_t end) {
      std::vector<Sum> sums(shape.run());
      for (int64_t i = begin; i < end; ++i) {
        Plane(shape, in.data<T>() + i * shape.InputPlane(), output->data<T>() + i * shape.OutputPlane(), sums);
      }
    });
    return absl::OkStatus();
  }

 private:
  using Sum = AccumulatorT<T>;

  static void Plane(const PoolShape& s, const T* in, T* out, std::vector<Sum>& sums) {
    const int64_t run = s.run();
    EachWindow(s, [&](int64_t pixel, auto rows, auto columns) {
      std::fill(sums.begin(), sums.end(), Sum{0});
      for (int64_t row = rows.first; row < rows.second; ++row) {
        for (int64_t column = columns.first; column < columns.second; ++column) {
          const T* const x = in + (row * s.columns.in + column) * run;
          for (int64_t c = 0; c < run; ++c) sums[c] += static_cast<Sum>(x[c]);
        }
      }
      const int64_t count =
          std::max<int64_t>(0, rows.second - rows.first) * std::max<int64_t>(0, columns.second - columns.first);
      const Sum scale = count == 0 ? Sum{0} : Sum{1} / static_cast<Sum>(count);
      for (int64_t c = 0; c < run; ++c) out[pixel * run + c] = static_cast<T>(sums[c] * scale);
    });
  }

  WindowAttrs attrs_;
};

template <typename T>
class AvgPoolGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& gradient = ctx.input(1);
    if (ctx.input(0).dims() != 1 || ctx.input(0).NumElements() != 4) {
      return errors::InvalidArgument("out_backprop must be 1-dimensional and 4 elements");
    }
    if (gradient.dims() != 4) return errors::InvalidArgument("out_backprop must be 4-dimensional");
    ASSIGN_OR_RETURN(const TensorShape in, ShapeFromTensor(ctx.input(0), "orig_input_shape"));
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs_, in));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs_));
    // TensorFlow takes any shape, and writes beyond its output where the gradient is the larger.
    if (gradient.shape() != out) {
      return errors::InvalidArgument("Expected grad shape to be ", out.ToString(), ", but got ",
                                     gradient.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in));
    if (in.num_elements() == 0) return absl::OkStatus();
    ParallelRanges(ctx, shape.planes(), PlaneCost(shape), [&](int64_t begin, int64_t end) {
      std::vector<Sum> sums(shape.InputPlane());
      for (int64_t i = begin; i < end; ++i) {
        Plane(shape, gradient.data<T>() + i * shape.OutputPlane(), sums);
        T* const to = output->data<T>() + i * shape.InputPlane();
        for (size_t j = 0; j < sums.size(); ++j) to[j] = static_cast<T>(sums[j]);
      }
    });
    return absl::OkStatus();
  }

 private:
  using Sum = AccumulatorT<T>;

  static void Plane(const PoolShape& s, const T* gradient, std::vector<Sum>& sums) {
    const int64_t run = s.run();
    std::fill(sums.begin(), sums.end(), Sum{0});
    EachWindow(s, [&](int64_t pixel, auto rows, auto columns) {
      const int64_t count = (rows.second - rows.first) * (columns.second - columns.first);
      const T* const g = gradient + pixel * run;
      for (int64_t row = rows.first; row < rows.second; ++row) {
        for (int64_t column = columns.first; column < columns.second; ++column) {
          Sum* const to = sums.data() + (row * s.columns.in + column) * run;
          for (int64_t c = 0; c < run; ++c) to[c] += static_cast<Sum>(g[c]) / static_cast<Sum>(count);
        }
      }
    });
  }

  WindowAttrs attrs_;
};

}  // namespace

absl::Status RegisterPoolingKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                                             \
  RETURN_IF_ERROR(kernels.Register<MaxPoolKernel<T>>(Kernel("MaxPool").Cpu().Type<T>("T")));         \
  RETURN_IF_ERROR(kernels.Register<MaxPoolKernel<T>>(Kernel("MaxPoolV2").Cpu().Type<T>("T")));       \
  RETURN_IF_ERROR(kernels.Register<MaxPoolGradKernel<T>>(Kernel("MaxPoolGrad").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<MaxPoolGradKernel<T>>(Kernel("MaxPoolGradV2").Cpu().Type<T>("T")));
  WEIR_FOR_REALS(WEIR_REGISTER)
#undef WEIR_REGISTER
#define WEIR_REGISTER(T)                                                                     \
  RETURN_IF_ERROR(kernels.Register<AvgPoolKernel<T>>(Kernel("AvgPool").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<AvgPoolGradKernel<T>>(Kernel("AvgPoolGrad").Cpu().Type<T>("T")));
  WEIR_FOR_FLOATS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
