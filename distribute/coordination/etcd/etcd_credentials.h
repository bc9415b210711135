// What etcd and its clients show each other.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/credentials.h>

#include "core/mutex.h"
#include "core/status.h"
#include "distribute/coordination/etcd/etcd_options.h"
#include "etcd/rpc_service.grpc.pb.h"

namespace weir::coordination {

// Of connections. Reads the files that the options name: an error names the one that cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> EtcdCredentials(const EtcdOptions& options);

// A user's token, which etcd gives for the password. It forgets tokens, when it is started again or when they have not
// been used for long, and lets them grow old when users or roles change. Thread-safe.
class EtcdToken {
 public:
  EtcdToken(std::string user, std::string password) : user_(std::move(user)), password_(std::move(password)) {}

  // Adds it to the call that `context` is for, and asks `auth` for one where there is none, within the call's deadline.
  grpc::Status AddTo(grpc::ClientContext* context, etcdserverpb::Auth::StubInterface& auth, std::string* token);
  // Whether a call that ended so may do better with another token than this one, which then is not given out again.
  bool IsRefused(const grpc::Status& status, const std::string& token);

 private:
  const std::string user_, password_;
  Mutex mu_;
  std::string token_ GUARDED_BY(mu_);  // empty: none
};

}  // namespace weir::coordination
