// A barrier at which the pushes of several workers wait for each other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/mutex.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"

namespace weir {

// Takes a push of each worker, and lets them be applied together when all are there; then it takes the next ones.
// Thread-safe. Callbacks run with no lock held.
class PushBarrier : public std::enable_shared_from_this<PushBarrier> {
 public:
  struct Push {
    int worker = 0, workers = 1;
    uint32_t now = 0;  // step or second
    Tensor keys, rows;
    CancellationManager* cancellation = nullptr;  // may be null; lives until `done` or `leave`
    std::function<void(absl::Status)> done;       // once, when the pushes are applied, or this one never will be
    // Called instead of `done` when the push would be dropped because of its cancellation or of its worker's next push.
    // For pushes that must be applied, without the others if need be. Null: it is dropped.
    std::function<void()> leave;
  };
  // Gets one push of each worker, in the order of workers.
  using Apply = std::function<absl::Status(const std::vector<Push>& pushes)>;

  // The push that completes the round applies it: `apply` of another is not called. A worker that pushes again while
  // its first push waits has lost that one's step: it is ABORTED, or leaves.
  void Add(Push push, const Apply& apply);
  // Ends the waits.
  void Abort(const absl::Status& status);

 private:
  struct Waiting {
    Push push;
    int64_t id = 0;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
  };
  static void End(std::unique_ptr<Waiting> waiting, const absl::Status& status);
  static void Drop(const Push& push, const absl::Status& status);

  void Cancel(int worker, int64_t id, const absl::Status& status);

  Mutex mu_;
  int64_t next_id_ GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<Waiting>> waiting_ GUARDED_BY(mu_);  // by worker; null: not there yet
};

}  // namespace weir
