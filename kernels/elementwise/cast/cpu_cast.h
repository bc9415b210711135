// Element conversions between any two numeric types.
#pragma once

#include <cstdint>

#include "core/tensor/types.h"

namespace weir {

// Converts n elements. `in` and `out` do not overlap.
using CastLoop = void (*)(const void* in, void* out, int64_t n);

// Where a loop may be split: elsewhere, numbers beyond the range of an integer may be converted differently.
constexpr int64_t kCastBlock = 256;

// The integer type that values of a quantised type are stored as; other types are their own.
DataType StoredAs(DataType type);

// nullptr if there is no such conversion.
CastLoop FindCast(DataType from, DataType to);

// FindCast's tables, split by source type so that each file compiles in seconds.
CastLoop FindCastFromFloats(DataType from, DataType to);
CastLoop FindCastFromSigned(DataType from, DataType to);
CastLoop FindCastFromUnsigned(DataType from, DataType to);
// From and to eight-bit floats.
CastLoop FindCastFloat8(DataType from, DataType to);

}  // namespace weir
