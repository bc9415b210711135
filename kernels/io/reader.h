// The object behind the reader ops: records of files whose names come from a queue.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/coordination/queue.h"
#include "kernels/device/request_line.h"
#include "kernels/io/record_source.h"

namespace weir {

// Thread-safe. Reads take turns in their order; they wait for their turn and for the queue asynchronously, and read on
// threads that may block.
class Reader : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  struct Records {
    std::vector<tstring> keys, values;
  };
  using ReadCallback = std::function<void(absl::StatusOr<Records>)>;
  using DoneCallback = std::function<void(absl::Status)>;

  // `kind` for messages: "TextLineReader".
  Reader(std::string kind, const std::string& name, std::unique_ptr<RecordSource> source);
  std::string DebugString() const override { return name_; }

  // Up to `limit` records, at least one: those that are left of one work item, or more of several. Takes a new work
  // item from `queue` where none is under way.
  void Read(OpKernelContext& ctx, std::shared_ptr<Queue> queue, int64_t limit, ReadCallback done);
  void Reset(OpKernelContext& ctx, DoneCallback done);
  using StateCallback = std::function<void(absl::StatusOr<std::string>)>;
  // Unimplemented for readers that can be in the middle of a file.
  void SerializeState(OpKernelContext& ctx, StateCallback done);
  void RestoreState(OpKernelContext& ctx, const std::string& state, DoneCallback done);
  int64_t records_produced() const;
  int64_t work_units_completed() const;

 private:
  struct Call;
  struct Progress {
    int64_t work_started = 0, work_finished = 0, records_produced = 0;
    std::string current_work;
  };

  // Runs `work` when it is its turn, on a thread that may block. The turn ends with EndTurn.
  void TakeTurn(OpKernelContext& ctx, std::function<void()> work, DoneCallback failed);
  void EndTurn();
  void Continue(std::shared_ptr<Call> call);
  void StartWork(std::shared_ptr<Call> call, absl::StatusOr<std::vector<Queue::Tuple>> dequeued);
  void Finish(Call& call, absl::Status status);
  bool in_work() const;
  absl::Status DoRestore(const std::string& state);

  const std::string name_;
  const std::shared_ptr<RequestLine> line_;
  bool busy_ = false;                           // guarded by the line's mutex
  const std::unique_ptr<RecordSource> source_;  // whose turn it is uses it
  mutable Mutex mu_;
  Progress progress_ GUARDED_BY(mu_);
};

}  // namespace weir
