// A server that is sent what no client of good will sends.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "google/protobuf/message.h"

namespace weir {

// Two tasks; requests go to the first, which must still run steps after each test.
class HostileServer : public testing::Test {
 public:
  // Answers in time and with an error that is about the request; `response` is for those that are fine.
  absl::Status Call(const std::string& method, const std::string& request, std::string* response = nullptr);
  absl::Status Call(const std::string& method, const google::protobuf::Message& request,
                    google::protobuf::Message* response = nullptr);
  absl::Status Master(const std::string& method, const google::protobuf::Message& request,
                      google::protobuf::Message* response = nullptr) {
    return Call("MasterService/" + method, request, response);
  }
  absl::Status Worker(const std::string& method, const google::protobuf::Message& request,
                      google::protobuf::Message* response = nullptr) {
    return Call("WorkerService/" + method, request, response);
  }
  // The answer to a step that fetches one tensor of a text-format graph, in a session of its own.
  absl::Status RunGraph(const std::string& text, const std::string& fetch);
  // A session with x fed and y = x + x, empty when there is none to be had.
  std::string OpenSession();
  absl::Status RunGoodStep(const std::string& session);
  // Of the first task.
  int64_t ResidentBytes() const;

 protected:
  void SetUp() override;
  void TearDown() override;

  int calls_ = 0;
  absl::Duration patience_ = absl::Seconds(20);  // for an answer

 private:
  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

// Not OK, and nothing that means the server is gone, late or confused.
testing::Matcher<absl::Status> IsClearError();

}  // namespace weir
