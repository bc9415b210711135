// Ops and shorthand for tests in this folder.
#pragma once

#include <memory>
#include <string>

#include "core/op/op_registry.h"
#include "graph/graph.h"

namespace weir {

// A few ops with TensorFlow's names: sources, arithmetic, reference variables, control flow, calls.
const OpRegistry& TestOps();

// Parses protobuf's text format; aborts the test program if that fails.
tensorflow::GraphDef GraphDefFromText(const std::string& text);

}  // namespace weir
