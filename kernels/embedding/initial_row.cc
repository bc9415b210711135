#include "kernels/embedding/initial_row.h"

#include <algorithm>
#include <cmath>

#include "kernels/random/philox.h"

namespace weir {
namespace {

void Uniform(Philox stream, const EmbeddingOptions& options, float* values) {
  for (int64_t i = 0; i < options.width; i += 4) {
    const Philox::Group words = stream.Next();
    const int64_t n = std::min<int64_t>(4, options.width - i);
    for (int64_t k = 0; k < n; ++k) values[i + k] = options.a + UniformFloat(words[k]) * (options.b - options.a);
  }
}

// With `truncated`, numbers beyond two deviations are drawn again.
void Normal(Philox stream, const EmbeddingOptions& options, bool truncated, float* values) {
  constexpr float kBound = 2;
  for (int64_t i = 0; i < options.width;) {
    const Philox::Group words = stream.Next();
    float drawn[4];
    NormalFloats(words[0], words[1], &drawn[0], &drawn[1]);
    NormalFloats(words[2], words[3], &drawn[2], &drawn[3]);
    for (int k = 0; k < 4 && i < options.width; ++k) {
      if (truncated && std::abs(drawn[k]) >= kBound) continue;
      values[i++] = options.a + drawn[k] * options.b;
    }
  }
}

}  // namespace

void InitialValues(const EmbeddingOptions& options, int64_t key, float* values) {
  const Philox stream(static_cast<uint64_t>(options.seed), static_cast<uint64_t>(key));
  switch (options.initializer) {
    case EmbeddingInitializer::kConstant:
      std::fill_n(values, options.width, options.a);
      break;
    case EmbeddingInitializer::kUniform:
      Uniform(stream, options, values);
      break;
    case EmbeddingInitializer::kNormal:
    case EmbeddingInitializer::kTruncatedNormal:
      Normal(stream, options, options.initializer == EmbeddingInitializer::kTruncatedNormal, values);
      break;
  }
}

void InitialSlots(const EmbeddingOptions& options, float* slots) {
  std::fill_n(slots, options.width * options.slots(), 0.0f);
  const bool accumulates = options.rule == EmbeddingRule::kAdagrad || options.rule == EmbeddingRule::kFtrl;
  if (accumulates) std::fill_n(slots, options.width, options.initial_accumulator_value);
}

}  // namespace weir
