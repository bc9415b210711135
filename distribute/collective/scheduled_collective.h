// Collectives that run schedules over a communicator.
#pragma once

#include <memory>

#include "core/threads/busy_poller.h"
#include "core/threads/work_queue.h"
#include "distribute/collective/collective.h"
#include "distribute/collective/communicator.h"

namespace weir {

class ScheduledCollective : public Collective {
 public:
  struct Options {
    // Runs large reductions that would hold up a transport thread. May be null; outlives calls.
    WorkQueue* work_queue = nullptr;
    // Identifies threads that may reduce large messages themselves. May be null; outlives calls.
    const BusyPoller* poller = nullptr;
    std::string shape;  // for messages and comparison; empty: "[count]"
  };
  explicit ScheduledCollective(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {}
  ScheduledCollective(std::shared_ptr<Communicator> communicator, Options options)
      : communicator_(std::move(communicator)), options_(std::move(options)) {}

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  // The object may be destroyed before `done`.
  void RunAsync(const CollectiveCall& call, DoneCallback done) override;

 private:
  const std::shared_ptr<Communicator> communicator_;
  const Options options_;
};

}  // namespace weir
