#include "tools/trace_command.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/files/file_system.h"
#include "core/op/op_registry.h"
#include "core/random_bits.h"
#include "distribute/transport/grpc_channel.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tools/interruption.h"
#include "tools/task_client.h"
#include "tools/trace/board_profile.h"
#include "tools/trace/chrome_trace.h"
#include "tools/trace/step_hints.h"
#include "tools/trace/timeline.h"
#include "tools/trace/trace_collector.h"

namespace weir {
namespace {

class RemoteTraceSource : public TraceSource {
 public:
  // `cancellation` ends calls that collect; those that begin and end the trace are made nevertheless.
  RemoteTraceSource(std::string address, CancellationManager* cancellation)
      : channel_({.address = std::move(address)}, nullptr), cancellation_(cancellation) {}

  absl::StatusOr<ListTasksResponse> ListTasks(absl::Time deadline) override {
    ListTasksResponse response;
    RETURN_IF_ERROR(
        channel_.CallMessage("/weir.TraceService/ListTasks", {.deadline = deadline}, ListTasksRequest(), &response));
    return response;
  }
  absl::StatusOr<TraceStepsResponse> TraceSteps(const TraceStepsRequest& request, absl::Time deadline) override {
    TraceStepsResponse response;
    const CallOptions call{.deadline = deadline, .cancellation = request.end() ? nullptr : cancellation_};
    RETURN_IF_ERROR(channel_.CallMessage("/weir.TraceService/TraceSteps", call, request, &response));
    return response;
  }

 private:
  GrpcChannel channel_;
  CancellationManager* const cancellation_;
};

// By the traits of the op's registration. Ops of other runtimes compute.
Activity ActivityOf(const OpRegistry& ops, absl::string_view op) {
  if (absl::StartsWith(op, "IteratorGetNext") || absl::StartsWith(op, "MultiDeviceIteratorGetNext")) {
    return Activity::kInput;
  }
  const OpRegistration* const registration = ops.Find(op);
  if (registration == nullptr) return Activity::kCompute;
  if (registration->has_functions) return Activity::kCall;
  if (!registration->may_block) return Activity::kCompute;
  return registration->op_def->is_distributed_communication() ? Activity::kCollective : Activity::kWait;
}

// Before the trace: a file that cannot be written should not cost the user a minute.
absl::Status CheckWritable(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, files.NewAppendableFile(path));
  return file->Close();
}

}  // namespace

absl::StatusOr<bool> RunTrace(const TraceCommand& command, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(command.target));
  Interruption interruption;
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  RETURN_IF_ERROR(CheckWritable(*files, command.output));
  OpRegistry ops;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  RemoteTraceSource source(address, interruption.cancellation());
  ASSIGN_OR_RETURN(
      const CollectedTrace trace,
      CollectTrace(source,
                   {.steps = command.steps, .timeout = command.timeout, .tracer = RandomBits(), .is_interrupted = [&] {
                      return interruption.has_come();
                    }}));
  const Timeline timeline = BuildTimeline(trace, [&ops](absl::string_view op) { return ActivityOf(ops, op); });
  RETURN_IF_ERROR(WriteStringToFile(files.get(), command.output, ChromeTrace(trace, timeline)));
  out << command.output << ": " << trace.steps.size() << " steps and " << timeline.slices.size() << " nodes of "
      << trace.tasks.size() << " tasks. Open it in https://ui.perfetto.dev or chrome://tracing.\n";
  if (!command.board_directory.empty()) {
    const std::string run = absl::FormatTime("%Y_%m_%d_%H_%M_%S", absl::Now(), absl::UTCTimeZone());
    RETURN_IF_ERROR(WriteProfile(files.get(), command.board_directory, run, BoardProfile(timeline)));
    out << command.board_directory << ": profile " << run << " for TensorBoard.\n";
  }
  for (const std::string& note : trace.notes) out << "Note: " << note << "\n";
  for (const StepHint& hint : HintsFor(timeline)) out << "Hint: " << hint.text << "\n";
  return trace.is_complete();
}

}  // namespace weir
