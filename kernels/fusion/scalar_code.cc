#include "kernels/fusion/scalar_code.h"

#include <cmath>
#include <string>

#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

using Code = void (*)(const FusedValue* operands, FusedValue* result);

namespace formulas {

using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atan2;
using std::atanh;
using std::ceil;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::expm1;
using std::fabs;
using std::floor;
using std::fmod;
using std::log;
using std::log1p;
using std::nearbyint;
using std::pow;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
using std::trunc;

#define WEIR_SHARED_CODE(...) __VA_ARGS__
#define WEIR_SHARED_FUNCTION inline
#include "core/fusion/scalar_functions.inc"
#undef WEIR_SHARED_FUNCTION
#undef WEIR_SHARED_CODE

// One of each group of types that an op has a formula for.
struct Floats {};
struct Ints {};
struct Bools {};

#define WEIR_SCALAR_1(Op, types, rule, Result, ...) \
  template <typename T>                             \
  Result Op(types, T x) {                           \
    return __VA_ARGS__;                             \
  }
#define WEIR_SCALAR_2(Op, types, rule, Result, ...) \
  template <typename T>                             \
  Result Op(types, T x, T y) {                      \
    return __VA_ARGS__;                             \
  }
#include "core/fusion/scalar_ops.inc"
#undef WEIR_SCALAR_1
#undef WEIR_SCALAR_2

}  // namespace formulas

// How elements of a type are computed with.
template <typename Stored>
struct As {
  using Computed = Stored;
  static Computed Round(Computed value) { return value; }
};
template <>
struct As<half> {
  using Computed = float;
  static float Round(float value) { return static_cast<float>(static_cast<half>(value)); }
};
template <>
struct As<bfloat16> {
  using Computed = float;
  static float Round(float value) { return static_cast<float>(static_cast<bfloat16>(value)); }
};

template <typename C>
C& In(FusedValue& value) {
  if constexpr (std::is_same_v<C, float>)
    return value.f;
  else if constexpr (std::is_same_v<C, double>)
    return value.d;
  else if constexpr (std::is_same_v<C, int32_t>)
    return value.i32;
  else if constexpr (std::is_same_v<C, bool>)
    return value.b;
  else
    return value.i64;
}
template <typename C>
C Of(FusedValue value) {
  return In<C>(value);
}

// Calls `visit` with an element of the type that `type` stores.
template <typename Visit>
auto ForType(DataType type, const Visit& visit) {
  switch (type) {
    case DT_FLOAT:
      return visit(float());
    case DT_DOUBLE:
      return visit(double());
    case DT_HALF:
      return visit(half());
    case DT_BFLOAT16:
      return visit(bfloat16());
    case DT_INT32:
      return visit(int32_t());
    case DT_INT64:
      return visit(static_cast<long long>(0));
    default:
      return visit(bool());
  }
}

template <typename Types, typename Stored>
constexpr bool kAreOf = std::is_same_v<Types, formulas::Bools>  ? std::is_same_v<Stored, bool>
                        : std::is_same_v<Types, formulas::Ints> ? std::is_same_v<Stored, long long>
                                                                : !std::is_integral_v<Stored>;

Code CodeOfScalar(const std::string& op, DataType type) {
  Code code = nullptr;
#define WEIR_SCALAR(Op, types, Result, ...)                                   \
  if (op == #Op) {                                                            \
    ForType(type, [&code](auto stored) {                                      \
      using Stored = decltype(stored);                                        \
      if constexpr (kAreOf<formulas::types, Stored>) {                        \
        using T = typename As<Stored>::Computed;                              \
        code = [](const FusedValue* v, FusedValue* r) {                       \
          const Result result = formulas::Op(formulas::types(), __VA_ARGS__); \
          In<Result>(*r) = WEIR_ROUND_##Result(result);                       \
        };                                                                    \
      }                                                                       \
    });                                                                       \
  }
#define WEIR_ROUND_T As<Stored>::Round
#define WEIR_ROUND_bool
#define WEIR_SCALAR_1(Op, types, rule, Result, ...) WEIR_SCALAR(Op, types, Result, Of<T>(v[0]))
#define WEIR_SCALAR_2(Op, types, rule, Result, ...) WEIR_SCALAR(Op, types, Result, Of<T>(v[0]), Of<T>(v[1]))
#include "core/fusion/scalar_ops.inc"
#undef WEIR_SCALAR_1
#undef WEIR_SCALAR_2
#undef WEIR_ROUND_bool
#undef WEIR_ROUND_T
#undef WEIR_SCALAR
  return code;
}

Code CodeOfCast(DataType from, DataType to) {
  return ForType(from, [to](auto source) {
    return ForType(to, [](auto target) -> Code {
      using From = typename As<decltype(source)>::Computed;
      using To = typename As<decltype(target)>::Computed;
      return [](const FusedValue* v, FusedValue* r) {
        if constexpr (std::is_same_v<To, bool>) {
          r->b = Of<From>(v[0]) != From(0);
        } else {
          In<To>(*r) = As<decltype(target)>::Round(static_cast<To>(Of<From>(v[0])));
        }
      };
    });
  });
}

void Choose(const FusedValue* v, FusedValue* r) { *r = v[0].b ? v[1] : v[2]; }

}  // namespace

void (*CodeOfStep(const FusedStep& step, DataType operand))(const FusedValue* operands, FusedValue* result) {
  switch (step.kind) {
    case FusedStep::Kind::kCast:
      return CodeOfCast(operand, step.type);
    case FusedStep::Kind::kSelect:
      return &Choose;
    case FusedStep::Kind::kBias:
    case FusedStep::Kind::kAddN:
      return CodeOfScalar("Add", operand);
    default:
      return CodeOfScalar(step.op, operand);
  }
}

}  // namespace weir
