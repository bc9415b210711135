// weir server: runs one task until it is stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "distribute/cluster/environment.h"

namespace weir {

struct ServerCommand {
  std::string job;
  std::optional<int> index;    // 0, or a new one for a task that joins
  std::string cluster;         // JSON
  std::string join;            // "host:port" or "grpc://host:port" of a task of a running cluster
  std::string advertise;       // "host[:port]" at which others reach a task that joins
  bool no_rebalance = false;   // a parameter server that joins takes no share of variables, and hands none over
  double rebalance_every = 0;  // seconds; 0: the registrar does not even the load of parameter servers
  int standbys = 0;            // that the registrar keeps of each parameter server
  std::optional<int> port;     // overrides the cluster's
  std::string bind;            // host to listen on
  bool insecure = false;
  std::optional<int> http_port;         // of metrics and status; nullopt: they are not served
  std::string http_bind = "127.0.0.1";  // host to serve them on
  std::string http_ready_file;          // created with their address, as ready_file
  std::string ready_file;               // created with the address and a line end as content, when the task is ready
  int parent = 0;                       // ends with this process, which started it; 0: with none
  std::string journal;                  // directory of the master's journal; empty: none
  std::string checkpoint_store;         // directory of the tasks' checkpoint stores; empty: none
  std::vector<std::string> plugins, plugin_folders;  // see LoadPlugin
  int threads = 0;
  bool shared_memory = true;
  bool streams = true;
  int cpu_devices = 1;
  bool deterministic = false;
  std::string session_lease, master_lease, member_lease;  // durations, "30m"; empty: the default
  std::string config;                                     // text of a ConfigProto: the task's GPU settings
  int simulated_gpus = 0;                                 // replaces the machine's if not 0
  std::string log_level;            // a name of ParseLogLevel; empty: TF_CPP_MIN_LOG_LEVEL, else "info"
  std::string log_format = "text";  // or "json"
  // The source if neither job nor cluster is given: the name of a ClusterSource, or "auto".
  std::string cluster_from = "auto";
  Environment environment;
};

// Returns after SIGTERM, SIGINT or SIGHUP, after letting steps in flight finish for a moment; a second SIGTERM or
// SIGINT, or ten seconds, end the process immediately. The caller must not have started threads, which would receive
// the signals.
absl::Status RunServer(const ServerCommand& command);

}  // namespace weir
