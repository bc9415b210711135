#include "kernels/device/number_text.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_format.h"

namespace weir {
namespace {

const char* InfiniteText(double x) { return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf"; }

}  // namespace

std::string NumberText(float x) {
  if (!std::isfinite(x)) return InfiniteText(x);
  std::string text = absl::StrFormat("%.6g", x);
  return std::strtof(text.c_str(), nullptr) == x ? text : absl::StrFormat("%.9g", x);
}

std::string NumberText(double x) {
  if (!std::isfinite(x)) return InfiniteText(x);
  std::string text = absl::StrFormat("%.15g", x);
  return std::strtod(text.c_str(), nullptr) == x ? text : absl::StrFormat("%.17g", x);
}

}  // namespace weir
