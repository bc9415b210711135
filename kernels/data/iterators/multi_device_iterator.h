// An iterator whose elements are dealt out to several consumers in turn.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "kernels/data/iterators/iterator_resource.h"

namespace weir {

// Element k is for shard k modulo the number of shards. Elements for others are kept, up to a number that Init gives;
// beyond it a consumer waits until the others have taken theirs. Thread-safe; callers never block.
class MultiDeviceIterator : public Resource, public std::enable_shared_from_this<MultiDeviceIterator> {
 public:
  static constexpr char kTypeName[] = "tensorflow::data::MultiDeviceIterator";
  using DoneCallback = std::function<void(absl::StatusOr<IteratorResource::Result>)>;

  MultiDeviceIterator(Device* device, DataTypeVector types, std::vector<PartialTensorShape> shapes, int64_t shards);
  std::string DebugString() const override { return "MultiDeviceIterator"; }
  absl::Status CheckMatches(const DataTypeVector& types, const std::vector<PartialTensorShape>& shapes) const;

  // Begins a pass over `dataset`; `done` gets its number, by which consumers say which pass they mean. `step` lives
  // until then.
  void Init(const StepContext& step, DatasetPtr dataset, int64_t max_buffer_size,
            std::function<void(absl::StatusOr<int64_t>)> done);
  // `done` runs once, with no lock held. `step` lives until then.
  void GetNext(const StepContext& step, int64_t shard, int64_t incarnation, DoneCallback done);

 private:
  struct Waiter {
    int64_t id = 0, shard = 0;
    DoneCallback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
  };
  // A pass, and its elements that were not taken yet.
  struct Pass {
    explicit Pass(size_t shards) : kept(shards) {}
    std::shared_ptr<IteratorResource> iterator;
    StepContext step;  // of reading ahead, which belongs to no step
    std::vector<std::deque<absl::StatusOr<IteratorResource::Result>>> kept;
    int64_t next = 0;  // the shard that the next element is for
    bool is_reading = false, at_end = false;
  };

  // Serves waiters from what is kept, and reads on if one is left that more elements can help. Consumers are notified
  // after `self` is released: the device may go with their step.
  static void Serve(std::shared_ptr<MultiDeviceIterator> self);
  bool MayRead() const REQUIRES(mu_);
  static void Take(std::shared_ptr<MultiDeviceIterator> self, std::shared_ptr<Pass> pass,
                   absl::StatusOr<IteratorResource::Result> result);
  void Drop(int64_t id);

  Device* const device_;
  const DataTypeVector types_;
  const std::vector<PartialTensorShape> shapes_;
  const int64_t shards_;
  Mutex mu_;
  std::shared_ptr<Pass> pass_ GUARDED_BY(mu_);
  int64_t incarnation_ GUARDED_BY(mu_) = 0, max_buffer_ GUARDED_BY(mu_) = 1, next_id_ GUARDED_BY(mu_) = 0;
  std::deque<Waiter> waiters_ GUARDED_BY(mu_);
};

}  // namespace weir
