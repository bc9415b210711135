// A collective whose other member never comes ends at the time limit of its step, with an error that names the group
// and who is missing, however busy the machine is.
#include <google/protobuf/text_format.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kRounds = 20;
constexpr absl::Duration kStepLimit = absl::Seconds(4), kPatience = absl::Seconds(10);

// Masters count the steps of graphs with the same instance keys together, so each group has its own.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "x" op: "Placeholder" device: "/job:worker/task:%d" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "sum" op: "CollectiveReduce" input: "x" device: "/job:worker/task:%d"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "group_size" value { i: 2 } }
         attr { key: "group_key" value { i: %d } } attr { key: "instance_key" value { i: %d } }
         attr { key: "merge_op" value { s: "Add" } } attr { key: "final_op" value { s: "Id" } }
         attr { key: "subdiv_offsets" value { list { i: 0 } } } })";

// Threads that compute until the end.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// The servers' flags.
class MissingMemberTest : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  // A client at the task's own master, which runs the task's part.
  struct Member {
    std::unique_ptr<GrpcMasterClient> client;
    std::string session;
  };

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}, .flags = GetParam()}));
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }
  // `limit`: of the session's steps.
  Member Join(int task, int group, absl::Duration limit = absl::ZeroDuration()) {
    Member member{
        std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", task)})};
    tensorflow::CreateSessionRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(absl::StrFormat(kGraph, task, task, group, group),
                                                              request.mutable_graph_def()));
    request.mutable_config()->set_operation_timeout_in_ms(absl::ToInt64Milliseconds(limit));
    tensorflow::CreateSessionResponse response;
    EXPECT_THAT(member.client->CreateSession(Soon(), request, &response), IsOk());
    member.session = response.session_handle();
    return member;
  }
  static absl::Status Sum(const Member& member, absl::Duration limit = absl::ZeroDuration(),
                          const CallOptions& call = Soon()) {
    RunStepArgs args{
        .session_handle = member.session, .feeds = {{"x:0", AsTensor<float>({1, 2, 3})}}, .fetches = {"sum:0"}};
    args.options.set_timeout_in_ms(absl::ToInt64Milliseconds(limit));
    return member.client->RunStep(call, args).status();
  }
  static void ExpectToMissTheOther(const Member& member, int missing, int group,
                                   absl::Duration limit = absl::ZeroDuration()) {
    const absl::Time start = MonotonicNow();
    const absl::Status status = Sum(member, limit);
    const absl::Duration taken = MonotonicNow() - start;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                                 AllOf(HasSubstr(absl::StrCat("group ", group)),
                                       HasSubstr(absl::StrCat("/job:worker/replica:0/task:", missing)))));
    EXPECT_LT(taken, kStepLimit + kPatience);
  }

  std::unique_ptr<ProcessCluster> cluster_;
};

// Each round has groups of its own: half wait at the leader, task 0, half at a member that must ask it.
TEST_P(MissingMemberTest, ErrorOfAnUnformedGroupNamesMissingTasks) {
  const BusyThreads busy(4);
  std::vector<std::future<void>> rounds;
  for (int round = 0; round < kRounds; ++round) {
    rounds.push_back(std::async(std::launch::async, [this, round] {
      const int task = round % 2, group = 100 + round;
      if (round % 4 < 2) {
        ExpectToMissTheOther(Join(task, group), 1 - task, group, kStepLimit);
      } else {
        ExpectToMissTheOther(Join(task, group, kStepLimit), 1 - task, group);
      }
    }));
    if (round % 10 == 9) rounds.clear();  // waits for them
  }
}

// The group has formed; the other client then runs no more steps, or is gone.
TEST_P(MissingMemberTest, ErrorOfAFormedGroupNamesMissingTasks) {
  const BusyThreads busy(4);
  std::vector<std::future<void>> rounds;
  for (int round = 0; round < kRounds; ++round) {
    rounds.push_back(std::async(std::launch::async, [this, round] {
      const int task = round % 2, group = 200 + round;
      const bool by_session = round % 4 >= 2;
      const Member member = Join(task, group, by_session ? kStepLimit : absl::ZeroDuration());
      Member other = Join(1 - task, group);
      auto first = std::async(std::launch::async, [&other] { return Sum(other); });
      EXPECT_THAT(Sum(member, absl::Seconds(30)), IsOk());
      EXPECT_THAT(first.get(), IsOk());
      if (round % 8 < 4) other = {};
      ExpectToMissTheOther(member, 1 - task, group, by_session ? absl::ZeroDuration() : kStepLimit);
    }));
    if (round % 10 == 9) rounds.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, MissingMemberTest,
                         testing::Values(std::vector<std::string>(), std::vector<std::string>{"--no-shared-memory"},
                                         std::vector<std::string>{"--no-shared-memory", "--no-streams"}),
                         [](const auto& info) {
                           return info.param.empty() ? "SharedMemory" : info.param.size() == 1 ? "Stream" : "Grpc";
                         });

}  // namespace
}  // namespace weir
