#include "distribute/collective/reduction.h"

#include <cstring>
#include <type_traits>

#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

template <typename T>
T Load(const void* from, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + index * sizeof(T), sizeof(T));
  return value;
}

template <Reduction kReduction, typename T>
T Combine(T a, T b) {
  if constexpr (kReduction == Reduction::kAdd || kReduction == Reduction::kMul) {
    if constexpr (std::is_integral_v<T>) {  // overflow wraps, as in TensorFlow
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(kReduction == Reduction::kAdd ? static_cast<U>(a) + static_cast<U>(b)
                                                          : static_cast<U>(a) * static_cast<U>(b));
    } else {
      return kReduction == Reduction::kAdd ? a + b : a * b;
    }
  } else {
    return kReduction == Reduction::kMin ? (b < a ? b : a) : (a < b ? b : a);
  }
}

template <typename T, Reduction kReduction>
void Reduce(void* out, const void* a, const void* b, int64_t count) {
  using A = AccumulatorT<T>;
  T* const results = static_cast<T*>(out);
  const T* const left = static_cast<const T*>(a);
  for (int64_t i = 0; i < count; ++i) {
    results[i] = static_cast<T>(Combine<kReduction, A>(static_cast<A>(left[i]), static_cast<A>(Load<T>(b, i))));
  }
}

template <typename T>
void Divide(void* values, int64_t divisor, int64_t count) {
  using A = AccumulatorT<T>;
  T* const results = static_cast<T*>(values);
  const A by = static_cast<A>(divisor);
  for (int64_t i = 0; i < count; ++i) results[i] = static_cast<T>(static_cast<A>(results[i]) / by);
}

template <typename T>
ReduceFunction Select(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAdd:
      return Reduce<T, Reduction::kAdd>;
    case Reduction::kMul:
      return Reduce<T, Reduction::kMul>;
    case Reduction::kMin:
      return Reduce<T, Reduction::kMin>;
    case Reduction::kMax:
      return Reduce<T, Reduction::kMax>;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<ReduceFunction> ReduceFunctionFor(DataType dtype, Reduction reduction) {
  switch (dtype) {
    case DT_HALF:
      return Select<half>(reduction);
    case DT_BFLOAT16:
      return Select<bfloat16>(reduction);
    case DT_FLOAT:
      return Select<float>(reduction);
    case DT_DOUBLE:
      return Select<double>(reduction);
    case DT_INT32:
      return Select<int32_t>(reduction);
    case DT_INT64:
      return Select<int64_t>(reduction);
    default:
      return errors::Unimplemented("Collectives do not reduce ", DataTypeName(dtype));
  }
}

absl::StatusOr<DivideFunction> DivideFunctionFor(DataType dtype) {
  switch (dtype) {
    case DT_HALF:
      return Divide<half>;
    case DT_BFLOAT16:
      return Divide<bfloat16>;
    case DT_FLOAT:
      return Divide<float>;
    case DT_DOUBLE:
      return Divide<double>;
    case DT_INT32:
      return Divide<int32_t>;
    case DT_INT64:
      return Divide<int64_t>;
    default:
      return errors::Unimplemented("Collectives do not average ", DataTypeName(dtype));
  }
}

const char* Name(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAdd:
      return "Add";
    case Reduction::kMul:
      return "Mul";
    case Reduction::kMin:
      return "Min";
    case Reduction::kMax:
      return "Max";
  }
  return "unknown reduction";
}

}  // namespace weir
