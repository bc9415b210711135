#include "kernels/elementwise/cast/cast_loops.h"

namespace weir {

CastLoop FindCastFromUnsigned(DataType from, DataType to) {
  using cast_internal::CastTo;
  switch (from) {
    case DT_BOOL:
      return CastTo<bool>(to);
    case DT_UINT8:
      return CastTo<uint8_t>(to);
    case DT_UINT16:
      return CastTo<uint16_t>(to);
    case DT_UINT32:
      return CastTo<uint32_t>(to);
    case DT_UINT64:
      return CastTo<uint64_t>(to);
    default:
      return nullptr;
  }
}

}  // namespace weir
