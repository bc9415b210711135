// Filling tensors from a Philox stream. The numbers do not depend on how the work is split over threads.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/random/random_stream.h"

namespace weir {

enum class Distribution { kUniform, kNormal, kTruncatedNormal, kUniformInt, kFullInt };

// Fills `output` (float, double, half or bfloat16; for the last two distributions integers) from the stream's start.
// `low` and `high` bound kUniformInt.
absl::Status FillRandom(OpKernelContext& ctx, Distribution distribution, const Philox& stream, int64_t low,
                        int64_t high, Tensor* output);

// A number below n without bias, from words that `next` draws: those beyond the largest multiple of n are dropped.
template <typename Word, typename Next>
Word DrawBelow(Word n, Next next) {
  if ((n & (n - 1)) == 0) return next() & (n - 1);
  const Word all = ~Word{0}, rest = all % n + 1;
  Word word;
  do word = next();
  while (word > all - rest);
  return word % n;
}

// One 32-bit number at a time.
class SingleSamples {
 public:
  explicit SingleSamples(const Philox& stream) : stream_(stream) {}
  uint32_t Next() {
    if (used_ == 4) {
      group_ = stream_.Next();
      used_ = 0;
    }
    return group_[used_++];
  }

 private:
  Philox stream_;
  Philox::Group group_{};
  int used_ = 4;
};

}  // namespace weir
