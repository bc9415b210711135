// The busy poller of a task's links.
#pragma once

#include "core/threads/busy_poller.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/stream/stream_links.h"

namespace weir {

// Polls shared-memory links. Stream links are read by gRPC's threads; here they only take part in RunSoon.
// Thread-safe.
class TaskBusyPoller : public BusyPoller {
 public:
  // `poller` may be null, if there are no shared-memory links. It outlives this.
  explicit TaskBusyPoller(LinkPoller* poller) : poller_(poller) {}

  void Await(absl::FunctionRef<bool()> enough) override {
    if (poller_ != nullptr) poller_->Await(enough);
  }
  void AwaitAndStay(absl::FunctionRef<bool()> enough) override {
    if (poller_ != nullptr) poller_->AwaitAndStay(enough);
  }
  void Rest() override {
    if (poller_ != nullptr) poller_->Rest();
  }
  bool RunSoon(absl::AnyInvocable<void()>& work) override {
    return (poller_ != nullptr && poller_->RunSoon(work)) || StreamLinks::RunSoon(work);
  }
  bool IsInAwait() const override { return poller_ != nullptr && poller_->IsInAwait(); }

 private:
  LinkPoller* const poller_;
};

}  // namespace weir
