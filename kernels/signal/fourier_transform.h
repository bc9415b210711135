// Discrete Fourier transforms of several lines at a time: element k of line l stands at [k * lanes + l], real and
// imaginary parts apart, so that one instruction works on as many lines as a vector holds.
#pragma once

#include <cstdint>
#include <vector>

namespace weir {

// C: float or double, what is computed in. A value is used by one thread.
template <typename C>
struct FourierLines {
  void Resize(int64_t n) {
    re.resize(n);
    im.resize(n);
  }

  std::vector<C> re, im;
};

// Transforms of one length: by radix 4 where it is a power of two, else as a convolution of such a length (Bluestein),
// for which float is too coarse. Thread-safe once made.
template <typename C>
class FourierTransform {
 public:
  explicit FourierTransform(int64_t n);

  // x[k] becomes the sum of x[j] exp(-2 pi i j k / n), for `lanes` lines of length(). `x` and `scratch` keep their
  // memory between calls.
  void Run(int64_t lanes, FourierLines<C>* x, FourierLines<C>* scratch) const;
  int64_t length() const { return n_; }
  // How many lines to transform at a time, so that they stay in the cache.
  int64_t lanes() const;
  // The cost of one line in picoseconds.
  int64_t Cost() const;

 private:
  void RunPowerOfTwo(int64_t lanes, FourierLines<C>* x, FourierLines<C>* scratch) const;

  const int64_t n_;
  int64_t size_ = 1;                // the power of two
  FourierLines<C> roots_;           // exp(-2 pi i k / size)
  FourierLines<C> chirp_, filter_;  // Bluestein's, empty for a power of two
};

// Lines of n real numbers: half a complex transform where n is even.
template <typename C>
class RealFourierTransform {
 public:
  explicit RealFourierTransform(int64_t n);

  int64_t length() const { return n_; }
  int64_t lanes() const { return complex_.lanes(); }
  int64_t Cost() const { return complex_.Cost() + n_ * 2000; }
  // How the real numbers of a line are packed into `x` for Run: number j is the real part of element j or, where n is
  // even, part j % 2 of element j / 2.
  int64_t packed_length() const { return complex_.length(); }
  // Leaves elements 0 to n / 2 of the transform in `x`.
  void Run(int64_t lanes, FourierLines<C>* x, FourierLines<C>* scratch) const;

 private:
  const int64_t n_;
  const FourierTransform<C> complex_;
  FourierLines<C> roots_;  // exp(-2 pi i k / n), k <= n / 2
};

}  // namespace weir
