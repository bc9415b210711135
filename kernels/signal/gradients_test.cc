#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> SignalGradientCases() {
  const Attrs to_complex = Attrs().Set("Treal", DT_DOUBLE).Set("Tcomplex", DT_COMPLEX128);
  std::vector<OpCase> cases;
  for (const char* op : {"FFT", "IFFT"}) cases.push_back(Complex({op, {X({2, 5})}}));
  for (const char* op : {"FFT2D", "IFFT2D"}) cases.push_back(Complex({op, {X({2, 3})}}));
  for (const char* op : {"FFT3D", "IFFT3D"}) cases.push_back(Complex({op, {X({2, 3, 2})}}));
  cases.push_back({"RFFT", {X({2, 6}), Ints({6})}, to_complex});
  cases.push_back({"RFFT", {X({7}), Ints({5})}, to_complex});
  cases.push_back({"RFFT2D", {X({3, 4}), Ints({3, 4})}, to_complex});
  cases.push_back({"RFFT3D", {X({2, 3, 4}), Ints({2, 3, 4})}, to_complex});
  cases.push_back(Complex({"IRFFT", {X({2, 4}), Ints({6})}, to_complex}));
  cases.push_back(Complex({"IRFFT", {X({4}), Ints({5})}, to_complex}));
  cases.push_back(Complex({"IRFFT2D", {X({3, 3}), Ints({3, 4})}, to_complex}));
  cases.push_back(Complex({"IRFFT3D", {X({2, 3, 3}), Ints({2, 3, 4})}, to_complex}));
  return cases;
}

namespace {

TEST(SignalGradients, AgreeWithNumericOnes) { CheckCases(SignalGradientCases()); }

}  // namespace
}  // namespace weir
