#include "kernels/elementwise/cast/cast_loops.h"

namespace weir {

CastLoop FindCastFromFloats(DataType from, DataType to) {
  using cast_internal::CastTo;
  switch (from) {
    case DT_FLOAT:
      return CastTo<float>(to);
    case DT_DOUBLE:
      return CastTo<double>(to);
    case DT_HALF:
      return CastTo<half>(to);
    case DT_BFLOAT16:
      return CastTo<bfloat16>(to);
    case DT_COMPLEX64:
      return CastTo<complex64>(to);
    case DT_COMPLEX128:
      return CastTo<complex128>(to);
    default:
      return nullptr;
  }
}

}  // namespace weir
