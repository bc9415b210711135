// Seeds for datasets that shuffle: each pass over one gets its own, in a sequence that the first seeds determine.
#pragma once

#include <memory>
#include <string>

#include "core/device/resource_manager.h"
#include "core/mutex.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/random/philox.h"

namespace weir {

// Single 32-bit numbers out of Philox's groups, as TensorFlow's datasets draw them.
class SampleStream {
 public:
  SampleStream() = default;
  SampleStream(int64_t seed, int64_t seed2) : philox_(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)) {}
  uint32_t Next() {
    if (used_ == 4) {
      group_ = philox_.Next();
      used_ = 0;
    }
    return group_[used_++];
  }
  void Skip(uint64_t samples) {
    for (; samples > 0 && used_ < 4; --samples) ++used_;
    if (samples == 0) return;
    philox_.Skip(samples / 4);
    for (samples %= 4; samples > 0; --samples) Next();
  }

 private:
  Philox philox_;
  Philox::Group group_ = {};
  int used_ = 4;
};

struct Seeds {
  int64_t seed = 0, seed2 = 0;
  // Both zero: chosen at random, which is INVALID_ARGUMENT if the node is deterministic.
  static absl::StatusOr<Seeds> Resolve(const NodeInputs& inputs, int64_t seed, int64_t seed2);
};

// Thread-safe.
class SeedGenerator : public Resource {
 public:
  static constexpr char kTypeName[] = "SeedGenerator";

  // Without `reshuffle` every pass gets the same seeds.
  SeedGenerator(Seeds seeds, bool reshuffle) : seeds_(seeds), reshuffle_(reshuffle) { Reset(0); }

  Seeds seeds() const { return seeds_; }
  Seeds Generate();
  // How far the sequence is; and back to there.
  int64_t num_samples() const;
  void Reset(int64_t num_samples);
  std::string DebugString() const override { return "SeedGenerator"; }

 private:
  const Seeds seeds_;
  const bool reshuffle_;
  mutable Mutex mu_;
  int64_t num_samples_ GUARDED_BY(mu_) = 0;
  SampleStream stream_ GUARDED_BY(mu_);
};

// The generator that input `seed_generator` names, or, where there is none (a dummy handle, an op without that input),
// a new one from inputs `seed` and `seed2`.
absl::StatusOr<std::shared_ptr<SeedGenerator>> SeedGeneratorFor(const NodeInputs& inputs, bool reshuffle);

}  // namespace weir
