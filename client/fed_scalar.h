#pragma once

#include <string>

#include "client/scope.h"

namespace weir {

// A scalar placeholder that every run must feed.
Output FedScalar(const Scope& scope, const std::string& name, DataType dtype);

}  // namespace weir
