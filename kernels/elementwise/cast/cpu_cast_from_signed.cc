#include "kernels/elementwise/cast/cast_loops.h"

namespace weir {

CastLoop FindCastFromSigned(DataType from, DataType to) {
  using cast_internal::CastTo;
  switch (from) {
    case DT_INT8:
      return CastTo<int8_t>(to);
    case DT_INT16:
      return CastTo<int16_t>(to);
    case DT_INT32:
      return CastTo<int32_t>(to);
    case DT_INT64:
      return CastTo<int64_t>(to);
    default:
      return nullptr;
  }
}

}  // namespace weir
