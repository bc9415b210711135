#include "tests/cluster/test_session.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "core/clock.h"
#include "core/testing.h"

namespace weir {
namespace {

CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Minutes(3)}; }

}  // namespace

TestSession TestSession::Open(const std::string& address, const std::string& graph,
                              const std::vector<std::string>& filters) {
  TestSession session;
  session.client_ = std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = address});
  tensorflow::CreateSessionRequest request;
  for (const std::string& filter : filters) request.mutable_config()->add_device_filters(filter);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(graph, request.mutable_graph_def()));
  tensorflow::CreateSessionResponse response;
  EXPECT_THAT(session.client_->CreateSession(Soon(), request, &response), IsOk());
  session.handle_ = response.session_handle();
  return session;
}

absl::Status TestSession::Run(std::vector<std::string> targets) const {
  RunStepArgs args;
  args.session_handle = handle_;
  args.targets = std::move(targets);
  return client_->RunStep(Soon(), args).status();
}

std::future<absl::Status> TestSession::Start(std::vector<std::string> targets) const {
  return std::async(std::launch::async, [this, targets] { return Run(targets); });
}

absl::Status TestSession::Close() const {
  tensorflow::CloseSessionRequest request;
  tensorflow::CloseSessionResponse response;
  request.set_session_handle(handle_);
  return client_->CloseSession(Soon(), request, &response);
}

}  // namespace weir
