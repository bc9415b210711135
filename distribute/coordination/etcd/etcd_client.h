// Calls to an etcd cluster: which member, until when, and what may be sent again.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/status.h"
#include "distribute/coordination/etcd/etcd_credentials.h"
#include "distribute/coordination/etcd/etcd_options.h"
#include "distribute/transport/worker_interface.h"
#include "etcd/rpc_service.grpc.pb.h"

namespace weir::coordination {

// Pauses between attempts: they double, with jitter, up to a limit. For one thread.
class EtcdBackoff {
 public:
  explicit EtcdBackoff(absl::Duration limit) : limit_(limit) {}
  // CANCELLED or DEADLINE_EXCEEDED when the caller's time ends before the pause does.
  absl::Status Pause(const CallOptions& options);
  void Reset() { next_ = kFirst; }

 private:
  static constexpr absl::Duration kFirst = absl::Milliseconds(20);

  const absl::Duration limit_;
  absl::Duration next_ = kFirst;
};

// Thread-safe.
class EtcdClient {
 public:
  struct Member {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::Stub> kv;
    std::unique_ptr<etcdserverpb::Watch::Stub> watch;
    std::unique_ptr<etcdserverpb::Lease::Stub> lease;
    std::unique_ptr<etcdserverpb::Auth::Stub> auth;
  };
  using Rpc = absl::FunctionRef<grpc::Status(const Member&, grpc::ClientContext*)>;

  // Connects at the first call.
  static absl::StatusOr<std::unique_ptr<EtcdClient>> Create(EtcdOptions options);

  const EtcdOptions& options() const { return options_; }
  const std::string& name() const { return name_; }  // "etcd at 127.0.0.1:2379, …"

  // Waits for a member that is connected, and makes the call there. One that is lost on its way is made again, perhaps
  // elsewhere, if it is `repeatable`. `what`, for messages: "Transaction".
  absl::Status Call(absl::string_view what, const CallOptions& options, bool repeatable, Rpc rpc);
  // One attempt, without a deadline unless there is one. A second one where the user's token is refused, as nothing has
  // been done then.
  grpc::Status Attempt(const CallOptions& options, Rpc rpc);
  // With the default deadline, where there is none.
  CallOptions Bounded(CallOptions options) const;
  absl::Status Describe(absl::string_view what, absl::Status status) const;

  // A call that began when the store had been seen at `seen` got this answer. DATA_LOSS when it comes from another
  // store, or from one that has lost what was written.
  int64_t seen_revision() const { return seen_revision_; }
  absl::Status CheckHeader(const etcdserverpb::ResponseHeader& header, int64_t seen);
  void Saw(int64_t revision);
  // Asks for the revision, and checks it. `key`: one that may be read.
  absl::Status CheckRevision(const CallOptions& options, const std::string& key);

  // Whether another attempt may end better.
  static bool IsTransient(const grpc::Status& status);

 private:
  EtcdClient(EtcdOptions options, const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  grpc::Status AttemptWithToken(const CallOptions& options, Rpc rpc, std::string* token);
  absl::StatusOr<size_t> AwaitConnected(const CallOptions& options);
  // Why there is no connection to a member, as far as it is known: "; 127.0.0.1:2379: …".
  std::string Trouble(const Member& member) const;
  // The next call looks elsewhere first.
  void TurnFrom(size_t member);

  const EtcdOptions options_;
  const std::string name_;
  EtcdToken token_;
  std::vector<Member> members_;
  std::atomic<size_t> current_{0};
  std::atomic<int64_t> seen_revision_{0};
  std::atomic<uint64_t> cluster_id_{0};
};

}  // namespace weir::coordination
