#include "kernels/elementwise/complex_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

namespace weir {
namespace {

template <typename V>
class ComplexFunctionsTest : public ::testing::Test {
 protected:
  using Limits = std::numeric_limits<V>;
  using Function = std::complex<V> (*)(const std::complex<V>&);

  // Both parts as the C library has them: NaN and infinity where it has these, else to some units in the last place of
  // the number as a whole. The sign of infinities is left open: some have no direction.
  template <typename F>
  void Expect(F function, Function expected, const std::vector<V>& parts) {
    for (const V real : parts) {
      for (const V imaginary : parts) {
        if (!std::isfinite(real) && !std::isfinite(imaginary)) continue;
        const ComplexNumber<V> actual = function(ComplexNumber<V>(real, imaginary));
        const std::complex<V> wanted = expected({real, imaginary});
        SCOPED_TRACE(::testing::Message() << real << " + " << imaginary << " i");
        const V size = std::isfinite(std::abs(wanted)) ? std::abs(wanted) : V(0);
        ExpectPart(actual.real, wanted.real(), size);
        ExpectPart(actual.imaginary, wanted.imag(), size);
      }
    }
  }

  static void ExpectPart(V actual, V wanted, V size) {
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(actual)) << actual;
    } else if (std::isinf(wanted) || std::isnan(actual) || std::isinf(actual)) {
      EXPECT_EQ(std::abs(actual), std::abs(wanted)) << actual << " for " << wanted;
    } else {
      const V unit = std::fmax(Limits::epsilon() * std::fmax(size, std::abs(wanted)), Limits::denorm_min());
      EXPECT_LE(std::abs(actual - wanted), 8 * unit) << actual << " for " << wanted;
    }
  }

  static std::vector<V> Usual() { return {V(-3.5), V(-1), V(-0.3), V(-0.0), V(0), V(1e-4), V(0.7), V(1), V(9)}; }
  static std::vector<V> WithInfinities() {
    std::vector<V> parts = Usual();
    for (const V part : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) parts.push_back(part);
    return parts;
  }
  static std::vector<V> OfAllSizes() {
    std::vector<V> parts = WithInfinities();
    for (const V part : {Limits::max(), -Limits::max() * V(0.7), Limits::max() / V(8), Limits::min(),
                         -Limits::denorm_min(), V(17) * Limits::denorm_min()}) {
      parts.push_back(part);
    }
    return parts;
  }
};

using Parts = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ComplexFunctionsTest, Parts);

TYPED_TEST(ComplexFunctionsTest, RootsAndLogarithmsHoldAtAllSizes) {
  this->Expect(complex_functions::Sqrt(), &std::sqrt<TypeParam>, this->OfAllSizes());
  this->Expect(complex_functions::Log(), &std::log<TypeParam>, this->OfAllSizes());
}

TYPED_TEST(ComplexFunctionsTest, HyperbolicFunctionsHoldAtInfinities) {
  this->Expect(complex_functions::Exp(), &std::exp<TypeParam>, this->WithInfinities());
  this->Expect(complex_functions::Sinh(), &std::sinh<TypeParam>, this->WithInfinities());
  this->Expect(complex_functions::Cosh(), &std::cosh<TypeParam>, this->WithInfinities());
  this->Expect(complex_functions::Tanh(), &std::tanh<TypeParam>, this->WithInfinities());
  this->Expect(complex_functions::Sin(), &std::sin<TypeParam>, this->WithInfinities());
  this->Expect(complex_functions::Cos(), &std::cos<TypeParam>, this->WithInfinities());
}

TYPED_TEST(ComplexFunctionsTest, AnExponentialIsFiniteWhereBothItsPartsAre) {
  using V = TypeParam;
  const V real = std::log(std::numeric_limits<V>::max()) + V(1);
  const ComplexNumber<V> actual = complex_functions::Exp()(ComplexNumber<V>(real, V(1.5)));
  const std::complex<V> wanted = std::exp(std::complex<V>(real, V(1.5)));
  ASSERT_TRUE(std::isfinite(wanted.real()));
  EXPECT_NEAR(actual.real / wanted.real(), 1, 256 * std::numeric_limits<V>::epsilon());
  EXPECT_TRUE(std::isinf(actual.imaginary));
}

TYPED_TEST(ComplexFunctionsTest, LogarithmsNearOneKeepTheirRealPart) {
  using V = TypeParam;
  for (const V angle : {V(0.1), V(0.6), V(0.78), V(1.2)}) {
    const std::complex<V> x(std::cos(angle), std::sin(angle));
    const ComplexNumber<V> actual = complex_functions::Log()(ComplexNumber<V>(x.real(), x.imag()));
    EXPECT_NEAR(actual.real / std::log(x).real(), 1, 1e-3) << angle;
  }
}

TYPED_TEST(ComplexFunctionsTest, WhatVanishesOrIsBoundedDoesSoInEveryDirection) {
  using V = TypeParam;
  for (const V direction : {std::numeric_limits<V>::infinity(), std::numeric_limits<V>::quiet_NaN()}) {
    const auto at = [&](int sign) { return ComplexNumber<V>(V(sign) * std::numeric_limits<V>::infinity(), direction); };
    EXPECT_EQ(complex_functions::Exp()(at(-1)), ComplexNumber<V>(0, 0));
    EXPECT_EQ(complex_functions::Tanh()(at(1)).real, 1);
    EXPECT_EQ(complex_functions::Tanh()(at(-1)).real, -1);
    EXPECT_EQ(complex_functions::Log()(at(1)).real, std::numeric_limits<V>::infinity());
    EXPECT_EQ(complex_functions::Sqrt()(at(1)).real, std::numeric_limits<V>::infinity());
  }
}

TYPED_TEST(ComplexFunctionsTest, ReciprocalRootsOfInfinityAreZero) {
  using V = TypeParam;
  const V infinity = std::numeric_limits<V>::infinity();
  for (const auto& [real, imaginary] :
       std::vector<std::pair<V, V>>{{V(1), infinity}, {-infinity, V(2)}, {infinity, -infinity}}) {
    const ComplexNumber<V> actual = complex_functions::Rsqrt()(ComplexNumber<V>(real, imaginary));
    EXPECT_EQ(actual.real, 0);
    EXPECT_EQ(actual.imaginary, 0);
  }
}

}  // namespace
}  // namespace weir
