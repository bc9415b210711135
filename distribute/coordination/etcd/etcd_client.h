// Calls an etcd cluster: chooses members, enforces deadlines, retries.
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

// Pauses between attempts, which double, with jitter, up to a limit. For one thread.
class EtcdBackoff {
 public:
  explicit EtcdBackoff(absl::Duration limit) : limit_(limit) {}
  // CANCELLED or DEADLINE_EXCEEDED if the caller's time ends first.
  absl::Status Pause(const CallOptions& options);
  void Reset() { next_ = kFirst; }

 private:
  static constexpr absl::Duration kFirst = absl::Milliseconds(20);

  const absl::Duration limit_;
  absl::Duration next_ = kFirst;
};

// Thread-safe. Call and CheckRevision block.
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

  // Waits for a connected member and calls it. A `repeatable` call whose connection is lost is retried, perhaps on
  // another member. `what` is for messages: "Transaction".
  absl::Status Call(absl::string_view what, const CallOptions& options, bool repeatable, Rpc rpc);
  // One attempt, with the deadline in `options` if any. Repeats it once if the user's token is rejected, because then
  // nothing was executed.
  grpc::Status Attempt(const CallOptions& options, Rpc rpc);
  // Adds the default deadline if there is none.
  CallOptions Bounded(CallOptions options) const;
  absl::Status Describe(absl::string_view what, absl::Status status) const;

  // Checks the answer to a call that began when the store had been seen at revision `seen`. DATA_LOSS if it comes from
  // another store, or from one that has lost writes.
  int64_t seen_revision() const { return seen_revision_; }
  absl::Status CheckHeader(const etcdserverpb::ResponseHeader& header, int64_t seen);
  void Saw(int64_t revision);
  // Reads the revision and checks it. `key`: one that may be read.
  absl::Status CheckRevision(const CallOptions& options, const std::string& key);

  // True if another attempt may succeed.
  static bool IsTransient(const grpc::Status& status);

 private:
  EtcdClient(EtcdOptions options, const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  grpc::Status AttemptWithToken(const CallOptions& options, Rpc rpc, std::string* token);
  absl::StatusOr<size_t> AwaitConnected(const CallOptions& options);
  // The known reason why a member is not connected: "; 127.0.0.1:2379: …".
  std::string Trouble(const Member& member) const;
  // Makes the next call prefer another member.
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
