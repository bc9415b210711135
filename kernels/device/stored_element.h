// Elements in memory and in loops that shall become vector instructions.
#pragma once

#include "core/tensor/bfloat16_bits.h"
#include "core/tensor/numeric_types.h"
#include "core/tensor/tensor.h"

namespace weir {

// Elements of type T are in memory as Stored; loops compute with Value.
template <typename T>
struct StoredElement {
  using Stored = T;
  using Value = T;
  static Value Load(Stored x) { return x; }
  static Stored Store(Value x) { return x; }
};

// Bits: Eigen's type rounds with branches.
template <>
struct StoredElement<bfloat16> {
  using Stored = uint16_t;
  using Value = float;
  static Value Load(Stored x) { return FloatOfBfloat16Bits(x); }
  static Stored Store(Value x) { return Bfloat16BitsOf(x); }
};

template <typename T>
using Stored = typename StoredElement<T>::Stored;

// A tensor's elements.
template <typename T>
const Stored<T>* StoredIn(const Tensor& tensor) {
  return static_cast<const Stored<T>*>(tensor.raw_data());
}
template <typename T>
Stored<T>* StoredIn(Tensor& tensor) {
  return static_cast<Stored<T>*>(tensor.raw_data());
}

}  // namespace weir
