#include "kernels/signal/fourier_transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/device/target_clones.h"

namespace weir {
namespace {

// exp(-2 pi i k / n)
template <typename C>
void SetRoot(int64_t k, int64_t n, FourierLines<C>* roots, int64_t at) {
  const double angle = -2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
  roots->re[at] = static_cast<C>(std::cos(angle));
  roots->im[at] = static_cast<C>(std::sin(angle));
}

// One pass over elements in 4 * quarter groups of `run` numbers: transforms of length 4 * quarter become four times as
// many of a quarter of the length (Stockham: what is read in order is written in order). Roots are `step` apart.
template <typename C>
inline __attribute__((always_inline)) void Quarter(int64_t quarter, int64_t run, const C* root_re, const C* root_im,
                                                   int64_t step, const C* __restrict x_re, const C* __restrict x_im,
                                                   C* __restrict y_re, C* __restrict y_im) {
  const int64_t m = quarter * run;
  for (int64_t p = 0; p < quarter; ++p) {
    const C w1_re = root_re[p * step], w1_im = root_im[p * step];
    const C w2_re = root_re[2 * p * step], w2_im = root_im[2 * p * step];
    const C w3_re = root_re[3 * p * step], w3_im = root_im[3 * p * step];
    const C* const a_re = x_re + p * run;
    const C* const a_im = x_im + p * run;
    C* const out_re = y_re + 4 * p * run;
    C* const out_im = y_im + 4 * p * run;
    for (int64_t q = 0; q < run; ++q) {
      const C sum02_re = a_re[q] + a_re[2 * m + q], sum02_im = a_im[q] + a_im[2 * m + q];
      const C dif02_re = a_re[q] - a_re[2 * m + q], dif02_im = a_im[q] - a_im[2 * m + q];
      const C sum13_re = a_re[m + q] + a_re[3 * m + q], sum13_im = a_im[m + q] + a_im[3 * m + q];
      const C dif13_re = a_re[m + q] - a_re[3 * m + q], dif13_im = a_im[m + q] - a_im[3 * m + q];
      out_re[q] = sum02_re + sum13_re;
      out_im[q] = sum02_im + sum13_im;
      const C b_re = dif02_re + dif13_im, b_im = dif02_im - dif13_re;
      out_re[run + q] = b_re * w1_re - b_im * w1_im;
      out_im[run + q] = b_re * w1_im + b_im * w1_re;
      const C c_re = sum02_re - sum13_re, c_im = sum02_im - sum13_im;
      out_re[2 * run + q] = c_re * w2_re - c_im * w2_im;
      out_im[2 * run + q] = c_re * w2_im + c_im * w2_re;
      const C d_re = dif02_re - dif13_im, d_im = dif02_im + dif13_re;
      out_re[3 * run + q] = d_re * w3_re - d_im * w3_im;
      out_im[3 * run + q] = d_re * w3_im + d_im * w3_re;
    }
  }
}

// The last pass of an odd power of two.
template <typename C>
inline __attribute__((always_inline)) void Halve(int64_t run, const C* __restrict x_re, const C* __restrict x_im,
                                                 C* __restrict y_re, C* __restrict y_im) {
  for (int64_t q = 0; q < run; ++q) {
    y_re[q] = x_re[q] + x_re[run + q];
    y_im[q] = x_im[q] + x_im[run + q];
    y_re[run + q] = x_re[q] - x_re[run + q];
    y_im[run + q] = x_im[q] - x_im[run + q];
  }
}

// out[k] = the transform's element k of the real line that was packed into z, for `lanes` lines; z has `half` elements.
template <typename C>
inline __attribute__((always_inline)) void Unpack(int64_t half, int64_t lanes, const C* root_re, const C* root_im,
                                                  const C* __restrict z_re, const C* __restrict z_im,
                                                  C* __restrict out_re, C* __restrict out_im) {
  for (int64_t k = 0; k <= half; ++k) {
    const int64_t a = (k == half ? 0 : k) * lanes, b = (k == 0 ? 0 : half - k) * lanes;
    const C w_re = root_re[k], w_im = root_im[k];
    for (int64_t l = 0; l < lanes; ++l) {
      const C even_re = C(0.5) * (z_re[a + l] + z_re[b + l]), even_im = C(0.5) * (z_im[a + l] - z_im[b + l]);
      const C odd_re = C(0.5) * (z_re[a + l] - z_re[b + l]), odd_im = C(0.5) * (z_im[a + l] + z_im[b + l]);
      out_re[k * lanes + l] = even_re + (odd_re * w_im + odd_im * w_re);
      out_im[k * lanes + l] = even_im - (odd_re * w_re - odd_im * w_im);
    }
  }
}

// The same for both types, for the best instructions that the CPU has.
#define WEIR_PASSES(C)                                                                                               \
  WEIR_TARGET_CLONES void RunQuarter(int64_t quarter, int64_t run, const C* root_re, const C* root_im, int64_t step, \
                                     const C* x_re, const C* x_im, C* y_re, C* y_im) {                               \
    Quarter<C>(quarter, run, root_re, root_im, step, x_re, x_im, y_re, y_im);                                        \
  }                                                                                                                  \
  WEIR_TARGET_CLONES void RunHalve(int64_t run, const C* x_re, const C* x_im, C* y_re, C* y_im) {                    \
    Halve<C>(run, x_re, x_im, y_re, y_im);                                                                           \
  }                                                                                                                  \
  WEIR_TARGET_CLONES void RunUnpack(int64_t half, int64_t lanes, const C* root_re, const C* root_im, const C* z_re,  \
                                    const C* z_im, C* out_re, C* out_im) {                                           \
    Unpack<C>(half, lanes, root_re, root_im, z_re, z_im, out_re, out_im);                                            \
  }
WEIR_PASSES(float)
WEIR_PASSES(double)
#undef WEIR_PASSES

// x[k] *= y[k] for k < n, of all lanes; conjugated then if asked for.
template <typename C>
void MultiplyLines(int64_t n, int64_t lanes, const FourierLines<C>& y, bool conjugate, FourierLines<C>* x) {
  for (int64_t k = 0; k < n; ++k) {
    const C y_re = y.re[k], y_im = y.im[k];
    for (int64_t i = k * lanes; i < (k + 1) * lanes; ++i) {
      const C re = x->re[i] * y_re - x->im[i] * y_im, im = x->re[i] * y_im + x->im[i] * y_re;
      x->re[i] = re;
      x->im[i] = conjugate ? -im : im;
    }
  }
}

}  // namespace

template <typename C>
FourierTransform<C>::FourierTransform(int64_t n) : n_(n) {
  const bool power = (n & (n - 1)) == 0;
  while (size_ < (power ? n : 2 * n - 1)) size_ *= 2;
  roots_.Resize(size_);
  for (int64_t k = 0; k < size_; ++k) SetRoot(k, size_, &roots_, k);
  if (power) return;
  chirp_.Resize(n);
  for (int64_t k = 0; k < n; ++k) {
    // k^2 modulo 2n, so that the angle stays small.
    const unsigned __int128 square = static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k);
    SetRoot(static_cast<int64_t>(square % static_cast<unsigned __int128>(2 * n)), 2 * n, &chirp_, k);
  }
  filter_.Resize(size_);
  const C scale = C(1) / static_cast<C>(size_);  // of the inverse transform
  for (int64_t k = 0; k < n; ++k) {
    for (const int64_t at : {k, (size_ - k) % size_}) {
      filter_.re[at] = chirp_.re[k] * scale;
      filter_.im[at] = -chirp_.im[k] * scale;
    }
  }
  FourierLines<C> scratch;
  RunPowerOfTwo(1, &filter_, &scratch);
}

template <typename C>
int64_t FourierTransform<C>::lanes() const {
  return std::clamp<int64_t>(16384 / size_, 1, 16);
}

template <typename C>
int64_t FourierTransform<C>::Cost() const {
  int64_t log = 1;
  while ((int64_t{1} << log) < size_) ++log;
  return size_ * (2000 + log * (filter_.re.empty() ? 500 : 2000));
}

template <typename C>
void FourierTransform<C>::RunPowerOfTwo(int64_t lanes, FourierLines<C>* x, FourierLines<C>* scratch) const {
  scratch->Resize(size_ * lanes);
  int64_t length = size_, run = lanes;
  for (; length >= 4; length /= 4, run *= 4) {
    RunQuarter(length / 4, run, roots_.re.data(), roots_.im.data(), size_ / length, x->re.data(), x->im.data(),
               scratch->re.data(), scratch->im.data());
    std::swap(*x, *scratch);
  }
  if (length < 2) return;
  RunHalve(run, x->re.data(), x->im.data(), scratch->re.data(), scratch->im.data());
  std::swap(*x, *scratch);
}

template <typename C>
void FourierTransform<C>::Run(int64_t lanes, FourierLines<C>* x, FourierLines<C>* scratch) const {
  if (filter_.re.empty()) return RunPowerOfTwo(lanes, x, scratch);
  MultiplyLines(n_, lanes, chirp_, false, x);
  x->Resize(size_ * lanes);
  std::fill(x->re.begin() + n_ * lanes, x->re.end(), C(0));
  std::fill(x->im.begin() + n_ * lanes, x->im.end(), C(0));
  RunPowerOfTwo(lanes, x, scratch);
  MultiplyLines(size_, lanes, filter_, true, x);
  RunPowerOfTwo(lanes, x, scratch);
  x->Resize(n_ * lanes);
  for (C& im : x->im) im = -im;
  MultiplyLines(n_, lanes, chirp_, false, x);
}

template <typename C>
RealFourierTransform<C>::RealFourierTransform(int64_t n) : n_(n), complex_(n % 2 == 0 ? n / 2 : n) {
  if (n % 2 != 0) return;
  roots_.Resize(n / 2 + 1);
  for (int64_t k = 0; k <= n / 2; ++k) SetRoot(k, n, &roots_, k);
}

template <typename C>
void RealFourierTransform<C>::Run(int64_t lanes, FourierLines<C>* x, FourierLines<C>* scratch) const {
  complex_.Run(lanes, x, scratch);
  if (n_ % 2 != 0) return;
  const int64_t half = n_ / 2;
  scratch->Resize((half + 1) * lanes);
  RunUnpack(half, lanes, roots_.re.data(), roots_.im.data(), x->re.data(), x->im.data(), scratch->re.data(),
            scratch->im.data());
  std::swap(*x, *scratch);
}

template class FourierTransform<float>;
template class FourierTransform<double>;
template class RealFourierTransform<float>;
template class RealFourierTransform<double>;

}  // namespace weir
