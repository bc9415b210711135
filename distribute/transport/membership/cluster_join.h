// A process that becomes a task of a running cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir {

// Thread-safe. Calls block. Owns a thread from Complete on, which joins again if the registrar has taken the task for
// lost, as when its process was suspended.
class ClusterJoin {
 public:
  struct Options {
    std::string cluster;  // "host:port" of any of its tasks
    std::string job;
    std::optional<int> index;  // of the lost task whose place this one takes; nullopt: a new task
    std::string address;       // at which others reach this process
    absl::Duration timeout = absl::Minutes(1);
    absl::Duration check_interval = absl::Seconds(2);
  };

  // Gets a name from the cluster's registrar, which waits for this process to serve. ALREADY_EXISTS if a task that
  // answers has the name or the address.
  static absl::StatusOr<std::unique_ptr<ClusterJoin>> Begin(const Options& options);

  const Member& member() const { return joined_.member(); }
  const ClusterView& view() const { return joined_.view(); }
  ~ClusterJoin() { StopChecking(); }
  // This process serves: it is a task, and the others know it. `membership`, which is this process's, adopts the view
  // with it, and outlives this.
  absl::Status Complete(ClusterMembership* membership);
  // Tells the registrar that this process ends. Gives up after a moment: the registrar then finds out by itself.
  absl::Status Leave();

 private:
  ClusterJoin(const Options& options, JoinRequest request)
      : options_(options), request_(std::move(request)), client_(options.cluster) {}
  // A client of the registrar, wherever it is now.
  std::unique_ptr<MembershipClient> Registrar() const;
  void Check();
  void CheckOnce();
  void StopChecking();

  const Options options_;
  JoinRequest request_;
  MembershipClient client_;
  JoinResponse joined_;
  ClusterMembership* membership_ = nullptr;
  CancellationManager cancellation_;
  // Of the thread.
  bool is_replaced_ = false;  // another process has the task's place
  bool is_over_ = false;      // the task was removed by request
  std::thread thread_;
};

}  // namespace weir
