// Convolutions over up to three spatial dimensions: matrix products over patches.
#include <cstring>
#include <vector>

#include "kernels/convolution/family.h"
#include "kernels/convolution/volume.h"
#include "kernels/device/indices.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

// One problem with channels last. A patch has an element for each tap of the filter and channel of its group.
struct Problem : VolumeConvolution {
  int64_t PatchSize() const { return s.dims[0].filter * s.dims[1].filter * s.dims[2].filter * group_in(); }
  // The number of output pixels in a block.
  int64_t Chunk() const { return std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, PatchSize())); }
  int64_t Cost(int64_t pixels) const {
    return static_cast<int64_t>(
        std::min(1e15, 1000 + 60.0 * static_cast<double>(pixels) * static_cast<double>(PatchSize() * out_channels)));
  }
};

// fn(place of the pixel in an image, or -1 in the padding) for each tap of output pixel `pixel`.
template <typename Fn>
void EachTap(const VolumeShape& s, int64_t pixel, Fn fn) {
  const int64_t at[3] = {pixel / (s.dims[1].out * s.dims[2].out), pixel / s.dims[2].out % s.dims[1].out,
                         pixel % s.dims[2].out};
  int64_t first[3];
  for (int d = 0; d < 3; ++d) first[d] = at[d] * s.dims[d].stride - s.dims[d].before;
  for (int64_t i = 0; i < s.dims[0].filter; ++i) {
    const int64_t z = first[0] + i * s.dims[0].dilation;
    for (int64_t j = 0; j < s.dims[1].filter; ++j) {
      const int64_t y = first[1] + j * s.dims[1].dilation;
      for (int64_t k = 0; k < s.dims[2].filter; ++k) {
        const int64_t x = first[2] + k * s.dims[2].dilation;
        const bool inside = z >= 0 && z < s.dims[0].in && y >= 0 && y < s.dims[1].in && x >= 0 && x < s.dims[2].in;
        fn(inside ? (z * s.dims[1].in + y) * s.dims[2].in + x : -1);
      }
    }
  }
}

template <typename T>
class Loops {
 public:
  explicit Loops(const Problem& p) : p_(p), gemm_(FindGemm(DataTypeOf<T>())) {}

  void Forward(OpKernelContext& ctx, const T* in, const T* filter, T* out) const {
    const int64_t pixels = p_.s.OutputPixels(), chunk = p_.Chunk(), chunks = (pixels + chunk - 1) / chunk;
    ParallelRanges(ctx, p_.s.batch * chunks, p_.Cost(chunk), [&](int64_t begin, int64_t end) {
      std::vector<T> patches(chunk * p_.PatchSize());
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / chunks, first = i % chunks * chunk, n = std::min(chunk, pixels - first);
        for (int64_t g = 0; g < p_.groups; ++g) {
          Gather(in + b * p_.s.InputPixels() * p_.s.channels, g, first, n, patches.data());
          GemmArgs args = Args(n, p_.group_out(), p_.PatchSize());
          args.a = patches.data();
          args.lda = p_.PatchSize();
          args.b = filter + g * p_.group_out();
          args.ldb = p_.out_channels;
          args.c = out + (b * pixels + first) * p_.out_channels + g * p_.group_out();
          args.ldc = p_.out_channels;
          gemm_(args);
        }
      }
    });
  }

  void BackpropInput(OpKernelContext& ctx, const T* filter, const T* gradient, T* in) const {
    const int64_t pixels = p_.s.OutputPixels(), chunk = p_.Chunk(), plane = p_.s.InputPixels() * p_.s.channels;
    ParallelRanges(ctx, p_.s.batch, p_.Cost(pixels), [&](int64_t begin, int64_t end) {
      std::vector<T> patches(chunk * p_.PatchSize());
      for (int64_t b = begin; b < end; ++b) {
        std::fill_n(in + b * plane, plane, T(0));
        for (int64_t first = 0; first < pixels; first += chunk) {
          const int64_t n = std::min(chunk, pixels - first);
          for (int64_t g = 0; g < p_.groups; ++g) {
            GemmArgs args = Args(n, p_.PatchSize(), p_.group_out());
            args.a = gradient + (b * pixels + first) * p_.out_channels + g * p_.group_out();
            args.lda = p_.out_channels;
            args.transpose_b = true;
            args.b = filter + g * p_.group_out();
            args.ldb = p_.out_channels;
            args.c = patches.data();
            args.ldc = p_.PatchSize();
            gemm_(args);
            ScatterAdd(patches.data(), g, first, n, in + b * plane);
          }
        }
      }
    });
  }

  // Parts of the batch are summed separately and then added in order, so the result does not depend on the threads.
  void BackpropFilter(OpKernelContext& ctx, const T* in, const T* gradient, T* filter) const {
    const int64_t size = p_.PatchSize() * p_.out_channels, parts = std::min<int64_t>(p_.s.batch, 8);
    std::vector<T> sums(parts * size);
    const int64_t pixels = p_.s.OutputPixels(), chunk = p_.Chunk();
    ParallelRanges(ctx, parts, p_.Cost(pixels) * (p_.s.batch / parts), [&](int64_t begin, int64_t end) {
      std::vector<T> patches(chunk * p_.PatchSize()), product(p_.PatchSize() * p_.group_out());
      for (int64_t part = begin; part < end; ++part) {
        T* const sum = sums.data() + part * size;
        for (int64_t b = p_.s.batch * part / parts; b < p_.s.batch * (part + 1) / parts; ++b) {
          for (int64_t first = 0; first < pixels; first += chunk) {
            const int64_t n = std::min(chunk, pixels - first);
            for (int64_t g = 0; g < p_.groups; ++g) {
              Gather(in + b * p_.s.InputPixels() * p_.s.channels, g, first, n, patches.data());
              GemmArgs args = Args(p_.PatchSize(), p_.group_out(), n);
              args.transpose_a = true;
              args.a = patches.data();
              args.lda = p_.PatchSize();
              args.b = gradient + (b * pixels + first) * p_.out_channels + g * p_.group_out();
              args.ldb = p_.out_channels;
              args.c = product.data();
              args.ldc = p_.group_out();
              gemm_(args);
              for (int64_t i = 0; i < p_.PatchSize(); ++i) {
                T* const to = sum + i * p_.out_channels + g * p_.group_out();
                for (int64_t j = 0; j < p_.group_out(); ++j) to[j] += product[i * p_.group_out() + j];
              }
            }
          }
        }
      }
    });
    std::fill_n(filter, size, T(0));
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t i = 0; i < size; ++i) filter[i] += sums[part * size + i];
    }
  }

 private:
  static GemmArgs Args(int64_t m, int64_t n, int64_t k) {
    GemmArgs args;
    args.m = m;
    args.n = n;
    args.k = k;
    return args;
  }

  void Gather(const T* image, int64_t group, int64_t first, int64_t n, T* patch) const {
    const int64_t width = p_.group_in();
    for (int64_t pixel = first; pixel < first + n; ++pixel) {
      EachTap(p_.s, pixel, [&](int64_t place) {
        if (place < 0) {
          std::fill_n(patch, width, T(0));
        } else {
          std::copy_n(image + place * p_.s.channels + group * width, width, patch);
        }
        patch += width;
      });
    }
  }
  void ScatterAdd(const T* patch, int64_t group, int64_t first, int64_t n, T* image) const {
    const int64_t width = p_.group_in();
    for (int64_t pixel = first; pixel < first + n; ++pixel) {
      EachTap(p_.s, pixel, [&](int64_t place) {
        if (place >= 0) {
          T* const to = image + place * p_.s.channels + group * width;
          for (int64_t c = 0; c < width; ++c) to[c] += patch[c];
        }
        patch += width;
      });
    }
  }

  const Problem& p_;
  const Gemm gemm_;
};

enum class Direction { kForward, kInput, kFilter };

// Inputs: image (or its shape), filter (or its shape) and, backwards, the gradient.
template <Direction kDirection>
class VolumeConvolutionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    // The first versions of the gradient ops take the image or filter itself instead of its shape.
    sizes_given_ = ctx.op().find("V2") != std::string::npos;
    ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
    any_rank_ = ctx.HasAttr("batch_dims");
    if (!any_rank_) return absl::OkStatus();
    int64_t groups;
    RETURN_IF_ERROR(ctx.GetAttr("batch_dims", &batch_dims_));
    RETURN_IF_ERROR(ctx.GetAttr("groups", &groups));
    if (groups != 1) return errors::Unimplemented("Grouped/Depthwise Convolutions are not supported yet.");
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape in = ctx.input(0).shape(), filter = ctx.input(1).shape();
    if (sizes_given_) {
      ASSIGN_OR_RETURN(TensorShape given,
                       ShapeFromTensor(ctx.input(kDirection == Direction::kInput ? 0 : 1),
                                       kDirection == Direction::kInput ? "input_sizes" : "filter_sizes"));
      (kDirection == Direction::kInput ? in : filter) = given;
    }
    DimVector batch;
    if (any_rank_) {
      ASSIGN_OR_RETURN(batch, TakeBatch(&in));
      RETURN_IF_ERROR(CheckDepth(in, filter));
    }
    if (kDirection == Direction::kForward && filter.dims() == in.dims() && filter.num_elements() == 0 &&
        (any_rank_ || filter.dim_size(filter.dims() - 2) > 0)) {
      return errors::InvalidArgument("filter must not have zero elements (i.e. all dimensions must be non-zero)");
    }
    if (kDirection != Direction::kForward && attrs_.spatial == 3) {
      RETURN_IF_ERROR(
          VolumeConvolution::CheckOperands(attrs_, in, filter, ctx.input(2).shape(), kDirection == Direction::kInput));
    }
    ASSIGN_OR_RETURN(VolumeConvolution convolution, VolumeConvolution::Of(attrs_, in, filter));
    const Problem p{std::move(convolution)};
    ASSIGN_OR_RETURN(const TensorShape out, p.s.Output(p.out_channels));
    if (kDirection != Direction::kForward) {
      RETURN_IF_ERROR(p.CheckGradient(ctx.input(2).shape(), kDirection == Direction::kInput));
    }
    TensorShape result = kDirection == Direction::kForward ? out : kDirection == Direction::kInput ? in : filter;
    if (any_rank_) {
      ASSIGN_OR_RETURN(result, WithBatch(batch, out));
    }
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, result));
    if (result.num_elements() == 0) return output.Finish(ctx);
    if (filter.num_elements() == 0) {
      std::memset(output.tensor().raw_data(), 0, output.tensor().TotalBytes());
      return output.Finish(ctx);
    }
    // What Run computes has one batch dimension.
    ASSIGN_OR_RETURN(Tensor flat, output.tensor().Reshaped(kDirection == Direction::kForward ? out : result));
    RETURN_IF_ERROR(Visit(flat.dtype(), [&](auto element) { return Run<decltype(element)>(ctx, p, flat); }));
    flat = Tensor();
    return output.Finish(ctx);
  }

 private:
  // The elements of Conv may be int32.
  template <typename Fn>
  static absl::Status Visit(DataType type, Fn fn) {
    if constexpr (kDirection == Direction::kForward) {
      if (type == DT_INT32) return fn(int32_t());
    }
    return VisitWide(type, fn);
  }

  // Conv: makes the batch dimensions of `image` one, and returns them.
  absl::StatusOr<DimVector> TakeBatch(TensorShape* image) const {
    const int64_t spatial = image->dims() - 1 - batch_dims_;
    if (batch_dims_ < 0 || (spatial != 2 && spatial != 3)) {
      return errors::InvalidArgument("The input must have 2 or 3 spatial dimensions but got ", spatial);
    }
    if (spatial != attrs_.spatial) {
      return errors::InvalidArgument("Sliding window strides field must specify ", spatial + 2, " dimensions");
    }
    const auto sizes = image->dim_sizes();
    DimVector batch(sizes.begin(), sizes.begin() + batch_dims_), flat = {1};
    for (int64_t size : batch) {
      flat[0] = MultiplyWithoutOverflow(flat[0], size);
      if (flat[0] < 0) return errors::InvalidArgument("The batch dimensions of ", image->ToString(), " are too large");
    }
    flat.insert(flat.end(), sizes.begin() + batch_dims_, sizes.end());
    ASSIGN_OR_RETURN(*image, TensorShape::Build(flat));
    return batch;
  }

  static absl::StatusOr<TensorShape> WithBatch(const DimVector& batch, const TensorShape& flat) {
    DimVector sizes = batch;
    sizes.insert(sizes.end(), flat.dim_sizes().begin() + 1, flat.dim_sizes().end());
    return TensorShape::Build(sizes);
  }

  absl::Status CheckDepth(const TensorShape& in, const TensorShape& filter) const {
    if (filter.dims() != in.dims() || filter.num_elements() == 0) return absl::OkStatus();
    const int64_t depth = in.dim_size(attrs_.channels_first ? 1 : in.dims() - 1);
    const int64_t filter_depth = filter.dim_size(filter.dims() - 2);
    if (depth == filter_depth) return absl::OkStatus();
    return errors::InvalidArgument("Input depth must be equal to filter depth: ", depth, " vs ", filter_depth);
  }

  absl::StatusOr<Tensor> Load(OpKernelContext& ctx, int i) const {
    ASSIGN_OR_RETURN(Tensor wide, Widen(ctx, ctx.input(i)));
    if (!attrs_.channels_first) return wide;
    if (any_rank_) {
      TensorShape flat = wide.shape();
      RETURN_IF_ERROR(TakeBatch(&flat).status());
      ASSIGN_OR_RETURN(wide, wide.Reshaped(flat));
    }
    return ChannelsLast(ctx, wide);
  }

  template <typename T>
  absl::Status Run(OpKernelContext& ctx, const Problem& p, Tensor& output) const {
    Tensor image, filter, gradient, result = output;
    if (kDirection != Direction::kInput) {
      ASSIGN_OR_RETURN(image, Load(ctx, 0));
    }
    if (kDirection != Direction::kFilter) {
      ASSIGN_OR_RETURN(filter, Widen(ctx, ctx.input(1)));
    }
    if (kDirection != Direction::kForward) {
      ASSIGN_OR_RETURN(gradient, Load(ctx, 2));
    }
    const bool turn = attrs_.channels_first && kDirection != Direction::kFilter;
    if (turn) {
      DimVector sizes(output.shape().dim_sizes().begin(), output.shape().dim_sizes().end());
      std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
      ASSIGN_OR_RETURN(const TensorShape last, TensorShape::Build(sizes));
      ASSIGN_OR_RETURN(result, ctx.allocate_temp(output.dtype(), last));
    }
    const Loops<T> loops(p);
    if constexpr (kDirection == Direction::kForward) {
      loops.Forward(ctx, image.data<T>(), filter.data<T>(), result.data<T>());
    } else if constexpr (kDirection == Direction::kInput) {
      loops.BackpropInput(ctx, filter.data<T>(), gradient.data<T>(), result.data<T>());
    } else {
      loops.BackpropFilter(ctx, image.data<T>(), gradient.data<T>(), result.data<T>());
    }
    return turn ? CopyChannelsFirst(ctx, result, &output) : absl::OkStatus();
  }

  VolumeAttrs attrs_;
  bool sizes_given_ = false;
  bool any_rank_ = false;  // Conv
  int64_t batch_dims_ = 1;
};

}  // namespace

absl::Status RegisterVolumeConvolutionKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  const auto kernel = [&](const char* op) { return Kernel(op).Cpu().Types("T", floats); };
  using Forward = VolumeConvolutionKernel<Direction::kForward>;
  using BackpropInput = VolumeConvolutionKernel<Direction::kInput>;
  using BackpropFilter = VolumeConvolutionKernel<Direction::kFilter>;
  RETURN_IF_ERROR(kernels.Register<Forward>(kernel("Conv3D")));
  RETURN_IF_ERROR(kernels.Register<Forward>(
      Kernel("Conv").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32})));
  RETURN_IF_ERROR(kernels.Register<BackpropInput>(kernel("Conv3DBackpropInput")));
  RETURN_IF_ERROR(kernels.Register<BackpropInput>(kernel("Conv3DBackpropInputV2").HostMemory("input_sizes")));
  RETURN_IF_ERROR(kernels.Register<BackpropFilter>(kernel("Conv3DBackpropFilter")));
  return kernels.Register<BackpropFilter>(kernel("Conv3DBackpropFilterV2").HostMemory("filter_sizes"));
}

}  // namespace weir
