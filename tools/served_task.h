// The devices, worker, master and transports of a server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "distribute/transport/transport_metrics.h"
#include "tools/server.h"
#include "weir/peer.pb.h"

namespace weir {

class ClientLeases;
class ClusterMembership;
class GrpcMasterService;
class GrpcServer;
class GrpcWorkerService;
class JoiningTask;
class LinkPoller;
class Master;
class MembershipService;
class PythonService;
class Registrar;
class RegroupService;
class RequestLog;
class SessionJournal;
class SharedMemorySender;
class StreamLinks;
class TaskBusyPoller;
class TaskReporter;
class TaskRuntime;
class TaskState;
class TraceService;
class TaskWatch;
class TransportService;
class Worker;
class WorkerPool;

// Thread-safe, except for Start, which comes first, and Stop, which comes last.
class ServedTask {
 public:
  // `joining` is null for a task that joins no cluster.
  ServedTask(Server::Options options, std::unique_ptr<JoiningTask> joining);
  ~ServedTask();  // Stop has returned
  ServedTask(const ServedTask&) = delete;

  absl::Status Start();
  // Lets steps in flight finish until `patience` is over, then cancels them, and waits, without limit, until they and
  // all calls have ended.
  void Stop(absl::Duration patience);
  // The waits of running steps. Empty once the worker is about to be destroyed.
  std::vector<StepWait> Waits();

  const std::string& task() const { return task_; }
  const std::string& address() const { return address_; }
  const std::string& http_address() const { return http_address_; }
  MasterInterface* master() const;

 private:
  absl::StatusOr<std::string> ChooseAddress() const;
  void MakeLinks();
  absl::Status OpenJournal();
  absl::Status MakeRuntime();
  std::string StoreDirectory() const;
  absl::Status OpenCheckpointStore();
  void MakeMembership();
  // If this task is the registrar.
  absl::Status StartRegistrar();
  void MakeReporter();
  absl::Status StartWatch();
  absl::Status Serve(const std::string& address);
  void EndSession(const std::string& session);
  void StopServing(absl::Duration patience);

  // In order of dependency.
  const Server::Options options_;
  std::unique_ptr<ClusterMembership> membership_;
  const std::unique_ptr<JoiningTask> joining_;
  const std::string task_;
  TransportMetrics transport_metrics_;
  WorkerPool* workers_ = nullptr;  // the runtime's
  std::unique_ptr<SessionJournal> journal_;
  std::unique_ptr<RequestLog> request_log_;
  std::unique_ptr<LinkPoller> links_;
  std::unique_ptr<StreamLinks> streams_;
  std::unique_ptr<TaskBusyPoller> poller_;
  std::unique_ptr<PythonService> python_service_;
  std::unique_ptr<TaskRuntime> runtime_;
  std::unique_ptr<SharedMemorySender> shared_memory_;
  std::unique_ptr<GrpcWorkerService> worker_service_;
  std::unique_ptr<TransportService> transport_service_;
  std::unique_ptr<ClientLeases> leases_;
  std::unique_ptr<GrpcMasterService> master_service_;
  std::unique_ptr<TraceService> trace_service_;
  std::unique_ptr<WorkerPool> registrar_workers_;
  std::unique_ptr<Registrar> registrar_;
  std::unique_ptr<TaskState> state_;
  std::unique_ptr<MembershipService> membership_service_;
  std::unique_ptr<RegroupService> regroup_service_;
  std::unique_ptr<TaskReporter> reporter_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<TaskWatch> watch_;
  std::string address_, http_address_;
  Mutex worker_mu_;
  Worker* worker_ GUARDED_BY(worker_mu_) = nullptr;  // the runtime's, until that stops
  Master* master_ GUARDED_BY(worker_mu_) = nullptr;  // the same
  int64_t seen_loss_ GUARDED_BY(worker_mu_) = 0;     // MovedState::loss_epoch
};

}  // namespace weir
