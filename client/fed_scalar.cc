#include "client/fed_scalar.h"

#include "client/ops.h"

namespace weir {

Output FedScalar(const Scope& scope, const std::string& name, DataType dtype) {
  return ops::Placeholder(scope.WithName(name), dtype, {.shape = TensorShape()});
}

}  // namespace weir
