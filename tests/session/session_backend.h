// The backends that the suites of this folder run on: everything that a session can be connected to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "core/status.h"
#include "distribute/transport/master_interface.h"

namespace weir {

enum class BackendKind {
  kLocal,          // Session::Local with two devices
  kInProcess,      // two servers of this process, over gRPC
  kSimulatedGpus,  // a task in this process with two simulated GPUs, with soft placement
  kCapturedGpus,   // the same; what can be is captured before it runs for the first time
  kProcesses,      // two `weir server` processes
  kGiven,          // the tasks of job "worker" of a cluster that runs; WEIR_SESSION_CLUSTER is the address of the first
};

// kGiven alone where WEIR_SESSION_CLUSTER is set, else the others.
std::vector<BackendKind> BackendKinds();

std::string BackendName(BackendKind kind);  // "Local"
inline bool IsOnGpus(BackendKind kind) {
  return kind == BackendKind::kSimulatedGpus || kind == BackendKind::kCapturedGpus;
}

// A place with two devices, whose master is at the first. Variables of a local session end with it; on a cluster they
// stay.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  static absl::StatusOr<std::unique_ptr<SessionBackend>> Create(BackendKind kind);

  virtual absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope, SessionOptions options) = 0;
  // For what Session does not offer: partial runs, cancellation. Lives as long as the backend.
  virtual MasterInterface* master() = 0;
  // What `master` wants in CreateSession to have both devices.
  virtual tensorflow::ConfigProto config() const { return {}; }
  // Full names, "/job:worker/replica:0/task:1/device:CPU:0".
  virtual std::vector<std::string> devices() const = 0;
};

}  // namespace weir
