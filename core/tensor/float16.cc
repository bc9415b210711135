#include "core/tensor/float16.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "core/tensor/bfloat16_bits.h"
#include "core/tensor/numeric_types.h"

namespace weir {
void ToFloats(const bfloat16* in, float* out, int64_t n) {
  const auto* bits = reinterpret_cast<const uint16_t*>(in);
  auto* wide = reinterpret_cast<uint32_t*>(out);
  for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<uint32_t>(bits[i]) << 16;
}

void FromFloats(const float* in, bfloat16* out, int64_t n) {
  auto* bits = reinterpret_cast<uint16_t*>(out);
  for (int64_t i = 0; i < n; ++i) bits[i] = Bfloat16BitsOf(in[i]);
}

void ToFloats(const half* in, float* out, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
#endif
  for (; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

void FromFloats(const float* in, half* out, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  for (; i < n; ++i) out[i] = static_cast<half>(in[i]);
}

}  // namespace weir
