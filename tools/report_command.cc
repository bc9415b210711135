#include "core/clock.h"
#include "tools/commands.h"
#include "tools/interruption.h"
#include "tools/task_client.h"
#include "tools/watch/report_json.h"

namespace weir {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(10);

absl::Status PrintReport(GrpcChannel* channel, CancellationManager* cancellation, int indent, std::ostream& out) {
  const CallOptions call{.deadline = MonotonicNow() + kCallTimeout, .cancellation = cancellation};
  ASSIGN_OR_RETURN(const TaskReport report, GetTaskReport(channel, call));
  out << MessageToJson(report, indent) << std::endl;
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintStatusJson(const std::string& target, std::ostream& out) {
  constexpr int kIndent = 2;
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(target));
  GrpcChannel channel({.address = address}, nullptr);
  return PrintReport(&channel, nullptr, kIndent, out);
}

absl::Status WatchStatus(const std::string& target, const StatusWatch& watch, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(target));
  Interruption interruption;
  GrpcChannel channel({.address = address}, nullptr);
  for (int i = 0; watch.repeat.count == 0 || i < watch.repeat.count; ++i) {
    if (i > 0 && !interruption.Sleep(watch.repeat.interval)) break;
    const absl::Status status = watch.json ? PrintReport(&channel, interruption.cancellation(), /*indent=*/-1, out)
                                           : PrintStatus(target, watch.resources, out);
    if (interruption.has_come()) break;
    RETURN_IF_ERROR(status);
    if (!watch.json) out << std::endl;
    if (!out.good()) break;
  }
  return absl::OkStatus();
}

}  // namespace weir
