// Discrete Fourier transforms over the last one, two or three dimensions.
#include <algorithm>
#include <complex>
#include <memory>
#include <mutex>
#include <type_traits>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/signal/family.h"
#include "kernels/signal/fourier_lines.h"
#include "kernels/signal/fourier_transform.h"

namespace weir {
namespace {

// Transforms of the lengths that a kernel last saw, since steps repeat them. Thread-safe.
template <typename Transform>
class LastTransform {
 public:
  std::shared_ptr<const Transform> Of(int64_t n) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (last_ != nullptr && last_->length() == n) return last_;
    }
    auto made = std::make_shared<const Transform>(n);
    if (n > kMostKept) return made;
    std::lock_guard<std::mutex> lock(mutex_);
    last_ = made;
    return made;
  }

 private:
  static constexpr int64_t kMostKept = 1 << 16;
  std::mutex mutex_;
  std::shared_ptr<const Transform> last_;
};

// R: the type of elements. Powers of two are transformed in it, all else in double.
template <typename R>
struct Transforms {
  template <typename Fn>
  void Visit(int64_t n, Fn fn) {
    std::is_same_v<R, double> || (n & (n - 1)) != 0 ? fn(wide.Of(n)) : fn(same.Of(n));
  }
  template <typename Fn>
  void VisitReal(int64_t n, Fn fn) {
    std::is_same_v<R, double> || (n & (n - 1)) != 0 ? fn(real_wide.Of(n)) : fn(real_same.Of(n));
  }

  LastTransform<FourierTransform<R>> same;
  LastTransform<FourierTransform<double>> wide;
  LastTransform<RealFourierTransform<R>> real_same;
  LastTransform<RealFourierTransform<double>> real_wide;
};

// Transforms dimension `axis` of `data`. The inverse is the transform with the parts of all numbers exchanged.
template <typename R, typename C>
void TransformAxis(OpKernelContext& ctx, const FourierTransform<C>& transform, const TensorShape& shape, int axis,
                   bool inverse, std::complex<R>* data) {
  const int64_t n = transform.length();
  int64_t inner = 1;
  for (int d = axis + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
  const C scale = inverse ? C(1) / static_cast<C>(n) : C(1);
  ParallelRanges(ctx, shape.num_elements() / n, transform.Cost(), [&](int64_t begin, int64_t end) {
    FourierLines<C> x, scratch;
    for (int64_t first = begin; first < end; first += transform.lanes()) {
      const int64_t lanes = std::min(transform.lanes(), end - first);
      x.Resize(n * lanes);
      if (inner == 1) {
        std::complex<R>* const line = data + first * n;
        C* const re = (inverse ? x.im : x.re).data();
        C* const im = (inverse ? x.re : x.im).data();
        ToLines(line, n, lanes, n, re, im);
        transform.Run(lanes, &x, &scratch);
        if (inverse) {
          for (C& value : x.re) value *= scale;
          for (C& value : x.im) value *= scale;
        }
        FromLines((inverse ? x.im : x.re).data(), (inverse ? x.re : x.im).data(), lanes, n, line, n);
        continue;
      }
      for (int64_t l = 0; l < lanes; ++l) {
        const std::complex<R>* const from = data + (first + l) / inner * n * inner + (first + l) % inner;
        C* const re = (inverse ? x.im : x.re).data() + l;
        C* const im = (inverse ? x.re : x.im).data() + l;
        for (int64_t k = 0; k < n; ++k) {
          re[k * lanes] = static_cast<C>(from[k * inner].real());
          im[k * lanes] = static_cast<C>(from[k * inner].imag());
        }
      }
      transform.Run(lanes, &x, &scratch);
      for (int64_t l = 0; l < lanes; ++l) {
        std::complex<R>* const to = data + (first + l) / inner * n * inner + (first + l) % inner;
        const C* const re = (inverse ? x.im : x.re).data() + l;
        const C* const im = (inverse ? x.re : x.im).data() + l;
        for (int64_t k = 0; k < n; ++k) {
          to[k * inner] = {static_cast<R>(re[k * lanes] * scale), static_cast<R>(im[k * lanes] * scale)};
        }
      }
    }
  });
}

// The first n / 2 + 1 elements of the transforms of rows of n real numbers.
template <typename R, typename C>
void TransformRealRows(OpKernelContext& ctx, const RealFourierTransform<C>& transform, int64_t rows, const R* in,
                       std::complex<R>* out) {
  const int64_t n = transform.length(), half = n / 2 + 1, packed = transform.packed_length();
  ParallelRanges(ctx, rows, transform.Cost(), [&](int64_t begin, int64_t end) {
    FourierLines<C> x, scratch;
    for (int64_t first = begin; first < end; first += transform.lanes()) {
      const int64_t lanes = std::min(transform.lanes(), end - first);
      x.Resize(packed * lanes);
      const R* const from = in + first * n;
      if (n % 2 == 0) {  // pairs of numbers are as many complex ones
        ToLines(reinterpret_cast<const std::complex<R>*>(from), packed, lanes, packed, x.re.data(), x.im.data());
      } else {
        for (int64_t l = 0; l < lanes; ++l) {
          for (int64_t k = 0; k < packed; ++k) {
            x.re[k * lanes + l] = static_cast<C>(from[l * n + k]);
            x.im[k * lanes + l] = C(0);
          }
        }
      }
      transform.Run(lanes, &x, &scratch);
      FromLines(x.re.data(), x.im.data(), lanes, half, out + first * half, half);
    }
  });
}

// `input` cut or filled with zeros to `shape`.
template <typename T>
absl::StatusOr<Tensor> Fit(OpKernelContext& ctx, const Tensor& input, const TensorShape& shape) {
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(input.dtype(), shape));
  T* const to = result.data<T>();
  if (input.shape() == shape) {
    std::copy_n(input.data<T>(), result.NumElements(), to);
    return result;
  }
  std::fill_n(to, result.NumElements(), T());
  if (input.NumElements() == 0 || result.NumElements() == 0) return result;
  const int rank = shape.dims();
  const int64_t from_width = input.dim_size(rank - 1), to_width = shape.dim_size(rank - 1),
                width = std::min(from_width, to_width);
  for (int64_t row = 0; row < input.NumElements() / from_width; ++row) {
    int64_t rest = row, at = 0, step = 1;
    bool inside = true;
    for (int d = rank - 2; d >= 0; --d) {
      const int64_t index = rest % input.dim_size(d);
      rest /= input.dim_size(d);
      inside = inside && index < shape.dim_size(d);
      at += index * step;
      step *= shape.dim_size(d);
    }
    if (inside) std::copy_n(input.data<T>() + row * from_width, width, to + at * to_width);
  }
  return result;
}

enum class Kind { kComplex, kFromReal, kToReal };

// Real transforms have the lengths as input 1.
template <Kind kKind, bool kInverse, int kRank>
class FourierKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    const DataType type = ctx.output_types()[0];
    single_ = type == DT_FLOAT || type == DT_COMPLEX64;
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.dims();
    if (rank < kRank) {
      return errors::InvalidArgument("Input must have rank of at least ", kRank,
                                     " but got: ", input.shape().ToString());
    }
    TensorShape full = input.shape();  // of the transform as a complex one
    if (kKind != Kind::kComplex) {
      const Tensor& lengths = ctx.input(1);
      if (lengths.dims() != 1 || lengths.dim_size(0) != kRank) {
        return errors::InvalidArgument("fft_length must have shape [", kRank, "]");
      }
      for (int i = 0; i < kRank; ++i) {
        const int64_t length = lengths.data<int32_t>()[i];
        if (length < 0) return errors::InvalidArgument("fft_length[", i, "] must >= 0, but got: ", length);
        const int axis = rank - kRank + i;
        const bool inner = i == kRank - 1;
        const int64_t least = kKind == Kind::kToReal && inner ? (length > 0 ? length / 2 + 1 : 0) : length;
        if (input.dim_size(axis) != 0 && input.dim_size(axis) < least) {
          return errors::InvalidArgument("Input dimension ", axis, " must have length of at least ", least,
                                         " but got: ", input.dim_size(axis));
        }
        RETURN_IF_ERROR(full.SetDim(axis, length));
      }
    }
    return single_ ? Transform(ctx, full, &floats_) : Transform(ctx, full, &doubles_);
  }

 private:
  template <typename R>
  absl::Status Transform(OpKernelContext& ctx, const TensorShape& full, Transforms<R>* transforms) {
    const int last = full.dims() - 1;
    const int64_t length = full.dim_size(last);
    TensorShape half = full;  // what of it has to be known where the numbers are real
    RETURN_IF_ERROR(half.SetDim(last, length > 0 ? length / 2 + 1 : 0));
    if constexpr (kKind == Kind::kComplex) {
      ASSIGN_OR_RETURN(const Tensor input, ConvertTensor(ctx, ctx.input(0), DataTypeOf<std::complex<R>>()));
      ASSIGN_OR_RETURN(Tensor z, Fit<std::complex<R>>(ctx, input, full));
      TransformAxes(ctx, last, &z, transforms);
      ctx.set_output(0, std::move(z));
    } else if constexpr (kKind == Kind::kFromReal) {
      ASSIGN_OR_RETURN(Tensor input, ConvertTensor(ctx, ctx.input(0), DataTypeOf<R>()));
      if (input.shape() != full) {
        ASSIGN_OR_RETURN(input, Fit<R>(ctx, input, full));
      }
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, half));
      if (full.num_elements() == 0) return absl::OkStatus();
      transforms->VisitReal(length, [&](const auto& transform) {
        TransformRealRows(ctx, *transform, full.num_elements() / length, input.data<R>(),
                          output->data<std::complex<R>>());
      });
      TransformAxes(ctx, last - 1, output, transforms);
    } else {
      return ToReal<R>(ctx, full, half, transforms);
    }
    return absl::OkStatus();
  }

  // Dimensions from rank - kRank to `last`.
  template <typename R>
  static void TransformAxes(OpKernelContext& ctx, int last, Tensor* z, Transforms<R>* transforms) {
    for (int axis = last; axis >= z->dims() - kRank; --axis) TransformOneAxis(ctx, axis, z, transforms);
  }
  template <typename R>
  static void TransformOneAxis(OpKernelContext& ctx, int axis, Tensor* z, Transforms<R>* transforms) {
    if (z->NumElements() == 0 || z->dim_size(axis) <= 1) return;
    transforms->Visit(z->dim_size(axis), [&](const auto& transform) {
      TransformAxis(ctx, *transform, z->shape(), axis, kInverse, z->data<std::complex<R>>());
    });
  }

  // The other half of the spectrum is the conjugate of this one, mirrored: the outer dimensions are transformed first,
  // so that only the innermost one has to be completed.
  template <typename R>
  static absl::Status ToReal(OpKernelContext& ctx, const TensorShape& full, const TensorShape& half,
                             Transforms<R>* transforms) {
    using Complex = std::complex<R>;
    const int last = full.dims() - 1;
    ASSIGN_OR_RETURN(const Tensor input, ConvertTensor(ctx, ctx.input(0), DataTypeOf<Complex>()));
    ASSIGN_OR_RETURN(Tensor z, Fit<Complex>(ctx, input, half));
    TransformAxes(ctx, last - 1, &z, transforms);
    ASSIGN_OR_RETURN(Tensor whole, Fit<Complex>(ctx, z, full));
    const int64_t n = full.dim_size(last);
    for (int64_t row = 0; n > 0 && row < whole.NumElements() / n; ++row) {
      Complex* const line = whole.data<Complex>() + row * n;
      for (int64_t k = n / 2 + 1; k < n; ++k) line[k] = std::conj(line[n - k]);
    }
    TransformOneAxis(ctx, last, &whole, transforms);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, full));
    const Complex* const from = whole.data<Complex>();
    R* const to = output->data<R>();
    for (int64_t i = 0; i < whole.NumElements(); ++i) to[i] = from[i].real();
    return absl::OkStatus();
  }

  bool single_ = false;  // float and complex64, not double and complex128
  Transforms<float> floats_;
  Transforms<double> doubles_;
};

template <int kRank>
absl::Status RegisterRank(KernelRegistry& kernels, const std::string& suffix) {
  for (const std::string& name : {"FFT" + suffix, "BatchFFT" + suffix}) {
    RETURN_IF_ERROR((kernels.Register<FourierKernel<Kind::kComplex, false, kRank>>(Kernel(name).Cpu())));
  }
  for (const std::string& name : {"IFFT" + suffix, "BatchIFFT" + suffix}) {
    RETURN_IF_ERROR((kernels.Register<FourierKernel<Kind::kComplex, true, kRank>>(Kernel(name).Cpu())));
  }
  RETURN_IF_ERROR((kernels.Register<FourierKernel<Kind::kFromReal, false, kRank>>(
      Kernel("RFFT" + suffix).Cpu().HostMemory("fft_length"))));
  return kernels.Register<FourierKernel<Kind::kToReal, true, kRank>>(
      Kernel("IRFFT" + suffix).Cpu().HostMemory("fft_length"));
}

}  // namespace

absl::Status RegisterFourierKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterRank<1>(kernels, ""));
  RETURN_IF_ERROR(RegisterRank<2>(kernels, "2D"));
  return RegisterRank<3>(kernels, "3D");
}

}  // namespace weir
