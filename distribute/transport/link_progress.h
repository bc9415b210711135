// What a task's threads can do for its links.
#pragma once

#include "core/progress.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/stream/stream_links.h"

namespace weir {

// Threads can take in what has come through shared memory; what comes through streams, gRPC's threads take in.
// Thread-safe.
class LinkProgress : public Progress {
 public:
  // It may be null: there are no links through shared memory. It outlives this.
  explicit LinkProgress(LinkPoller* poller) : poller_(poller) {}

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

 private:
  LinkPoller* const poller_;
};

}  // namespace weir
