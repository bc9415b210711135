// The object behind Barrier: tuples that are put together from components that come in any order, by key.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/coordination/queue.h"

namespace weir {

// Thread-safe. Nothing blocks. Complete tuples wait in a queue, those whose first component came first in front.
class Barrier : public Resource, public std::enable_shared_from_this<Barrier> {
 public:
  struct Options {
    std::string name;
    DataTypeVector types;
    std::vector<PartialTensorShape> shapes;  // none, or one a component
  };
  using DoneCallback = std::function<void(absl::Status)>;
  // Elements, each an index, a key and the components; as Queue's.
  using TakeCallback = std::function<void(absl::StatusOr<Queue::Tuple>)>;

  explicit Barrier(Options options);
  const Options& options() const { return options_; }
  std::string DebugString() const override;

  // Component `component` of the tuples named by `keys`: values[i] is keys[i]'s.
  void Insert(OpKernelContext& ctx, int64_t component, const Tensor& keys, const Tensor& values, DoneCallback done);
  // Indices, keys and components of `count` tuples, each stacked; of fewer, with `allow_small_batch`, from a closed
  // barrier.
  void Take(OpKernelContext& ctx, int64_t count, bool allow_small_batch, TakeCallback done);
  // No new keys from now on; with `cancel_pending`, no more components either.
  void Close(bool cancel_pending, DoneCallback done);
  int64_t ready_size() const { return ready_->size(); }
  int64_t incomplete_size() const;

 private:
  struct Incomplete {
    int64_t index = 0;
    std::vector<Tensor> components;
    std::vector<bool> present;
  };

  absl::Status Check(int64_t component, const Tensor& keys, const Tensor& values) const;
  absl::Status InsertOne(int64_t component, const std::string& key, const Tensor& value, int64_t i, bool* is_new,
                         std::vector<Queue::Tuple>* complete) REQUIRES(mu_);
  // InvalidArgument or OutOfRange where so many tuples will never come.
  absl::StatusOr<int64_t> CountToTake(int64_t count, bool allow_small_batch) const;
  // Closes the queue of complete tuples when nothing more can come.
  void CloseQueueIfDone();

  const Options options_;
  const std::shared_ptr<Queue> ready_;
  mutable Mutex mu_;
  std::map<std::string, Incomplete> incomplete_ GUARDED_BY(mu_);
  int64_t next_index_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false, cancel_pending_ GUARDED_BY(mu_) = false, queue_closed_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
