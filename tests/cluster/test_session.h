// A session at the master of one server, for tests of several clients.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "distribute/transport/grpc_master_client.h"

namespace weir {

// Each call has three minutes.
class TestSession {
 public:
  // `graph`: a GraphDef in text format; `filters`: ConfigProto.device_filters. The test fails if there is no session.
  static TestSession Open(const std::string& address, const std::string& graph,
                          const std::vector<std::string>& filters = {});

  absl::Status Run(std::vector<std::string> targets) const;
  // On a thread of its own; the session outlives it.
  std::future<absl::Status> Start(std::vector<std::string> targets) const;
  absl::Status Close() const;

 private:
  std::unique_ptr<GrpcMasterClient> client_;
  std::string handle_;
};

}  // namespace weir
