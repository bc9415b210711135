// weir server: runs one task until it is told to stop.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "distribute/cluster/environment.h"

namespace weir {

struct ServerCommand {
  std::string job;
  int index = 0;
  std::string cluster;      // JSON
  std::optional<int> port;  // instead of that in the cluster
  std::string bind;         // host to listen on
  bool insecure = false;
  std::string ready_file;  // comes into being with its content, the address and a line end, when the task serves
  int threads = 0;
  bool shared_memory = true;
  bool streams = true;
  int cpu_devices = 1;
  std::string config;      // text of a ConfigProto: what the task wants of its GPUs
  int simulated_gpus = 0;  // instead of the machine's, where not 0
  // Where they come from when neither job nor cluster is given: a name of a ClusterSource, or "auto".
  std::string cluster_from = "auto";
  Environment environment;
};

// Returns after SIGTERM, SIGINT or SIGHUP, having let steps in flight end for a moment; a second of the first two, or
// ten seconds, ends the process at once. The caller must not have started threads: they would take the signals.
absl::Status RunServer(const ServerCommand& command);

}  // namespace weir
