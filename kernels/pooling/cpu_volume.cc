// Pooling over three dimensions, and the parts of two-dimensional pooling that cpu_pooling.cc lacks: second-order
// gradients and argmax.
#include <limits>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/convolution/args.h"
#include "kernels/convolution/volume.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

int64_t WindowCost(const VolumeShape& s) {
  double taps = static_cast<double>(s.OutputPixels()) * static_cast<double>(s.channels);
  for (const WindowDim& dim : s.dims) taps *= static_cast<double>(std::min(dim.filter, std::max<int64_t>(1, dim.in)));
  return static_cast<int64_t>(std::clamp(taps * 400, 1.0, 1e15));
}

// One image with its channels last, as float or double.
template <typename T>
struct Planes {
  const VolumeShape& s;

  void Max(const T* in, T* out) const {
    const int64_t c = s.channels;
    EachVolumeWindow(s, [&](int64_t pixel, const auto* ranges) {
      T* const best = out + pixel * c;
      std::fill_n(best, c, -std::numeric_limits<T>::infinity());
      EachPixel(s, ranges, [&](int64_t at) {
        const T* const x = in + at * c;
        for (int64_t i = 0; i < c; ++i) best[i] = best[i] < x[i] ? x[i] : best[i];
      });
    });
  }

  // fn(output element, input element that is its first largest).
  template <typename Fn>
  void EachMaximum(const T* in, Fn fn) const {
    const int64_t c = s.channels;
    std::vector<int64_t> place(c);
    EachVolumeWindow(s, [&](int64_t pixel, const auto* ranges) {
      std::fill(place.begin(), place.end(), -1);
      EachPixel(s, ranges, [&](int64_t at) {
        for (int64_t i = 0; i < c; ++i) {
          if (place[i] < 0 || in[place[i]] < in[at * c + i]) place[i] = at * c + i;
        }
      });
      for (int64_t i = 0; i < c; ++i) {
        if (place[i] >= 0) fn(pixel * c + i, place[i]);
      }
    });
  }

  void Average(const T* in, T* out) const {
    const int64_t c = s.channels;
    EachVolumeWindow(s, [&](int64_t pixel, const auto* ranges) {
      T* const sum = out + pixel * c;
      std::fill_n(sum, c, T(0));
      int64_t count = 0;
      EachPixel(s, ranges, [&](int64_t at) {
        ++count;
        for (int64_t i = 0; i < c; ++i) sum[i] += in[at * c + i];
      });
      for (int64_t i = 0; count > 0 && i < c; ++i) sum[i] /= static_cast<T>(count);
    });
  }

  void AverageGradient(const T* gradient, T* out) const {
    const int64_t c = s.channels;
    std::fill_n(out, s.InputPixels() * c, T(0));
    EachVolumeWindow(s, [&](int64_t pixel, const auto* ranges) {
      int64_t count = 1;
      for (int d = 0; d < 3; ++d) count *= std::max<int64_t>(0, ranges[d].second - ranges[d].first);
      EachPixel(s, ranges, [&](int64_t at) {
        for (int64_t i = 0; i < c; ++i) out[at * c + i] += gradient[pixel * c + i] / static_cast<T>(count);
      });
    });
  }
};

// An input as float or double with its channels last.
absl::StatusOr<Tensor> Load(OpKernelContext& ctx, const Tensor& tensor, const VolumeShape& shape) {
  ASSIGN_OR_RETURN(Tensor wide, Widen(ctx, tensor));
  return shape.channels_first ? ChannelsLast(ctx, wide) : wide;
}

// Output 0, computed with channels last.
class PoolOutput {
 public:
  static absl::StatusOr<PoolOutput> Allocate(OpKernelContext& ctx, const VolumeShape& s, const TensorShape& shape) {
    PoolOutput out;
    ASSIGN_OR_RETURN(out.wide_, WideOutput::Allocate(ctx, 0, shape));
    out.last_ = out.wide_.tensor();
    if (s.channels_first) {
      DimVector sizes(shape.dim_sizes().begin(), shape.dim_sizes().end());
      sizes.erase(sizes.begin() + 1);
      sizes.push_back(shape.dim_size(1));
      ASSIGN_OR_RETURN(const TensorShape last, TensorShape::Build(sizes));
      ASSIGN_OR_RETURN(out.last_, ctx.allocate_temp(out.wide_.tensor().dtype(), last));
    }
    return out;
  }
  Tensor& tensor() { return last_; }
  absl::Status Finish(OpKernelContext& ctx, const VolumeShape& s) {
    if (s.channels_first) RETURN_IF_ERROR(CopyChannelsFirst(ctx, last_, &wide_.tensor()));
    last_ = Tensor();
    return wide_.Finish(ctx);
  }

 private:
  WideOutput wide_;
  Tensor last_;
};

absl::Status CheckShape(const Tensor& tensor, const TensorShape& expected, const char* name) {
  if (tensor.shape() == expected) return absl::OkStatus();
  return errors::InvalidArgument("Expected ", name, " shape to be ", expected.ToString(), ", but got ",
                                 tensor.shape().ToString());
}

enum class PoolKind { kMax, kAverage, kMaxGrad, kAverageGrad, kMaxGradGrad };

// Inputs by kind: the image; original input (or its shape), for maxima the original output, and the gradient. The
// second version of a two-dimensional op has ksize and strides as its last inputs.
template <PoolKind kKind>
class VolumePoolKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    inputs_for_windows_ = !ctx.HasAttr("ksize");
    if (inputs_for_windows_) {
      std::string format;
      RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
      attrs_.spatial = 2;
      attrs_.channels_first = format == "NCHW";
      return ctx.GetAttr("padding", &attrs_.padding);
    }
    ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    constexpr bool kFromShape = kKind == PoolKind::kAverageGrad;
    VolumeAttrs attrs = attrs_;
    if (inputs_for_windows_) {
      ASSIGN_OR_RETURN(const Indices ksize, Indices::Read(ctx.input(3)));
      ASSIGN_OR_RETURN(const Indices strides, Indices::Read(ctx.input(4)));
      RETURN_IF_ERROR(attrs.SetWindows({ksize.data(), static_cast<size_t>(ksize.size())},
                                       {strides.data(), static_cast<size_t>(strides.size())}));
    }
    TensorShape in = ctx.input(0).shape();
    if (kFromShape) {
      ASSIGN_OR_RETURN(in, ShapeFromTensor(ctx.input(0), "orig_input_shape"));
    }
    ASSIGN_OR_RETURN(const VolumeShape s, VolumeShape::Make(attrs, in, nullptr));
    ASSIGN_OR_RETURN(const TensorShape out, s.Output(s.channels));
    RETURN_IF_ERROR(CheckInputs(ctx, in, out));
    const bool backwards = kKind == PoolKind::kMaxGrad || kKind == PoolKind::kAverageGrad;
    ASSIGN_OR_RETURN(PoolOutput result, PoolOutput::Allocate(ctx, s, backwards ? in : out));
    Tensor image, gradient;
    if (!kFromShape) {
      ASSIGN_OR_RETURN(image, Load(ctx, ctx.input(0), s));
    }
    if (kKind != PoolKind::kMax && kKind != PoolKind::kAverage) {
      ASSIGN_OR_RETURN(gradient, Load(ctx, ctx.input(kFromShape ? 1 : 2), s));
    }
    if (result.tensor().NumElements() > 0) {
      RETURN_IF_ERROR(VisitWide(result.tensor().dtype(), [&](auto element) {
        Run<decltype(element)>(ctx, s, image, gradient, result.tensor());
        return absl::OkStatus();
      }));
    }
    return result.Finish(ctx, s);
  }

 private:
  static absl::Status CheckInputs(OpKernelContext& ctx, const TensorShape& in, const TensorShape& out) {
    if (kKind == PoolKind::kAverageGrad) return CheckShape(ctx.input(1), out, "grad");
    if (kKind == PoolKind::kMaxGrad || kKind == PoolKind::kMaxGradGrad) {
      RETURN_IF_ERROR(CheckShape(ctx.input(1), out, "orig_output"));
      return CheckShape(ctx.input(2), kKind == PoolKind::kMaxGrad ? out : in, "grad");
    }
    return absl::OkStatus();
  }

  template <typename T>
  static void Run(OpKernelContext& ctx, const VolumeShape& s, const Tensor& image, const Tensor& gradient,
                  Tensor& out) {
    const int64_t in_plane = s.InputPixels() * s.channels, out_plane = s.OutputPixels() * s.channels;
    const Planes<T> planes{s};
    ParallelRanges(ctx, s.batch, WindowCost(s), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const T* const x = image.data<T>() + b * in_plane;
        if constexpr (kKind == PoolKind::kMax) {
          planes.Max(x, out.data<T>() + b * out_plane);
        } else if constexpr (kKind == PoolKind::kAverage) {
          planes.Average(x, out.data<T>() + b * out_plane);
        } else if constexpr (kKind == PoolKind::kAverageGrad) {
          planes.AverageGradient(gradient.data<T>() + b * out_plane, out.data<T>() + b * in_plane);
        } else if constexpr (kKind == PoolKind::kMaxGrad) {
          T* const to = out.data<T>() + b * in_plane;
          const T* const g = gradient.data<T>() + b * out_plane;
          std::fill_n(to, in_plane, T(0));
          planes.EachMaximum(x, [&](int64_t o, int64_t i) { to[i] += g[o]; });
        } else {
          T* const to = out.data<T>() + b * out_plane;
          const T* const g = gradient.data<T>() + b * in_plane;
          std::fill_n(to, out_plane, T(0));
          planes.EachMaximum(x, [&](int64_t o, int64_t i) { to[o] = g[i]; });
        }
      }
    });
  }

  VolumeAttrs attrs_;
  bool inputs_for_windows_ = false;
};

// MaxPoolWithArgmax: indices are those of the flattened image, or of the whole batch. Real types are compared as
// double.
class MaxPoolWithArgmaxKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("include_batch_in_index", &include_batch_));
    ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
    if (attrs_.spatial == 2) return absl::OkStatus();
    return errors::InvalidArgument("Sliding window ksize field must specify 4 dimensions");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.dims() != 4) return errors::InvalidArgument("tensor_in must be 4-dimensional (2)");
    if (in.NumElements() == 0) return errors::InvalidArgument("tensor_in must not be empty (2)");
    ASSIGN_OR_RETURN(VolumeShape s, VolumeShape::Make(attrs_, in.shape(), nullptr));
    if (attrs_.depth_ksize != 1) {
      RETURN_IF_ERROR(
          CheckDepthPooling(s.channels, attrs_.ksize[1] * attrs_.ksize[2], attrs_.depth_ksize, attrs_.depth_stride));
      // TensorFlow accepts such windows, but each output element is the pixel's own.
      for (WindowDim& dim : s.dims) {
        dim.out = dim.in;
        dim.before = 0;
      }
    }
    ASSIGN_OR_RETURN(const TensorShape out, s.Output(s.channels));
    ASSIGN_OR_RETURN(Tensor * best, ctx.allocate_output(0, out));
    ASSIGN_OR_RETURN(Tensor * places, ctx.allocate_output(1, out));
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, in, DT_DOUBLE));
    const int64_t in_plane = s.InputPixels() * s.channels, out_plane = s.OutputPixels() * s.channels;
    const bool narrow = places->dtype() == DT_INT32;
    if (narrow && in.NumElements() > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("Indices of ", in.shape().ToString(), " exceed int32");
    }
    if (out.num_elements() == 0) return absl::OkStatus();
    if (in_plane == 0) return errors::InvalidArgument("Windows over an empty image");
    ZeroElements(best->dtype(), best->raw_data(), best->NumElements());
    ZeroElements(places->dtype(), places->raw_data(), places->NumElements());
    const int64_t size = static_cast<int64_t>(DataTypeSize(in.dtype()));
    ParallelRanges(ctx, s.batch, 3 * WindowCost(s), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        Planes<double>{s}.EachMaximum(image.data<double>() + b * in_plane, [&](int64_t o, int64_t i) {
          const int64_t to = b * out_plane + o, place = include_batch_ ? b * in_plane + i : i;
          CopyElements(in.dtype(), static_cast<char*>(best->raw_data()) + to * size,
                       static_cast<const char*>(in.raw_data()) + (b * in_plane + i) * size, 1);
          if (narrow) {
            places->data<int32_t>()[to] = static_cast<int32_t>(place);
          } else {
            places->data<int64_t>()[to] = place;
          }
        });
      }
    });
    return absl::OkStatus();
  }

 private:
  VolumeAttrs attrs_;
  bool include_batch_ = false;
};

// MaxPoolGradWithArgmax adds gradients up where the indices point to, MaxPoolGradGradWithArgmax takes them from there.
template <bool kSecond>
class MaxPoolArgmaxGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("include_batch_in_index", &include_batch_));
    ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
    if (attrs_.spatial == 2) return absl::OkStatus();
    return errors::InvalidArgument("Sliding window ksize field must specify 4 dimensions");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape in = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const VolumeShape s, VolumeShape::Make(attrs_, in, nullptr));
    ASSIGN_OR_RETURN(const TensorShape out, s.Output(s.channels));
    RETURN_IF_ERROR(CheckShape(ctx.input(1), kSecond ? in : out, "grad"));
    RETURN_IF_ERROR(CheckShape(ctx.input(2), out, "argmax"));
    ASSIGN_OR_RETURN(const Indices places, Indices::Read(ctx.input(2)));
    const int64_t in_plane = s.InputPixels() * s.channels, out_plane = s.OutputPixels() * s.channels;
    RETURN_IF_ERROR(places.CheckRange(include_batch_ ? in.num_elements() : in_plane, "argmax"));
    ASSIGN_OR_RETURN(const Tensor gradient, ConvertTensor(ctx, ctx.input(1), DT_DOUBLE));
    ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(DT_DOUBLE, kSecond ? out : in));
    std::fill_n(result.data<double>(), result.NumElements(), 0.0);
    for (int64_t i = 0; i < places.size(); ++i) {
      const int64_t at = places[i] + (include_batch_ ? 0 : i / out_plane * in_plane);
      if (kSecond) {
        result.data<double>()[i] = gradient.data<double>()[at];
      } else {
        result.data<double>()[at] += gradient.data<double>()[i];
      }
    }
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, result, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  VolumeAttrs attrs_;
  bool include_batch_ = false;
};

}  // namespace

absl::Status RegisterVolumePoolingKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  const DataTypeVector reals = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_INT8,   DT_INT16,
                                DT_INT32, DT_INT64,  DT_UINT8, DT_UINT16,   DT_UINT32, DT_UINT64};
  const DataTypeVector single = {DT_FLOAT, DT_HALF, DT_BFLOAT16};
  RETURN_IF_ERROR(kernels.Register<VolumePoolKernel<PoolKind::kMax>>(Kernel("MaxPool3D").Cpu().Types("T", single)));
  RETURN_IF_ERROR(
      kernels.Register<VolumePoolKernel<PoolKind::kMaxGrad>>(Kernel("MaxPool3DGrad").Cpu().Types("T", single)));
  RETURN_IF_ERROR(
      kernels.Register<VolumePoolKernel<PoolKind::kMaxGradGrad>>(Kernel("MaxPool3DGradGrad").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<VolumePoolKernel<PoolKind::kAverage>>(Kernel("AvgPool3D").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<VolumePoolKernel<PoolKind::kAverageGrad>>(
      Kernel("AvgPool3DGrad").Cpu().Types("T", floats).HostMemory("orig_input_shape")));
  RETURN_IF_ERROR(
      kernels.Register<VolumePoolKernel<PoolKind::kMaxGradGrad>>(Kernel("MaxPoolGradGrad").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<VolumePoolKernel<PoolKind::kMaxGradGrad>>(
      Kernel("MaxPoolGradGradV2").Cpu().Types("T", floats).HostMemory("ksize").HostMemory("strides")));
  RETURN_IF_ERROR(kernels.Register<MaxPoolWithArgmaxKernel>(Kernel("MaxPoolWithArgmax").Cpu().Types("T", reals)));
  RETURN_IF_ERROR(
      kernels.Register<MaxPoolArgmaxGradKernel<false>>(Kernel("MaxPoolGradWithArgmax").Cpu().Types("T", reals)));
  return kernels.Register<MaxPoolArgmaxGradKernel<true>>(Kernel("MaxPoolGradGradWithArgmax").Cpu().Types("T", reals));
}

}  // namespace weir
