// Lines of complex numbers to and from the order in which transforms want them (fourier_transform.h).
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "kernels/array/moving/transpose_block.h"

namespace weir {

// Elements and lines that are moved at once.
template <typename R, typename C>
inline constexpr int64_t kLinesBlock = std::is_same_v<R, C> ? kTransposeBlock<sizeof(C)> : 1;

// re[k * lanes + l] and im[…] = the parts of from[l * step + k], for k < n.
template <typename R, typename C>
void ToLines(const std::complex<R>* from, int64_t step, int64_t lanes, int64_t n, C* re, C* im) {
  constexpr int64_t kBlock = kLinesBlock<R, C>, kElements = kBlock / 2;
  int64_t l = 0;
  const auto move = [&](int64_t line, int64_t k) {
    re[k * lanes + line] = static_cast<C>(from[line * step + k].real());
    im[k * lanes + line] = static_cast<C>(from[line * step + k].imag());
  };
  if constexpr (kBlock > 1) {
    for (; l + kBlock <= lanes; l += kBlock) {
      int64_t k = 0;
      for (; k + kElements <= n; k += kElements) {
        TransposeBlock<C>([&](int i) { return reinterpret_cast<const C*>(from + (l + i) * step + k); },
                          [&](int j) { return (j % 2 == 0 ? re : im) + (k + j / 2) * lanes + l; });
      }
      for (; k < n; ++k) {
        for (int64_t i = l; i < l + kBlock; ++i) move(i, k);
      }
    }
  }
  for (; l < lanes; ++l) {
    for (int64_t k = 0; k < n; ++k) move(l, k);
  }
}

// The other way.
template <typename R, typename C>
void FromLines(const C* re, const C* im, int64_t lanes, int64_t n, std::complex<R>* to, int64_t step) {
  constexpr int64_t kBlock = kLinesBlock<R, C>, kElements = kBlock / 2;
  int64_t l = 0;
  const auto move = [&](int64_t line, int64_t k) {
    to[line * step + k] = {static_cast<R>(re[k * lanes + line]), static_cast<R>(im[k * lanes + line])};
  };
  if constexpr (kBlock > 1) {
    for (; l + kBlock <= lanes; l += kBlock) {
      int64_t k = 0;
      for (; k + kElements <= n; k += kElements) {
        TransposeBlock<C>([&](int j) { return (j % 2 == 0 ? re : im) + (k + j / 2) * lanes + l; },
                          [&](int i) { return reinterpret_cast<C*>(to + (l + i) * step + k); });
      }
      for (; k < n; ++k) {
        for (int64_t i = l; i < l + kBlock; ++i) move(i, k);
      }
    }
  }
  for (; l < lanes; ++l) {
    for (int64_t k = 0; k < n; ++k) move(l, k);
  }
}

}  // namespace weir
