// Opens links over gRPC streams.
#pragma once

#include "distribute/transport/frames/link_opener.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/stream/stream_links.h"

namespace weir {

class StreamOpener : public LinkOpener {
 public:
  // Both outlive it.
  StreamOpener(GrpcChannel* channel, StreamLinks* links) : channel_(channel), links_(links) {}

  void Open(LinkUse use, const MakeReceiver& make, const Done& done) override;
  const char* name() const override { return "a stream of gRPC"; }

 private:
  GrpcChannel* const channel_;
  StreamLinks* const links_;
};

}  // namespace weir
