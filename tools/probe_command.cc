#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/wire_format.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "tools/commands.h"
#include "tools/task_client.h"

namespace weir {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(2);
constexpr absl::Duration kPause = absl::Milliseconds(100);

absl::Status AskOnce(GrpcChannel& channel) {
  ASSIGN_OR_RETURN(const grpc::ByteBuffer request, MessageToBuffer(tensorflow::GetStatusRequest()));
  return channel.Call("/tensorflow.WorkerService/GetStatus", {.deadline = MonotonicNow() + kCallTimeout}, request)
      .status();
}

}  // namespace

absl::Status ProbeTasks(const std::vector<std::string>& targets, absl::Duration wait) {
  std::vector<std::string> addresses;
  for (const std::string& target : targets) {
    ASSIGN_OR_RETURN(std::string address, AddressOfTarget(target));
    addresses.push_back(std::move(address));
  }
  const absl::Time deadline = MonotonicNow() + wait;
  for (const std::string& address : addresses) {
    GrpcChannel channel({.address = address}, nullptr);
    absl::Status status = AskOnce(channel);
    while (!status.ok() && MonotonicNow() + kPause < deadline) {
      absl::SleepFor(kPause);
      status = AskOnce(channel);
    }
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace weir
