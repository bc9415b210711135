// One task of a cluster: devices, worker, master and their server.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/api.h"
#include "core/proto_value.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"
#include "graph/passes/mixed_precision_lists.h"

namespace WEIR_API weir {

class GaugeSource;
struct GpuPlatform;
class KernelRegistry;
class MasterInterface;
class OpRegistry;
class ServedTask;

// Thread-safe, except for Stop. Servers share nothing, except registries if configured: a process may run several,
// concurrently or in sequence. The destructor stops the task, and logs an error if a kernel keeps it from stopping
// within kStopLimit.
class Server {
 public:
  // For kernels that ignore the cancellation of their step.
  static constexpr absl::Duration kStopLimit = absl::Seconds(30);
  // gRPC clients may close a connection that was idle for half an hour, and open another one for the next call.
  static constexpr absl::Duration kDefaultSessionLease = absl::Hours(1);
  static constexpr absl::Duration kDefaultMasterLease = absl::Minutes(2);
  static constexpr absl::Duration kDefaultMemberLease = absl::Seconds(30);
  static constexpr int kNewTask = -1;  // Options::index: the registrar chooses it

  struct Options {
    ClusterSpec cluster;
    std::string job;
    int index = 0;
    // "host:port" of any task of a running cluster, which this task joins: `cluster` is ignored then, and `index` is
    // that of a lost task to replace, or kNewTask. Empty: the task is one of `cluster`.
    std::string join;
    // At which the others reach a task that joins; empty: bind_address.
    std::string advertised_address;
    // A task that joined is removed from the cluster when it has not answered for this long. Of the registrar.
    absl::Duration member_lease = kDefaultMemberLease;
    // "host:port" to listen on; empty: the task's address in the cluster. Port 0: any free port.
    std::string bind_address;
    // Allow an address that other machines can reach, although there is no encryption or authentication.
    bool insecure = false;
    int compute_threads = 0;  // 0: one per processor
    // Exchange large tensors with tasks on this host through shared memory.
    bool shared_memory = true;
    // Use streams for the calls of steps to other tasks, where shared memory is not used.
    bool streams = true;
    int cpu_devices = 1;  // CPU:0, CPU:1 …; they share the threads
    // The time after which a session ends whose client is not connected any more.
    absl::Duration session_lease = kDefaultSessionLease;
    // The time after which the sessions of another task's master end here if it does not answer.
    absl::Duration master_lease = kDefaultMasterLease;
    // The task's GPU settings: device_count["GPU"] and gpu_options.
    ProtoValue<tensorflow::ConfigProto> config;
    std::shared_ptr<const GpuPlatform> gpus;  // nullptr: the machine's
    MixedPrecisionSettings mixed_precision;   // for sessions of this task's master
    // Sessions of this task's master, and graphs of other masters on this task, compute the same bits in every run.
    bool deterministic = false;
    // Where this task's master records its sessions, to serve them again after a restart; empty: nowhere.
    std::string journal_directory;
    // Where this task keeps checkpoints, in a subdirectory JOB-INDEX: "store://" to graphs. Empty: nowhere.
    std::string checkpoint_store;
    // "host:port" for health, metrics and a status page over HTTP (docs/watching.md); empty: they are not served. Port
    // 0: any free port. Loopback, unless `insecure`.
    std::string http_address;
    // More figures for /metrics: an EmbeddingFollower's, say.
    std::vector<std::shared_ptr<const GaugeSource>> gauges;
    // Outlive the server; nullptr: it creates its own, with all ops and kernels of this build.
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
  };

  // The server is ready when it returns, and has joined. NotFound for a task that is not in the cluster,
  // FailedPrecondition for a non-loopback address without `insecure`, AlreadyExists for a port in use or the place of a
  // task that answers.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Options options);
  ~Server();
  Server(const Server&) = delete;

  const std::string& task() const { return name_; }  // "/job:ps/replica:0/task:1"
  const std::string& address() const;                // as bound
  const std::string& http_address() const;           // the same; empty: there is no HTTP server
  // For clients in this process: runs steps without a socket.
  MasterInterface* master() const;

  // Lets steps in flight finish until `patience` is over, then cancels them, and releases everything once they have
  // ended; only this and the destructor may be called afterwards. DEADLINE_EXCEEDED names the kernels that steps are
  // still in `limit` later. The task is then released when they end; registries and GPUs of Options, and the process,
  // must last until then. May be called again, to wait longer.
  absl::Status Stop(absl::Duration patience = absl::ZeroDuration(), absl::Duration limit = kStopLimit);

 private:
  struct Running;
  explicit Server(std::unique_ptr<ServedTask> task);
  static void StopTask(const std::shared_ptr<Running>& running, ServedTask* task, absl::Duration patience);

  ServedTask* task_;  // null once Stop was called
  const std::string name_;
  const std::shared_ptr<Running> running_;
  std::thread stopping_;
};

}  // namespace weir
