// An S3 server in a process of its own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "core/status.h"

namespace weir {

// Runs moto_server.py until it is destroyed, or this process ends. Sets the variables of AWS for this process, so that
// "s3://weir/..." is there.
class MotoServer {
 public:
  // `python` can import moto.
  static absl::StatusOr<std::unique_ptr<MotoServer>> Start(const std::string& python);
  ~MotoServer();
  MotoServer(const MotoServer&) = delete;

 private:
  MotoServer(pid_t process, int input) : process_(process), input_(input) {}

  const pid_t process_;
  const int input_;  // the process ends when it is closed
};

}  // namespace weir
