// Describes a task for monitoring.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/device/device.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/transport_metrics.h"
#include "master/master_metrics.h"
#include "tools/watch/peer_watch.h"
#include "weir/status.pb.h"
#include "worker/worker_metrics.h"

namespace weir {

class LinkPoller;
class Master;
class StreamLinks;
class Worker;

// The parts of a task. All outlive the reporter, except master and worker: Detach comes before their end.
struct WatchedTask {
  std::string task;  // "/job:ps/replica:0/task:1"
  const ClusterMembership* membership = nullptr;
  WorkerPool* workers = nullptr;
  std::vector<Device*> devices;
  Master* master = nullptr;
  Worker* worker = nullptr;
  const TransportMetrics* transport = nullptr;
  const LinkPoller* links = nullptr;     // null: the task has none
  const StreamLinks* streams = nullptr;  // the same
  std::string checkpoint_store;          // the task's own directory; empty: none
};

// Thread-safe. Reports take from running steps no more than locks that are held briefly.
class TaskReporter {
 public:
  explicit TaskReporter(WatchedTask task);
  ~TaskReporter() { Detach(); }

  // Measures how long steps take, from now on.
  void MeasureStepTimes();
  void SetServer(const GrpcServer* server);  // outlives the reporter; null: it is gone
  void SetHttpAddress(const std::string& address);
  void SetStopping(const std::string& reason);
  // Master and worker are about to end: reports go on without their sessions.
  void Detach();

  // Empty: the task serves.
  std::string WhyNotServing() const;
  PeerWatch& peers() { return peers_; }
  // Remembers the counts, for the rates of later reports.
  void Sample();
  // All but the waits of steps and the checkpoints, which take longer.
  TaskReport Counts();
  // Asks the tasks of long steps what they wait for, which takes up to a second if one hangs.
  TaskReport Report();
  // In the text form (graph/text/graph_text.h), without large attributes. NotFound if the master has no session of that
  // number. The task's registries outlive the call.
  absl::StatusOr<std::string> GraphText(int64_t session);
  StepMetrics::Snapshot master_steps() const { return master_metrics_->steps.Get(); }
  StepMetrics::Snapshot worker_steps() const { return worker_metrics_->steps.Get(); }

 private:
  struct Sums {
    absl::Time time;
    uint64_t master_steps = 0, worker_steps = 0, sent = 0, received = 0;
  };
  void AddState(TaskReport* report) const;
  void AddPeers(TaskReport* report) const;
  void AddSessions(TaskReport* report);
  void AddWaits(TaskReport* report);
  void AddSteps(TaskReport* report) const;
  void AddTransports(TaskReport* report);
  void AddMemory(TaskReport* report) const;
  void AddCheckpoints(TaskReport* report) const;
  void AddRates(TaskReport* report) const;
  Sums SumsNow();

  const WatchedTask task_;
  const absl::Time start_;
  const std::shared_ptr<const MasterMetrics> master_metrics_;
  const std::shared_ptr<const WorkerMetrics> worker_metrics_;
  PeerWatch peers_;

  Mutex parts_mu_;  // held while master and worker are used
  Master* master_ GUARDED_BY(parts_mu_);
  Worker* worker_ GUARDED_BY(parts_mu_);

  mutable Mutex mu_;
  const GrpcServer* server_ GUARDED_BY(mu_) = nullptr;
  std::string address_ GUARDED_BY(mu_), http_address_ GUARDED_BY(mu_);
  std::string stopping_ GUARDED_BY(mu_);
  std::deque<Sums> samples_ GUARDED_BY(mu_);
  // The largest that were reported: a link that ends between two looks must not make a counter go back.
  std::vector<TaskReport::Transport> reported_ GUARDED_BY(mu_);
};

// /weir.StatusService/GetTaskReport. Peers are asked first, unless an HTTP server does so anyway.
ServerMethod TaskReportMethod(TaskReporter* reporter);

}  // namespace weir
