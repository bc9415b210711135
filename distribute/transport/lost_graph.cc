#include "distribute/transport/lost_graph.h"

#include "absl/strings/match.h"

namespace weir {
namespace {

constexpr absl::string_view kNotFound = "Graph handle is not found: ";
constexpr absl::string_view kNoSession = "Session handle is not found: ";

}  // namespace

absl::Status GraphIsLost(absl::string_view graph_handle) {
  return errors::Aborted(kNotFound, graph_handle, ". Possibly, this worker just restarted.");
}

absl::Status GraphIsStale(absl::string_view reason) { return errors::Aborted(kNotFound, reason); }

bool IsGraphLost(const absl::Status& status) {
  return absl::IsAborted(status) && absl::StrContains(status.message(), kNotFound);
}

absl::Status SessionIsLost(absl::string_view session_handle) {
  return errors::Aborted("Session ", session_handle, " is not found. Possibly, this master has restarted.");
}

bool IsSessionLost(const absl::Status& status, absl::string_view session_handle) {
  // TensorFlow's RunStep leaves the second sentence out.
  return absl::IsAborted(status) &&
         absl::StrContains(status.message(), absl::StrCat("Session ", session_handle, " is not found."));
}

absl::Status WorkerSessionIsLost(absl::string_view session_handle, absl::string_view task) {
  return errors::Aborted(kNoSession, session_handle, ". Possibly this worker (\"", task, "\") just restarted.");
}

bool IsWorkerSessionLost(const absl::Status& status) {
  return absl::IsAborted(status) && absl::StrContains(status.message(), kNoSession);
}

}  // namespace weir
