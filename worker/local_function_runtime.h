// Calls library functions on one device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/kernel/function_runtime.h"
#include "core/kernel/python_functions.h"
#include "core/mutex.h"
#include "core/op/op_registry.h"
#include "graph/function_library.h"
#include "worker/executor/executor.h"

namespace weir {

// Functions may be recursive: compiling one does not compile those that it calls. Thread-safe; outlives the calls. A
// call chain deeper than kMaxDepth ends with ResourceExhausted; a chain on one stack continues on another thread well
// before that.
class LocalFunctionRuntime : public FunctionRuntime {
 public:
  using KernelSource = std::function<absl::StatusOr<std::shared_ptr<OpKernel>>(const Node&, FunctionRuntime*)>;
  struct Options {
    Device* device = nullptr;
    const OpRegistry* ops = nullptr;
    FunctionLibrary library;
    KernelSource kernels;
    // Prepares a function body for the device; may be null.
    std::function<absl::Status(Graph*, Plan::Options*)> prepare;
    std::shared_ptr<PythonFunctions> python;  // may be null
  };
  static constexpr int kMaxDepth = 1000;
  // A recursion with different attributes each time has unlimited instances.
  static constexpr size_t kMaxInstances = 1 << 14;

  explicit LocalFunctionRuntime(Options options) : options_(std::move(options)) {}

  // Compiles every function that was instantiated, and those that they call. Otherwise each is compiled at its first
  // call.
  absl::Status CompileAll();

  absl::StatusOr<Handle> Instantiate(const tensorflow::NameAttrList& function) override;
  void RunAsync(Handle handle, const RunOptions& options, std::vector<Tensor> args, DoneCallback done) override;
  const tensorflow::FunctionDef* Find(absl::string_view name) const override;
  const tensorflow::OpDef* FindOp(absl::string_view name) const override;
  absl::StatusOr<std::shared_ptr<FunctionRuntime>> Clone(
      const tensorflow::FunctionDefLibrary* more = nullptr) const override;
  std::shared_ptr<PythonFunctions> python() const override { return options_.python; }

 private:
  // Calls nest on one thread's stack up to this depth.
  static constexpr int kDepthPerStack = 16;
  struct Item {
    std::string name;
    std::unique_ptr<tensorflow::NameAttrList> function;
    Mutex mu;
    bool is_compiled GUARDED_BY(mu) = false;
    absl::StatusOr<std::shared_ptr<Executor>> executor GUARDED_BY(mu);
  };
  struct Call;

  Item* Find(Handle handle);
  absl::StatusOr<std::shared_ptr<Executor>> ExecutorOf(Item& item);
  absl::StatusOr<std::shared_ptr<Executor>> Compile(const tensorflow::NameAttrList& function);

  const Options options_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Handle> handles_ GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Item>> items_ GUARDED_BY(mu_);
};

}  // namespace weir
