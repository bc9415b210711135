// Normal numbers of given mean and deviation within given bounds.
#include <algorithm>

#include "core/tensor/index_tensor.h"
#include "kernels/coordination/shape_suffix.h"
#include "kernels/random/family.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/random_samples.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

constexpr int kMaxIterations = 1000;
constexpr int kParameters = 4;  // mean, deviation, lower and upper bound

template <typename T>
struct Bounds {
  T mean, deviation, low, high;
};

// Rejection sampling with one of three proposals: the normal distribution itself, where much of it lies within the
// bounds; a uniform one, where they are near each other; and an exponential one for tails.
template <typename T>
class TruncatedSampler {
 public:
  static absl::StatusOr<TruncatedSampler> Make(Bounds<T> p) {
    if (!(p.deviation > T(0)) || !(p.low < p.high) || (IsInf(p.low) && IsInf(p.high)) || p.mean != p.mean) {
      return errors::InvalidArgument("Invalid parameters");
    }
    TruncatedSampler s;
    // One-sided bounds become lower ones, two-sided ones positive where they can.
    if ((IsInf(p.low) && p.low < T(0)) || p.high < p.mean) {
      std::swap(p.low, p.high);
      p.deviation = -p.deviation;
    }
    s.mean_ = p.mean;
    s.deviation_ = p.deviation;
    s.low_ = (p.low - p.mean) / p.deviation;
    s.high_ = (p.high - p.mean) / p.deviation;
    return s;
  }

  // emit(i, value) for i < n.
  template <typename Emit>
  absl::Status Fill(Philox& stream, int64_t n, Emit emit) const {
    const T enough = T(1.3);
    if ((low_ < -enough && high_ >= T(0.)) || (high_ > enough && low_ <= T(0.))) return FromNormal(stream, n, emit);
    const T root = sampling::Sqrt((low_ * low_) + T(4));
    const T cutoff = T(2) * sampling::Exp(T(0.5) + (low_ * (low_ - root)) / T(4)) / (low_ + root);
    return high_ - low_ < cutoff ? FromUniform(stream, n, emit) : FromExponential(stream, n, emit);
  }

 private:
  static constexpr int kGroup = kSamplesPerGroup<T>;
  static bool IsInf(T x) { return std::isinf(static_cast<double>(x)); }
  static absl::Status Exhausted() {
    return errors::Internal("TruncatedNormal rejection sampler failed to accept a sample.");
  }

  template <typename Emit>
  absl::Status FromNormal(Philox& stream, int64_t n, Emit emit) const {
    int rejected = 0;
    for (int64_t done = 0; done < n;) {
      T x[kGroup];
      NormalSamples<T>(stream, x);
      for (int i = 0; i < kGroup && done < n; ++i) {
        if (x[i] >= low_ && x[i] <= high_) {
          emit(done++, x[i] * deviation_ + mean_);
          rejected = 0;
        } else if (++rejected > kMaxIterations) {
          return Exhausted();
        }
      }
    }
    return absl::OkStatus();
  }

  template <typename Emit>
  absl::Status FromUniform(Philox& stream, int64_t n, Emit emit) const {
    const T width = high_ - low_, plus = low_ < T(0) ? T(0) : low_ * low_;
    int rejected = 0;
    for (int64_t done = 0; done < n;) {
      T z[kGroup], u[kGroup];
      UniformSamples<T>(stream, z);
      UniformSamples<T>(stream, u);
      for (int i = 0; i < kGroup && done < n; ++i) {
        z[i] = z[i] * width + low_;
        if (u[i] <= sampling::Exp((plus - z[i] * z[i]) / T(2.0))) {
          emit(done++, z[i] * deviation_ + mean_);
          rejected = 0;
        } else if (++rejected >= kMaxIterations) {
          return Exhausted();
        }
      }
    }
    return absl::OkStatus();
  }

  template <typename Emit>
  absl::Status FromExponential(Philox& stream, int64_t n, Emit emit) const {
    const T alpha = (low_ + sampling::Sqrt((low_ * low_) + T(4))) / T(2);
    int rejected = 0;
    for (int64_t done = 0; done < n;) {
      T random[kGroup];
      UniformSamples<T>(stream, random);
      for (int i = 0; i < kGroup && done < n; i += 2) {
        const T z = -sampling::Log(random[i]) / alpha + low_;
        const T x = low_ < alpha ? alpha - z : low_ - alpha;
        if (random[i + 1] <= sampling::Exp(-x * x / T(2.0)) && z < high_) {
          emit(done++, z * deviation_ + mean_);
          rejected = 0;
        } else if (++rejected >= kMaxIterations) {
          return Exhausted();
        }
      }
    }
    return absl::OkStatus();
  }

  T mean_, deviation_, low_, high_;  // the bounds are those of the standard normal distribution
};

// The parameters are scalars, or vectors with one element or one for each row of the output.
template <typename T>
class ParameterizedTruncatedNormalKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return generator_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    if (shape.dims() == 0) return errors::InvalidArgument("Shape tensor must not be empty, got []");
    static constexpr const char* kNames[] = {"means", "stddevs", "minvals", "maxvals"};
    const int64_t rows = shape.dim_size(0), total = shape.num_elements();
    bool one = ctx.input(3).dims() == 0 && ctx.input(4).dims() == 0;
    for (int i = 0; i < kParameters; ++i) {
      const Tensor& p = ctx.input(1 + i);
      if (p.dims() > 1) {
        return errors::InvalidArgument("Input ", kNames[i],
                                       " should be a scalar or vector, got shape: ", p.shape().ToString());
      }
      if (p.dims() == 1 && p.dim_size(0) != 1 && p.dim_size(0) != rows) {
        return errors::InvalidArgument("Input ", kNames[i],
                                       " should have length 1 or shape[0], got shape: ", p.shape().ToString());
      }
      if (i < 2 && p.NumElements() != 1) one = false;
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (total == 0) return absl::OkStatus();
    // With one set of parameters, rows are of a size that suits threads.
    const int64_t width = one ? 100 : total / rows, batches = one ? (total + 99) / 100 : rows;
    Philox stream = generator_.Reserve(static_cast<uint64_t>(batches * 2 * kMaxIterations * (width + 3) / 4));
    for (int64_t b = 0; b < batches; ++b) {
      T p[kParameters];
      for (int i = 0; i < kParameters; ++i) {
        const Tensor& given = ctx.input(1 + i);
        p[i] = given.data<T>()[given.NumElements() == 1 ? 0 : b];
      }
      ASSIGN_OR_RETURN(const auto sampler, TruncatedSampler<T>::Make({p[0], p[1], p[2], p[3]}));
      T* const row = output->data<T>() + b * width;
      RETURN_IF_ERROR(sampler.Fill(stream, std::min(width, total - b * width), [&](int64_t i, T x) { row[i] = x; }));
    }
    return absl::OkStatus();
  }

 private:
  GuardedPhilox generator_;
};

// Inputs: shape, which ends with the parameters' broadcast together; seed; the parameters.
template <typename T>
class StatelessTruncatedNormalKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Philox stream, PhiloxFromSeed(ctx.input(1)));
    ASSIGN_OR_RETURN(const TensorShape batch, BatchShape(ctx));
    if (!EndsWith(shape, batch)) {
      return errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t batches = batch.num_elements(), samples = output->NumElements() / batches;
    for (int64_t b = 0; b < batches; ++b) {
      T p[kParameters];
      for (int i = 0; i < kParameters; ++i)
        p[i] = ctx.input(2 + i).data<T>()[Place(ctx.input(2 + i).shape(), batch, b)];
      ASSIGN_OR_RETURN(const auto sampler, TruncatedSampler<T>::Make({p[0], p[1], p[2], p[3]}));
      T* const column = output->data<T>() + b;
      RETURN_IF_ERROR(sampler.Fill(stream, samples, [&](int64_t i, T x) { column[i * batches] = x; }));
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<TensorShape> BatchShape(const OpKernelContext& ctx) {
    DimVector dims;
    for (int i = 0; i < kParameters; ++i) {
      const TensorShape& shape = ctx.input(2 + i).shape();
      if (shape.dims() > static_cast<int>(dims.size())) dims.insert(dims.begin(), shape.dims() - dims.size(), 1);
      for (int d = 1; d <= shape.dims(); ++d) {
        int64_t& size = dims[dims.size() - d];
        const int64_t mine = shape.dim_size(shape.dims() - d);
        if (mine != size && mine != 1 && size != 1) {
          return errors::InvalidArgument("means, stddevs, minvals, maxvals must have compatible batch dimensions: ",
                                         ctx.input(2).shape().ToString(), " vs. ", ctx.input(3).shape().ToString(),
                                         " vs. ", ctx.input(4).shape().ToString(), " vs. ",
                                         ctx.input(5).shape().ToString());
        }
        if (mine != 1) size = mine;
      }
    }
    return TensorShape::Build(dims);
  }

  // Where element `index` of the broadcast shape lies in a tensor of `shape`.
  static int64_t Place(const TensorShape& shape, const TensorShape& batch, int64_t index) {
    int64_t place = 0, step = 1;
    for (int d = 1; d <= shape.dims(); ++d) {
      const int64_t size = shape.dim_size(shape.dims() - d), full = batch.dim_size(batch.dims() - d);
      if (size != 1) place += index % full * step;
      index /= full;
      step *= size;
    }
    return place;
  }
};

}  // namespace

absl::Status RegisterTruncatedNormalKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T)                                                                   \
  RETURN_IF_ERROR(kernels.Register<ParameterizedTruncatedNormalKernel<T>>(                 \
      Kernel("ParameterizedTruncatedNormal").Cpu().Type<T>("dtype").HostMemory("shape"))); \
  RETURN_IF_ERROR(kernels.Register<StatelessTruncatedNormalKernel<T>>(                     \
      Kernel("StatelessParameterizedTruncatedNormal").Cpu().Type<T>("dtype").HostMemory("shape").HostMemory("seed")));
  WEIR_REGISTER(half)
  WEIR_REGISTER(float)
  WEIR_REGISTER(double)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
