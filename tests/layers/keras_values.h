// The tensors that keras_oracle.py wrote.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "core/tensor/tensor.h"

namespace weir {

// The directory in which keras_oracle.py wrote its checkpoints, which main() sets.
std::string& KerasDirectory();

// A tensor of DIR/<file>; fails the test if there is none.
Tensor KerasValue(const std::string& file, const std::string& name);
std::vector<std::string> KerasNames(const std::string& file);

// Expects float tensors of one shape whose elements differ by at most `tolerance`, absolutely or relatively.
void ExpectClose(const Tensor& actual, const Tensor& expected, const std::string& what, double tolerance = 2e-5);

}  // namespace weir
