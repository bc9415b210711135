#pragma once

#include <string>

#include "client/scope.h"

namespace weir {

// A placeholder for a scalar, which every run has to feed.
Output FedScalar(const Scope& scope, const std::string& name, DataType dtype);

}  // namespace weir
