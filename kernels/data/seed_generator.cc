#include "kernels/data/seed_generator.h"

#include "core/kernel/determinism.h"
#include "core/random_bits.h"
#include "core/tensor/resource_handle.h"
#include "kernels/data/anonymous.h"
#include "kernels/data/family.h"

namespace weir {

absl::StatusOr<Seeds> Seeds::Resolve(const NodeInputs& inputs, int64_t seed, int64_t seed2) {
  RETURN_IF_ERROR(CheckSeeds(inputs.ctx().node_def(), seed, seed2));
  if (seed != 0 || seed2 != 0) return Seeds{seed, seed2};
  return Seeds{static_cast<int64_t>(RandomBits()), static_cast<int64_t>(RandomBits())};
}

Seeds SeedGenerator::Generate() {
  MutexLock lock(mu_);
  if (!reshuffle_) {
    ++num_samples_;
    return seeds_;
  }
  num_samples_ += 2;
  const int64_t seed = stream_.Next();
  return {seed, stream_.Next()};
}

int64_t SeedGenerator::num_samples() const {
  MutexLock lock(mu_);
  return num_samples_;
}

void SeedGenerator::Reset(int64_t num_samples) {
  MutexLock lock(mu_);
  num_samples_ = num_samples;
  stream_ = SampleStream(seeds_.seed, seeds_.seed2);
  stream_.Skip(num_samples);
}

absl::StatusOr<std::shared_ptr<SeedGenerator>> SeedGeneratorFor(const NodeInputs& inputs, bool reshuffle) {
  if (inputs.Has("seed_generator")) {
    ASSIGN_OR_RETURN(std::shared_ptr<SeedGenerator> given,
                     FindAnonymous<SeedGenerator>(inputs.ctx(), inputs.Get("seed_generator")));
    if (given != nullptr) return given;
  }
  int64_t seed = 0, seed2 = 0;
  if (inputs.Has("seed")) {
    ASSIGN_OR_RETURN(seed, inputs.Int("seed"));
    ASSIGN_OR_RETURN(seed2, inputs.Int("seed2"));
  }
  ASSIGN_OR_RETURN(const Seeds seeds, Seeds::Resolve(inputs, seed, seed2));
  return std::make_shared<SeedGenerator>(seeds, reshuffle);
}

namespace {

class SeedGeneratorKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return node_.Init(ctx); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const NodeInputs inputs(ctx, node_);
    ASSIGN_OR_RETURN(const int64_t seed, inputs.Int("seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, inputs.Int("seed2"));
    bool reshuffle = true;
    if (inputs.Has("reshuffle")) {
      ASSIGN_OR_RETURN(reshuffle, inputs.Bool("reshuffle"));
    }
    ASSIGN_OR_RETURN(const Seeds seeds, Seeds::Resolve(inputs, seed, seed2));
    SetAnonymous(ctx, std::make_shared<SeedGenerator>(seeds, reshuffle));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  NodeArguments node_;
};

}  // namespace

absl::Status RegisterSeedGeneratorKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<DummyHandleKernel>(Kernel("DummySeedGenerator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SeedGeneratorKernel>(Kernel("AnonymousSeedGenerator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SeedGeneratorKernel>(Kernel("AnonymousRandomSeedGenerator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DeleteAnonymousKernel>(Kernel("DeleteSeedGenerator").Cpu()));
  return kernels.Register<DeleteAnonymousKernel>(Kernel("DeleteRandomSeedGenerator").Cpu());
}

}  // namespace weir
