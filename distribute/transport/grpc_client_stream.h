// The calling end of a stream.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include "distribute/transport/message_stream.h"

namespace weir {

// `queue` is driven by PollingThreads and is shut down only after the stream has ended.
std::shared_ptr<MessageStream> NewGrpcClientStream(const std::shared_ptr<grpc::Channel>& channel,
                                                   const std::string& method, grpc::CompletionQueue* queue);

}  // namespace weir
