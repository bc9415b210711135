// Opens links through shared memory.
#pragma once

#include "distribute/transport/frames/link_opener.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/shared_memory/link_poller.h"

namespace weir {

class RingOpener : public LinkOpener {
 public:
  // Both outlive it.
  RingOpener(GrpcChannel* channel, LinkPoller* poller) : channel_(channel), poller_(poller) {}

  void Open(LinkUse use, const MakeReceiver& make, const Done& done) override;
  const char* name() const override { return "shared memory"; }

 private:
  GrpcChannel* const channel_;
  LinkPoller* const poller_;
};

}  // namespace weir
