#include <cmath>
#include <complex>

#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"
#include "core/testing.h"

namespace weir {
namespace {

template <typename T>
bool Equal(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return Equal(static_cast<float>(a), static_cast<float>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return a == b || (std::isnan(a) && std::isnan(b));
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return Equal(a.real(), b.real()) && Equal(a.imag(), b.imag());
  } else {
    return a == b;
  }
}
bool Equal(const ResourceHandle& a, const ResourceHandle& b) {
  return a.device == b.device && a.container == b.container && a.name == b.name && a.type_name == b.type_name;
}
bool Equal(const Variant& a, const Variant& b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  return a.TypeName() == b.TypeName() && a.value()->DebugString() == b.value()->DebugString();
}

template <typename T>
int64_t FirstDifference(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    if (!Equal(a.data<T>()[i], b.data<T>()[i])) return i;
  }
  return -1;
}

int64_t FirstDifferentByte(const Tensor& a, const Tensor& b) {
  const int64_t size = static_cast<int64_t>(DataTypeSize(a.dtype()));
  for (int64_t i = 0; i < a.TotalBytes(); ++i) {
    if (a.data<char>()[i] != b.data<char>()[i]) return i / size;
  }
  return -1;
}

int64_t FirstDifference(const Tensor& a, const Tensor& b) {
  switch (a.dtype()) {
#define WEIR_CASE(T)    \
  case DataTypeOf<T>(): \
    return FirstDifference<T>(a, b);
    WEIR_FOR_NUMBERS(WEIR_CASE)
    WEIR_CASE(bool)
    WEIR_CASE(tstring)
    WEIR_CASE(ResourceHandle)
    WEIR_CASE(Variant)
#undef WEIR_CASE
    default:
      return FirstDifferentByte(a, b);
  }
}

template <typename T>
std::complex<double> Widen(T value) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
  } else {
    return {static_cast<double>(value), 0};
  }
}

bool Near(std::complex<double> actual, std::complex<double> expected, double abs, double rel) {
  if (Equal(actual, expected)) return true;
  const double error = std::abs(actual - expected);
  return std::isfinite(error) && error <= abs + rel * std::abs(expected);
}

template <typename T>
int64_t FirstFar(const Tensor& actual, const Tensor& expected, double abs, double rel) {
  for (int64_t i = 0; i < actual.NumElements(); ++i) {
    if (!Near(Widen(actual.data<T>()[i]), Widen(expected.data<T>()[i]), abs, rel)) return i;
  }
  return -1;
}

int64_t FirstFar(const Tensor& actual, const Tensor& expected, double abs, double rel) {
  switch (actual.dtype()) {
#define WEIR_CASE(T)    \
  case DataTypeOf<T>(): \
    return FirstFar<T>(actual, expected, abs, rel);
    WEIR_FOR_NUMBERS(WEIR_CASE)
#undef WEIR_CASE
    default:
      return FirstDifference(actual, expected);
  }
}

bool SameForm(const Tensor& actual, const Tensor& expected, absl::string_view context) {
  EXPECT_EQ(DataTypeName(actual.dtype()), DataTypeName(expected.dtype())) << context;
  EXPECT_EQ(actual.shape().ToString(), expected.shape().ToString()) << context;
  EXPECT_TRUE(actual.IsInitialized()) << context;
  EXPECT_TRUE(expected.IsInitialized()) << context;
  return actual.dtype() == expected.dtype() && actual.shape() == expected.shape() && actual.IsInitialized() &&
         expected.IsInitialized();
}

void ExpectNone(int64_t index, const Tensor& actual, const Tensor& expected, absl::string_view context) {
  if (index < 0) return;
  auto element = [index](const Tensor& t) {
    const Tensor flat = t.Reshaped(TensorShape({t.NumElements()})).value();
    return flat.SubSlice(index).DebugString();
  };
  ADD_FAILURE() << context << (context.empty() ? "" : ": ") << "element " << index << " is " << element(actual)
                << ", expected " << element(expected) << "\n  actual: " << actual.DebugString(32)
                << "\nexpected: " << expected.DebugString(32);
}

}  // namespace

void ExpectTensorEqual(const Tensor& actual, const Tensor& expected, absl::string_view context) {
  if (SameForm(actual, expected, context)) ExpectNone(FirstDifference(actual, expected), actual, expected, context);
}

void ExpectTensorNear(const Tensor& actual, const Tensor& expected, double abs, double rel, absl::string_view context) {
  if (SameForm(actual, expected, context)) {
    ExpectNone(FirstFar(actual, expected, abs, rel), actual, expected, context);
  }
}

}  // namespace weir
