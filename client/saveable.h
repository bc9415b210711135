// Checkpointed state other than variables.
#pragma once

#include <functional>
#include <string>

#include "client/scope.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// One entry of a checkpoint, such as an iterator's position. A value type; refers to a graph.
struct Saveable {
  std::string name;  // of the entry
  std::string device;
  DataType dtype = DT_INVALID;
  std::function<Output(const Scope& scope)> save;                             // adds ops that return the value to save
  std::function<Operation(const Scope& scope, const Output& value)> restore;  // adds ops that restore it
  Operation initializer;                                                      // resets it if there is no checkpoint
  // Whether it was initialised or restored, and its task was not lost since.
  Output is_initialized;
};

}  // namespace weir
