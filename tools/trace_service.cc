#include "tools/trace_service.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "distribute/transport/message_method.h"
#include "distribute/transport/wire_format.h"
#include "master/step_tracer.h"

namespace weir {
namespace {

constexpr char kTraceSteps[] = "/weir.TraceService/TraceSteps";
// For the answer of another task, which does not wait for anything. Clients ask again.
constexpr absl::Duration kRelayTimeout = absl::Seconds(3);

}  // namespace

TraceService::TraceService(const ClusterMembership* membership, StepTracer* tracer)
    : membership_(membership), task_(membership->task()), tracer_(tracer), channels_(membership, nullptr) {}

TraceService::~TraceService() = default;

std::vector<ServerMethod> TraceService::Methods() {
  ServerMethod trace{kTraceSteps,
                     [this](ServerCall* call) {
                       ServeMessage<TraceStepsRequest, TraceStepsResponse>(
                           call, [this](const CallOptions& options, auto messages, auto done) {
                             done(TraceSteps(options, messages->request, &messages->response));
                           });
                     },
                     /*long_running=*/true};
  trace.blocks = true;
  ServerMethod list{"/weir.TraceService/ListTasks", [this](ServerCall* call) {
                      ServeMessage<ListTasksRequest, ListTasksResponse>(
                          call, [this](const CallOptions&, auto messages, auto done) {
                            messages->response.set_task(task_);
                            for (const std::string& task : membership_->Get()->cluster.TaskNames()) {
                              messages->response.add_tasks(task);
                            }
                            done(absl::OkStatus());
                          });
                    }};
  return {std::move(trace), std::move(list)};
}

absl::Status TraceService::TraceSteps(const CallOptions& options, const TraceStepsRequest& request,
                                      TraceStepsResponse* response) {
  if (request.task().empty() || request.task() == task_) return tracer_->Serve(request, response);
  ASSIGN_OR_RETURN(const std::shared_ptr<GrpcChannel> channel, channels_.To(request.task()));
  TraceStepsRequest passed_on = request;
  passed_on.clear_task();
  ASSIGN_OR_RETURN(const grpc::ByteBuffer message, MessageToBuffer(passed_on));
  CallOptions call = options;
  call.deadline = std::min(call.deadline, MonotonicNow() + kRelayTimeout);
  const int64_t called = TraceClockNanos();
  ASSIGN_OR_RETURN(const grpc::ByteBuffer answer, channel->Call(kTraceSteps, call, message));
  const int64_t answered = TraceClockNanos();
  RETURN_IF_ERROR(MessageFromBuffer(answer, response));
  response->set_called_nanos(called);
  response->set_answered_nanos(answered);
  return absl::OkStatus();
}

}  // namespace weir
