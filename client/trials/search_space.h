// Which values of its parameters a program is tried with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// Values of the parameters of one trial, by name.
using HyperParameters = std::map<std::string, double>;
// "learning_rate=0.01, units=64".
std::string ToString(const HyperParameters& parameters);

// A parameter: values to choose from, or a range to draw from. A value.
class Parameter {
 public:
  static Parameter Choice(std::vector<double> values);
  static Parameter Uniform(double least, double most);
  static Parameter LogUniform(double least, double most);  // of a range above zero; its logarithm is uniform
  static Parameter Integer(int64_t least, int64_t most);   // both included

 private:
  friend absl::StatusOr<std::vector<HyperParameters>> GridSearch(const std::map<std::string, Parameter>& space);
  friend absl::StatusOr<std::vector<HyperParameters>> RandomSearch(const std::map<std::string, Parameter>& space,
                                                                   int trials, uint64_t seed);
  enum class Kind { kChoice, kUniform, kLogUniform, kInteger };

  absl::Status Check(const std::string& name) const;
  // `x` in [0, 1).
  double At(double x) const;

  Kind kind_ = Kind::kChoice;
  std::vector<double> values_;
  double least_ = 0, most_ = 0;
};

using SearchSpace = std::map<std::string, Parameter>;

// Every combination; the last name varies fastest. InvalidArgument for a range that is not of integers, or more than a
// million combinations.
absl::StatusOr<std::vector<HyperParameters>> GridSearch(const SearchSpace& space);
// Drawn independently; the same for the same seed everywhere.
absl::StatusOr<std::vector<HyperParameters>> RandomSearch(const SearchSpace& space, int trials, uint64_t seed);

}  // namespace weir
