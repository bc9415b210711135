// Binomially distributed numbers: by adding geometric ones where the mean is below 10, else by transformed rejection
// (Hoermann, 1993). All in double.
#include "absl/functional/function_ref.h"
#include "core/tensor/index_tensor.h"
#include "kernels/coordination/shape_suffix.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/random/family.h"
#include "kernels/random/generator_state.h"
#include "kernels/random/random_samples.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

double ByInversion(double count, double probability, Philox stream) {
  Uniforms<double> uniforms;
  double sum = 0;
  for (double n = 0;; ++n) {
    sum += std::ceil(std::log(uniforms.Next(stream)) / std::log1p(-probability));
    if (!(sum <= count)) return n;
  }
}

// What Stirling's approximation of log(k!) leaves.
double StirlingTail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTails[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

double ByRejection(double count, double probability, Philox stream) {
  const double deviation = std::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double c = count * probability + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double r = probability / (1 - probability);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double m = std::floor((count + 1) * probability);
  Uniforms<double> uniforms;
  for (;;) {
    double u = uniforms.Next(stream), v = uniforms.Next(stream);
    u = u - 0.5;
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = ((m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                          (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                          (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + StirlingTail(m) +
                          StirlingTail(count - m) - StirlingTail(k) - StirlingTail(count - k));
    if (v <= bound) return k;
  }
}

double DrawBinomial(double count, double probability, bool many, Philox base, int64_t index) {
  base.Skip(index * (many ? 256 : 42));
  return many ? ByRejection(count, probability, base) : ByInversion(count, probability, base);
}

class BinomialKernel : public OpKernel {
 protected:
  // Where the numbers come from, given how many pairs of counts and probs there are, and samples of each.
  using Source = absl::FunctionRef<absl::StatusOr<Philox>(int64_t pairs, int64_t samples)>;

  // Input `shape` ends with those of counts and probs, the last inputs, broadcast together.
  absl::Status Draw(OpKernelContext& ctx, int shape_input, Source source) const {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(shape_input)));
    const Tensor &count_input = ctx.input(ctx.num_inputs() - 2), &probability_input = ctx.input(ctx.num_inputs() - 1);
    absl::StatusOr<Broadcasting> both = Broadcasting::Of(count_input.shape(), probability_input.shape());
    if (!both.ok()) {
      return errors::InvalidArgument("counts and probs must have compatible batch dimensions: ",
                                     count_input.shape().ToString(), " vs. ", probability_input.shape().ToString());
    }
    if (!EndsWith(shape, both->shape)) {
      return errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
    }
    ASSIGN_OR_RETURN(const Tensor counts, ConvertTensor(ctx, count_input, DT_DOUBLE));
    ASSIGN_OR_RETURN(const Tensor probabilities, ConvertTensor(ctx, probability_input, DT_DOUBLE));
    ASSIGN_OR_RETURN(Tensor output, ctx.allocate_temp(DT_DOUBLE, shape));
    // Products decide the method as the inputs' own type rounds them.
    const bool single = count_input.dtype() != DT_DOUBLE;
    const int64_t n = both->shape.num_elements(), samples = n == 0 ? 0 : output.NumElements() / n;
    ASSIGN_OR_RETURN(const Philox base, source(n, samples));
    ParallelRanges(ctx, n * samples, 200'000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t item = i / samples, x = 0, y = 0;
        for (int d = static_cast<int>(both->sizes.size()) - 1; d >= 0; --d) {
          x += item % both->sizes[d] * both->x_steps[d];
          y += item % both->sizes[d] * both->y_steps[d];
          item /= both->sizes[d];
        }
        output.data<double>()[i % samples * n + i / samples] =
            One(counts.data<double>()[x], probabilities.data<double>()[y], single, base, i);
      }
    });
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, output, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  static double One(double count, double p, bool single, const Philox& base, int64_t index) {
    if (p != p) return p;
    if (!(count > 0) || p <= 0) return 0;
    if (p >= 1) return count;
    if (std::isinf(count)) return count;
    const auto product = [&](double q) {
      return single ? static_cast<double>(static_cast<float>(count) * static_cast<float>(q)) : count * q;
    };
    if (p <= 0.5) return DrawBinomial(count, p, product(p) >= 10, base, index);
    const double q = single ? static_cast<double>(1.0f - static_cast<float>(p)) : 1 - p;
    return count - DrawBinomial(count, q, product(q) >= 10, base, index);
  }
};

// Inputs: shape, seed, counts, probs.
class StatelessBinomialKernel : public BinomialKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    return Draw(ctx, 0, [&ctx](int64_t, int64_t) { return PhiloxFromSeed(ctx.input(1)); });
  }
};

// Inputs: a generator, the algorithm, shape, counts, probs.
class StatefulBinomialKernel : public BinomialKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckGeneratorAlgorithm(ctx.input(1)));
    return Draw(ctx, 2, [&ctx](int64_t pairs, int64_t samples) -> absl::StatusOr<Philox> {
      const auto outputs = static_cast<uint64_t>(pairs) * 200 * static_cast<uint64_t>(samples + 3) / 4;
      ASSIGN_OR_RETURN(const GeneratorState state, AdvanceGenerator(ctx, outputs * kGroupsPerOutput));
      return PhiloxFromState(state);
    });
  }
};

}  // namespace

absl::Status RegisterRandomBinomialKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64};
  const DataTypeVector plain = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_INT32, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<StatefulBinomialKernel>(
      Kernel("StatefulRandomBinomial").Cpu().Types("T", plain).Types("dtype", plain).HostMemory("shape")));
  return kernels.Register<StatelessBinomialKernel>(Kernel("StatelessRandomBinomial")
                                                       .Cpu()
                                                       .Types("T", types)
                                                       .Types("dtype", types)
                                                       .HostMemory("shape")
                                                       .HostMemory("seed"));
}

}  // namespace weir
