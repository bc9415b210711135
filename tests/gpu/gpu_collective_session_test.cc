// Tests of GPU collectives in sessions: by a library, through the host without one, and when a process dies.
#include <future>
#include <thread>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_platform.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/collective/gpu/gpu_group_member.h"
#include "tests/gpu/gpu_session_testing.h"
#include "tests/gpu/plain_runtime.h"
#include "tools/server.h"

namespace weir {
namespace {

using testing::HasSubstr;

constexpr int kSize = 2;
constexpr int kGroupKey = 7;

// With and without a library that serves the GPUs.
class GpuCollectiveSessionTest : public GpuSessionTest, public testing::WithParamInterface<bool> {
 protected:
  GpuCollectiveSessionTest() {
    if (!GetParam())
      wrap_ = [](std::shared_ptr<SimulatedGpu> gpu) { return std::make_shared<PlainRuntime>(std::move(gpu)); };
  }

  using OnGpu = std::function<Output(const Scope& scope, int rank, int instance_key)>;
  OutputList OnBoth(const OnGpu& make) {
    const int instance_key = ++instance_key_;
    return {make(Gpu(0), 0, instance_key), make(Gpu(1), 1, instance_key)};
  }
  // 1 2 … and 11 12 …
  Output Values(const Scope& scope, int rank) const {
    return scope.Constant(AsTensor<float>({rank * 10 + 1.0f, rank * 10 + 2.0f}));
  }

  int instance_key_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Ways, GpuCollectiveSessionTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "ByLibrary" : "ThroughHost"; });

TEST_P(GpuCollectiveSessionTest, EachOpGivesWhatTheCpusGives) {
  const OutputList sums = OnBoth([this](const Scope& s, int rank, int key) {
    return ops::CollectiveReduceV2(s, Values(s, rank), kSize, kGroupKey, key, {}, "Add", "Id");
  });
  const OutputList means = OnBoth([this](const Scope& s, int rank, int key) {
    return ops::CollectiveReduceV2(s, Values(s, rank), kSize, kGroupKey, key, {}, "Add", "Div");
  });
  const OutputList most = OnBoth([](const Scope& s, int rank, int key) {
    return ops::CollectiveReduceV2(s, s.Constant(AsTensor<int32_t>({rank, -rank})), kSize, kGroupKey, key, {}, "Max",
                                   "Id");
  });
  const OutputList gathered = OnBoth([this](const Scope& s, int rank, int key) {
    return ops::CollectiveGatherV2(s, Values(s, rank), kSize, kGroupKey, key, InputList());
  });
  const OutputList exchanged = OnBoth([this](const Scope& s, int rank, int key) {
    return ops::CollectiveAllToAllV2(s, Values(s, rank), kSize, kGroupKey, key, InputList());
  });
  const OutputList scattered = OnBoth([this](const Scope& s, int rank, int key) {
    return ops::CollectiveReduceScatterV2(s, Values(s, rank), kSize, kGroupKey, key, InputList(), "Add", "Id");
  });
  const OutputList spread = OnBoth([this](const Scope& s, int rank, int key) {
    if (rank == 1) return ops::CollectiveBcastSendV2(s, Values(s, rank), kSize, kGroupKey, key);
    return ops::CollectiveBcastRecvV2(s, kSize, kGroupKey, key, Tensor::Vector<int64_t>({2}), DT_FLOAT);
  });
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  OutputList all;
  for (const OutputList* both : {&sums, &means, &most, &gathered, &exchanged, &scattered, &spread}) {
    all.insert(all.end(), both->begin(), both->end());
  }
  for (int step = 0; step < 3; ++step) {
    const std::vector<Tensor> out = Run({}, all);
    ASSERT_EQ(out.size(), 14);
    for (int rank = 0; rank < kSize; ++rank) {
      ExpectTensorEqual(out[rank], AsTensor<float>({12, 14}));
      ExpectTensorEqual(out[2 + rank], AsTensor<float>({6, 7}));
      ExpectTensorEqual(out[4 + rank], AsTensor<int32_t>({1, 0}));
      ExpectTensorEqual(out[6 + rank], AsTensor<float>({1, 2, 11, 12}));
      ExpectTensorEqual(out[10 + rank], AsTensor<float>({rank == 0 ? 12.0f : 14.0f}));
      ExpectTensorEqual(out[12 + rank], AsTensor<float>({11, 12}));
    }
    ExpectTensorEqual(out[8], AsTensor<float>({1, 11}));
    ExpectTensorEqual(out[9], AsTensor<float>({2, 12}));
  }
}

TEST_P(GpuCollectiveSessionTest, WhatComesBeforeAndBehindIsInOrder) {
  const Output x = ops::Placeholder(scope_, DT_FLOAT);
  const OutputList sums = OnBoth([&](const Scope& s, int rank, int key) {
    const Output squares = ops::Square(s, ops::AddV2(s, x, s.Constant(static_cast<float>(rank))));
    const Output sum = ops::CollectiveReduceV2(s, squares, kSize, kGroupKey, key, {}, "Add", "Id");
    return ops::Neg(s, sum);
  });
  const int count = 1000;
  for (int step = 0; step < 5; ++step) {
    const auto value = static_cast<float>(step);
    const float expected = -(value * value + (value + 1) * (value + 1));
    for (const Tensor& sum : Run({{x, AsTensor<float>(std::vector<float>(count, value))}}, sums)) {
      ExpectTensorEqual(sum, AsTensor<float>(std::vector<float>(count, expected)));
    }
  }
}

TEST_P(GpuCollectiveSessionTest, RanksThatDifferFailTheStep) {
  const OutputList sums = OnBoth([](const Scope& s, int rank, int key) {
    return ops::CollectiveReduceV2(s, s.Constant(AsTensor<float>(std::vector<float>(rank + 1, 1))), kSize, kGroupKey,
                                   key, {}, "Add", "Id");
  });
  EXPECT_THAT(session().Run(sums).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("Shape mismatch"), HasSubstr("GPU:1"), HasSubstr("[2]"))));
}

// Two processes, each with a simulated GPU: this one, where the GPU can be held, and one to be killed.
class GpuCollectiveClusterTest : public testing::Test {
 protected:
  // A client at the task's own master, which runs the task's part.
  struct Member {
    explicit Member(int index)
        : scope(Scope::NewRoot().WithDevice(absl::StrCat("/job:worker/task:", index, "/device:GPU:0"))),
          x(ops::Placeholder(scope, DT_FLOAT)),
          sum(ops::CollectiveReduceV2(scope, x, kSize, kGroupKey, 1, {}, "Add", "Id", {.timeout_seconds = 60})) {}
    absl::Status Connect(const ClusterSpec& cluster, int index) {
      ASSIGN_OR_RETURN(session, Session::Connect("grpc://" + *cluster.AddressOf("worker", index), scope));
      return absl::OkStatus();
    }
    std::future<absl::StatusOr<std::vector<Tensor>>> Sum() {
      return std::async(std::launch::async, [this] { return session->Run({{x, AsTensor<float>({3, 4})}}, {sum}); });
    }

    const Scope scope;
    const Output x, sum;
    std::unique_ptr<Session> session;
  };

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        cluster_, ProcessCluster::Start(
                      {.program = WEIR_PROGRAM, .jobs = {{"worker", kSize}}, .flags = {"--simulated-gpus", "1"}}));
    cluster_->Kill("worker", 0);
    ASSERT_OK_AND_ASSIGN(server_, Server::Start({.cluster = cluster_->spec(),
                                                 .job = "worker",
                                                 .index = 0,
                                                 .gpus = std::make_shared<GpuPlatform>(SimulatedPlatform({gpu_}))}));
    for (int i = 0; i < kSize; ++i) {
      members_.push_back(std::make_unique<Member>(i));
      ASSERT_THAT(members_[i]->Connect(cluster_->spec(), i), IsOk());
    }
  }
  void TearDown() override {
    gpu_->ReleaseStreams();
    members_.clear();
    server_ = nullptr;
    EXPECT_THAT(gpu_->Races(), testing::IsEmpty());
  }

  absl::Status SumOfBoth() {
    auto first = members_[0]->Sum(), second = members_[1]->Sum();
    for (auto* sum : {&first, &second}) {
      ASSIGN_OR_RETURN(const std::vector<Tensor> out, sum->get());
      ExpectTensorEqual(out[0], AsTensor<float>({6, 8}));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<SimulatedGpu> gpu_ = std::make_shared<SimulatedGpu>(
      SimulatedGpu::Options{.schedule = SimulatedGpu::Schedule::kThreads, .memory_bytes = size_t{256} << 20});
  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Member>> members_;
};

TEST_F(GpuCollectiveClusterTest, AProcessKilledMidwayIsNamedAndTheGroupIsFormedAgain) {
  for (int step = 0; step < 3; ++step) ASSERT_THAT(SumOfBoth(), IsOk());
  gpu_->HangStreams(GpuGroupMember::kStream);
  auto held = members_[0]->Sum(), killed = members_[1]->Sum();
  while (!gpu_->HoldsWork()) std::this_thread::yield();  // the ranks have agreed
  cluster_->Kill("worker", 1);
  EXPECT_THAT(held.get().status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:worker/replica:0/task:1")));
  EXPECT_FALSE(killed.get().ok());
  gpu_->ReleaseStreams();

  ASSERT_THAT(cluster_->Restart("worker", 1), IsOk());
  members_[1] = std::make_unique<Member>(1);
  ASSERT_THAT(members_[1]->Connect(cluster_->spec(), 1), IsOk());
  const auto meets = [](Member& member) {
    return std::async(std::launch::async, [&member] {
      for (const absl::Time end = MonotonicNow() + absl::Minutes(1); MonotonicNow() < end;) {
        if (member.session->Run({{member.x, AsTensor<float>({3, 4})}}, {member.sum}).ok()) return true;
      }
      return false;
    });
  };
  auto first = meets(*members_[0]), second = meets(*members_[1]);
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_THAT(SumOfBoth(), IsOk());
}

}  // namespace
}  // namespace weir
