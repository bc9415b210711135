// Convolutions as matrix products: each output pixel's patch of the input becomes a row.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/convolution/cpu_convolution.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

// Steps in elements between neighbours of an image.
struct ImageStrides {
  int64_t batch, row, column, channel;
};

ImageStrides StridesOf(bool channels_first, int64_t rows, int64_t columns, int64_t channels) {
  if (channels_first) return {channels * rows * columns, columns, 1, rows * columns};
  return {rows * columns * channels, columns * channels, channels, 1};
}

// T is uint32_t for int32: the bits are the same, and sums wrap.
template <typename T>
class PlainConvolution : public Convolution {
 public:
  PlainConvolution(ConvolutionKind kind, Gemm gemm) : kind_(kind), gemm_(gemm) {}

  absl::Status Run(OpKernelContext& ctx, const ConvolutionShape& s, const ConvolutionBuffers& buffers) override {
    const int64_t pixels = s.rows.out * s.columns.out, depth = s.in_channels / s.groups;
    const int64_t patch = s.rows.filter * s.columns.filter * depth, width = s.out_channels / s.groups;
    ASSIGN_OR_RETURN(const TensorShape patches_shape, TensorShape::Build({pixels, patch}));
    ASSIGN_OR_RETURN(const TensorShape result_shape, TensorShape::Build({std::max(pixels, patch), width}));
    ASSIGN_OR_RETURN(Tensor patches, ctx.allocate_temp(DataTypeOf<T>(), patches_shape));
    ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(DataTypeOf<T>(), result_shape));
    T* const input = static_cast<T*>(buffers.input);
    T* const filter = static_cast<T*>(buffers.filter);
    T* const output = static_cast<T*>(buffers.output);
    if (kind_ == ConvolutionKind::kBackpropInput) std::fill_n(input, s.InputElements(), T(0));
    if (kind_ == ConvolutionKind::kBackpropFilter) std::fill_n(filter, s.FilterElements(), T(0));
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t g = 0; g < s.groups; ++g) {
        RunGroup(s, n, g, input, filter + g * width, output, patches.data<T>(), result.data<T>());
      }
    }
    ApplyEpilogue(s, buffers);
    return absl::OkStatus();
  }

 private:
  void RunGroup(const ConvolutionShape& s, int64_t n, int64_t g, T* input, T* filter, T* output, T* patches,
                T* result) const {
    const int64_t pixels = s.rows.out * s.columns.out, depth = s.in_channels / s.groups;
    const int64_t patch = s.rows.filter * s.columns.filter * depth, width = s.out_channels / s.groups;
    const ImageStrides in = StridesOf(s.channels_first, s.rows.in, s.columns.in, s.in_channels);
    const ImageStrides out = StridesOf(s.channels_first, s.rows.out, s.columns.out, s.out_channels);
    T* const image = input + n * in.batch + g * depth * in.channel;
    T* const gradient = output + n * out.batch + g * width * out.channel;
    GemmArgs args;
    switch (kind_) {
      case ConvolutionKind::kForward:
        EachPatchElement(s, in, depth, image, patches, [](T* pixel, T* element) { *element = pixel ? *pixel : T(0); });
        args.m = pixels, args.n = width, args.k = patch;
        args.a = patches, args.lda = patch;
        args.b = filter, args.ldb = s.out_channels;
        args.c = result, args.ldc = width;
        gemm_(args);
        EachPixel(pixels, width, out, [&](int64_t at, int64_t i) { gradient[at] = result[i]; });
        break;
      case ConvolutionKind::kBackpropInput:
        EachPixel(pixels, width, out, [&](int64_t at, int64_t i) { result[i] = gradient[at]; });
        args.transpose_b = true;
        args.m = pixels, args.n = patch, args.k = width;
        args.a = result, args.lda = width;
        args.b = filter, args.ldb = s.out_channels;
        args.c = patches, args.ldc = patch;
        gemm_(args);
        EachPatchElement(s, in, depth, image, patches, [](T* pixel, T* element) {
          if (pixel != nullptr) *pixel += *element;
        });
        break;
      case ConvolutionKind::kBackpropFilter: {
        EachPatchElement(s, in, depth, image, patches, [](T* pixel, T* element) { *element = pixel ? *pixel : T(0); });
        std::vector<T> columns(pixels * width);
        EachPixel(pixels, width, out, [&](int64_t at, int64_t i) { columns[i] = gradient[at]; });
        args.transpose_a = true;
        args.m = patch, args.n = width, args.k = pixels;
        args.a = patches, args.lda = patch;
        args.b = columns.data(), args.ldb = width;
        args.c = result, args.ldc = width;
        gemm_(args);
        for (int64_t i = 0; i < patch; ++i) {
          for (int64_t j = 0; j < width; ++j) filter[i * s.out_channels + j] += result[i * width + j];
        }
        break;
      }
    }
  }

  // fn(pixel, element) for each element of each patch; `pixel` is nullptr in the padding.
  template <typename Fn>
  static void EachPatchElement(const ConvolutionShape& s, const ImageStrides& in, int64_t depth, T* image, T* patches,
                               Fn fn) {
    T* element = patches;
    for (int64_t y = 0; y < s.rows.out; ++y) {
      for (int64_t x = 0; x < s.columns.out; ++x) {
        for (int64_t i = 0; i < s.rows.filter; ++i) {
          const int64_t row = y * s.rows.stride - s.rows.before + i * s.rows.dilation;
          for (int64_t j = 0; j < s.columns.filter; ++j) {
            const int64_t column = x * s.columns.stride - s.columns.before + j * s.columns.dilation;
            const bool inside = row >= 0 && row < s.rows.in && column >= 0 && column < s.columns.in;
            T* pixel = inside ? image + row * in.row + column * in.column : nullptr;
            for (int64_t c = 0; c < depth; ++c, ++element) fn(inside ? pixel + c * in.channel : nullptr, element);
          }
        }
      }
    }
  }

  // fn(at, i): element i of a dense [pixels, width] matrix stands at `at` in the output image.
  template <typename Fn>
  static void EachPixel(int64_t pixels, int64_t width, const ImageStrides& out, Fn fn) {
    for (int64_t p = 0, i = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < width; ++c, ++i) fn(p * out.column + c * out.channel, i);
    }
  }

  const ConvolutionKind kind_;
  const Gemm gemm_;
};

}  // namespace

std::unique_ptr<Convolution> NewPlainConvolution(ConvolutionKind kind, DataType type) {
  if (type == DT_DOUBLE) return std::make_unique<PlainConvolution<double>>(kind, FindGemm(DT_DOUBLE));
  if (type == DT_INT32) return std::make_unique<PlainConvolution<uint32_t>>(kind, FindGemm(DT_INT32));
  return nullptr;
}

}  // namespace weir
