#include "tests/hostile/hostile_server.h"
#include "core/clock.h"
#include "distribute/transport/grpc_deadline.h"

#include <google/protobuf/text_format.h>
#include <grpcpp/create_channel.h>

#include "absl/time/clock.h"
#include "tensorflow/core/protobuf/master.pb.h"
#include "tests/soak/process_usage.h"

namespace weir {
namespace {

constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "y" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace

void HostileServer::SetUp() {
  ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}}));
  const std::string target = cluster_->Target("worker", 0);
  stub_ = std::make_unique<grpc::GenericStub>(
      grpc::CreateChannel(target.substr(sizeof("grpc://") - 1), grpc::InsecureChannelCredentials()));
  ASSERT_THAT(RunGoodStep(OpenSession()), IsOk());
}

void HostileServer::TearDown() {
  if (stub_ == nullptr) return;
  EXPECT_THAT(RunGoodStep(OpenSession()), IsOk()) << "after " << calls_ << " calls; its log:\n"
                                                  << cluster_->Log("worker", 0);
}

absl::Status HostileServer::Call(const std::string& method, const std::string& request, std::string* response) {
  ++calls_;
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(MonotonicNow() + patience_));
  context.set_wait_for_ready(calls_ == 1);
  grpc::CompletionQueue queue;
  auto call = stub_->PrepareUnaryCall(&context, "/tensorflow." + method, BufferOf(request), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, this);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  if (status.ok() && response != nullptr) *response = BytesOf(answer);
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status HostileServer::Call(const std::string& method, const google::protobuf::Message& request,
                                 google::protobuf::Message* response) {
  std::string bytes;
  RETURN_IF_ERROR(Call(method, request.SerializePartialAsString(), &bytes));
  if (response == nullptr || response->ParseFromString(bytes)) return absl::OkStatus();
  return errors::Internal("The answer to ", method, " cannot be read");
}

absl::Status HostileServer::RunGraph(const std::string& text, const std::string& fetch) {
  tensorflow::CreateSessionRequest create;
  if (!google::protobuf::TextFormat::ParseFromString(text, create.mutable_graph_def())) {
    return errors::Internal("The test's graph cannot be read: ", text);
  }
  if (!create.graph_def().has_versions()) create.mutable_graph_def()->mutable_versions()->set_producer(1882);
  tensorflow::CreateSessionResponse session;
  RETURN_IF_ERROR(Master("CreateSession", create, &session));
  tensorflow::RunStepRequest run;
  run.set_session_handle(session.session_handle());
  run.add_fetch(fetch);
  const absl::Status status = Master("RunStep", run);
  tensorflow::CloseSessionRequest close;
  close.set_session_handle(session.session_handle());
  EXPECT_THAT(Master("CloseSession", close), IsOk());
  return status;
}

std::string HostileServer::OpenSession() {
  tensorflow::CreateSessionRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
  tensorflow::CreateSessionResponse response;
  EXPECT_THAT(Master("CreateSession", request, &response), IsOk());
  return response.session_handle();
}

absl::Status HostileServer::RunGoodStep(const std::string& session) {
  tensorflow::RunStepRequest request;
  request.set_session_handle(session);
  request.add_fetch("y:0");
  tensorflow::NamedTensorProto& feed = *request.add_feed();
  feed.set_name("x:0");
  feed.mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  feed.mutable_tensor()->mutable_tensor_shape();
  feed.mutable_tensor()->add_float_val(2);
  tensorflow::RunStepResponse response;
  RETURN_IF_ERROR(Master("RunStep", request, &response));
  return response.tensor_size() == 1 ? absl::OkStatus() : errors::Internal("The step fetched nothing");
}

int64_t HostileServer::ResidentBytes() const {
  const absl::StatusOr<ProcessUsage> usage = UsageOf(cluster_->pid("worker", 0));
  EXPECT_THAT(usage, IsOk());
  return usage.ok() ? usage->resident_bytes : 0;
}

testing::Matcher<absl::Status> IsClearError() {
  const auto is_clear = [](const absl::Status& status) {
    switch (status.code()) {
      case absl::StatusCode::kOk:
      case absl::StatusCode::kUnknown:
      case absl::StatusCode::kInternal:
      case absl::StatusCode::kUnavailable:
      case absl::StatusCode::kDeadlineExceeded:
      case absl::StatusCode::kCancelled:
        return false;
      default:
        return !status.message().empty();
    }
  };
  return testing::Truly(is_clear);
}

}  // namespace weir
