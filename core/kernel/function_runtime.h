// Calls from kernels to functions of the graph's library (PartitionedCall, If, While, datasets).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/api.h"
#include "core/kernel/op_kernel.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class FunctionDef;
class FunctionDefLibrary;
class NameAttrList;
class OpDef;
}  // namespace tensorflow

namespace WEIR_API weir {

class PythonFunctions;  // core/kernel/python_functions.h

// Thread-safe. One per registered graph and device.
class FunctionRuntime {
 public:
  using Handle = int64_t;
  using DoneCallback = std::function<void(absl::StatusOr<std::vector<Tensor>>)>;
  struct RunOptions {
    StepContext step;  // the caller's; its call_frame is ignored
    bool create_rendezvous = false;
    int depth = 0;
  };

  virtual ~FunctionRuntime() = default;
  // The same function and attributes return the same handle. NotFound if the library has no such function.
  virtual absl::StatusOr<Handle> Instantiate(const tensorflow::NameAttrList& function) = 0;
  // Checks the number and types of arguments. `done` runs exactly once, with no lock held. `step`'s pointers must
  // stay valid until then.
  virtual void RunAsync(Handle handle, const RunOptions& options, std::vector<Tensor> args, DoneCallback done) = 0;
  virtual const tensorflow::FunctionDef* Find(absl::string_view name) const = 0;
  // The definition of an op that functions may use; nullptr if none is known.
  virtual const tensorflow::OpDef* FindOp(absl::string_view name) const { return nullptr; }
  // A runtime over the same functions, plus `more` if given. It shares no kernels with this one and may outlive it and
  // its graph, but not the device. InvalidArgument if `more` redefines a function differently.
  virtual absl::StatusOr<std::shared_ptr<FunctionRuntime>> Clone(
      const tensorflow::FunctionDefLibrary* more = nullptr) const = 0;
  // The functions of the client's Python; null: the session has none.
  virtual std::shared_ptr<PythonFunctions> python() const { return nullptr; }
};

}  // namespace weir
