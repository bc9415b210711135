// Samples classes for the losses of wide softmax layers, and finds samples that are true classes.
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "kernels/candidate_sampling/cpu_candidate_sampling.h"
#include "kernels/candidate_sampling/family.h"

namespace weir {
namespace {

class UniformSampler : public Sampler {
 public:
  using Sampler::Sampler;
  int64_t Sample(Draws& draws) const override { return static_cast<int64_t>(draws.Below(range_)); }
  float Probability(int64_t) const override { return static_cast<float>(1.0 / static_cast<double>(range_)); }
};

// Zipfian: P(k) = log((k + 2) / (k + 1)) / log(range + 1).
class LogUniformSampler : public Sampler {
 public:
  explicit LogUniformSampler(int64_t range) : Sampler(range), log_range_(std::log1p(static_cast<double>(range))) {}
  int64_t Sample(Draws& draws) const override {
    // Rounding may reach the range.
    return (static_cast<int64_t>(std::exp(draws.Fraction() * log_range_)) - 1) % range_;
  }
  float Probability(int64_t value) const override {
    const double k = static_cast<double>(value);
    return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_range_);
  }

 private:
  const double log_range_;
};

// The expected count of a class with probability p among the samples, which took `tries` draws.
float ExpectedCount(float p, int64_t samples, int64_t tries) {
  if (tries == samples) return p * static_cast<float>(samples);
  return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(static_cast<double>(-p))));
}

// Inputs: true_classes [batch, num_true]. Outputs: sampled_candidates, true_expected_count, sampled_expected_count.
class CandidateSamplerKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("num_sampled", &num_sampled_));
    RETURN_IF_ERROR(ctx.GetAttr("num_true", &num_true_));
    RETURN_IF_ERROR(ctx.GetAttr("unique", &unique_));
    RETURN_IF_ERROR(generator_.Init(ctx));
    if (ctx.op() == "AllCandidateSampler") return absl::OkStatus();
    int64_t range;
    RETURN_IF_ERROR(ctx.GetAttr("range_max", &range));
    if (range < 1) return errors::InvalidArgument("range_max must be positive, got ", range);
    if (ctx.op() == "UniformCandidateSampler") {
      sampler_ = std::make_unique<UniformSampler>(range);
    } else if (ctx.op() == "FixedUnigramCandidateSampler") {
      ASSIGN_OR_RETURN(sampler_, MakeFixedUnigramSampler(ctx, range));
    } else if (ctx.op() != "LogUniformCandidateSampler") {
      ASSIGN_OR_RETURN(sampler_, MakeLearnedUnigramSampler(range));
    } else {
      sampler_ = std::make_unique<LogUniformSampler>(range);
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    if (classes.dims() != 2) return errors::InvalidArgument("true_classes must be a matrix");
    if (classes.dim_size(1) != num_true_) {
      return errors::InvalidArgument("true_classes must have num_true columns, expected: ", classes.dim_size(1),
                                     " was: ", num_true_);
    }
    const int64_t range = sampler_ == nullptr ? num_sampled_ : sampler_->range();
    for (int64_t value : classes.flat<int64_t>()) {
      if (value < 0 || value >= range) {
        return errors::InvalidArgument("`true_candidate` out of range [0, ", range, "), received ", value);
      }
    }
    if (unique_ && num_sampled_ > (sampler_ == nullptr ? range : sampler_->support())) {
      return errors::InvalidArgument("Sampler's range is too small.");
    }
    ASSIGN_OR_RETURN(Tensor * sampled, ctx.allocate_output(0, TensorShape({num_sampled_})));
    ASSIGN_OR_RETURN(Tensor * true_count, ctx.allocate_output(1, classes.shape()));
    ASSIGN_OR_RETURN(Tensor * sampled_count, ctx.allocate_output(2, TensorShape({num_sampled_})));
    if (sampler_ == nullptr) {
      for (int64_t i = 0; i < num_sampled_; ++i) sampled->data<int64_t>()[i] = i;
      std::fill_n(true_count->data<float>(), true_count->NumElements(), 1.0f);
      std::fill_n(sampled_count->data<float>(), num_sampled_, 1.0f);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const int64_t tries, Draw(sampled->data<int64_t>()));
    const auto expect = [&](const Tensor& of, Tensor* counts) {
      for (int64_t i = 0; i < of.NumElements(); ++i) {
        counts->data<float>()[i] = ExpectedCount(sampler_->Probability(of.data<int64_t>()[i]), num_sampled_, tries);
      }
    };
    expect(*sampled, sampled_count);
    expect(classes, true_count);
    sampler_->Update(classes.flat<int64_t>());
    return absl::OkStatus();
  }

 private:
  // Fills in the samples and returns how many draws that took.
  absl::StatusOr<int64_t> Draw(int64_t* sampled) {
    // A generous estimate of the words that draws without repetition need: 2048 a sample.
    Draws draws(generator_.Reserve(static_cast<uint64_t>(num_sampled_) * 2048 / 4));
    int64_t tries = 0;
    std::unordered_set<int64_t> seen;
    for (int64_t i = 0; i < num_sampled_; ++tries) {
      if (tries > kMaxTries + num_sampled_) {
        return errors::ResourceExhausted("After ", tries, " draws ", i, " of ", num_sampled_,
                                         " distinct candidates were found");
      }
      const int64_t value = sampler_->Sample(draws);
      if (!unique_ || seen.insert(value).second) sampled[i++] = value;
    }
    return tries;
  }

  // The most draws for distinct samples: a distribution may give the missing classes almost no probability.
  static constexpr int64_t kMaxTries = int64_t{1} << 28;

  int64_t num_sampled_ = 0, num_true_ = 0;
  bool unique_ = false;
  std::unique_ptr<Sampler> sampler_;  // none: all candidates
  GuardedPhilox generator_;
};

class ComputeAccidentalHitsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("num_true", &num_true_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    const Tensor& sampled = ctx.input(1);
    if (classes.dims() != 2 || classes.dim_size(1) != num_true_) {
      return errors::InvalidArgument("true_candidates must be a batch_size * num_true matrix");
    }
    if (sampled.dims() != 1) {
      return errors::InvalidArgument(
          "sampled_candidates must be a vector, which is typically an output from CandidateSampler");
    }
    std::unordered_map<int64_t, int64_t> places;
    for (int64_t i = 0; i < sampled.NumElements(); ++i) places[sampled.data<int64_t>()[i]] = i;
    std::vector<int32_t> rows;
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < classes.NumElements(); ++i) {
      const auto found = places.find(classes.data<int64_t>()[i]);
      if (found == places.end()) continue;
      rows.push_back(static_cast<int32_t>(i / num_true_));
      ids.push_back(found->second);
    }
    ctx.set_output(0, Tensor::Vector<int32_t>(rows));
    ctx.set_output(1, Tensor::Vector<int64_t>(ids));
    ctx.set_output(2, Tensor::Vector<float>(std::vector<float>(ids.size(), -std::numeric_limits<float>::max())));
    return absl::OkStatus();
  }

 private:
  int64_t num_true_ = 0;
};

}  // namespace

absl::Status RegisterCandidateSamplerKernels(KernelRegistry& kernels) {
  for (const char* op :
       {"UniformCandidateSampler", "LogUniformCandidateSampler", "AllCandidateSampler", "FixedUnigramCandidateSampler",
        "LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"}) {
    RETURN_IF_ERROR(kernels.Register<CandidateSamplerKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<ComputeAccidentalHitsKernel>(Kernel("ComputeAccidentalHits").Cpu());
}

}  // namespace weir
