// Hyper-parameter search spaces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

// The parameter values of one trial, by name.
using HyperParameters = std::map<std::string, double>;
// "learning_rate=0.01, units=64".
std::string ToString(const HyperParameters& parameters);

// A parameter: a set of values, or a range. A value type.
class Parameter {
 public:
  static Parameter Choice(std::vector<double> values);
  static Parameter Uniform(double least, double most);
  static Parameter LogUniform(double least, double most);  // for a positive range; uniform in the logarithm
  static Parameter Integer(int64_t least, int64_t most);   // both included

 private:
  friend absl::StatusOr<std::vector<HyperParameters>> GridSearch(const std::map<std::string, Parameter>& space);
  friend absl::StatusOr<std::vector<HyperParameters>> RandomSearch(const std::map<std::string, Parameter>& space,
                                                                   int trials, uint64_t seed);
  enum class Kind { kChoice, kUniform, kLogUniform, kInteger };

  absl::Status Check(const std::string& name) const;
  // Maps `x` in [0, 1) to a value.
  double At(double x) const;

  Kind kind_ = Kind::kChoice;
  std::vector<double> values_;
  double least_ = 0, most_ = 0;
};

using SearchSpace = std::map<std::string, Parameter>;

// Every combination; the last name varies fastest. InvalidArgument for a range that is not of integers, or more than a
// million combinations.
absl::StatusOr<std::vector<HyperParameters>> GridSearch(const SearchSpace& space);
// Independent samples; reproducible on every platform for the same seed.
absl::StatusOr<std::vector<HyperParameters>> RandomSearch(const SearchSpace& space, int trials, uint64_t seed);

}  // namespace weir
