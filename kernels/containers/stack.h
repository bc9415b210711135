// The object behind the stack ops.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"

namespace weir {

// What the forward pass of a loop keeps for the backward pass. Its handles own it: it dies with the last of them.
// Thread-safe.
class Stack : public Resource {
 public:
  // `is_swapped`: a device's tensor, which waits in pinned host memory.
  struct Value {
    Tensor tensor;
    bool is_swapped = false;
  };

  Stack(std::string name, DataType type, int64_t max_size) : name_(std::move(name)), type_(type), max_size_(max_size) {}
  ~Stack() override;

  std::string DebugString() const override;
  DataType type() const { return type_; }
  // What the first version of the op has as handle: strings that flow along edges as a reference.
  std::mutex* reference_mutex() { return &reference_mutex_; }
  Tensor* reference() { return &reference_; }

  absl::Status Push(Value value);
  absl::StatusOr<Value> Pop();
  // Whether a device's tensor that is about to be pushed would leave its memory if it were swapped: not what the stack
  // holds at its bottom, which is there first and last.
  bool IsUsefulToSwap(const Tensor& tensor) const;
  // Gives back the values; every later use fails.
  void Close();

 private:
  absl::Status CheckOpen() const REQUIRES(mu_);

  const std::string name_;
  const DataType type_;
  const int64_t max_size_;  // negative: none
  std::mutex reference_mutex_;
  Tensor reference_;
  mutable Mutex mu_;
  std::vector<Value> values_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false;
};

// The stack that input 0 names, of either version of the ops.
absl::StatusOr<std::shared_ptr<Stack>> FindStack(const OpKernelContext& ctx);
// As Stack::Pop, of the type that output 0 has.
absl::StatusOr<Stack::Value> PopFor(const OpKernelContext& ctx, Stack& stack);

}  // namespace weir
