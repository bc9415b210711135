// Integers of at most 32 bits, which kernels that serve several types compute with as int64: which type it is they see
// when they run. For host compilers and for nvcc.
#pragma once

#include <cstdint>

#include "kernels/device/device_code.h"
#include "kernels/elementwise/device.h"

namespace weir {

WEIR_DEVICE_CODE inline int64_t LoadNarrow(const void* data, int64_t i, ElementType type) {
  switch (type) {
    case ElementType::kInt8:
      return static_cast<const int8_t*>(data)[i];
    case ElementType::kUint8:
      return static_cast<const uint8_t*>(data)[i];
    case ElementType::kInt16:
      return static_cast<const int16_t*>(data)[i];
    case ElementType::kUint16:
      return static_cast<const uint16_t*>(data)[i];
    case ElementType::kInt32:
      return static_cast<const int32_t*>(data)[i];
    default:
      return static_cast<const uint32_t*>(data)[i];
  }
}

WEIR_DEVICE_CODE inline int64_t BitsOfNarrow(ElementType type) {
  return type == ElementType::kInt8 || type == ElementType::kUint8     ? 8
         : type == ElementType::kInt16 || type == ElementType::kUint16 ? 16
                                                                       : 32;
}

// What is beyond the type's range wraps.
WEIR_DEVICE_CODE inline void StoreNarrow(void* data, int64_t i, ElementType type, int64_t value) {
  switch (BitsOfNarrow(type)) {
    case 8:
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value);
      return;
    case 16:
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value);
      return;
    default:
      static_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(value);
  }
}

}  // namespace weir
