// A worker's training on dealt input, which shows afterwards which examples were used, and how often.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "client/data/dealt_dataset.h"
#include "client/session.h"
#include "core/status.h"

namespace weir::chaos {

// The variables that all workers share: each step adds its examples to a count, one for each epoch and example, on the
// last parameter server, and to a sum on the first, where the dealer is.
struct DealtModel {
  static constexpr int64_t kEpochs = 3, kExamples = 6000, kChunk = 200, kBatch = 8;

  explicit DealtModel(const Scope& scope);
  // One step of a worker: worker `index` computes it.
  Operation Step(const Scope& scope, int index, const std::string& name) const;

  DealtDataset dealt;
  ResourceVariable counts, sum;
};

// Steps all the time, on a thread of its own, until the input ends or the client is told that its worker has gone.
// Steps that fail are run again.
class DealClient {
 public:
  struct Options {
    std::string target;  // of the master
    int worker = 0;      // computes the steps
    std::string name;    // of the worker, unique
  };
  static absl::StatusOr<std::unique_ptr<DealClient>> Start(const Options& options);
  ~DealClient();
  DealClient(const DealClient&) = delete;

  int64_t steps() const { return steps_; }
  int64_t failures() const { return failures_; }
  int64_t refused() const { return refused_; }  // of the failures: the examples had gone to another worker
  bool has_ended() const { return has_ended_; }
  const std::string& last_error() const { return last_error_; }  // once it has ended
  // The next failure ends the client.
  void WorkerHasGone() { has_gone_ = true; }

 private:
  DealClient() = default;
  void Run();

  Scope scope_ = Scope::NewRoot();
  Operation step_;
  std::unique_ptr<Session> session_;
  std::atomic<bool> has_gone_{false}, has_ended_{false};
  std::atomic<int64_t> steps_{0}, failures_{0}, refused_{0};
  std::string last_error_;
  std::thread thread_;
};

}  // namespace weir::chaos
