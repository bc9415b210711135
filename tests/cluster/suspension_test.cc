// A task stands still until its step has failed, and then goes on.
#include <google/protobuf/text_format.h>

#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// A variable on the parameter server. "add" adds a number from the worker to it, "increment" one of the server's own.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "zero" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0 } } } }
  node { name: "one" op: "Placeholder" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "gradient" op: "Identity" input: "one" device: "/job:worker/task:0"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "v" op: "VarHandleOp" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape {} } } attr { key: "shared_name" value { s: "v" } } }
  node { name: "init" op: "AssignVariableOp" input: "v" input: "zero" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "add" op: "AssignAddVariableOp" input: "v" input: "gradient" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "constant" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "increment" op: "AssignAddVariableOp" input: "v" input: "constant" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "read" op: "ReadVariableOp" input: "v" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } })";

struct Transport {
  const char* name;
  std::vector<std::string> flags;
};

class SuspensionTest : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start(
                             {.program = WEIR_PROGRAM, .jobs = {{"worker", 1}, {"ps", 1}}, .flags = GetParam().flags}));
    master_ =
        std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", 0)});
    tensorflow::CreateSessionRequest request;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(master_->CreateSession(Soon(), request, &response), IsOk());
    session_ = response.session_handle();
    ASSERT_THAT(Target("init"), IsOk());
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }

  absl::Status Target(const std::string& target) {
    RunStepArgs args;
    args.session_handle = session_;
    args.feeds = {{"one:0", AsScalar<float>(1)}};
    args.targets = {target};
    return master_->RunStep(Soon(), args).status();
  }
  // Asks until the parameter server answers.
  float Read() {
    RunStepArgs args;
    args.session_handle = session_;
    args.fetches = {"read:0"};
    absl::StatusOr<RunStepResult> result = master_->RunStep(Soon(), args);
    for (const absl::Time end = MonotonicNow() + absl::Seconds(60); !result.ok() && MonotonicNow() < end;) {
      result = master_->RunStep(Soon(), args);
    }
    return result.ok() ? result->fetches[0].scalar<float>() : -1;
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<GrpcMasterClient> master_;
  std::string session_;
};

TEST_P(SuspensionTest, AFailedStepHasNoLateEffect) {
  for (const char* update : {"add", "increment"}) ASSERT_THAT(Target(update), IsOk());
  for (const char* update : {"add", "increment", "increment"}) {
    cluster_->Pause("ps", 0);
    EXPECT_THAT(Target(update), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:ps/replica:0/task:0")));
    cluster_->Resume("ps", 0);
    EXPECT_EQ(Read(), 2) << update;
  }
  ASSERT_THAT(Target("add"), IsOk());
  EXPECT_EQ(Read(), 3);
}

INSTANTIATE_TEST_SUITE_P(Transports, SuspensionTest,
                         ::testing::Values(Transport{"Rings", {}}, Transport{"Streams", {"--no-shared-memory"}},
                                           Transport{"Grpc", {"--no-shared-memory", "--no-streams"}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weir
