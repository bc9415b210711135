// Requests that mean harm, to every method of both services: a clear error, and the server goes on.
#include <google/protobuf/text_format.h>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "tensorflow/core/protobuf/master.pb.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "tests/hostile/hostile_server.h"

namespace weir {
namespace {

using ::testing::AnyOf;

using HostileRequest = HostileServer;

template <typename Message>
Message Text(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

TEST_F(HostileRequest, BytesThatAreNoMessage) {
  const char* const methods[] = {"MasterService/CreateSession",   "MasterService/ExtendSession",
                                 "MasterService/PartialRunSetup", "MasterService/RunStep",
                                 "MasterService/CloseSession",    "MasterService/ListDevices",
                                 "MasterService/Reset",           "MasterService/MakeCallable",
                                 "MasterService/RunCallable",     "MasterService/ReleaseCallable",
                                 "WorkerService/GetStatus",       "WorkerService/CreateWorkerSession",
                                 "WorkerService/RegisterGraph",   "WorkerService/DeleteWorkerSession",
                                 "WorkerService/DeregisterGraph", "WorkerService/RunGraph",
                                 "WorkerService/CleanupGraph",    "WorkerService/CleanupAll",
                                 "WorkerService/RecvTensor",      "WorkerService/RecvBuf",

                                 "WorkerService/CompleteGroup",   "WorkerService/CompleteInstance",
                                 "WorkerService/GetStepSequence", "WorkerService/Logging",
                                 "WorkerService/Tracing",         "WorkerService/NoSuchMethod"};
  const std::string bytes[] = {std::string(100, '\xff'), std::string("\x0a\xff\xff\xff\xff\x7f", 6),
                               "\x0a\x05"
                               "ab",
                               std::string(50, '\0')};
  const std::string large_number = "\x08" + std::string(9, '\xff') + "\x01";  // of field 1, where that is a number
  for (const char* method : methods) {
    for (const std::string& request : bytes) EXPECT_THAT(Call(method, request), IsClearError()) << method;
    EXPECT_THAT(Call(method, large_number), AnyOf(IsOk(), IsClearError())) << method;
  }
}

TEST_F(HostileRequest, HandlesThatNobodyGave) {
  for (const std::string& handle :
       {std::string(), std::string("nope"), std::string(1, '\0'), std::string(100'000, 'x'), OpenSession() + "0"}) {
    const auto refused = [&](const char* method, auto request) {
      request.set_session_handle(handle);
      EXPECT_THAT(Master(method, request), IsClearError()) << method << " " << handle.substr(0, 20);
    };
    refused("RunStep", tensorflow::RunStepRequest());
    refused("ExtendSession", tensorflow::ExtendSessionRequest());
    refused("PartialRunSetup", tensorflow::PartialRunSetupRequest());
    refused("CloseSession", tensorflow::CloseSessionRequest());
    refused("MakeCallable", tensorflow::MakeCallableRequest());
    refused("RunCallable", tensorflow::RunCallableRequest());
    refused("ReleaseCallable", tensorflow::ReleaseCallableRequest());
  }
}

TEST_F(HostileRequest, FeedsFetchesAndTargets) {
  const std::string session = OpenSession();
  const std::string good = "dtype: DT_FLOAT tensor_shape {} float_val: 1";
  const auto step = [&](const std::string& text) {
    auto request = Text<tensorflow::RunStepRequest>(text);
    request.set_session_handle(session);
    return Master("RunStep", request);
  };
  const auto fed = [](const std::string& name, const std::string& tensor) {
    return absl::StrCat("feed { name: '", name, "' tensor { ", tensor, " } } ");
  };
  for (const char* name : {"", "x:1", "x:-1", "q:0", "x:0:0", "^x", "x:99999999999", ":0"}) {
    EXPECT_THAT(step(fed(name, good) + "fetch: 'y:0'"), IsClearError()) << name;
    EXPECT_THAT(step(absl::StrCat(fed("x:0", good), "fetch: '", name, "'")), IsClearError()) << name;
    EXPECT_THAT(step(absl::StrCat(fed("x:0", good), "target: '", name, "'")), IsClearError()) << name;
  }
  EXPECT_THAT(step("fetch: 'y:0'"), IsClearError());
  EXPECT_THAT(step(fed("x:0", good) + fed("x", good) + "fetch: 'y:0'"), IsClearError());
  EXPECT_THAT(step(fed("x:0", good) + "fetch: 'y:0' partial_run_handle: 'nope'"), IsClearError());
  for (const char* tensor :
       {"dtype: DT_INVALID", "dtype: DT_INT32 tensor_shape {} int_val: 1",
        "dtype: DT_STRING tensor_shape {} string_val: 'a'",
        "dtype: DT_FLOAT tensor_shape { dim { size: 1152921504606846976 } } float_val: 1",
        "dtype: DT_FLOAT tensor_shape { dim { size: -1 } }",
        "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1",
        "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } tensor_content: 'abc'", "dtype: DT_VARIANT tensor_shape {}",
        "dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: [1, 2, 3]", "dtype: DT_RESOURCE tensor_shape {}",
        "dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\377\\377\\377\\377\\377\\377\\377\\177'",
        "dtype: DT_VARIANT tensor_shape { dim { size: 4294967296 } }",
        "dtype: DT_STRING tensor_shape { dim { size: 1125899906842624 } }",
        "dtype: DT_FLOAT_REF tensor_shape {} float_val: 1"}) {
    EXPECT_THAT(step(fed("x:0", tensor) + "fetch: 'y:0'"), IsClearError()) << tensor;
  }
  std::string many = fed("x:0", good);
  for (int i = 0; i < 5000; ++i) many += "fetch: 'y:0' ";
  EXPECT_THAT(step(many), AnyOf(IsOk(), IsClearError()));
  for (const char* ms : {"-1", "-9223372036854775808", "9223372036854775807"}) {
    EXPECT_THAT(step(fed("x:0", good) + "fetch: 'y:0' options { timeout_in_ms: " + ms + " }"),
                AnyOf(IsOk(), IsClearError()));
  }
  EXPECT_THAT(RunGoodStep(session), IsOk());
}

TEST_F(HostileRequest, CallablesAndPartialRuns) {
  const std::string session = OpenSession();
  for (const char* options : {"feed: 'zz:0'", "fetch: 'zz:0'", "target: 'zz'",
                              "fetch: 'y:0' tensor_connection { from_tensor: 'y:0' to_tensor: 'x:0' }",
                              "fetch: 'y:0' tensor_connection { from_tensor: 'zz:0' to_tensor: 'x:0' }",
                              "feed: ['x:0', 'x:0'] fetch: 'y:0'"}) {
    auto request = Text<tensorflow::MakeCallableRequest>(absl::StrCat("options { ", options, " }"));
    request.set_session_handle(session);
    tensorflow::MakeCallableResponse made;
    absl::Status status = Master("MakeCallable", request, &made);
    if (status.ok()) {
      tensorflow::RunCallableRequest run;
      run.set_session_handle(session);
      run.set_handle(made.handle());
      status = Master("RunCallable", run);
    }
    EXPECT_THAT(status, IsClearError()) << options;
  }
  for (int64_t handle : {int64_t{-1}, int64_t{999}, INT64_MAX}) {
    tensorflow::ReleaseCallableRequest release;
    release.set_session_handle(session);
    release.set_handle(handle);
    EXPECT_THAT(Master("ReleaseCallable", release), IsClearError());
  }
  for (const char* text : {"feed: 'zz:0' fetch: 'y:0'", "feed: 'x:0' fetch: 'zz:0'", "target: 'zz'"}) {
    auto request = Text<tensorflow::PartialRunSetupRequest>(text);
    request.set_session_handle(session);
    EXPECT_THAT(Master("PartialRunSetup", request), IsClearError()) << text;
  }
  for (int i = 0; i < 50; ++i) {  // begun and left alone
    auto request = Text<tensorflow::PartialRunSetupRequest>("feed: 'x:0' fetch: 'y:0'");
    request.set_session_handle(session);
    EXPECT_THAT(Master("PartialRunSetup", request), IsOk());
  }
  tensorflow::CloseSessionRequest close;
  close.set_session_handle(session);
  EXPECT_THAT(Master("CloseSession", close), IsOk());
}

TEST_F(HostileRequest, ConfigurationsOfSessions) {
  for (const char* config :
       {"device_count { key: 'CPU' value: 2147483647 }", "intra_op_parallelism_threads: -5",
        "intra_op_parallelism_threads: 2147483647", "inter_op_parallelism_threads: 2147483647",
        "session_inter_op_thread_pool { num_threads: 2147483647 }", "session_inter_op_thread_pool { num_threads: -1 }",
        "device_filters: 'junk'", "device_filters: '/job:nope'", "operation_timeout_in_ms: -1",
        "operation_timeout_in_ms: 9223372036854775807", "placement_period: -1",
        "cluster_def { job { name: 'worker' tasks { key: 0 value: 'junk' } } }",
        "cluster_def { job { name: '' tasks { key: -1 value: '127.0.0.1:1' } } }",
        "cluster_def { job { name: 'worker' tasks { key: 2147483647 value: '127.0.0.1:1' } } }"}) {
    tensorflow::CreateSessionResponse response;
    const absl::Status status = Master(
        "CreateSession", Text<tensorflow::CreateSessionRequest>(absl::StrCat("config { ", config, " }")), &response);
    EXPECT_THAT(status, AnyOf(IsOk(), IsClearError())) << config;
    if (!status.ok()) continue;
    tensorflow::CloseSessionRequest close;
    close.set_session_handle(response.session_handle());
    EXPECT_THAT(Master("CloseSession", close), IsOk()) << config;
  }
  for (const char* reset : {"container: ''", "container: 'nope'", "device_filters: 'junk'"}) {
    EXPECT_THAT(Master("Reset", Text<tensorflow::ResetRequest>(reset)), AnyOf(IsOk(), IsClearError())) << reset;
  }
}

TEST_F(HostileRequest, Workers) {
  for (const char* handle : {"", "nope"}) {
    for (const char* step : {"0", "-1", "9223372036854775807"}) {
      EXPECT_THAT(Worker("RunGraph", Text<tensorflow::RunGraphRequest>(
                                         absl::StrCat("graph_handle: '", handle, "' step_id: ", step))),
                  IsClearError());
    }
    EXPECT_THAT(Worker("RegisterGraph", Text<tensorflow::RegisterGraphRequest>(
                                            "session_handle: 'nope' create_worker_session_called: true")),
                IsClearError());
    EXPECT_THAT(Worker("DeregisterGraph",
                       Text<tensorflow::DeregisterGraphRequest>(absl::StrCat("graph_handle: '", handle, "'"))),
                IsClearError());
  }
  const std::string cpu = "/job:worker/replica:0/task:0/device:CPU:0";
  for (const std::string& key : {std::string(), std::string("junk"), std::string(";;;;"), std::string("a;b;c;d;0:0"),
                                 std::string(100'000, ';'), cpu + ";0000000000000001;" + cpu + ";x;0:0",
                                 cpu + ";zzzz;" + cpu + ";x;0:0", cpu + ";1;" + cpu + ";x;9999999999999999999999:0",
                                 "/job:nope/replica:0/task:0/device:CPU:0;1;" + cpu + ";x;0:0"}) {
    tensorflow::RecvTensorRequest request;
    request.set_step_id(1);
    request.set_rendezvous_key(key);
    EXPECT_THAT(Worker("RecvTensor", request), IsClearError()) << key.substr(0, 80);
  }
  for (const char* text : {"group_key: -1 group_size: -1", "group_key: 1 group_size: 2147483647 device_type: 'CPU'"}) {
    EXPECT_THAT(Worker("CompleteGroup", Text<tensorflow::CompleteGroupRequest>(text)), IsClearError()) << text;
  }
  EXPECT_THAT(Worker("CompleteInstance",
                     Text<tensorflow::CompleteInstanceRequest>("name: 'x' group_size: -1 shape { dim { size: -3 } }")),
              IsClearError());
  EXPECT_THAT(Worker("CreateWorkerSession", Text<tensorflow::CreateWorkerSessionRequest>(
                                                "session_handle: 's' server_def { job_name: 'nope' task_index: -1 "
                                                "cluster { job { name: 'worker' tasks { key: 0 value: 'junk' } } } }")),
              AnyOf(IsOk(), IsClearError()));
}

// Whoever sends them costs the server no memory for good: of requests that are no messages, and of steps of a session
// that is not there.
TEST_F(HostileRequest, LargeOnesThatAreRejectedLeaveNoMemory) {
  constexpr size_t kBytes = 256 << 20;
  patience_ = absl::Minutes(1);
  const auto set = [](const std::string& name, tensorflow::NamedTensorProto* tensor) {
    tensor->set_name(name);
    tensor->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
    tensor->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(kBytes / sizeof(float));
    tensor->mutable_tensor()->mutable_tensor_content()->resize(kBytes);
  };
  const auto step = [&](bool errors_in_body) {
    tensorflow::RunStepRequest request;
    request.set_session_handle("nope");
    request.set_store_errors_in_response_body(errors_in_body);
    set("x:0", request.add_feed());
    return request.SerializeAsString();
  };
  const auto part = [&] {
    tensorflow::RunGraphRequest request;
    request.set_session_handle("nope");
    request.set_graph_handle("nope");
    request.set_step_id(1);
    request.set_store_errors_in_response_body(true);
    set("key", request.add_send());
    return request.SerializeAsString();
  };
  const auto send_all = [&] {
    EXPECT_THAT(Call("MasterService/CreateSession", std::string(kBytes, '\xff')), IsClearError());
    EXPECT_THAT(Call("MasterService/RunStep", step(false)), IsClearError());
    EXPECT_THAT(Call("MasterService/RunStep", step(true)), IsOk());
    EXPECT_THAT(Call("WorkerService/RunGraph", part()), IsOk());
  };
  send_all();  // the allocator of tensors keeps the memory of one
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 3; ++i) send_all();
  // The memory is returned after the answer.
  const absl::Time end = MonotonicNow() + absl::Seconds(30);
  int64_t grown = 0;
  do {
    absl::SleepFor(absl::Milliseconds(5));
    grown = ResidentBytes() - before;
  } while (grown > static_cast<int64_t>(kBytes / 4) && MonotonicNow() < end);
  EXPECT_LT(grown, static_cast<int64_t>(kBytes / 4));
}

}  // namespace
}  // namespace weir
