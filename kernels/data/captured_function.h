// The functions that datasets apply to elements.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/api.h"
#include "core/kernel/function_runtime.h"
#include "core/mutex.h"
#include "kernels/data/dataset.h"

namespace WEIR_API weir {

// A function as a kernel's attribute names it, with a library to make runtimes from. Immutable.
struct FunctionTemplate {
  std::shared_ptr<const tensorflow::NameAttrList> function;
  std::shared_ptr<FunctionRuntime> library;
};

// A function with the tensors that its caller captured: its arguments are an element's tensors, then these. Immutable.
class CapturedFunction {
 public:
  using DoneCallback = std::function<void(absl::StatusOr<Element>)>;

  CapturedFunction() = default;
  CapturedFunction(std::shared_ptr<const FunctionTemplate> function, Element captured)
      : function_(std::move(function)), captured_(std::move(captured)) {}

  // Waits for the result; from a thread that may block.
  absl::StatusOr<Element> Call(IteratorContext& ctx, Element args) const;
  // The one result, of type `bool`.
  absl::StatusOr<bool> CallPredicate(IteratorContext& ctx, Element args) const;
  // The one result, a dataset.
  absl::StatusOr<DatasetPtr> CallForDataset(IteratorContext& ctx, Element args) const;
  // The one result, an int64 scalar. `what` names the function in errors.
  absl::StatusOr<int64_t> CallForInt(IteratorContext& ctx, Element args, absl::string_view what) const;
  // Computes on the calling thread as far as it can. `done` runs once; ctx.cancellation lives until then.
  void CallAsync(const IteratorContext& ctx, Element args, DoneCallback done) const;

 private:
  std::shared_ptr<const FunctionTemplate> function_;
  Element captured_;
};

// An error of a function that `dataset` applies to elements, with the dataset's name in front. The end of a sequence
// and a cancellation stay as they are.
absl::Status InFunctionOf(const DatasetBase& dataset, absl::Status status);
template <typename T>
absl::StatusOr<T> InFunctionOf(const DatasetBase& dataset, absl::StatusOr<T> result) {
  if (!result.ok()) return InFunctionOf(dataset, result.status());
  return result;
}

// The runtimes of an iterator's functions: each template has one, made when it is first called, so that stateful
// kernels of a function (random generators) start afresh with the iterator and go on through it. Thread-safe.
class FunctionPool {
 public:
  struct Entry {
    std::shared_ptr<const FunctionTemplate> function;  // keeps the key from being used again
    std::shared_ptr<FunctionRuntime> runtime;
    FunctionRuntime::Handle handle = 0;
  };
  absl::StatusOr<Entry> Find(const std::shared_ptr<const FunctionTemplate>& function);

 private:
  Mutex mu_;
  absl::flat_hash_map<const FunctionTemplate*, Entry> entries_ GUARDED_BY(mu_);
};

}  // namespace weir
