#include "kernels/elementwise/binary_families.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

#define WEIR_COMPARE_AS(Name, T, Element) \
  {#Name, DataTypeOf<T>(), &MakeBinary<&BinaryLoopOf<functor::Name, Element, bool>, 300>},
#define WEIR_COMPARE_16(Name, T) \
  {#Name, DataTypeOf<T>(), &MakeBinary<&BinaryLoop16<T, bool, &BinaryLoopOf<functor::Name, float, bool>>, 500>},
#define WEIR_COMPARE_FLOATS(Name)     \
  WEIR_COMPARE_AS(Name, float, float) \
  WEIR_COMPARE_AS(Name, double, double) WEIR_COMPARE_16(Name, half) WEIR_COMPARE_16(Name, bfloat16)

// clang-format off
// Every ordered type.
#define WEIR_COMPARE(Name) \
  WEIR_COMPARE_FLOATS(Name) \
  WEIR_COMPARE_AS(Name, int8_t, int8_t) \
  WEIR_COMPARE_AS(Name, int16_t, int16_t) \
  WEIR_COMPARE_AS(Name, int32_t, int32_t) \
  WEIR_COMPARE_AS(Name, int64_t, int64_t) \
  WEIR_COMPARE_AS(Name, uint8_t, uint8_t) \
  WEIR_COMPARE_AS(Name, uint16_t, uint16_t) \
  WEIR_COMPARE_AS(Name, uint32_t, uint32_t) \
  WEIR_COMPARE_AS(Name, uint64_t, uint64_t)

// Every type with equality; where that is equality of bits, by width.
#define WEIR_EQUATE(Name) \
  WEIR_COMPARE_FLOATS(Name) \
  WEIR_COMPARE_AS(Name, bool, uint8_t) \
  WEIR_COMPARE_AS(Name, int8_t, uint8_t) \
  WEIR_COMPARE_AS(Name, uint8_t, uint8_t) \
  WEIR_COMPARE_AS(Name, qint8, uint8_t) \
  WEIR_COMPARE_AS(Name, quint8, uint8_t) \
  WEIR_COMPARE_AS(Name, int16_t, uint16_t) \
  WEIR_COMPARE_AS(Name, uint16_t, uint16_t) \
  WEIR_COMPARE_AS(Name, qint16, uint16_t) \
  WEIR_COMPARE_AS(Name, quint16, uint16_t) \
  WEIR_COMPARE_AS(Name, int32_t, uint32_t) \
  WEIR_COMPARE_AS(Name, uint32_t, uint32_t) \
  WEIR_COMPARE_AS(Name, qint32, uint32_t) \
  WEIR_COMPARE_AS(Name, int64_t, uint64_t) \
  WEIR_COMPARE_AS(Name, uint64_t, uint64_t) \
  WEIR_COMPARE_AS(Name, complex64, complex64) \
  WEIR_COMPARE_AS(Name, complex128, complex128) \
  {#Name, DT_STRING, &MakeBinary<&ScalarBinaryLoopOf<functor::Name, tstring, bool>, 10000>},
// clang-format on

}  // namespace

absl::Status RegisterComparisonKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr BinaryEntry kEntries[] = {
      WEIR_COMPARE(Less)
      WEIR_COMPARE(LessEqual)
      WEIR_COMPARE(Greater)
      WEIR_COMPARE(GreaterEqual)
      WEIR_EQUATE(Equal)
      WEIR_EQUATE(NotEqual)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
