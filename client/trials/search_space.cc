#include "client/trials/search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace weir {
namespace {

constexpr size_t kMaxCombinations = 1'000'000;
// Doubles represent all integers below it exactly.
constexpr double kInexactInteger = 0x1p53;

}  // namespace

std::string ToString(const HyperParameters& parameters) {
  return absl::StrJoin(parameters, ", ", [](std::string* out, const auto& parameter) {
    absl::StrAppendFormat(out, "%s=%g", parameter.first, parameter.second);
  });
}

Parameter Parameter::Choice(std::vector<double> values) {
  Parameter parameter;
  parameter.values_ = std::move(values);
  return parameter;
}

Parameter Parameter::Uniform(double least, double most) {
  Parameter parameter;
  parameter.kind_ = Kind::kUniform;
  parameter.least_ = least;
  parameter.most_ = most;
  return parameter;
}

Parameter Parameter::LogUniform(double least, double most) {
  Parameter parameter = Uniform(least, most);
  parameter.kind_ = Kind::kLogUniform;
  return parameter;
}

Parameter Parameter::Integer(int64_t least, int64_t most) {
  Parameter parameter = Uniform(static_cast<double>(least), static_cast<double>(most));
  parameter.kind_ = Kind::kInteger;
  return parameter;
}

absl::Status Parameter::Check(const std::string& name) const {
  if (kind_ == Kind::kChoice) {
    return values_.empty() ? errors::InvalidArgument("Parameter '", name, "' has no values") : absl::OkStatus();
  }
  if (kind_ == Kind::kInteger && (least_ <= -kInexactInteger || most_ >= kInexactInteger)) {
    return errors::InvalidArgument("The integers of parameter '", name, "' reach 2^53");
  }
  const double above = kind_ == Kind::kLogUniform ? 0 : -std::numeric_limits<double>::infinity();
  if (std::isfinite(least_) && std::isfinite(most_) && least_ > above && least_ <= most_) return absl::OkStatus();
  return errors::InvalidArgument("Parameter '", name, "' cannot be between ", least_, " and ", most_);
}

double Parameter::At(double x) const {
  switch (kind_) {
    case Kind::kChoice:
      return values_[std::min(values_.size() - 1, static_cast<size_t>(x * static_cast<double>(values_.size())))];
    case Kind::kUniform:
      return least_ + x * (most_ - least_);
    case Kind::kLogUniform:
      return std::exp(std::log(least_) + x * (std::log(most_) - std::log(least_)));
    case Kind::kInteger:
      return std::min(most_, std::floor(least_ + x * (most_ - least_ + 1)));
  }
  return 0;
}

absl::StatusOr<std::vector<HyperParameters>> GridSearch(const SearchSpace& space) {
  std::vector<HyperParameters> combinations = {{}};
  for (const auto& [name, parameter] : space) {
    RETURN_IF_ERROR(parameter.Check(name));
    std::vector<double> values = parameter.values_;
    if (parameter.kind_ == Parameter::Kind::kInteger && parameter.most_ - parameter.least_ < kMaxCombinations) {
      for (double value = parameter.least_; value <= parameter.most_; ++value) values.push_back(value);
    }
    if (values.empty()) return errors::InvalidArgument("Parameter '", name, "' has no grid: give a choice of values");
    if (combinations.size() > kMaxCombinations / values.size()) {
      return errors::InvalidArgument("A grid of more than ", kMaxCombinations, " combinations");
    }
    std::vector<HyperParameters> extended;
    for (const HyperParameters& combination : combinations) {
      for (const double value : values) {
        extended.push_back(combination);
        extended.back()[name] = value;
      }
    }
    combinations = std::move(extended);
  }
  return combinations;
}

absl::StatusOr<std::vector<HyperParameters>> RandomSearch(const SearchSpace& space, int trials, uint64_t seed) {
  if (trials < 0 || trials > static_cast<int>(kMaxCombinations)) {
    return errors::InvalidArgument("The number of trials is ", trials);
  }
  // The standard library's distributions differ between implementations; its generators do not.
  std::mt19937_64 random(seed);
  std::vector<HyperParameters> drawn(trials);
  for (HyperParameters& parameters : drawn) {
    for (const auto& [name, parameter] : space) {
      RETURN_IF_ERROR(parameter.Check(name));
      parameters[name] = parameter.At(static_cast<double>(random() >> 11) * 0x1p-53);
    }
  }
  return drawn;
}

}  // namespace weir
