// Fake workers and masters for transport tests.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/mutex.h"
#include "distribute/transport/master_interface.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Answers calls with the test's status, RecvTensor from a rendezvous, and RunGraph with its feeds plus one.
class FakeWorker : public WorkerInterface {
 public:
  std::shared_ptr<Rendezvous> rendezvous = NewLocalRendezvous();
  absl::Status status;  // returned by calls
  std::string buffer;   // returned by RecvBuf
  std::atomic<int> buffers_released{0};
  // If set, RunGraph calls it instead.
  std::function<void(const CallOptions&, const RunGraphArgs&, ResultCallback<RunGraphResult>)> run_graph;
  std::shared_ptr<const RegisterGraphArgs> registered;
  std::shared_ptr<const RunGraphArgs> last_run;

  void GetStatusAsync(const CallOptions&, const tensorflow::GetStatusRequest*, tensorflow::GetStatusResponse* response,
                      DoneCallback done) override {
    response->add_device_attributes()->set_name("/job:worker/replica:0/task:0/device:CPU:0");
    done(status);
  }
  void GetCapabilitiesAsync(const CallOptions&, const GetCapabilitiesRequest*, GetCapabilitiesResponse*,
                            DoneCallback done) override {
    done(status);
  }
  void ResolveStepAsync(const CallOptions&, const ResolveStepRequest*, ResolveStepResponse*,
                        DoneCallback done) override {
    done(status);
  }
  void FenceStepsAsync(const CallOptions&, const FenceStepsRequest*, FenceStepsResponse*, DoneCallback done) override {
    done(status);
  }
  void GetStepWaitsAsync(const CallOptions&, const GetStepWaitsRequest*, GetStepWaitsResponse*,
                         DoneCallback done) override {
    done(status);
  }
  void CreateWorkerSessionAsync(const CallOptions&, const tensorflow::CreateWorkerSessionRequest*,
                                tensorflow::CreateWorkerSessionResponse*, DoneCallback done) override {
    done(status);
  }
  void DeleteWorkerSessionAsync(const CallOptions&, const tensorflow::DeleteWorkerSessionRequest*,
                                tensorflow::DeleteWorkerSessionResponse*, DoneCallback done) override {
    done(status);
  }
  void RegisterGraphAsync(const CallOptions&, std::shared_ptr<const RegisterGraphArgs> args,
                          ResultCallback<std::string> done) override {
    {
      MutexLock lock(mu_);  // sessions may register graphs at once
      registered = args;
    }
    done(std::string("graph"));
  }
  void DeregisterGraphAsync(const CallOptions&, const tensorflow::DeregisterGraphRequest*,
                            tensorflow::DeregisterGraphResponse*, DoneCallback done) override {
    done(status);
  }
  void RunGraphAsync(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                     ResultCallback<RunGraphResult> done) override {
    {
      MutexLock lock(mu_);  // calls may come at once
      last_run = args;
    }
    if (run_graph) return run_graph(options, *args, std::move(done));
    if (!status.ok()) return done(status);
    RunGraphResult result;
    for (const Tensor& feed : args->feeds) result.fetches.push_back(Tensor::Scalar<float>(feed.scalar<float>() + 1));
    done(std::move(result));
  }
  void CleanupGraphAsync(const CallOptions&, const tensorflow::CleanupGraphRequest*, tensorflow::CleanupGraphResponse*,
                         DoneCallback done) override {
    done(status);
  }
  void CleanupAllAsync(const CallOptions&, const tensorflow::CleanupAllRequest*, tensorflow::CleanupAllResponse*,
                       DoneCallback done) override {
    done(status);
  }
  void RecvTensorAsync(const CallOptions& options, int64_t, absl::string_view key,
                       ResultCallback<Rendezvous::Received> done) override {
    Rendezvous::Args args;
    args.cancellation = options.cancellation;
    rendezvous->RecvAsync(key, args, std::move(done));
  }
  void RecvBufAsync(const CallOptions&, std::shared_ptr<const RecvBufArgs> args,
                    ResultCallback<ReceivedBytes> done) override {
    if (!status.ok()) return done(status);
    done(ReceivedBytes(buffer, [this] { ++buffers_released; }));
  }
  void JoinGroupAsync(const CallOptions&, const JoinGroupRequest* request, JoinGroupResponse* response,
                      DoneCallback done) override {
    response->mutable_group()->set_group_key(request->group().group_key());
    done(status);
  }
  void CompleteInstanceAsync(const CallOptions&, const tensorflow::CompleteInstanceRequest* request,
                             tensorflow::CompleteInstanceResponse* response, DoneCallback done) override {
    response->set_instance_key(request->instance_key());
    done(status);
  }
  void GetStepSequenceAsync(const CallOptions&, const tensorflow::GetStepSequenceRequest* request,
                            tensorflow::GetStepSequenceResponse* response, DoneCallback done) override {
    for (const int64_t key : request->graph_key()) response->add_step_sequence()->set_graph_key(key);
    done(status);
  }
  void LoggingAsync(const CallOptions&, const tensorflow::LoggingRequest*, tensorflow::LoggingResponse*,
                    DoneCallback done) override {
    done(status);
  }
  void TracingAsync(const CallOptions&, const tensorflow::TracingRequest*, tensorflow::TracingResponse*,
                    DoneCallback done) override {
    done(status);
  }

 private:
  Mutex mu_;
};

// RunStep and RunCallable return their feeds; other calls return `status`.
class FakeMaster : public MasterInterface {
 public:
  absl::Status status;
  std::function<absl::StatusOr<RunStepResult>(const CallOptions&, const RunStepArgs&)> run_step;
  std::function<void()> close_session;

  absl::Status CreateSession(const CallOptions&, const tensorflow::CreateSessionRequest& request,
                             tensorflow::CreateSessionResponse* response) override {
    response->set_session_handle(request.target());
    return status;
  }
  absl::Status ExtendSession(const CallOptions&, const tensorflow::ExtendSessionRequest&,
                             tensorflow::ExtendSessionResponse*) override {
    return status;
  }
  absl::Status PartialRunSetup(const CallOptions&, const tensorflow::PartialRunSetupRequest&,
                               tensorflow::PartialRunSetupResponse*) override {
    return status;
  }
  absl::StatusOr<RunStepResult> RunStep(const CallOptions& options, const RunStepArgs& args) override {
    if (run_step) return run_step(options, args);
    if (!status.ok()) return status;
    RunStepResult result;
    for (const auto& [name, tensor] : args.feeds) result.fetches.push_back(tensor);
    return result;
  }
  absl::Status CloseSession(const CallOptions&, const tensorflow::CloseSessionRequest&,
                            tensorflow::CloseSessionResponse*) override {
    if (close_session) close_session();
    return status;
  }
  absl::Status ListDevices(const CallOptions&, const tensorflow::ListDevicesRequest&,
                           tensorflow::ListDevicesResponse*) override {
    return status;
  }
  absl::Status Reset(const CallOptions&, const tensorflow::ResetRequest&, tensorflow::ResetResponse*) override {
    return status;
  }
  absl::Status MakeCallable(const CallOptions&, const tensorflow::MakeCallableRequest&,
                            tensorflow::MakeCallableResponse*) override {
    return status;
  }
  absl::StatusOr<RunStepResult> RunCallable(const CallOptions&, const RunCallableArgs& args) override {
    if (!status.ok()) return status;
    RunStepResult result;
    result.fetches = args.feeds;
    return result;
  }
  absl::Status ReleaseCallable(const CallOptions&, const tensorflow::ReleaseCallableRequest&,
                               tensorflow::ReleaseCallableResponse*) override {
    return status;
  }
};

}  // namespace weir
