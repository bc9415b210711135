// Small blocks of a matrix, transposed in registers.
#pragma once

#include <cstring>
#include <type_traits>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace weir {

// Rows and columns of a block of elements of `kBytes`.
template <int kBytes>
inline constexpr int kTransposeBlock = kBytes == 8 ? 4 : 8;

// Element j of row i of what `from` names becomes element i of row j of what `to` names. from(i) and to(i) are pointers
// to kTransposeBlock<sizeof(T)> elements, which need no alignment. T: 4 or 8 bytes, and trivially copyable.
template <typename T, typename From, typename To>
void TransposeBlock(From from, To to) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
#if defined(__AVX__)
  if constexpr (sizeof(T) == 4) {
    __m256 rows[8], pairs[8];
    for (int i = 0; i < 8; ++i) rows[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(from(i)));
    for (int i = 0; i < 8; i += 2) {
      pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      rows[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
      rows[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
      rows[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
      rows[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      _mm256_storeu_ps(reinterpret_cast<float*>(to(i)), _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20));
      _mm256_storeu_ps(reinterpret_cast<float*>(to(i + 4)), _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31));
    }
  } else {
    __m256d rows[4], pairs[4];
    for (int i = 0; i < 4; ++i) rows[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(from(i)));
    for (int i = 0; i < 4; i += 2) {
      pairs[i] = _mm256_unpacklo_pd(rows[i], rows[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_pd(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      _mm256_storeu_pd(reinterpret_cast<double*>(to(i)), _mm256_permute2f128_pd(pairs[i], pairs[i + 2], 0x20));
      _mm256_storeu_pd(reinterpret_cast<double*>(to(i + 2)), _mm256_permute2f128_pd(pairs[i], pairs[i + 2], 0x31));
    }
  }
#else
  constexpr int kSize = kTransposeBlock<sizeof(T)>;
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) std::memcpy(to(j) + i, from(i) + j, sizeof(T));
  }
#endif
}

}  // namespace weir
