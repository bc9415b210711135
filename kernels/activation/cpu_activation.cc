// Activations and their gradients, element by element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/activation/activation_functors.h"
#include "kernels/activation/family.h"
#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"
#include "kernels/device/target_clones.h"
#include "kernels/device/vector_math.h"
#include "kernels/elementwise/args_pairwise.h"

namespace weir {
namespace {

// out[i] = f(x[i]), or for a gradient f(gradient[i], x[i]). `out` may be either input. `alpha` is LeakyRelu's.
using ActivationLoop = void (*)(const void* gradient, const void* x, void* out, int64_t n, float alpha);

class ActivationKernel : public OpKernel {
 public:
  ActivationKernel(ActivationLoop loop, int picoseconds) : loop_(loop), picoseconds_(picoseconds) {}

  absl::Status Init(OpKernelConstruction& ctx) override {
    name_ = ctx.name();
    op_ = ctx.op();
    size_ = DataTypeSize(ctx.output_types()[0]);
    if (ctx.HasAttr("alpha")) return ctx.GetAttr("alpha", &alpha_);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const bool gradient = ctx.num_inputs() == 2;
    const TensorShape shape = ctx.input(0).shape();  // a copy: forwarding may move the input away
    if (gradient) RETURN_IF_ERROR(CheckSameShape(name_, op_, ctx.input(0), ctx.input(1)));
    const char* const first = static_cast<const char*>(ctx.input(0).raw_data());
    const char* const second = gradient ? static_cast<const char*>(ctx.input(1).raw_data()) : nullptr;
    Tensor* output;
    if (gradient) {
      ASSIGN_OR_RETURN(output, ctx.forward_input_or_allocate_output({0, 1}, 0, shape));
    } else {
      ASSIGN_OR_RETURN(output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    }
    char* const out = static_cast<char*>(output->raw_data());
    ParallelRanges(ctx, shape.num_elements(), picoseconds_, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * size_;
      loop_(first + at, gradient ? second + at : first + at, out + at, end - begin, alpha_);
    });
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  const ActivationLoop loop_;
  const int picoseconds_;
  std::string name_, op_;
  int64_t size_ = 0;
  float alpha_ = 0;
};

// --- Functors: (x, alpha), or (gradient, x, alpha). NaN stays NaN. ---

using activations::Elu;
using activations::LeakyRelu;
using activations::Relu;
using activations::Relu6;

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

// A product, so that gradients that are not finite show up.
struct ReluGrad {
  template <typename T>
  T operator()(T g, T x, float) const {
    return static_cast<T>(g * static_cast<T>(x > T{0}));
  }
};
struct Relu6Grad {
  template <typename T>
  T operator()(T g, T x, float) const {
    return static_cast<T>(g * static_cast<T>((x > T{0}) & (x < T{6})));
  }
};
struct LeakyReluGrad {
  template <typename T>
  T operator()(T g, T x, float alpha) const {
    return x > T{0} ? g : static_cast<T>(g * static_cast<T>(alpha));
  }
};
struct EluGrad {
  template <typename T>
  T operator()(T g, T y, float) const {
    return y < T{0} ? g * (y + T{1}) : g;
  }
};
struct Selu {
  template <typename T>
  WEIR_ALWAYS_INLINE T operator()(T x, float) const {
    const T negative = T(kSeluScaleAlpha) * activations::Expm1(x);
    return x < T{0} ? negative : T(kSeluScale) * x;
  }
};
struct SeluGrad {
  template <typename T>
  T operator()(T g, T y, float) const {
    return g * (y < T{0} ? y + T(kSeluScaleAlpha) : T(kSeluScale));
  }
};
// Beyond the thresholds log(1 + exp(x)) loses one term of its sum to rounding.
struct Softplus {
  WEIR_ALWAYS_INLINE float operator()(float x, float) const {
    constexpr float kThreshold = -13.942385f;  // log(epsilon) + 2
    const float y = vector_math::Exp(x), sum = vector_math::Log1p(y);
    return x > -kThreshold ? x : x < kThreshold ? y : sum;
  }
  double operator()(double x, float) const {
    const double threshold = std::log(std::numeric_limits<double>::epsilon()) + 2;
    if (x > -threshold) return x;
    const double y = std::exp(x);
    return x < threshold ? y : std::log1p(y);
  }
};
struct SoftplusGrad {
  float operator()(float g, float x, float) const { return g * vector_math::Sigmoid(x); }
  double operator()(double g, double x, float) const { return g / (std::exp(-x) + 1); }
};
struct Softsign {
  template <typename T>
  T operator()(T x, float) const {
    return x / (T{1} + std::abs(x));
  }
};
struct SoftsignGrad {
  template <typename T>
  T operator()(T g, T x, float) const {
    const T y = T{1} + std::abs(x);
    return g / (y * y);
  }
};

// Expensive float activations, compiled for several instruction sets.
#define WEIR_VECTOR_LOOP(Name)                                                \
  WEIR_TARGET_CLONES void Name##Floats(const float* x, float* y, int64_t n) { \
    WEIR_INDEPENDENT_ITERATIONS                                               \
    for (int64_t i = 0; i < n; ++i) y[i] = Name()(x[i], 0);                   \
  }
WEIR_VECTOR_LOOP(Elu)
WEIR_VECTOR_LOOP(Selu)
WEIR_VECTOR_LOOP(Softplus)
#undef WEIR_VECTOR_LOOP

template <typename F, typename T>
void Loop(const void* gradient, const void* x_data, void* out, int64_t n, float alpha) {
  const T* const g = static_cast<const T*>(gradient);
  const T* const x = static_cast<const T*>(x_data);
  T* const y = static_cast<T*>(out);
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (std::is_same_v<F, Elu>) return EluFloats(x, y, n);
    if constexpr (std::is_same_v<F, Selu>) return SeluFloats(x, y, n);
    if constexpr (std::is_same_v<F, Softplus>) return SoftplusFloats(x, y, n);
  }
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_invocable_v<F, T, T, float>) {
      y[i] = F()(g[i], x[i], alpha);
    } else {
      y[i] = F()(x[i], alpha);
    }
  }
}

template <typename F, typename T>
void Loop16(const void* gradient, const void* x_data, void* out, int64_t n, float alpha) {
  float g[kFloat16Block], x[kFloat16Block];
  for (int64_t i = 0; i < n; i += kFloat16Block) {
    const int64_t count = std::min(kFloat16Block, n - i);
    ToFloats(At16<T>(x_data, i), x, count);
    if constexpr (std::is_invocable_v<F, float, float, float>) ToFloats(At16<T>(gradient, i), g, count);
    Loop<F, float>(g, x, x, count, alpha);
    FromFloats(x, At16<T>(out, i), count);
  }
}

template <ActivationLoop kLoop, int kPicoseconds>
std::unique_ptr<OpKernel> Make() {
  return std::make_unique<ActivationKernel>(kLoop, kPicoseconds);
}

template <typename F, int kPicoseconds>
absl::Status RegisterFloats(KernelRegistry& kernels, const char* op) {
  const auto kernel = [op](DataType type) { return Kernel(op).Cpu().Types("T", {type}); };
  RETURN_IF_ERROR(kernels.Register(kernel(DT_FLOAT), &Make<&Loop<F, float>, kPicoseconds>));
  RETURN_IF_ERROR(kernels.Register(kernel(DT_DOUBLE), &Make<&Loop<F, double>, 2 * kPicoseconds>));
  RETURN_IF_ERROR(kernels.Register(kernel(DT_HALF), &Make<&Loop16<F, half>, kPicoseconds + 300>));
  return kernels.Register(kernel(DT_BFLOAT16), &Make<&Loop16<F, bfloat16>, kPicoseconds + 300>);
}

template <typename F>
absl::Status RegisterReals(KernelRegistry& kernels, const char* op) {
  RETURN_IF_ERROR((RegisterFloats<F, 300>(kernels, op)));
#define WEIR_REGISTER(T) RETURN_IF_ERROR(kernels.Register(Kernel(op).Cpu().Type<T>("T"), &Make<&Loop<F, T>, 300>));
  WEIR_FOR_INTEGERS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterActivationKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterReals<Relu>(kernels, "Relu"));
  RETURN_IF_ERROR(RegisterReals<ReluGrad>(kernels, "ReluGrad"));
  RETURN_IF_ERROR(RegisterReals<Relu6>(kernels, "Relu6"));
  RETURN_IF_ERROR(RegisterReals<Relu6Grad>(kernels, "Relu6Grad"));
  RETURN_IF_ERROR((RegisterFloats<LeakyRelu, 300>(kernels, "LeakyRelu")));
  RETURN_IF_ERROR((RegisterFloats<LeakyReluGrad, 300>(kernels, "LeakyReluGrad")));
  RETURN_IF_ERROR((RegisterFloats<Elu, 1200>(kernels, "Elu")));
  RETURN_IF_ERROR((RegisterFloats<EluGrad, 300>(kernels, "EluGrad")));
  RETURN_IF_ERROR((RegisterFloats<Selu, 1200>(kernels, "Selu")));
  RETURN_IF_ERROR((RegisterFloats<SeluGrad, 300>(kernels, "SeluGrad")));
  RETURN_IF_ERROR((RegisterFloats<Softplus, 3000>(kernels, "Softplus")));
  RETURN_IF_ERROR((RegisterFloats<SoftplusGrad, 1000>(kernels, "SoftplusGrad")));
  RETURN_IF_ERROR((RegisterFloats<Softsign, 500>(kernels, "Softsign")));
  return RegisterFloats<SoftsignGrad, 500>(kernels, "SoftsignGrad");
}

}  // namespace weir
