// The objects behind Stage and MapStage: tuples of tensors that one part of a graph puts down for another.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/device/request_line.h"

namespace weir {

struct StagingLimits {
  int64_t capacity = 0;      // of tuples; 0: none
  int64_t memory_limit = 0;  // in bytes; 0: none
};

// A queue of tuples. Thread-safe; requests that have to wait do so asynchronously.
class StagingArea : public Resource, public std::enable_shared_from_this<StagingArea> {
 public:
  using Tuple = std::vector<Tensor>;
  using TakeCallback = std::function<void(absl::StatusOr<Tuple>)>;

  explicit StagingArea(StagingLimits limits)
      : limits_(limits), line_(std::make_shared<RequestLine>(RequestLine::Discipline::kWhoeverCan)) {}
  std::string DebugString() const override { return absl::StrCat("Staging area, ", size(), " tuples"); }

  // Waits for room. ResourceExhausted for a tuple that the memory limit never has room for.
  void Put(CancellationManager* cancellation, Tuple tuple, RequestLine::DoneCallback done);
  void Take(CancellationManager* cancellation, TakeCallback done);
  // A copy of the tuple at `index`, when there are so many.
  void Peek(CancellationManager* cancellation, int64_t index, TakeCallback done);
  int64_t size() const;
  void Clear();

 private:
  const StagingLimits limits_;
  const std::shared_ptr<RequestLine> line_;
  // Guarded by the line's mutex.
  std::deque<Tuple> tuples_;
  int64_t bytes_ = 0;
};

// Tuples by key, of which the components may come one after the other. Thread-safe; requests that have to wait do so
// asynchronously.
class StagingMap : public Resource, public std::enable_shared_from_this<StagingMap> {
 public:
  using Tuple = std::vector<std::optional<Tensor>>;  // nullopt: not there
  struct Entry {
    int64_t key = 0;
    std::vector<Tensor> values;
  };
  using TakeCallback = std::function<void(absl::StatusOr<Entry>)>;

  // Ordered maps give out their smallest key first, others any.
  StagingMap(StagingLimits limits, DataTypeVector types)
      : limits_(limits),
        types_(std::move(types)),
        line_(std::make_shared<RequestLine>(RequestLine::Discipline::kWhoeverCan)) {}
  std::string DebugString() const override { return absl::StrCat("Staging map, ", size(), " entries"); }

  // A reader's request: components in ascending order, for a node's outputs of these types.
  struct Selection {
    std::vector<int64_t> indices;
    DataTypeVector types;
    std::string node;  // for errors
  };

  // Components indices[i] of `key`, in ascending order. A complete entry waits for room; components that come one after
  // the other wait for memory only. What is put under a key that is there already is dropped.
  void Put(CancellationManager* cancellation, int64_t key, std::vector<int64_t> indices, std::vector<Tensor> values,
           RequestLine::DoneCallback done);
  // Removes components, once the entry is complete. Without a key: of any entry. Nothing is removed where the node's
  // outputs cannot take it: Internal then.
  void Take(CancellationManager* cancellation, std::optional<int64_t> key, Selection selection, TakeCallback done);
  void Peek(CancellationManager* cancellation, int64_t key, Selection selection, TakeCallback done);
  int64_t size() const;  // of complete entries
  int64_t incomplete_size() const;
  void Clear();

 private:
  bool TryPut(int64_t key, const std::vector<int64_t>& indices, std::vector<Tensor>& values, absl::Status* status);
  absl::Status CheckPut(int64_t key, const Tuple* present, const std::vector<int64_t>& indices) const;
  // The components; InvalidArgument where one is not there. With `remove` they are gone then.
  absl::StatusOr<std::vector<Tensor>> Components(std::map<int64_t, Tuple>::iterator entry, const Selection& selection,
                                                 bool remove);

  const StagingLimits limits_;
  const DataTypeVector types_;
  const std::shared_ptr<RequestLine> line_;
  // Guarded by the line's mutex.
  std::map<int64_t, Tuple> complete_, incomplete_;
  int64_t bytes_ = 0;
};

}  // namespace weir
