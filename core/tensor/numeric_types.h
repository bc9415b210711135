// half and bfloat16 as complete types, for code that computes with their elements. Eigen defines them; conversions to
// and from float round to nearest even.
#pragma once

#include <Eigen/Core>

#include "core/tensor/types.h"

namespace weir {

// The type in which sums of T are accumulated: float for the 16-bit floats, T otherwise.
template <typename T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<half> {
  using type = float;
};
template <>
struct Accumulator<bfloat16> {
  using type = float;
};
template <typename T>
using AccumulatorT = typename Accumulator<T>::type;

}  // namespace weir
