// Kernels compute with 16-bit floats by converting blocks to float that stay in the L1 cache.
#pragma once

#include <cstdint>

#include "core/tensor/float16.h"

namespace weir {

// Element i, for code to which the types are incomplete.
template <typename T>
const T* At16(const void* data, int64_t i) {
  return reinterpret_cast<const T*>(static_cast<const uint16_t*>(data) + i);
}
template <typename T>
T* At16(void* data, int64_t i) {
  return reinterpret_cast<T*>(static_cast<uint16_t*>(data) + i);
}

// Elements that a kernel converts at a time.
constexpr int64_t kFloat16Block = 256;

}  // namespace weir
