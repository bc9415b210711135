#include "graph/literal.h"

#include <cmath>
#include <vector>

#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

#define WEIR_FOR_LITERALS(M) WEIR_FOR_INTEGERS(M) M(float) M(double) M(half) M(bfloat16) M(bool)

// Converts through long double, which represents every 64-bit integer exactly; half and bfloat16 through float.
template <typename T>
long double Widen(T element) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(element);
  } else {
    return static_cast<long double>(element);
  }
}

template <typename T>
bool Narrow(long double wide, T* element) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    *element = static_cast<T>(static_cast<float>(wide));
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    *element = static_cast<T>(wide);
    return true;
  } else {
    if (std::isnan(wide) || wide < static_cast<long double>(std::numeric_limits<T>::min()) ||
        wide > static_cast<long double>(std::numeric_limits<T>::max())) {
      return false;
    }
    *element = static_cast<T>(wide);
    return static_cast<long double>(*element) == wide;
  }
}

bool ReadElements(const Tensor& value, std::vector<long double>* out) {
  switch (value.dtype()) {
#define WEIR_CASE(T)                                                            \
  case DataTypeOf<T>():                                                         \
    for (const T& element : value.flat<T>()) out->push_back(Widen<T>(element)); \
    return true;
    WEIR_FOR_LITERALS(WEIR_CASE)
#undef WEIR_CASE
    default:
      return false;
  }
}

// Returns whether every element fits.
absl::StatusOr<bool> WriteElements(const std::vector<long double>& values, Tensor* out) {
  switch (out->dtype()) {
#define WEIR_CASE(T)                                               \
  case DataTypeOf<T>():                                            \
    for (size_t i = 0; i < values.size(); ++i) {                   \
      if (!Narrow<T>(values[i], &out->data<T>()[i])) return false; \
    }                                                              \
    return true;
    WEIR_FOR_LITERALS(WEIR_CASE)
    case DT_COMPLEX64:
      for (size_t i = 0; i < values.size(); ++i) out->data<complex64>()[i] = static_cast<float>(values[i]);
      return true;
    case DT_COMPLEX128:
      for (size_t i = 0; i < values.size(); ++i) out->data<complex128>()[i] = static_cast<double>(values[i]);
      return true;
#undef WEIR_CASE
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<Tensor> ConvertLiteral(const Tensor& value, DataType type) {
  if (value.dtype() == type) return value;
  std::vector<long double> elements;
  Tensor converted(IsPlainType(type) ? type : DT_FLOAT, value.shape());
  bool fits = IsPlainType(type) && ReadElements(value, &elements);
  if (fits) {
    ASSIGN_OR_RETURN(fits, WriteElements(elements, &converted));
  }
  if (!fits) {
    return errors::InvalidArgument("The value ", value.DebugString(), " cannot be converted to ", DataTypeName(type));
  }
  return converted;
}

}  // namespace weir
