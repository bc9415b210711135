// A `weir server` that joins a running cluster, for demos, tests and benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/api.h"
#include "core/status.h"
#include "distribute/cluster/server_process.h"

namespace WEIR_API weir {

// A child process that ends with this object. Thread-safe.
class JoinedServer {
 public:
  struct Options {
    std::string program;             // the path of `weir`
    std::string job;                 // in which it becomes a task
    std::string target;              // "grpc://HOST:PORT" of a task of the cluster
    std::vector<std::string> flags;  // further ones of `weir server`
    std::string directory;           // of the log and the ready file, "NAME.log"; must exist
    std::string name;                // unique in the directory
    absl::Duration start_timeout = absl::Seconds(60);
  };

  // Returns when it has joined and all tasks that answer know it. FailedPrecondition if it ended instead; the error
  // quotes the end of its log.
  static absl::StatusOr<std::unique_ptr<JoinedServer>> Start(const Options& options);
  JoinedServer(const JoinedServer&) = delete;

  ServerProcess& process() { return process_; }
  const std::string& address() const { return address_; }  // "127.0.0.1:41234"

 private:
  explicit JoinedServer(ServerProcess::Options options) : process_(std::move(options)) {}

  ServerProcess process_;
  std::string address_;
};

}  // namespace weir
