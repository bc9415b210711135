// Random numbers of one type, one at a time, in the order in which TensorFlow's rejection samplers take them: groups
// are used from their end.
#pragma once

#include <cmath>

#include "kernels/random/philox.h"

namespace weir {

template <typename T>
constexpr int kSamplesPerGroup = sizeof(T) == 8 ? 2 : 4;

template <typename T>
void UniformSamples(Philox& stream, T* out) {
  const Philox::Group g = stream.Next();
  for (int i = 0; i < kSamplesPerGroup<T>; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      out[i] = UniformDouble(g[2 * i], g[2 * i + 1]);
    } else if constexpr (std::is_same_v<T, float>) {
      out[i] = UniformFloat(g[i]);
    } else if constexpr (std::is_same_v<T, half>) {
      out[i] = UniformHalf(g[i]);
    } else {
      out[i] = UniformBFloat16(g[i]);
    }
  }
}

template <typename T>
void NormalSamples(Philox& stream, T* out) {
  const Philox::Group g = stream.Next();
  if constexpr (std::is_same_v<T, double>) {
    NormalDoubles(g[0], g[1], g[2], g[3], &out[0], &out[1]);
  } else {
    for (int i = 0; i < 4; i += 2) {
      float x, y;
      NormalFloats(g[i], g[i + 1], &x, &y);
      out[i] = static_cast<T>(x);
      out[i + 1] = static_cast<T>(y);
    }
  }
}

// kDraw fills a group of kSamplesPerGroup<T>.
template <typename T, void (*kDraw)(Philox&, T*)>
class LastFirst {
 public:
  T Next(Philox& stream) {
    if (left_ == 0) {
      kDraw(stream, values_);
      left_ = kSamplesPerGroup<T>;
    }
    return values_[--left_];
  }

 private:
  T values_[kSamplesPerGroup<T>];
  int left_ = 0;
};
template <typename T>
using Uniforms = LastFirst<T, &UniformSamples<T>>;
template <typename T>
using Normals = LastFirst<T, &NormalSamples<T>>;

// Functions of T; those of 16-bit floats are computed in float and rounded.
namespace sampling {
template <typename T>
using Computed = std::conditional_t<sizeof(T) == 2, float, T>;
template <typename T>
T Log(T x) {
  return static_cast<T>(std::log(static_cast<Computed<T>>(x)));
}
template <typename T>
T Exp(T x) {
  return static_cast<T>(std::exp(static_cast<Computed<T>>(x)));
}
template <typename T>
T Sqrt(T x) {
  return static_cast<T>(std::sqrt(static_cast<Computed<T>>(x)));
}
template <typename T>
T Pow(T x, T y) {
  return static_cast<T>(std::pow(static_cast<Computed<T>>(x), static_cast<Computed<T>>(y)));
}
}  // namespace sampling

// What a run sets aside for each number that it draws by rejection, in groups.
constexpr int64_t kGroupsPerSample = 256;

}  // namespace weir
