// Collectives among processes: they add up, and a member that is killed or paused ends every other's in time.
#include <google/protobuf/text_format.h>

#include <future>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/grpc_master_client.h"
#include "distribute/transport/wire_format.h"
#include "weir/transport.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int kMembers = 3;
constexpr absl::Duration kLimit = absl::Seconds(30);

// The all-reduce of one member: x is fed on its task.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "x" op: "Placeholder" device: "/job:worker/task:%d" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "sum" op: "CollectiveReduce" input: "x" device: "/job:worker/task:%d"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "group_size" value { i: 3 } }
         attr { key: "group_key" value { i: %d } } attr { key: "instance_key" value { i: 2 } }
         attr { key: "merge_op" value { s: "Add" } } attr { key: "final_op" value { s: "Id" } }
         attr { key: "subdiv_offsets" value { list { i: 0 } } } })";

// A client at the task's own master, which runs the task's part.
class Member {
 public:
  // `wire`: how messages look; see core/wire/wire_options.h. `graph_key` 0: TensorFlow's hash of the instance key.
  Member(const ProcessCluster& cluster, int index, std::string wire = "", int group = 1, int64_t graph_key = 0)
      : index_(index),
        group_(group),
        graph_key_(graph_key),
        wire_(std::move(wire)),
        master_({.address = *cluster.spec().AddressOf("worker", index)}) {}

  absl::Status Connect() {
    tensorflow::CreateSessionRequest request;
    const std::string graph = absl::StrFormat(kGraph, index_, index_, group_);
    if (!google::protobuf::TextFormat::ParseFromString(graph, request.mutable_graph_def())) {
      return errors::Internal("The graph does not parse");
    }
    if (!wire_.empty()) SetNodeAttr("_weir_wire", wire_, request.mutable_graph_def()->mutable_node(1));
    tensorflow::CreateSessionResponse response;
    RETURN_IF_ERROR(master_.CreateSession(Soon(), request, &response));
    session_ = response.session_handle();
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Sum(const Tensor& x) {
    RunStepArgs args{.session_handle = session_, .feeds = {{"x:0", x}}, .fetches = {"sum:0"}};
    args.options.mutable_experimental()->set_collective_graph_key(graph_key_);
    ASSIGN_OR_RETURN(RunStepResult result, master_.RunStep(Soon(), args));
    return result.fetches[0];
  }

 private:
  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }

  const int index_, group_;
  const int64_t graph_key_;
  const std::string wire_;
  GrpcMasterClient master_;
  std::string session_;
};

// With the servers' flags.
class CollectiveClusterTest : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start(
                                       {.program = WEIR_PROGRAM, .jobs = {{"worker", kMembers}}, .flags = GetParam()}));
    for (int i = 0; i < kMembers; ++i) {
      members_.push_back(std::make_unique<Member>(*cluster_, i));
      ASSERT_THAT(members_.back()->Connect(), IsOk());
    }
  }

  // One step of all those members.
  std::vector<std::future<absl::StatusOr<Tensor>>> Start(const std::vector<int>& who) {
    std::vector<std::future<absl::StatusOr<Tensor>>> results;
    for (const int i : who) {
      results.push_back(std::async(std::launch::async, [this, i] {
        return members_[i]->Sum(AsTensor<float>({1.0f + static_cast<float>(i), 10}));
      }));
    }
    return results;
  }
  void ExpectSums() {
    for (auto& result : Start({0, 1, 2})) {
      const absl::StatusOr<Tensor> sum = result.get();
      ASSERT_THAT(sum, IsOk());
      ExpectTensorEqual(*sum, AsTensor<float>({6, 30}));
    }
  }

  // The killed task comes back, and so does the group.
  void ExpectToMeetAgainWith(int killed) {
    ASSERT_THAT(cluster_->Restart("worker", killed), IsOk());
    const absl::Time restarted = MonotonicNow();
    members_[killed] = std::make_unique<Member>(*cluster_, killed);
    ASSERT_THAT(members_[killed]->Connect(), IsOk());
    std::vector<std::future<bool>> recovered;
    for (int i = 0; i < kMembers; ++i) {
      recovered.push_back(std::async(std::launch::async, [this, i, restarted] {
        const Tensor x = AsTensor<float>({1.0f + static_cast<float>(i), 10});
        while (MonotonicNow() - restarted < absl::Minutes(1)) {
          if (members_[i]->Sum(x).ok()) return true;
        }
        return false;
      }));
    }
    for (auto& member : recovered) EXPECT_TRUE(member.get());
    ExpectSums();
  }

  // Each of the others ends in time, naming the killed one.
  void KillTheLastWhileTheOthersWait() {
    auto waiting = Start({0, 1});
    cluster_->Kill("worker", 2);
    const absl::Time killed = MonotonicNow();
    for (auto& result : waiting) {
      const absl::Status status = result.get().status();
      EXPECT_THAT(std::string(status.message()), HasSubstr("/job:worker/replica:0/task:2")) << status;
      EXPECT_LT(MonotonicNow() - killed, kLimit);
    }
    ExpectToMeetAgainWith(2);
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::vector<std::unique_ptr<Member>> members_;
};

TEST_P(CollectiveClusterTest, MembersAtTheirOwnMastersAddUp) {
  for (int step = 0; step < 10; ++step) ExpectSums();
}

TEST_P(CollectiveClusterTest, MessagesAreCastAndCompressed) {
  for (int i = 0; i < kMembers; ++i) {
    members_[i] = std::make_unique<Member>(*cluster_, i, "bf16+lz4");
    ASSERT_THAT(members_[i]->Connect(), IsOk());
  }
  Tensor x(DT_FLOAT, TensorShape({100000}));
  for (int i = 0; i < 100000; ++i) x.data<float>()[i] = static_cast<float>(i / 1000) + 0.3f;
  std::vector<std::future<absl::StatusOr<Tensor>>> sums;
  for (int i = 0; i < kMembers; ++i) {
    sums.push_back(std::async(std::launch::async, [this, i, &x] { return members_[i]->Sum(x); }));
  }
  ASSERT_OK_AND_ASSIGN(const Tensor first, sums[0].get());
  for (int i = 0; i < 100000; ++i) {
    const float expected = 3 * x.data<float>()[i];
    ASSERT_NEAR(first.data<float>()[i], expected, expected / 64) << i;
  }
  for (int i = 1; i < kMembers; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor sum, sums[i].get());
    ExpectTensorEqual(sum, first);
  }
}

TEST_P(CollectiveClusterTest, MembersThatAskForOtherMessagesFailTogether) {
  members_[2] = std::make_unique<Member>(*cluster_, 2, "fp16");
  ASSERT_THAT(members_[2]->Connect(), IsOk());
  for (auto& result : Start({0, 1, 2})) {
    EXPECT_THAT(result.get().status(), StatusIs(absl::StatusCode::kInternal, HasSubstr("all-reduce Add as fp16")));
  }
}

TEST_P(CollectiveClusterTest, StepsRunSideBySide) {
  constexpr int kThreads = 3;
  std::vector<std::future<void>> threads;
  for (int i = 0; i < kThreads * kMembers; ++i) {
    threads.push_back(std::async(std::launch::async, [i, &member = *members_[i % kMembers]] {
      for (int step = 0; step < 20; ++step) {
        EXPECT_THAT(member.Sum(AsTensor<float>({1})).status(), IsOk()) << "thread " << i << ", step " << step;
      }
    }));
  }
  for (auto& thread : threads) thread.get();
}

// Each task's master runs the steps of both groups in an order of its own.
TEST_P(CollectiveClusterTest, GroupsWithGraphKeysOfTheirOwnRunSideBySide) {
  std::vector<std::future<void>> threads;
  for (const int group : {1, 2}) {
    for (int i = 0; i < kMembers; ++i) {
      threads.push_back(std::async(std::launch::async, [this, group, i] {
        Member member(*cluster_, i, "", group, /*graph_key=*/group);
        ASSERT_THAT(member.Connect(), IsOk());
        for (int step = 0; step < 50; ++step) {
          ASSERT_OK_AND_ASSIGN(const Tensor sum, member.Sum(AsTensor<float>({static_cast<float>(group)})));
          ExpectTensorEqual(sum, AsTensor<float>({3.0f * static_cast<float>(group)}));
        }
      }));
    }
  }
  for (auto& thread : threads) thread.get();
}

// A client at each of the members' masters starts its step anew until it succeeds, as training loops do.
TEST_P(CollectiveClusterTest, AKilledMemberEndsEveryOtherWithItsName) {
  ExpectSums();
  KillTheLastWhileTheOthersWait();
}

TEST_P(CollectiveClusterTest, AKilledLeaderMeetsTheOthersAgain) {
  for (int step = 0; step < 3; ++step) ExpectSums();
  auto waiting = Start({1, 2});
  cluster_->Kill("worker", 0);
  for (auto& result : waiting) EXPECT_FALSE(result.get().ok());
  ExpectToMeetAgainWith(0);
}

TEST_P(CollectiveClusterTest, APausedMemberEndsEveryOtherWithItsName) {
  ExpectSums();
  cluster_->Pause("worker", 2);
  const absl::Time paused = MonotonicNow();
  for (auto& result : Start({0, 1})) {
    const absl::Status status = result.get().status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("/job:worker/replica:0/task:2")) << status;
    EXPECT_LT(MonotonicNow() - paused, kLimit);
  }
}

TEST_P(CollectiveClusterTest, ATaskTellsOfItsLinks) {
  GrpcChannel channel({.address = *cluster_->spec().AddressOf("worker", 0)}, nullptr);
  const auto ask = [&] {
    return channel.Call("/weir.TransportService/ListLinks", {}, *MessageToBuffer(ListLinksRequest()));
  };
  if (GetParam().size() == 2) {
    ExpectSums();
    EXPECT_THAT(ask(), StatusIs(absl::StatusCode::kUnimplemented));
    return;
  }
  const char* const transport = GetParam().empty() ? "shared memory" : "gRPC stream";
  ListLinksResponse response;
  const auto is_used = [transport](const auto& link) {
    return link.transport() == transport && link.bytes_received() > 0;
  };
  const absl::Time end = MonotonicNow() + absl::Minutes(1);
  while (absl::c_none_of(response.link(), is_used) && MonotonicNow() < end) {
    ExpectSums();
    ASSERT_OK_AND_ASSIGN(const grpc::ByteBuffer reply, ask());
    ASSERT_THAT(MessageFromBuffer(reply, &response), IsOk());
  }
  EXPECT_TRUE(absl::c_any_of(response.link(), is_used)) << response.ShortDebugString();
}

// By now all of them have links.
TEST_P(CollectiveClusterTest, AKilledMemberIsMissedThroughLinks) {
  for (int step = 0; step < 50; ++step) ExpectSums();
  KillTheLastWhileTheOthersWait();
}

INSTANTIATE_TEST_SUITE_P(Transports, CollectiveClusterTest,
                         testing::Values(std::vector<std::string>(), std::vector<std::string>{"--no-shared-memory"},
                                         std::vector<std::string>{"--no-shared-memory", "--no-streams"}),
                         [](const auto& info) {
                           return info.param.empty() ? "SharedMemory" : info.param.size() == 1 ? "Stream" : "Grpc";
                         });

}  // namespace
}  // namespace weir
