// Element types. Names, numbers and order are those of TensorFlow's types.proto; this header is free of protobuf so
// that kernels compile fast. DataType values convert to and from tensorflow::DataType by static_cast.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/api.h"

namespace Eigen {
struct half;
struct bfloat16;
}  // namespace Eigen

namespace WEIR_API weir {

// Defined by Eigen; include "core/tensor/numeric_types.h" to compute with elements.
using half = Eigen::half;
using bfloat16 = Eigen::bfloat16;
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;
using tstring = std::string;

class ResourceHandle;
class Variant;

// Quantised integers: storage only, as wide as their names say.
struct qint8 {
  int8_t value;
};
struct quint8 {
  uint8_t value;
};
struct qint16 {
  int16_t value;
};
struct quint16 {
  uint16_t value;
};
struct qint32 {
  int32_t value;
};
// Eight-bit floats: storage only.
struct float8_e5m2 {
  uint8_t bits;
};
struct float8_e4m3fn {
  uint8_t bits;
};
// Four-bit integers, one to a byte as TensorFlow stores them.
struct int4 {
  int8_t value;
};
struct uint4 {
  uint8_t value;
};

enum DataType : int {
  DT_INVALID = 0,
  DT_FLOAT = 1,
  DT_DOUBLE = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 5,
  DT_INT8 = 6,
  DT_STRING = 7,
  DT_COMPLEX64 = 8,
  DT_INT64 = 9,
  DT_BOOL = 10,
  DT_QINT8 = 11,
  DT_QUINT8 = 12,
  DT_QINT32 = 13,
  DT_BFLOAT16 = 14,
  DT_QINT16 = 15,
  DT_QUINT16 = 16,
  DT_UINT16 = 17,
  DT_COMPLEX128 = 18,
  DT_HALF = 19,
  DT_RESOURCE = 20,
  DT_VARIANT = 21,
  DT_UINT32 = 22,
  DT_UINT64 = 23,
  DT_FLOAT8_E5M2 = 24,
  DT_FLOAT8_E4M3FN = 25,
  DT_INT4 = 29,
  DT_UINT4 = 30,
};

// A reference to a tensor of type T has type T + kRefOffset (float_ref and so on).
constexpr int kRefOffset = 100;

constexpr bool IsRefType(DataType type) { return type > kRefOffset; }
constexpr DataType RemoveRef(DataType type) {
  return IsRefType(type) ? static_cast<DataType>(type - kRefOffset) : type;
}
constexpr DataType MakeRef(DataType type) { return IsRefType(type) ? type : static_cast<DataType>(type + kRefOffset); }
// Whether a value of type `actual` may feed an input of type `expected`: equal types, or a reference for a value.
constexpr bool TypesCompatible(DataType expected, DataType actual) {
  return expected == actual || expected == RemoveRef(actual);
}

using DataTypeVector = absl::InlinedVector<DataType, 4>;

// "float", "int32", "float_ref"; "invalid" or "unknown dtype enum (N)" for others.
std::string DataTypeName(DataType type);
std::string DataTypeListName(absl::Span<const DataType> types);
// Accepts the names that DataTypeName returns, and "DT_FLOAT" forms. nullopt if there is no such type.
std::optional<DataType> ParseDataType(absl::string_view name);

// Bytes of one element in memory; for string, resource and variant the size of the object. 0 for unknown types.
size_t DataTypeSize(DataType type);
bool IsValidDataType(DataType type);  // a non-reference type that tensors can have

// Elements are plain bytes: they may be copied by memcpy and sent unchanged.
bool IsPlainType(DataType type);
bool IsFloating(DataType type);  // half, bfloat16, float, double and float8
bool IsComplex(DataType type);
bool IsInteger(DataType type);  // signed and unsigned, not quantised, not bool
bool IsQuantized(DataType type);
// Strings and resource handles are host objects. So are variants, but on a device their tensors are in device memory
// (core/tensor/variant_tensors.h).
bool IsAlwaysOnHost(DataType type);
// Whether tensors of `type` inside of variants stay in host memory: types that always do, and int32, as everywhere.
bool StaysOnHostInVariants(DataType type);

// DataType of a C++ type: DataTypeOf<float>() == DT_FLOAT.
template <typename T>
struct DataTypeTraits;

#define WEIR_DATA_TYPE(Type, Enum)           \
  template <>                                \
  struct DataTypeTraits<Type> {              \
    static constexpr DataType kValue = Enum; \
  };
WEIR_DATA_TYPE(float, DT_FLOAT)
WEIR_DATA_TYPE(double, DT_DOUBLE)
WEIR_DATA_TYPE(half, DT_HALF)
WEIR_DATA_TYPE(bfloat16, DT_BFLOAT16)
WEIR_DATA_TYPE(int8_t, DT_INT8)
WEIR_DATA_TYPE(int16_t, DT_INT16)
WEIR_DATA_TYPE(int32_t, DT_INT32)
WEIR_DATA_TYPE(int64_t, DT_INT64)
WEIR_DATA_TYPE(uint8_t, DT_UINT8)
WEIR_DATA_TYPE(uint16_t, DT_UINT16)
WEIR_DATA_TYPE(uint32_t, DT_UINT32)
WEIR_DATA_TYPE(uint64_t, DT_UINT64)
WEIR_DATA_TYPE(bool, DT_BOOL)
WEIR_DATA_TYPE(complex64, DT_COMPLEX64)
WEIR_DATA_TYPE(complex128, DT_COMPLEX128)
WEIR_DATA_TYPE(tstring, DT_STRING)
WEIR_DATA_TYPE(ResourceHandle, DT_RESOURCE)
WEIR_DATA_TYPE(Variant, DT_VARIANT)
WEIR_DATA_TYPE(qint8, DT_QINT8)
WEIR_DATA_TYPE(quint8, DT_QUINT8)
WEIR_DATA_TYPE(qint16, DT_QINT16)
WEIR_DATA_TYPE(quint16, DT_QUINT16)
WEIR_DATA_TYPE(qint32, DT_QINT32)
WEIR_DATA_TYPE(float8_e5m2, DT_FLOAT8_E5M2)
WEIR_DATA_TYPE(float8_e4m3fn, DT_FLOAT8_E4M3FN)
WEIR_DATA_TYPE(int4, DT_INT4)
WEIR_DATA_TYPE(uint4, DT_UINT4)
#undef WEIR_DATA_TYPE

template <typename T>
constexpr DataType DataTypeOf() {
  return DataTypeTraits<T>::kValue;
}

// X-macros over element types, for registrations and explicit instantiations: WEIR_FOR_FLOATS(M) expands M(float) …
#define WEIR_FOR_FLOATS(M) M(float) M(double) M(half) M(bfloat16)
#define WEIR_FOR_SIGNED_INTEGERS(M) M(int8_t) M(int16_t) M(int32_t) M(int64_t)
#define WEIR_FOR_UNSIGNED_INTEGERS(M) M(uint8_t) M(uint16_t) M(uint32_t) M(uint64_t)
#define WEIR_FOR_INTEGERS(M) WEIR_FOR_SIGNED_INTEGERS(M) WEIR_FOR_UNSIGNED_INTEGERS(M)
#define WEIR_FOR_COMPLEX(M) M(complex64) M(complex128)
#define WEIR_FOR_REALS(M) WEIR_FOR_FLOATS(M) WEIR_FOR_INTEGERS(M)
#define WEIR_FOR_NUMBERS(M) WEIR_FOR_REALS(M) WEIR_FOR_COMPLEX(M)

}  // namespace weir
