// Values with one instance per replica.
#pragma once

#include <utility>

#include "client/optimizer.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

enum class ReduceOp { kSum, kMean };

// One value for each replica of this graph, in order.
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(OutputList values) : values_(std::move(values)) {}

  int size() const { return static_cast<int>(values_.size()); }
  const Output& operator[](int replica) const { return values_[replica]; }
  const OutputList& values() const { return values_; }

 private:
  OutputList values_;
};

// [replica][variable]: each replica lists the same variables in the same order.
using PerReplicaGradients = std::vector<std::vector<GradientAndVariable>>;

}  // namespace weir
