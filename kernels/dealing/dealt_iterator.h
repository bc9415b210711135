// A worker's iterator over the chunks that it is dealt.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "kernels/data/iterators/iterator_resource.h"
#include "kernels/dealing/input_dealer.h"

namespace weir {

// Gives the batch of a dealt range. It goes through one dataset from the range's begin to the part's end as long as
// ranges follow each other, so that pipelines read ahead; another range opens another dataset. The last batch is kept,
// for a step that is run again.
// - Thread-safe; callers never block. It serves one step at a time; another one meanwhile gets ABORTED.
class DealtIterator : public Resource, public std::enable_shared_from_this<DealtIterator> {
 public:
  // Makes the dataset of a range: batches of the examples from `begin` to `end`.
  using MakeDataset = IteratorResource::MakeDataset;
  using DoneCallback = std::function<void(absl::StatusOr<Element>)>;

  DealtIterator(Device* device, DataTypeVector types, std::vector<PartialTensorShape> shapes)
      : device_(device), types_(std::move(types)), shapes_(std::move(shapes)) {}

  std::string DebugString() const override { return "DealtIterator"; }
  // InvalidArgument unless an iterator for these can stand for this one.
  absl::Status CheckMatches(const DataTypeVector& types, const std::vector<PartialTensorShape>& shapes) const;

  // InvalidArgument if the dataset has fewer examples than the range. `done` runs once; `step` lives until then.
  void GetNext(const StepContext& step, const DealtRange& range, MakeDataset make, DoneCallback done);

 private:
  // What the next batch of the dataset is, and which was the last.
  struct Position {
    int64_t epoch = 0, chunk = 0, next = 0, end = 0;
    DealtRange last;
    Element batch;
  };
  void Got(const DealtRange& range, absl::StatusOr<IteratorResource::Result> result, const DoneCallback& done);

  Device* const device_;
  const DataTypeVector types_;
  const std::vector<PartialTensorShape> shapes_;
  Mutex mu_;
  bool is_busy_ GUARDED_BY(mu_) = false;
  std::shared_ptr<IteratorResource> iterator_ GUARDED_BY(mu_);  // null: none is open
  std::optional<Position> position_ GUARDED_BY(mu_);            // of an open one
};

}  // namespace weir
