// Authentication between etcd and its clients.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/credentials.h>

#include "core/mutex.h"
#include "core/status.h"
#include "distribute/coordination/etcd/etcd_options.h"
#include "etcd/rpc_service.grpc.pb.h"

namespace weir::coordination {

// Connection credentials, from the files that the options name. Errors name an unreadable file.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> EtcdCredentials(const EtcdOptions& options);

// A user's token, which etcd issues for the password. etcd drops tokens when it restarts or after long disuse, and
// invalidates them when users or roles change. Thread-safe.
class EtcdToken {
 public:
  EtcdToken(std::string user, std::string password) : user_(std::move(user)), password_(std::move(password)) {}

  // Adds the token to the call with `context`. Requests one from `auth` first if there is none, within the call's
  // deadline.
  grpc::Status AddTo(grpc::ClientContext* context, etcdserverpb::Auth::StubInterface& auth, std::string* token);
  // True if a call with this status may succeed with another token; this one is then not used again.
  bool IsRejected(const grpc::Status& status, const std::string& token);

 private:
  const std::string user_, password_;
  Mutex mu_;
  std::string token_ GUARDED_BY(mu_);  // empty: none
};

}  // namespace weir::coordination
