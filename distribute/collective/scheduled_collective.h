// Collectives by schedules over a communicator.
#pragma once

#include <memory>

#include "core/work_queue.h"
#include "distribute/collective/collective.h"
#include "distribute/collective/communicator.h"

namespace weir {

class ScheduledCollective : public Collective {
 public:
  struct Options {
    WorkQueue* work_queue =
        nullptr;        // large reductions leave the transport's threads for it; may be null; outlives calls
    std::string shape;  // for messages and comparison; empty: "[count]"
  };
  explicit ScheduledCollective(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {}
  ScheduledCollective(std::shared_ptr<Communicator> communicator, Options options)
      : communicator_(std::move(communicator)), options_(std::move(options)) {}

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  // The object may go before `done`.
  void RunAsync(const CollectiveCall& call, DoneCallback done) override;

 private:
  const std::shared_ptr<Communicator> communicator_;
  const Options options_;
};

}  // namespace weir
