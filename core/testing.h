// Shared test utilities: status matchers, tensor literals, tensor comparison. Link weir_testing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

// EXPECT_THAT(expr, IsOk()): a Status or StatusOr without error.
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

// EXPECT_THAT(expr, StatusIs(absl::StatusCode::kNotFound, HasSubstr("foo"))): code and message.
MATCHER_P2(StatusIs, code, message, "") {
  *result_listener << GetStatus(arg).ToString();
  return ::testing::ExplainMatchResult(code, GetStatus(arg).code(), result_listener) &&
         ::testing::ExplainMatchResult(message, std::string(GetStatus(arg).message()), result_listener);
}
MATCHER_P(StatusIs, code, "") {
  *result_listener << GetStatus(arg).ToString();
  return ::testing::ExplainMatchResult(code, GetStatus(arg).code(), result_listener);
}

// Short, because it is what most bad input gives.
inline constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// ASSERT_OK_AND_ASSIGN(Tensor t, Tensor::Allocate(…)): assigns the value, or fails and ends the test.
#define ASSERT_OK_AND_ASSIGN(lhs, expr) ASSERT_OK_AND_ASSIGN_IMPL(WEIR_CONCAT(weir_test_or_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_IMPL(var, lhs, expr) \
  auto var = (expr);                              \
  ASSERT_THAT(var, ::weir::IsOk());               \
  lhs = std::move(var).value()

// AsTensor<float>({1, 2, 3, 4}, {2, 2}); a vector if no shape is given. half and bfloat16 are written as
// AsTensor<half>({half(1), half(2)}), which needs core/tensor/numeric_types.h.
template <typename T>
Tensor AsTensor(std::vector<T> values, const TensorShape& shape) {
  Tensor tensor(DataTypeOf<T>(), shape);
  EXPECT_EQ(static_cast<int64_t>(values.size()), shape.num_elements());
  for (size_t i = 0; i < values.size() && i < static_cast<size_t>(shape.num_elements()); ++i) {
    tensor.data<T>()[i] = values[i];
  }
  return tensor;
}
template <typename T>
Tensor AsTensor(std::vector<T> values) {
  const TensorShape shape({static_cast<int64_t>(values.size())});
  return AsTensor<T>(std::move(values), shape);
}
template <typename T>
Tensor AsScalar(T value) {
  return Tensor::Scalar<T>(std::move(value));
}

// Same type, same shape, same elements; NaN equals NaN. `context` is prepended to a failure.
void ExpectTensorEqual(const Tensor& actual, const Tensor& expected, absl::string_view context = "");
// Same type and shape, and |actual - expected| <= abs + rel * |expected| for every element (for complex ones, of the
// difference's magnitude). Infinities must match; NaN matches NaN.
void ExpectTensorNear(const Tensor& actual, const Tensor& expected, double abs = 1e-5, double rel = 1e-5,
                      absl::string_view context = "");

}  // namespace weir
