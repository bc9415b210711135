// State of a graph, other than its variables, that belongs into a checkpoint.
#pragma once

#include <functional>
#include <string>

#include "client/scope.h"
#include "graph/output.h"

namespace weir {

// One entry of a checkpoint: the position of an iterator, say. A value; what it names belongs to a graph.
struct Saveable {
  std::string name;  // of the entry
  std::string device;
  DataType dtype = DT_INVALID;
  std::function<Output(const Scope& scope)> save;                             // adds ops that give what is to be saved
  std::function<Operation(const Scope& scope, const Output& value)> restore;  // adds ops that take it back
  Operation initializer;  // brings it to its beginning, where there is no checkpoint
  // Whether it was initialised or restored, and the task that holds it was not lost since.
  Output is_initialized;
};

}  // namespace weir
